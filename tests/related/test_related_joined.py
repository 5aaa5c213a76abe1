"""A few new words joined to many: the same lists and graph as if all had been there from the start, bit by bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry import Embeddings, RelatedWords
from wordferry.base.runtime import Cancel, cancellable
from wordferry.errors import Cancelled
from wordferry.words.related import graph as graphs
from wordferry.words.related.build import Work, extend_lists
from wordferry.words.related.joined import MOST

WORK = Work.checked(256 << 20, 2, None)


def words(n: int) -> list[str]:
    return [f"w{i}" for i in range(n)]


def no_products(*_: Any) -> Any:
    raise AssertionError("all lists were made anew")


def part(embeddings: Embeddings, order: Any, count: int, r: int) -> RelatedWords:
    return RelatedWords.build(embeddings.restrict(order[:count]), r, "exact")


def grown(start: RelatedWords, embeddings: Embeddings, order: Any, count: int, work: Work = WORK) -> RelatedWords:
    """As an index does it: the vectors are rows of a larger matrix."""
    some = embeddings.restrict(order[:count])
    return start.extended_among(embeddings.matrix, order[:count], some.vocabulary, work, some.fingerprint)


def check_equal(found: RelatedWords, wanted: RelatedWords) -> None:
    """The rows of the graph are looked at first: they are there before it is put together."""
    graph: Any = wanted.graph
    degrees, indices, data = found.links.rows(np.arange(len(wanted), dtype=np.int32))
    assert degrees == np.diff(graph.indptr).tolist()
    assert np.array_equal(indices, graph.indices)
    assert np.array_equal(data, graph.data)
    assert np.array_equal(found.reach, wanted.own_distances[:, -1])
    assert found.c_max == pytest.approx(wanted.c_max, rel=1e-7, nan_ok=True)
    assert np.array_equal(found.own, wanted.own)
    assert np.array_equal(found.own_distances, wanted.own_distances)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(found.graph, name), getattr(graph, name))
    assert found.record == wanted.record
    assert found.fingerprint == wanted.fingerprint


@given(st.data())
def test_in_steps_on_a_grid(data: st.DataObject) -> None:
    """Many equal distances and equal vectors; words in any order, a few at a time."""
    count, dimensions = data.draw(st.integers(4, 60)), data.draw(st.integers(1, 3))
    seed, r = data.draw(st.integers(0, 2**32)), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(seed)
    embeddings = Embeddings(words(count), rng.integers(-2, 3, (count, dimensions)) * 1.0, normalize=False)
    order = rng.permutation(count)
    steps = sorted(data.draw(st.sets(st.integers(2, count), min_size=1, max_size=4)))
    related = part(embeddings, order, steps[0], r)
    for step in steps[1:]:
        related = grown(related, embeddings, order, step)
    check_equal(related, part(embeddings, order, steps[-1], r))


@pytest.mark.parametrize("new", [1, 15, 16, 17, 200, MOST])
def test_many_words(new: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(new)
    embeddings = Embeddings(words(2600), rng.standard_normal((2600, 20)))
    order = rng.permutation(2600)[: 1900 + new]
    start, wanted = part(embeddings, order, 1900, 16), part(embeddings, order, 1900 + new, 16)
    monkeypatch.setattr(graphs, "extend_lists", no_products)
    check_equal(grown(start, embeddings, order, 1900 + new), wanted)


def test_the_same_sums_as_by_products_of_matrices() -> None:
    rng = np.random.default_rng(4)
    embeddings = Embeddings(words(1300), rng.standard_normal((1300, 50)))
    start = part(embeddings, np.arange(1300), 1200, 16)
    found, (wanted, _) = start.extend(embeddings), extend_lists(embeddings.matrix, start.lists, start.record, WORK)
    assert np.array_equal(found.own, wanted.own)
    assert found.lists.total == pytest.approx(wanted.total, rel=1e-10)
    assert found.lists.rank_sums == pytest.approx(wanted.rank_sums, rel=1e-8)


def test_near_duplicates_are_ordered_by_true_distance() -> None:
    """Distances of 1e-4 between unit vectors vanish in |x|^2 + |y|^2 - 2xy as float32 gives it."""
    rng = np.random.default_rng(5)
    away = rng.standard_normal((700, 300)) * rng.choice([1e-6, 1e-5, 1e-4], size=(700, 1)) / 17
    embeddings = Embeddings(words(700), rng.standard_normal((1, 300)) / 17 + away)
    order = rng.permutation(700)
    check_equal(grown(part(embeddings, order, 600, 8), embeddings, order, 700), part(embeddings, order, 700, 8))


def test_words_that_come_ever_nearer() -> None:
    """So many candidates that are all nearer than those before that they have to be sorted out again and again."""
    line = np.linspace(50, 1, 900)[:, None] * np.ones((1, 3))
    embeddings = Embeddings(words(903), np.concatenate([line, np.eye(3)]), normalize=False)
    order = np.arange(903)
    check_equal(grown(part(embeddings, order, 900, 5), embeddings, order, 903), part(embeddings, order, 903, 5))


def test_the_answer_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(6)
    embeddings = Embeddings(words(3000), rng.standard_normal((3000, 12)))
    start, order = part(embeddings, np.arange(3000), 2900, 9), np.arange(3000)
    one, *others = (
        grown(start, embeddings, order, 3000, Work.checked(256 << 20, threads, None)) for threads in (1, 2, 5)
    )
    for other in others:
        assert np.array_equal(other.own, one.own)
        assert (other.c_max, other.lists.total) == (one.c_max, one.lists.total)


def test_two_go_on_from_the_same_words() -> None:
    """Each has its own words behind them; what the other one writes is not seen."""
    rng = np.random.default_rng(7)
    embeddings = Embeddings(words(400), rng.standard_normal((400, 6)))
    first = np.arange(400)
    second = np.concatenate([first[:330], first[:329:-1]])
    start = grown(part(embeddings, first, 300, 4), embeddings, first, 330)
    one, other = grown(start, embeddings, first, 360), grown(start, embeddings, second, 380)
    again = grown(one, embeddings, first, 390)
    check_equal(other, part(embeddings, second, 380, 4))
    check_equal(one, part(embeddings, first, 360, 4))
    check_equal(again, part(embeddings, first, 390, 4))
    check_equal(start, part(embeddings, first, 330, 4))


def test_there_is_no_room_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.words.related.joined._ROOM", 1)
    rng = np.random.default_rng(8)
    embeddings, order = Embeddings(words(300), rng.standard_normal((300, 6))), np.arange(300)
    related = part(embeddings, order, 20, 4)
    for count in range(40, 301, 20):
        related = grown(related, embeddings, order, count)
    check_equal(related, part(embeddings, order, 300, 4))


@pytest.mark.parametrize("scale", [1e-17, 1e17])
def test_vectors_out_of_the_range_of_squares(scale: float) -> None:
    rng = np.random.default_rng(9)
    embeddings = Embeddings(words(120), rng.standard_normal((120, 6)) * scale, normalize=False)
    order = rng.permutation(120)
    check_equal(grown(part(embeddings, order, 100, 5), embeddings, order, 120), part(embeddings, order, 120, 5))


def test_saved_and_pickled_and_extended_after_that(tmp_path: Any) -> None:
    rng = np.random.default_rng(10)
    embeddings, order = Embeddings(words(500), rng.standard_normal((500, 6))), rng.permutation(500)
    joined = grown(part(embeddings, order, 450, 7), embeddings, order, 470)
    wanted = part(embeddings, order, 470, 7)
    check_equal(pickle.loads(pickle.dumps(joined)), wanted)
    joined.save(tmp_path / "related")
    loaded = RelatedWords.load(tmp_path / "related")
    check_equal(loaded, wanted)
    check_equal(joined.restrict(3), wanted.restrict(3))
    for start in (joined, loaded, joined.restrict(7)):
        check_equal(grown(start, embeddings, order, 500), part(embeddings, order, 500, 7))


def test_cancelled_on_the_way_and_asked_again() -> None:
    rng = np.random.default_rng(11)
    embeddings, order = Embeddings(words(900), rng.standard_normal((900, 6))), np.arange(900)
    start, cancel, told = part(embeddings, order, 850, 7), Cancel(), []
    cancel.cancel()
    with cancellable(cancel), pytest.raises(Cancelled):
        grown(start, embeddings, order, 900)
    work = Work.checked(256 << 20, 1, lambda done, total: told.append((done, total)))
    check_equal(grown(start, embeddings, order, 900, work), part(embeddings, order, 900, 7))
    assert told[-1] == (1, 1)
