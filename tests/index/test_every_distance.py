"""By every distance and overlap, the answer of an index is that of comparing with every document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wordferry
from tests.index.collection import HISTORY, PLAIN, WORDS, embeddings, play
from tests.index.test_lists import assert_same_where_apart
from wordferry.compare.distances import DISTANCES
from wordferry.index import Index, centroids, nearest, publish, shortlist
from wordferry.texts.bow import TfIdf, bags

Pairs = list[tuple[str, float]]
OWN_WORDS = [name for name, record in DISTANCES.items() if record.shared is not None]
"""Distances that the words decide which two documents share."""
TO_THE_BIT = [*OWN_WORDS, "wmd", "rel-wmd"]
"""Distances of two documents that depend on nothing else, down to the order of sums."""
MODES = [(name, overlap) for name, record in DISTANCES.items() for overlap in record.overlaps or ("omr",)]
FEW = [(nearest, "_FEW"), (centroids, "_FEW"), (shortlist, "_LEAST")]


def words(rng: np.random.Generator, size: int, names: Sequence[str]) -> str:
    return " ".join(names[i] for i in rng.integers(0, len(names), size=size))


def texts(rng: np.random.Generator) -> Callable[[], str]:
    """Makes texts: some are given twice, some share words with no query, some have no word with a vector."""
    made = ["w07 w08", "w07 w07 w08 w08", "w50 w51", "unknown"]

    def text() -> str:
        if rng.random() < 0.4:
            return made[rng.integers(len(made))]
        made.append(words(rng, int(rng.integers(1, 12)), WORDS[:45]))
        return made[-1]

    return text


QUERIES = ["w07", "w07 w08 unheard", "w58 w59", "w50 w50 w50 w59 w03", "w03 w12 w12 w44 w55 w55 w55 w20 w21 w22"]
"""Among them words in no document, with vectors and without; the third shares nothing with any."""


def everything(index: Index, query: str, k: int, overlap: str, condition: dict[str, int] | None) -> Pairs:
    """The k nearest by the row of all distances, ties to the document that was added first."""
    record = DISTANCES[index.config.distance]
    docs = list(index)
    tokens = [str(doc.text).split() for doc in docs]
    with index.view() as (_, snapshot):
        related = index.engine.related(snapshot, record)
    living = bags(tokens, index.embeddings.vocabulary, on_empty="keep")
    row = wordferry.pairwise(
        [query.split()],
        tokens,
        record,
        embeddings=index.embeddings,
        related=related,
        overlap=overlap if record.overlaps else None,
        idf=TfIdf.fit(living.matrix) if record.tfidf else None,
        on_empty="keep",
        unknown="drop",
    )[0]
    allowed = [i for i, doc in enumerate(docs) if condition is None or doc.metadata["parity"] == condition["parity"]]
    return [(docs[i].id, float(row[i])) for i in sorted(allowed, key=lambda i: (row[i], i))[:k]]


@pytest.mark.parametrize(("distance", "overlap"), MODES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=HISTORY,
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 3, 10, 1000]),
    filtered=st.booleans(),
    one_by_one=st.booleans(),
)
def test_every_distance_equals_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    distance: str,
    overlap: str,
    history: list[tuple[str, Any]],
    seed: int,
    k: int,
    filtered: bool,
    one_by_one: bool,
) -> None:
    """With ties, deletions, segments, filters, unknown words, documents without words, and k beyond the end."""
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.mktemp("every") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "BUFFER", 12)
        patch.setattr(publish, "SEGMENT", 40)
        for module, name in FEW:
            patch.setattr(module, name, 0)
        patch.setattr(shortlist, "_SHARE", 0)
        own = {"distance": distance, "overlap": overlap if DISTANCES[distance].overlaps else None}
        with Index.create(place, embeddings=embeddings(), related=3, on_empty="keep", **own, **PLAIN) as index:
            play(index, history, rng, texts(rng))
            if not len(index):
                assert index.similar("w01", k) == []
                return
            condition = {"parity": next(iter(index)).metadata["parity"]} if filtered else None
            if one_by_one:
                answers = [index.similar(query, k, filter=condition) for query in QUERIES]
            else:
                answers = index.similar(QUERIES, k, filter=condition)
            for query, hits in zip(QUERIES, answers, strict=True):
                got = [(hit.id, hit.distance) for hit in hits]
                wanted = everything(index, query, k, overlap, condition)
                if distance in TO_THE_BIT:
                    assert got == wanted
                    continue
                assert [d for _, d in got] == pytest.approx([d for _, d in wanted], rel=1e-5, abs=1e-6)
                assert_same_where_apart(got, wanted)
                if distance == "rwmd":  # its products are rounded as their shapes have it
                    continue
                for module, name in FEW:
                    patch.setattr(module, name, 1 << 40)
                assert got == [(hit.id, hit.distance) for hit in index.similar(query, k, filter=condition)]
                for module, name in FEW:
                    patch.setattr(module, name, 0)
