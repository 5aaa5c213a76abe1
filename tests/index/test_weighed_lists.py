"""``similar`` with weights and words without vectors: through the lists, and equal to comparing with every document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wordferry
from tests.index.collection import HISTORY, WORDS, embeddings, play
from tests.index.test_lists import FREQUENT, assert_same_where_apart
from wordferry.index import Index
from wordferry.index.search import lists
from wordferry.index.write import segment_writer as publish
from wordferry.kernels import lists as kernel
from wordferry.texts.weights import WEIGHTS

Make = Callable[..., Index]
NAMES = [*WORDS, *(f"x{i:02d}" for i in range(20))]
"""The last twenty have no vector; neither do some that only queries have."""


def text(rng: np.random.Generator, size: int, outside: int = 0) -> str:
    """Random words; fifteen with a vector stand in no document."""
    names = [*NAMES[: 45 if not outside else 60], *NAMES[60:], *(f"new{i}" for i in range(outside))]
    return " ".join(names[i] for i in rng.integers(0, len(names), size=size))


def some_text(rng: np.random.Generator) -> str:
    """Some texts are given twice, and in some a word stands often."""
    chance = rng.random()
    if chance < 0.1:
        return "w01 w02"
    return text(rng, rng.integers(1, 12)) + (" w03 w03 w03 x01 x01" if chance < 0.3 else "")


def everything(index: Index, query: str, k: int, options: dict[str, Any], allowed: Any) -> list[tuple[str, float]]:
    """The k nearest by the row of all distances; weights are fitted on all living documents."""
    docs = list(index)
    related = index.related
    row = wordferry.pairwise(
        [query.split()],
        [str(doc.text).split() for doc in docs],
        "rel-rwmd",
        embeddings=index.embeddings,
        related=related,
        overlap=index.config.overlap,
        on_empty="keep",
        **options,
    )[0]
    some = [i for i, doc in enumerate(docs) if allowed(doc)]
    return [(docs[i].id, float(row[i])) for i in sorted(some, key=lambda i: (row[i], i))[:k]]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=HISTORY,
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 3, 10, 1000]),
    overlap=st.sampled_from(["omr", "keep", "residual"]),
    options=st.tuples(st.sampled_from(WEIGHTS), st.sampled_from(["match", "drop"])),
    filtered=st.booleans(),
    frequent=FREQUENT,
)
def test_lists_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[str, Any]],
    seed: int,
    k: int,
    overlap: str,
    options: tuple[str, str],
    filtered: bool,
    frequent: int,
) -> None:
    """With ties, deletions, segments, a buffer, filters, and words that only the query has, with vectors or without."""
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.mktemp("weighed") / "index"
    own = dict(zip(("weights", "unknown"), options, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "BUFFER", 12)
        patch.setattr(publish, "SEGMENT", 40)
        patch.setattr(kernel, "_FEWEST", 1)
        patch.setattr(kernel, "_FREQUENT", frequent)
        with Index.create(
            place, embeddings=embeddings(), related=3, distance="rel-rwmd", overlap=overlap, **own
        ) as index:
            play(index, history, rng, lambda: some_text(rng))
            if not len(index):
                assert index.similar("w01", k) == []
                return
            queries = ["w03 " + text(rng, size, outside=5) for size in (1, 4, 20)]
            condition = {"parity": 0} if filtered and any(doc.metadata["parity"] == 0 for doc in index) else None
            allowed = lambda doc: condition is None or doc.metadata["parity"] == 0  # noqa: E731
            for query in queries:
                patch.setattr(lists, "FEW", 0)
                hits = index.similar(query, k, filter=condition)
                got = [(hit.id, hit.distance) for hit in hits]
                if any(
                    word in WORDS for doc in index for word in str(doc.text).split()
                ):  # else c_max is the index's own
                    wanted = everything(index, query, k, own, allowed)
                    assert [d for _, d in got] == pytest.approx([d for _, d in wanted], rel=1e-6, abs=1e-6)
                    assert_same_where_apart(got, wanted)
                assert hits.counts["pairs"] == sum(map(allowed, index))
                if len({word for doc in index for word in str(doc.text).split() if word in WORDS}) > 4:
                    assert "evaluated" in hits.counts  # fewer words than are related to each have no c_max
                with Index.open(place, embeddings=embeddings()) as fresh:
                    assert got == [(hit.id, hit.distance) for hit in fresh.similar(query, k, filter=condition)]
                patch.setattr(lists, "FEW", 1 << 40)
                assert got == [(hit.id, hit.distance) for hit in index.similar(query, k, filter=condition)]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_most_documents_are_not_looked_at(tmp_path: Path, weights: str) -> None:
    """Also where one word stands in nearly all documents, which by some weights then weighs next to nothing."""
    rng = np.random.default_rng(4)
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=3, weights=weights) as index:
        index.add([{"text": f"w44 {text(rng, 8)}"} for _ in range(3000)])
        hits = index.similar(text(rng, 8), 5)
        assert hits.exact
        assert hits.counts["pairs"] == 3000
        assert 5 <= hits.counts["evaluated"] < 1500
        assert hits.counts["postings"] > 0


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("unknown", ["match", "drop"])
def test_every_scheme_is_fitted_as_in_memory(make: Make, weights: str, unknown: str) -> None:
    """Also where only some documents are compared: candidates that are ordered again, and explanations."""
    rng = np.random.default_rng(2)
    index = make(weights=weights, unknown=unknown)
    index.add([{"id": f"d{i}", "text": "w01 " + text(rng, 9)} for i in range(40)])
    index.delete(["d4", "d31"])
    query = "w01 w02 x03 x03 new1"
    hits = index.similar(query, 38, explain=True)
    wanted = everything(index, query, 38, {"weights": weights, "unknown": unknown}, lambda doc: True)
    assert [hit.distance for hit in hits] == pytest.approx([d for _, d in wanted], rel=1e-6)
    for hit in hits:
        assert hit.explain().distance == pytest.approx(hit.distance, abs=2e-6)
    second = index.similar(query, 5, rerank="wmd", candidates=38)
    assert [(hit.id, hit.distance) for hit in second] == [
        (hit.id, hit.distance) for hit in index.similar(query, 5, distance="wmd")
    ]
    assert not second.exact
    assert second[0].explain().distance == pytest.approx(second[0].distance, abs=2e-6)


def test_words_of_later_documents_are_known_and_earlier_states_stay(make: Make) -> None:
    index = make(weights="idf", unknown="match")
    index.add([{"id": "a", "text": "w01 cobol"}, {"id": "b", "text": "w02 fortran"}])
    before = index.similar("fortran", 2)
    assert before[0].id == "b"
    index.add([{"id": "c", "text": "simula"}, {"id": "d", "text": "fortran w05"}])
    assert [hit.id for hit in index.similar("simula", 1)] == ["c"]
    assert index.similar("simula", 1)[0].distance == 0
    assert {hit.id for hit in index.similar("fortran", 2)} == {"b", "d"}
    assert before[0].explain().distance == pytest.approx(before[0].distance, abs=1e-6)
    index.delete(["c"])
    index.compact()
    assert [hit.id for hit in index.similar("cobol", 1)] == ["a"]
