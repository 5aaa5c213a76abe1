"""What the exact distances promise, on documents that hypothesis makes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import wordferry
from tests.transport.helpers import random_embeddings
from wordferry.kernels import reference
from wordferry.words.related.graph import RelatedWords

WORDS = 24
EMBEDDINGS = random_embeddings(WORDS, 5, seed=3, duplicates=True)
RELATED = RelatedWords.build(EMBEDDINGS, 3)
OPTIONS = {"embeddings": EMBEDDINGS, "related": RELATED, "threads": 1}
SLACK = 1e-5

bags = st.dictionaries(st.integers(0, WORDS - 1), st.integers(1, 6), min_size=1, max_size=9)
CASES = [("wmd", "residual"), ("wmd", "keep"), ("rel-wmd", "residual"), ("rel-wmd", "keep"), ("act", "residual")]


def matrix(*documents):
    dense = np.zeros((len(documents), WORDS), np.int64)
    for row, document in enumerate(documents):
        for word, count in document.items():
            dense[row, word] = count
    return sp.csr_array(dense)


def value(x, y, name, overlap):
    return wordferry.distance(matrix(x), matrix(y), name, overlap=overlap, **OPTIONS)


@pytest.mark.parametrize(("name", "overlap"), CASES)
@given(x=bags, y=bags, times=st.integers(2, 5))
def test_symmetric_and_blind_to_scale(name, overlap, x, y, times):
    there = value(x, y, name, overlap)
    assert value(y, x, name, overlap) == there
    assert value({word: times * count for word, count in x.items()}, y, name, overlap) == pytest.approx(there, abs=1e-7)
    assert value(x, {word: times * count for word, count in x.items()}, name, overlap) == 0


@given(x=bags, y=bags)
def test_equals_the_reference(x, y):
    a, b = ({w: c / sum(bag.values()) for w, c in bag.items()} for bag in (x, y))
    euclidean = reference.euclidean_cost(EMBEDDINGS.matrix)
    graph = RELATED.graph
    lookup = {
        i: dict(zip(graph.indices[p:q].tolist(), graph.data[p:q].tolist(), strict=True))
        for i, (p, q) in enumerate(zip(graph.indptr[:-1], graph.indptr[1:], strict=True))
    }
    related = reference.related_cost(lookup, RELATED.c_max)
    assert value(x, y, "wmd", "keep") == pytest.approx(reference.wmd(a, b, euclidean), abs=1e-6)
    for overlap in ("keep", "residual"):
        expected = reference.wmd(a, b, related, overlap)
        assert value(x, y, "rel-wmd", overlap) == pytest.approx(expected, abs=1e-6)


@given(x=bags, y=bags)
def test_bounds(x, y):
    wmd = value(x, y, "wmd", None)
    assert value(x, y, "wcd", None) <= wmd + SLACK
    chain = [("rwmd", "keep"), ("rwmd", "omr"), ("act", "omr"), ("act", "residual"), ("wmd", "residual")]
    values = [value(x, y, name, overlap) for name, overlap in chain]
    assert all(low <= high + SLACK for low, high in pairwise(values))
    assert value(x, y, "rel-rwmd", "keep") <= value(x, y, "rel-wmd", "keep") + SLACK
    assert value(x, y, "rel-wmd", "keep") <= value(x, y, "rel-wmd", "residual") + SLACK
    assert value(x, y, "rel-rwmd", "residual") <= value(x, y, "rel-wmd", "residual") + SLACK


@given(x=bags, y=bags, z=bags)
def test_wmd_obeys_the_triangle_inequality(x, y, z):
    assert value(x, z, "wmd", None) <= value(x, y, "wmd", None) + value(y, z, "wmd", None) + SLACK


@given(x=bags, y=bags, seed=st.integers(0, 1000))
def test_the_order_of_words_does_not_matter(x, y, seed):
    order = np.random.default_rng(seed).permutation(WORDS)
    shuffled = EMBEDDINGS.restrict(order)
    expected = value(x, y, "wmd", None)
    X, Y = matrix(x)[:, order], matrix(y)[:, order]
    assert wordferry.distance(X, Y, "wmd", embeddings=shuffled, threads=1) == pytest.approx(expected, abs=1e-6)


@given(x=bags, y=bags)
def test_all_words_related_is_wmd(x, y):
    """With r of at least the number of words there is no unrelated pair."""
    everything = RelatedWords.build(EMBEDDINGS, WORDS)
    for overlap in ("keep", "residual"):
        found = wordferry.distance(
            matrix(x), matrix(y), "rel-wmd", embeddings=EMBEDDINGS, related=everything, overlap=overlap
        )
        assert found == pytest.approx(value(x, y, "wmd", None), abs=1e-6)
