"""Distances and their rivals judged by people's ratings of pairs and by triplets, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.frames import Rows
from wordferry.base.runtime import Run, optional_import
from wordferry.errors import InputError
from wordferry.judge.bootstrap import interval_by, interval_of
from wordferry.judge.systems import ByDistance, Encoder, TfIdfVectors, make_system
from wordferry.texts.published import RatedPairs
from wordferry.words.embeddings import Embeddings


def paired_values(
    name: str, first: Sequence[Any], second: Sequence[Any], embeddings: Embeddings | None, threads: int | None
) -> Float64Array:
    """How far apart ``first[i]`` and ``second[i]`` are for every i, by a distance, tf-idf or an encoder."""
    system = make_system(name, embeddings=embeddings, threads=threads)
    if isinstance(system, ByDistance):
        return system.measure.paired(list(first), list(second), Run(threads=threads)).astype(np.float64)
    texts = [text if isinstance(text, str) else " ".join(text) for text in (*first, *second)]
    if isinstance(system, TfIdfVectors):
        module = optional_import("sklearn.feature_extraction.text", "sklearn")
        vectors = module.TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
        a, b = vectors[: len(first)], vectors[len(first) :]
        return 1.0 - np.asarray(a.multiply(b).sum(axis=1), dtype=np.float64).ravel()
    if isinstance(system, Encoder):
        dense = system.vectors(texts)
        near: Float64Array = np.einsum("ij,ij->i", dense[: len(first)], dense[len(first) :]).astype(np.float64)
        return 1.0 - near
    raise InputError(f"{name} ranks documents for a query; it has no distance of two texts.")


def judge_pairs(
    pairs: RatedPairs,
    names: Sequence[str],
    *,
    embeddings: Embeddings | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Rows:
    """Spearman's correlation of each measure with the ratings (1 is perfect), one row per measure.

    A pair that a measure cannot compare (an empty text) counts as farthest apart.
    """
    from scipy.stats import spearmanr

    ratings = np.asarray(pairs.ratings, dtype=np.float64)
    rows = Rows()
    for name in names:
        values = paired_values(name, pairs.first, pairs.second, embeddings, threads)
        finite = np.where(np.isfinite(values), values, np.nanmax(values[np.isfinite(values)], initial=0.0) + 1.0)

        def correlation(chosen: Any, finite: Any = finite) -> float:
            x, y = finite[chosen], ratings[chosen]
            if np.ptp(x) == 0 or np.ptp(y) == 0:  # nothing varies, so nothing can agree
                return float("nan")
            return float(spearmanr(-x, y).statistic)

        found = interval_by(correlation, len(ratings), seed=seed)
        rows.append(
            {
                "system": name,
                "spearman": round(found.value, 4),
                "from": round(found.low, 4),
                "to": round(found.high, 4),
                "pairs": len(ratings),
            }
        )
    return rows


def judge_triplets(
    documents: Sequence[Any],
    triples: Sequence[tuple[int, int, int]],
    names: Sequence[str],
    *,
    embeddings: Embeddings | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Rows:
    """How often a is not nearer to b than to c, in percent, one row per measure; a tie is an error."""
    if not triples:
        raise InputError("There are no triplets to judge by.")
    a, b, c = ([documents[triple[place]] for triple in triples] for place in range(3))
    rows = Rows()
    for name in names:
        values = paired_values(name, [*a, *a], [*b, *c], embeddings, threads)
        near, far = values[: len(a)], values[len(a) :]
        wrong = ~(near < far)
        found = interval_of(100.0 * wrong, seed=seed)
        rows.append(
            {
                "system": name,
                "error %": round(found.value, 2),
                "from": round(found.low, 2),
                "to": round(found.high, 2),
                "wrong": int(wrong.sum()),
                "triplets": len(triples),
            }
        )
    return rows
