"""Two documents have one distance, to the last bit: whatever computes it, and whatever else is compared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from wordferry.compare import measure
from wordferry.compare import problem as plan
from wordferry.compare.distances import find_distance, relaxed
from wordferry.compare.problem import Method, MethodPlan, Problem, make_plan
from wordferry.kernels import passes

VECTORS = np.random.default_rng(3).normal(size=(70, 9)).astype(np.float32)
WORDS = [f"w{i:02d}" for i in range(len(VECTORS))]
EMBEDDINGS = wordferry.Embeddings(WORDS, VECTORS)
RELATED = wordferry.RelatedWords.build(EMBEDDINGS, 8)
NEVER_SEEN = [f"x{i}" for i in range(6)]
DOCUMENT = st.lists(st.sampled_from(WORDS + NEVER_SEEN), min_size=1, max_size=30)


@pytest.mark.parametrize("distance", ["rwmd", "rel-rwmd"])
@settings(max_examples=100, deadline=None)
@given(
    first=st.lists(DOCUMENT, min_size=1, max_size=20),
    second=st.lists(DOCUMENT, min_size=1, max_size=20),
    overlap=st.sampled_from(["omr", "keep", "residual"]),
    side=st.sampled_from(["both", "left", "right"]),
    weighed=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_every_way_comes_to_the_same_bits(
    distance: str, first: list[list[str]], second: list[list[str]], overlap: str, side: str, weighed: bool, seed: int
) -> None:
    """Both algorithms, in blocks of any size, prepared or not, one by one, in any order, and turned around."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 3, len(WORDS)) if weighed else "counts"
    options = {"embeddings": EMBEDDINGS, "overlap": overlap, "side": side, "weights": weights}
    if distance == "rel-rwmd":
        options["related"] = RELATED
    whole = wordferry.pairwise(first, second, distance, algorithm="standard", **options)
    for method in methods(distance, overlap):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan, "make_plan", partial(by_method, method))
            patch.setattr(measure, "make_plan", partial(by_method, method))
            np.testing.assert_array_equal(wordferry.pairwise(first, second, distance, **options), whole)
    if overlap != "residual":
        np.testing.assert_array_equal(wordferry.pairwise(first, second, distance, algorithm="linear", **options), whole)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(relaxed, "COLUMNS", 16)
            patch.setattr(relaxed, "NEAREST_PART", 1 << 30)
            blocks = wordferry.pairwise(first, second, distance, algorithm="linear", threads=2, **options)
            np.testing.assert_array_equal(blocks, whole)
    turned = {"both": "both", "left": "right", "right": "left"}[side]
    back = wordferry.pairwise(second, first, distance, **{**options, "side": turned})
    np.testing.assert_array_equal(back.T, whole)
    order = rng.permutation(len(second))
    some = order[: rng.integers(1, len(second) + 1)]
    searcher = wordferry.Searcher([second[i] for i in some], distance, **options)
    for row, document in enumerate(first):
        near = searcher.top_k([document], len(some))
        found = np.empty(len(some), dtype=np.float32)
        found[near.indices[0]] = near.distances[0]
        np.testing.assert_array_equal(found, whole[row, some])
    one = wordferry.distance(first[0], second[0], distance, **options)
    assert np.float32(one) == whole[0, 0]


def methods(distance: str, overlap: str) -> list[Method]:
    every = [method for method in find_distance(distance).methods if not method.device]
    return [method for method in every if overlap != "residual" or method.algorithm == "standard"]


def by_method(method: Method, problem: Problem, algorithm: str = "auto") -> MethodPlan:
    return replace(make_plan(problem, algorithm), method=method.name, chosen=method, swapped=False)


def test_distances_of_words_do_not_depend_on_each_other() -> None:
    """Any part of a table has the bits of the whole; equal vectors are at 0, and near ones keep their digits."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(101, 33)).astype(np.float32)
    b = rng.normal(size=(48, 33)).astype(np.float32)
    b[7], b[20] = a[50], a[51] + np.float32(1e-4)
    whole = table(a, b, threads=2)
    true = np.linalg.norm(a[:, None].astype(np.float64) - b[None], axis=2)
    np.testing.assert_allclose(whole, true, rtol=2e-6)
    assert whole[50, 7] == 0
    for rows, columns in ((slice(3, 4), slice(16, 32)), (slice(40, 59), slice(0, 32)), (slice(96, 101), slice(32, 48))):
        np.testing.assert_array_equal(table(a[rows], b[columns]), whole[rows, columns])
    np.testing.assert_array_equal(table(b[:16], np.ascontiguousarray(a[:96])), whole[:96, :16].T)


def table(a: np.ndarray, b: np.ndarray, threads: int = 1) -> np.ndarray:
    out = np.empty((len(a), len(b)), dtype=np.float32)
    passes.word_distances(a, passes.squares(a), b, passes.squares(b), out, threads)
    return out
