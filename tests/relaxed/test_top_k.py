"""top_k and Searcher against the whole matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.relaxed.cases import Corpus, matrix, random_corpus
from tests.relaxed.neighbours import assert_same_neighbours
from wordferry import Embeddings, RelatedWords, Searcher, pairwise, top_k
from wordferry.compare.nearest import nearest
from wordferry.errors import InputError
from wordferry.kernels import reference
from wordferry.kernels.passes import Nearest

FAST = ["cosine", "bow-l1", "tfidf-l1", "tfidf-cosine", "wcd", "rwmd", "rel-rwmd"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=5, documents=50)


@pytest.mark.parametrize("distance", FAST)
@pytest.mark.parametrize("k", [1, 7, 60])
def test_top_k_is_the_sorted_matrix(corpus: Corpus, distance: str, k: int) -> None:
    values = pairwise(corpus.x, corpus.y, distance, **corpus.options)
    found = top_k(corpus.x, corpus.y, k, distance, **corpus.options)
    assert found.indices.shape == (corpus.x.shape[0], min(k, corpus.y.shape[0]))
    assert_same_neighbours(found, values, min(k, corpus.y.shape[0]))


@pytest.mark.parametrize("distance", ["rwmd", "rel-rwmd"])
@pytest.mark.parametrize("options", [{"overlap": "keep"}, {"overlap": "residual"}, {"side": "left"}, {"side": "right"}])
def test_options_reach_top_k(corpus: Corpus, distance: str, options: dict[str, str]) -> None:
    values = pairwise(corpus.x, corpus.y, distance, **options, **corpus.options)
    found = top_k(corpus.x, corpus.y, 5, distance, **options, **corpus.options)
    assert_same_neighbours(found, values, 5)


def test_equal_documents_come_in_order(corpus: Corpus) -> None:
    """Copies of one document are at bitwise the same distance, so the smaller index wins."""
    Y = matrix([corpus.second[0]] * 40, len(corpus.embeddings))
    for distance in FAST:
        found = top_k(corpus.x, Y, 10, distance, **corpus.options)
        assert (found.indices == np.arange(10)).all(), distance


def test_blocks_change_nothing(corpus: Corpus) -> None:
    """A megabyte of memory cuts the job into blocks."""
    X = matrix(corpus.first * 12, len(corpus.embeddings))
    Y = matrix(corpus.second * 12, len(corpus.embeddings))
    for distance in ("rel-rwmd", "rwmd", "cosine"):
        values = pairwise(X, Y, distance, **corpus.options)
        parts = top_k(X, Y, 9, distance, memory=1 << 20, **corpus.options)
        assert_same_neighbours(parts, values, 9, tolerance=1e-6)
        if distance != "rwmd":  # whose distances of words come from products of other shapes, block by block
            np.testing.assert_array_equal(parts.indices, top_k(X, Y, 9, distance, **corpus.options).indices)


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_mask(corpus: Corpus, share: float) -> None:
    mask = np.random.default_rng(0).random(len(corpus.second)) < share
    values = pairwise(corpus.x, corpus.y, "rel-rwmd", **corpus.options)[:, mask]
    for found in (
        top_k(corpus.x, corpus.y, 4, "rel-rwmd", mask=mask, **corpus.options),
        Searcher(corpus.y, "rel-rwmd", **corpus.options).top_k(corpus.x, 4, mask=mask),
    ):
        numbers = np.cumsum(mask) - 1
        assert mask[found.indices].all()
        assert_same_neighbours(replace(found, indices=numbers[found.indices]), values, 4)


def test_a_mask_that_allows_nothing(corpus: Corpus) -> None:
    mask = np.zeros(len(corpus.second), dtype=bool)
    found = top_k(corpus.x, corpus.y, 2, "rel-rwmd", mask=mask, **corpus.options)
    assert (found.indices == -1).all()
    assert np.isinf(found.distances).all()


def test_dropped_documents_keep_the_numbers_of_the_others(corpus: Corpus) -> None:
    Y = matrix([{}, *corpus.second[:3], {}, *corpus.second[3:]], len(corpus.embeddings))
    found = top_k(corpus.x, Y, 5, "rel-rwmd", on_empty="drop", **corpus.options)
    values = pairwise(corpus.x, Y, "rel-rwmd", on_empty="keep", **corpus.options)
    assert np.isfinite(found.distances).all()
    np.testing.assert_allclose(np.take_along_axis(values, found.indices, axis=1), found.distances, atol=1e-6)


def test_kept_empty_documents_come_last(corpus: Corpus) -> None:
    Y = matrix([{}, *corpus.second[:2]], len(corpus.embeddings))
    found = top_k(corpus.x, Y, 4, "rel-rwmd", on_empty="keep", **corpus.options)
    assert found.indices.shape[1] == 3
    assert (found.indices[:, 2] == 0).all()
    assert np.isinf(found.distances[:, 2]).all()
    dropped = top_k(corpus.x, Y, 4, "rel-rwmd", on_empty="drop", **corpus.options)
    assert dropped.indices.shape[1] == 3
    assert (dropped.indices[:, 2] == -1).all()


@pytest.mark.parametrize("distance", FAST)
def test_searcher_is_top_k(corpus: Corpus, distance: str) -> None:
    searcher = Searcher(corpus.y, distance, **corpus.options)
    values = pairwise(corpus.x, corpus.y, distance, **corpus.options)
    assert_same_neighbours(searcher.top_k(corpus.x, 6), values, 6)
    assert_same_neighbours(searcher.top_k(corpus.x[:1], 6), values[:1], 6)
    assert len(searcher) == len(corpus.second)


def test_query_words_outside_the_related_words() -> None:
    """New words join without changing anything, and as they would in one call with the same related words."""
    rng = np.random.default_rng(1)
    embeddings = Embeddings([f"w{i}" for i in range(300)], rng.normal(size=(300, 8)))
    related = RelatedWords.build(embeddings.restrict(np.arange(200)), 5)

    def documents(count: int, low: int, high: int) -> list[list[str]]:
        return [[f"w{i}" for i in rng.integers(low, high, size=9)] for _ in range(count)]

    for Y in (documents(40, 0, 150), documents(40, 100, 250)):
        X = documents(6, 0, 300)
        searcher = Searcher(Y, embeddings=embeddings, related=related)
        values = pairwise(X, Y, embeddings=embeddings, related=related)
        assert_same_neighbours(searcher.top_k(X, 5), values, 5)
        assert_same_neighbours(searcher.top_k(X[:1], 5), values[:1], 5)


def test_words_outside_the_related_words_are_related_to_each_other() -> None:
    """Against the reference, where most words of both sides are outside."""
    rng = np.random.default_rng(4)
    embeddings = Embeddings([f"w{i}" for i in range(40)], rng.normal(size=(40, 4)))
    related = RelatedWords.build(embeddings.restrict(np.arange(12)), 3)
    graph, c_max = reference.related_words(embeddings.matrix, 3, range(12, 40))
    cost = reference.related_cost(graph, c_max)
    bags = [{int(word): 1 / 5 for word in rng.choice(40, 5, replace=False)} for _ in range(30)]
    texts = [[f"w{word}" for word in bag] for bag in bags]
    expected = [[reference.rwmd(x, y, cost) for y in bags[8:]] for x in bags[:8]]
    values = pairwise(texts[:8], texts[8:], embeddings=embeddings, related=related)
    np.testing.assert_allclose(values, expected, atol=1e-5)
    found = Searcher(texts[8:], embeddings=embeddings, related=related).top_k(texts[:8], 22)
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1), atol=1e-5)


def test_searcher_takes_the_related_words_of_the_vocabulary() -> None:
    rng = np.random.default_rng(2)
    embeddings = Embeddings([f"w{i}" for i in range(100)], rng.normal(size=(100, 6)))
    Y = [[f"w{i}" for i in rng.integers(0, 60, size=8)] for _ in range(30)]
    searcher = Searcher(Y, embeddings=embeddings)
    assert searcher.related is not None
    assert searcher.related.vocabulary == embeddings.vocabulary
    found = searcher.top_k([Y[3], ["w99", "w98"]], 3)
    assert found.indices[0, 0] == 3
    assert found.distances[0, 0] == 0


def test_collections_without_a_word(corpus: Corpus) -> None:
    empty = matrix([{}, {}], len(corpus.embeddings))
    searcher = Searcher(empty, "rel-rwmd", embeddings=corpus.embeddings, on_empty="keep")
    found = searcher.top_k(corpus.x[:2], 3)
    assert found.indices.tolist() == [[0, 1]] * 2
    assert np.isinf(found.distances).all()
    nothing = Searcher(empty, "rel-rwmd", embeddings=corpus.embeddings, on_empty="drop").top_k(corpus.x[:2], 1)
    assert nothing.indices.tolist() == [[-1], [-1]]
    assert top_k(corpus.x[:2], empty[:0], 3, "cosine").indices.shape == (2, 0)


def test_wrong_arguments(corpus: Corpus) -> None:
    for k in (0, -1, 2.5, True, "3"):
        with pytest.raises(InputError, match="k must be"):
            top_k(corpus.x, corpus.y, k, **corpus.options)
    for mask in (np.ones(3, dtype=bool), np.ones(len(corpus.second)), [True]):
        with pytest.raises(InputError, match="mask must be"):
            top_k(corpus.x, corpus.y, 1, mask=mask, **corpus.options)
    with pytest.raises(InputError, match="memory must be"):
        top_k(corpus.x, corpus.y, 1, memory=5, **corpus.options)
    with pytest.raises(InputError, match="columns"):
        Searcher(corpus.y, "cosine").top_k(corpus.x[:, :5], 1)


def test_progress_reaches_the_end(corpus: Corpus) -> None:
    seen: list[tuple[int, int]] = []
    top_k(corpus.x, corpus.y, 2, progress=lambda done, total: seen.append((done, total)), **corpus.options)
    assert seen[-1] == (corpus.x.shape[0] * corpus.y.shape[0],) * 2
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_nearest_takes_a_prepared_problem(corpus: Corpus) -> None:
    searcher = Searcher(corpus.y, **corpus.options)
    problem = searcher.problem(corpus.x)
    np.testing.assert_array_equal(nearest(problem, 3).indices, searcher.top_k(corpus.x, 3).indices)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=5), st.integers(1, 12))
@settings(max_examples=60)
def test_heaps_are_a_stable_sort(blocks: list[list[int]], k: int) -> None:
    """Values that come in blocks, with many ties."""
    heaps = Nearest(2, k)
    first = 0
    for block in blocks:
        values = np.array([block, block[::-1]], dtype=np.float32)
        heaps.offer(0, values, first, None, 2)
        first += len(block)
    indices, distances = heaps.finish(1)
    for row, order in enumerate((lambda b: b, lambda b: b[::-1])):
        everything = np.array([value for block in blocks for value in order(block)], dtype=np.float32)
        expected = np.argsort(everything, kind="stable")[:k]
        assert indices[row, : len(expected)].tolist() == expected.tolist()
        assert distances[row, : len(expected)].tolist() == everything[expected].tolist()
        assert (indices[row, len(expected) :] == -1).all()
