"""Distances and their rivals judged by people's ratings of pairs and by triplets, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.frames import Rows
from wordferry.base.runtime import optional_import
from wordferry.errors import InputError
from wordferry.judge.agreement import correlate, pearson, ranks
from wordferry.judge.bootstrap import interval_by, interval_of
from wordferry.judge.evaluation import encoded, indexed_distances
from wordferry.judge.systems import ByDistance, ByEncoder, System, TfIdfVectors, make_system
from wordferry.judge.triplets import judge
from wordferry.texts.published import RatedPairs


def indexed_values(system: System, documents: Sequence[Any], first: Any, second: Any) -> Float64Array:
    """How far apart documents ``first[i]`` and ``second[i]`` are for every i, by a distance, tf-idf or an encoder.

    Document frequencies are those of ``documents``, each counted once; inf where one of the two has no word.
    """
    if isinstance(system, ByDistance):
        return indexed_distances(encoded(documents, system.measure), first, second, system.measure, system.threads)
    texts = [text if isinstance(text, str) else " ".join(text) for text in documents]
    if isinstance(system, TfIdfVectors):
        module = optional_import("sklearn.feature_extraction.text", "sklearn")
        vectors = module.TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
        return 1.0 - np.asarray(vectors[first].multiply(vectors[second]).sum(axis=1), dtype=np.float64).ravel()
    if isinstance(system, ByEncoder):
        dense = system.vectors(texts)
        near: Float64Array = np.einsum("ij,ij->i", dense[first], dense[second]).astype(np.float64)
        return 1.0 - near
    raise InputError("It ranks documents for a query, and has no distance of two texts.")


def judge_pairs(pairs: RatedPairs, names: Sequence[str], *, seed: int = 0, **options: Any) -> Rows:
    """Spearman's and Pearson's correlation of each measure with the ratings (1 is perfect), one row per measure.

    Pairs with a text that has no known word are left out and counted, as :func:`wordferry.judge.agreement.agreement`
    does. ``options`` are those of :func:`wordferry.judge.systems.make_system`.
    """
    ratings = np.asarray(pairs.ratings, dtype=np.float64)
    documents, half = [*pairs.first, *pairs.second], len(ratings)
    rows = Rows()
    for name in names:
        values = _values(name, documents, np.arange(half), np.arange(half) + half, options)
        found = correlate(values, ratings)
        known = np.isfinite(values)
        near, scores = ranks(-values[known]), ratings[known]

        def correlation(chosen: Any, near: Any = near, scores: Any = scores) -> float:
            return pearson(ranks(near[chosen]), ranks(scores[chosen]))

        interval = interval_by(correlation, len(scores), seed=seed)
        rows.append(
            {
                "system": name,
                "spearman": round(found.spearman, 4),
                "from": round(interval.low, 4),
                "to": round(interval.high, 4),
                "pearson": round(found.pearson, 4),
                "pairs": found.pairs,
                "empty": found.empty,
            }
        )
    return rows


def judge_triplets(
    documents: Sequence[Any],
    triples: Sequence[tuple[int, int, int]],
    names: Sequence[str],
    *,
    rule: str = "closer",
    seed: int = 0,
    **options: Any,
) -> Rows:
    """How often a is not nearer to b than to c, in percent, one row per measure; a tie is an error.

    Triplets with a document that has no known word are left out and counted; ``rule`` is that of
    :func:`wordferry.judge.triplets.triplets`, ``options`` those of :func:`wordferry.judge.systems.make_system`.
    """
    if not triples:
        raise InputError("There are no triplets to judge by.")
    a, b, c = np.asarray(triples, dtype=np.int64).T
    rows = Rows()
    for name in names:
        values = _values(name, documents, np.concatenate([a, a, b]), np.concatenate([b, c, c]), options)
        near, far, third = np.split(values, 3)
        known = np.isfinite(near) & np.isfinite(far) & np.isfinite(third)
        result = judge(near, far, third, empty=~known, rule=rule)
        beaten = far if rule == "closer" else np.minimum(far, third)
        interval = interval_of(100.0 * ~(near < beaten)[known], seed=seed)
        rows.append(
            {
                "system": name,
                "error %": round(result.error, 2),
                "from": round(interval.low, 2),
                "to": round(interval.high, 2),
                "wrong": result.failed,
                "triplets": result.solved + result.failed,
                "empty": result.empty,
            }
        )
    return rows


def _values(name: str, documents: Sequence[Any], first: Any, second: Any, options: Mapping[str, Any]) -> Float64Array:
    try:
        return indexed_values(make_system(name, **options), documents, first, second)
    except InputError as error:
        raise type(error)(f"{name}: {error}") from None
