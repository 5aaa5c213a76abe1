"""By every distance and overlap, the answer of an index is that of comparing with every document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wordferry
from tests.index.collection import HISTORY, PLAIN, WORDS, embeddings, play
from tests.index.test_lists import assert_same_where_apart
from wordferry.compare.distances import DISTANCES
from wordferry.errors import FormatError
from wordferry.index import Index
from wordferry.index.results import Document, Hit
from wordferry.index.search import centroids, shortlist, similar
from wordferry.index.search import lists as nearest
from wordferry.index.search.views import Request
from wordferry.index.search.weights import QueryWords
from wordferry.index.write import segment_writer as publish
from wordferry.texts.bow import TfIdf, bags
from wordferry.texts.weights import WEIGHTS

Pairs = list[tuple[str, float]]
OWN_WORDS = [name for name, record in DISTANCES.items() if record.shared is not None]
"""Distances that the words decide which two documents share."""
COSTLY = (*shortlist.TRUE, *shortlist.RELATED)
MODES = [(name, overlap) for name, record in DISTANCES.items() for overlap in record.overlaps or ("omr",)]
FEW = [(nearest, "FEW"), (centroids, "FEW"), (shortlist, "_LEAST")]


def words(rng: np.random.Generator, size: int, names: Sequence[str]) -> str:
    return " ".join(names[i] for i in rng.integers(0, len(names), size=size))


UNKNOWN = [f"x{i:02d}" for i in range(12)]


def texts(rng: np.random.Generator, names: Sequence[str] = WORDS[:45]) -> Callable[[], str]:
    """Makes texts: some are given twice, some share words with no query, some have no word with a vector."""
    made = ["w07 w08", "w07 w07 w08 w08", "w50 w51", "unknown", "w03 w03 w03 w03 w12 x01 x01 x02"]

    def text() -> str:
        if rng.random() < 0.4:
            return made[rng.integers(len(made))]
        made.append(words(rng, int(rng.integers(1, 12)), names))
        return made[-1]

    return text


QUERIES = ["w07", "w07 w08 unheard", "w58 w59", "w50 w50 w50 w59 w03", "w03 w12 w12 w44 w55 w55 w55 w20 w21 w22"]
"""Among them words in no document, with vectors and without; the third shares nothing with any."""


def everything(index: Index, query: str, k: int, distance: str, condition: dict[str, int] | None) -> Pairs:
    """The k nearest by the row of all distances, ties to the document that was added first."""
    record = DISTANCES[distance]
    docs = list(index)
    tokens = [str(doc.text).split() for doc in docs]
    related = index.related if record.needs_related else None
    with index.backend.state() as (_, snapshot):
        a_word = [
            WORDS[i] for i in snapshot.terms.rows[:1]
        ]  # one that related words know, which the documents may not have
    living = bags(tokens, index.embeddings.vocabulary, on_empty="keep")
    row = wordferry.pairwise(
        [query.split()],
        [*tokens, a_word],
        record,
        embeddings=index.embeddings,
        related=related,
        overlap=index.config.overlap if record.overlaps else None,
        weights=TfIdf.fit(living.matrix) if record.own_weights == "idf" else None,
        on_empty="keep",
        unknown="drop",
    )[0]
    allowed = [i for i, doc in enumerate(docs) if condition is None or doc.metadata["parity"] == condition["parity"]]
    return [(docs[i].id, float(row[i])) for i in sorted(allowed, key=lambda i: (row[i], i))[:k]]


@dataclass(frozen=True)
class Case:
    """Documents that come and go, and what is asked of them."""

    history: list[tuple[str, Any]]
    seed: int
    k: int
    filtered: bool
    weights: str
    unknown: str

    @property
    def queries(self) -> list[str]:
        return [*QUERIES, "x01 x02 x02 w03", "x05 unheard", "unknown"] if self.unknown == "match" else QUERIES

    @property
    def weighing(self) -> dict[str, str]:
        return {"weights": self.weights, "unknown": self.unknown}

    @contextmanager
    def played(self, tmp_path_factory: pytest.TempPathFactory, names: list[str], **own: Any) -> Iterator[Played]:
        """An index of small segments, as the history leaves it."""
        rng = np.random.default_rng(self.seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(publish, "BUFFER", 12)
            patch.setattr(publish, "SEGMENT", 40)
            patch.setattr(shortlist, "_BLOCK", 5)
            patch.setattr(shortlist, "_SMALL", 0)
            patch.setattr(shortlist, "_DEAR", self.seed % 2 * 1_000_000)  # with better bounds, or without
            place = tmp_path_factory.mktemp("every") / "index"
            with Index.create(place, embeddings=embeddings(), related=3, on_empty="keep", **own) as index:
                play(index, self.history, rng, texts(rng, names))
                docs = list(index)
                condition = {"parity": docs[0].metadata["parity"]} if self.filtered and docs else None
                allowed = [doc for doc in docs if condition is None or doc.metadata["parity"] == condition["parity"]]
                yield Played(index, docs, allowed, condition, patch)

    def rows(self, index: Index, docs: list[Document], distance: str) -> list[dict[str, float]]:
        """The distance of each document to each query, by pairwise."""
        found = wordferry.pairwise(
            [query.split() for query in self.queries],
            [str(doc.text).split() for doc in docs],
            distance,
            embeddings=index.embeddings,
            weights=index.measure(distance).weights,
            on_empty="keep",
            unknown=self.unknown,
        )
        return [dict(zip((doc.id for doc in docs), row.tolist(), strict=True)) for row in found]


class Played(NamedTuple):
    index: Index
    docs: list[Document]
    allowed: list[Document]
    """Those that the condition lets through."""
    condition: dict[str, int] | None
    patch: pytest.MonkeyPatch


def cases(**own: Any) -> st.SearchStrategy[Case]:
    drawn = {
        "history": HISTORY,
        "seed": st.integers(0, 10_000),
        "k": st.sampled_from([1, 3, 10, 1000]),
        "filtered": st.booleans(),
        "weights": st.sampled_from(WEIGHTS),
        "unknown": st.sampled_from(["match", "drop"]),
    }
    return st.builds(Case, **drawn | own)


def pairs(hits: Sequence[Hit]) -> Pairs:
    return [(hit.id, hit.distance) for hit in hits]


@pytest.mark.parametrize(("distance", "overlap"), MODES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(weights=st.just("counts"), unknown=st.just("drop")), one_by_one=st.booleans())
def test_every_distance_equals_brute_force(
    tmp_path_factory: pytest.TempPathFactory, distance: str, overlap: str, case: Case, one_by_one: bool
) -> None:
    """With ties, deletions, segments, filters, unknown words, documents without words, and k beyond the end."""
    with case.played(tmp_path_factory, WORDS[:45], overlap=overlap, **PLAIN) as (index, docs, _, condition, patch):
        for module, name in FEW:
            patch.setattr(module, name, 0)
        patch.setattr(shortlist, "_SHARE", 0)
        if not docs:
            assert index.similar("w01", case.k, distance=distance) == []
            return
        ask = partial(index.similar, k=case.k, distance=distance, filter=condition)
        answers = [ask(query) for query in QUERIES] if one_by_one else ask(QUERIES)
        for query, hits in zip(QUERIES, answers, strict=True):
            assert pairs(hits) == everything(index, query, case.k, distance, condition)
            for module, name in FEW:
                patch.setattr(module, name, 1 << 40)
            assert pairs(hits) == pairs(ask(query))
            for module, name in FEW:
                patch.setattr(module, name, 0)


@pytest.mark.parametrize("distance", OWN_WORDS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_shared_words_may_weigh_and_have_no_vector(
    tmp_path_factory: pytest.TempPathFactory, distance: str, case: Case
) -> None:
    """The first of all documents are those that are found when only some are asked for, bit by bit."""
    names = WORDS[:45] + UNKNOWN
    with case.played(tmp_path_factory, names, distance=distance, **case.weighing) as (
        index,
        docs,
        allowed,
        condition,
        _,
    ):
        if not docs:
            return
        order = {doc.id: number for number, doc in enumerate(docs)}
        for query, row in zip(case.queries, case.rows(index, docs, distance), strict=True):
            hits = index.similar(query, case.k, filter=condition)
            every = index.similar(query, 10_000, filter=condition)
            assert pairs(hits) == pairs(every)[: case.k]
            assert {hit.id for hit in every} == {doc.id for doc in allowed}
            assert [hit.distance for hit in every] == pytest.approx([row[hit.id] for hit in every], abs=1e-6)
            keys = [(hit.distance, order[hit.id]) for hit in every]
            assert keys == sorted(keys)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_centroids_with_weights_equal_brute_force(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    """What the codes rule out is not among the nearest of all documents, bit by bit."""
    names = WORDS[:45] + UNKNOWN
    with case.played(tmp_path_factory, names, distance="wcd", **case.weighing) as (
        index,
        docs,
        allowed,
        condition,
        patch,
    ):
        if not docs:
            return
        for query, row in zip(case.queries, case.rows(index, docs, "wcd"), strict=True):
            patch.setattr(centroids, "FEW", 0)
            hits = index.similar(query, case.k, filter=condition)
            patch.setattr(centroids, "FEW", 1 << 40)
            assert pairs(hits) == pairs(index.similar(query, case.k, filter=condition))
            assert hits.counts["evaluated"] <= hits.counts["pairs"]
            wanted = sorted(((doc.id, row[doc.id]) for doc in allowed), key=lambda pair: pair[1])[: case.k]
            assert [hit.distance for hit in hits] == pytest.approx([d for _, d in wanted], rel=1e-5, abs=1e-6)
            assert_same_where_apart(pairs(hits), wanted)


@pytest.mark.parametrize(("distance", "overlap"), [mode for mode in MODES if mode[0] in COSTLY])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_costly_distances_with_weights_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory, distance: str, overlap: str, case: Case
) -> None:
    """Documents that the lists rule out are not among the nearest of all documents, prepared in memory."""
    names = WORDS[:45] + UNKNOWN
    with case.played(tmp_path_factory, names, overlap=overlap, **case.weighing) as (index, docs, _, condition, patch):
        patch.setattr(shortlist, "_SHARE", case.seed // 2 % 2 * 1_000_000)  # in one of two, too few are ruled out
        patch.setattr(shortlist, "_FIRST", 1)
        patch.setattr(shortlist, "_WHOLE", 0)
        known = {word for doc in docs for word in str(doc.text).split() if word in WORDS}
        for query in case.queries if docs else []:
            patch.setattr(shortlist, "_LEAST", 1 << 40)
            wanted = index.similar(query, case.k, distance=distance, filter=condition)
            patch.setattr(shortlist, "_LEAST", 0)
            hits = index.similar(query, case.k, distance=distance, filter=condition)
            assert pairs(hits) == pairs(wanted)
            if len(known) > 4:
                assert "evaluated" in hits.counts  # fewer words than are related to each have no c_max


@pytest.mark.parametrize("options", [PLAIN, *({"weights": name, "unknown": "match"} for name in WEIGHTS[1:])])
@pytest.mark.parametrize("distance", OWN_WORDS)
def test_most_documents_are_not_looked_at(make: Callable[..., Index], distance: str, options: dict[str, str]) -> None:
    rng = np.random.default_rng(4)
    index = make(**options)
    index.add([words(rng, 12, WORDS) for _ in range(2000)])
    hits = index.similar("w01 w02 w03 w03", 5, distance=distance)
    holding = sum(len({"w01", "w02", "w03"} & set(str(doc.text).split())) for doc in index)
    assert hits.counts["pairs"] == 2000
    assert hits.counts["postings"] == holding
    assert 5 <= hits.counts["evaluated"] < 200


@pytest.mark.parametrize("weights", WEIGHTS)
def test_most_centroids_are_not_looked_at(make: Callable[..., Index], weights: str) -> None:
    """Documents that share no word without a vector with the query are ruled out by how many such words they have."""
    rng = np.random.default_rng(4)
    index = make(weights=weights, unknown="match")
    index.add([words(rng, 12, WORDS + UNKNOWN) for _ in range(3000)])
    hits = index.similar("w01 w02 w03 w03 x01 new", 5, distance="wcd")
    assert hits.counts["pairs"] == 3000
    assert 5 <= hits.counts["evaluated"] < 500


def test_documents_that_share_nothing_are_taken_in_their_order(make: Callable[..., Index]) -> None:
    """However many there are, no more of them are compared than are asked for."""
    index = make()
    index.add(["w10 w11"] * 900 + ["w01 w10"] + ["w12"] * 900)
    for distance in OWN_WORDS:
        hits = index.similar("w01 w02", 4, distance=distance)
        assert [hit.id for hit in hits] == ["doc-901", "doc-1", "doc-2", "doc-3"]
        assert hits.counts["evaluated"] <= 5


def test_a_word_that_hardly_counts_is_not_overlooked(make: Callable[..., Index]) -> None:
    """Its share is lost in a sum over the lists, and yet makes a document nearer by the last bit."""
    index = make()
    index.add(["w02 w03"] * 40 + ["w04"])
    bag = {4: 26, 7: 500_000_000, 8: 499_999_936}
    query = sp.csr_array(([*bag.values()], ([0, 0, 0], [*bag])), shape=(1, len(WORDS)))
    row = wordferry.pairwise(query, [str(doc.text).split() for doc in index], "bow-l1", embeddings=index.embeddings)[0]
    assert row[40] < row[0]
    measure = index.measure("bow-l1")
    with index.backend.state() as (_, snapshot):
        view = index.backend.views.get(snapshot, measure)
        numbers = {row: number for number, row in zip(snapshot.terms.numbers, snapshot.terms.rows, strict=True)}
        asked = QueryWords(
            np.array([numbers.get(word, 100 + word) for word in bag]),
            np.array([*bag]),
            np.array([*bag.values()], dtype=np.float64),
            with_vectors=len(bag),
        )
        near = similar.nearest(view, [asked], Request(measure.distance, measure.overlap, 1, None, 1))
    assert (near.indices[0, 0], near.distances[0, 0]) == (40, row[40])


@pytest.mark.parametrize("distance", DISTANCES)
def test_damaged_bags_are_named(make: Callable[..., Index], distance: str) -> None:
    """A word that has no number is found where documents are summed up, or else where they are compared."""
    index = make()
    index.add(["w01 w02", "w03", "w04 w05 w06 w07 w08"])
    measure = index.measure(distance)
    asked = QueryWords(np.array([2]), np.array([3]), np.ones(1), with_vectors=1)
    with index.backend.state() as (_, snapshot):
        part = snapshot.parts[0]
        wrong = replace(part.rows.bags, words=np.where(part.rows.bags.words == 1, 999, part.rows.bags.words))
        damaged = replace(snapshot, parts=(part._replace(rows=replace(part.rows, bags=wrong)),))
        request = Request(measure.distance, measure.overlap, 3, None, 1)
        with pytest.raises(FormatError, match=r"damaged: .* compact --rebuild"):
            similar.nearest(index.backend.views.get(damaged, measure), [asked], request)
