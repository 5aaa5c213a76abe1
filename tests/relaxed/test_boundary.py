"""The native boundary: whatever arrays come, an error or an answer, never a crash."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry import Embeddings, _native, pairwise
from wordferry.errors import InputError
from wordferry.kernels import passes
from wordferry.kernels.passes import Overlap, PanelKind, Side

MESS = st.integers(-3, 12)


def good(rows: int = 3, words: int = 4) -> _native.Csr:
    indptr = np.arange(rows + 1, dtype=np.int64)
    indices = (np.arange(rows) % words).astype(np.int32)
    return _native.Csr(indptr, indices, np.ones(rows, dtype=np.float32), words)


@given(st.lists(MESS, max_size=8), st.lists(MESS, max_size=8), st.integers(0, 9), st.integers(-1, 9))
@settings(max_examples=200)
def test_any_csr_is_safe(indptr: list[int], indices: list[int], values: int, columns: int) -> None:
    """Either refused, or so sound that a kernel can run over it."""
    try:
        view = _native.Csr(
            np.array(indptr, dtype=np.int64),
            np.array(indices, dtype=np.int32),
            np.ones(values, dtype=np.float32),
            columns,
        )
    except ValueError:
        return
    rows = len(indptr) - 1
    assert len(indices) == values
    assert all(0 <= i < columns for i in indices)
    assert all(a <= b for a, b in itertools.pairwise(indptr))
    out = np.zeros((rows, rows), dtype=np.float32)
    passes.panel_sums(view, view, passes.empty_graph(columns), 1.0, PanelKind.keep, out)
    passes.related_pairs(view, view, passes.empty_graph(columns), 1.0, Overlap.residual, Side.both, out, 1, None)


@pytest.mark.parametrize(
    "arrays",
    [
        (np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32)),
        (np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)),
        (np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float64)),
        (np.zeros(4, np.int64)[::2], np.zeros(0, np.int32), np.zeros(0, np.float32)),
        (np.zeros((2, 2), np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)),
        (None, np.zeros(0, np.int32), np.zeros(0, np.float32)),
    ],
)
def test_other_types_are_refused(arrays: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        _native.Csr(*arrays, 4)


def f32(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.float32)


def i32(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.int32)


GRAPH = passes.empty_graph(4)
WRONG = {
    "out too small": lambda: passes.panel_sums(good(), good(), GRAPH, 1, PanelKind.omr, f32(3, 2)),
    "out of doubles": lambda: passes.panel_sums(good(), good(), GRAPH, 1, PanelKind.omr, np.zeros((3, 3))),
    "out by columns": lambda: passes.panel_sums(good(), good(), GRAPH, 1, PanelKind.omr, f32(3, 3).T),
    "other words": lambda: passes.panel_sums(good(words=5), good(), GRAPH, 1, PanelKind.omr, f32(3, 3)),
    "graph too small": lambda: passes.panel_sums(good(), good(), passes.empty_graph(3), 1, PanelKind.omr, f32(3, 3)),
    "lower of no square": lambda: passes.panel_sums(good(2), good(), GRAPH, 1, PanelKind.omr, f32(3, 2), lower=True),
    "no such kind": lambda: _native.panel_sums(good(), good(), GRAPH, 1.0, 7, f32(3, 3), False, False, False, 1, None),
    "no square": lambda: passes.make_symmetric(f32(2, 3), 1),
    "no transpose": lambda: passes.transposed_max(f32(2, 3), f32(2, 3), 1),
    "dimensions": lambda: passes.word_distances(f32(2, 3), f32(2), f32(16, 4), f32(16), f32(2, 16), 1),
    "squares": lambda: passes.word_distances(f32(2, 3), f32(1), f32(16, 3), f32(16), f32(2, 16), 1),
    "distances": lambda: passes.word_distances(f32(2, 3), f32(2), f32(16, 3), f32(16), f32(2, 15), 1),
    "minima width": lambda: passes.document_minima(good(), passes.aligned(4, 8), passes.aligned(1, 16, 16), 0, 1),
    "minima rows": lambda: passes.document_minima(good(), passes.aligned(3, 16), passes.aligned(1, 16, 16), 0, 1),
    "minima column": lambda: passes.document_minima(good(), passes.aligned(4, 16), passes.aligned(1, 16, 16), 1, 1),
    "minima panels": lambda: passes.document_minima(good(17), passes.aligned(4, 16), passes.aligned(1, 16, 16), 0, 1),
    "minima unaligned": lambda: passes.document_minima(
        good(), passes.aligned(5 * 16)[4:68].reshape(4, 16), passes.aligned(1, 16, 16), 0, 1
    ),
    "lowered rows": lambda: passes.lower_minima(good(), 0, passes.aligned(17, 16), passes.aligned(1, 16, 16), 1),
    "lowered panels": lambda: passes.lower_minima(good(17), 0, passes.aligned(4, 16), passes.aligned(1, 16, 16), 1),
    "lowered from a word below 0": lambda: passes.lower_minima(
        good(), -1, passes.aligned(4, 16), passes.aligned(1, 16, 16), 1
    ),
    "words that do not rise": lambda: passes.accumulate(
        _native.Csr(np.array([0, 2]), np.array([2, 1], np.int32), f32(2), 4),
        good(),
        passes.aligned(1, 16, 16),
        0,
        True,
        False,
        f32(1, 3),
        1,
    ),
    "a block before the first word": lambda: passes.accumulate(
        good(), good(), passes.aligned(1, 16, 16), -1, True, False, f32(3, 3), 1
    ),
    "pairs of other words": lambda: passes.related_pairs(
        good(words=5), good(), GRAPH, 1, Overlap.omr, Side.both, f32(3, 3), 1, None
    ),
    "more than one x": lambda: passes.dense_pairs(
        good(), good(), passes.aligned(4, 16), i32(3), 1, 4, 1.0, Overlap.omr, Side.both, f32(3, 3), 1
    ),
    "own too short": lambda: passes.dense_pairs(
        good(1), good(), passes.aligned(4, 16), i32(0), 1, 4, 1.0, Overlap.omr, Side.both, f32(1, 3), 1
    ),
    "costs too small": lambda: passes.dense_pairs(
        good(1), good(), passes.aligned(3, 16), i32(1), 1, 4, 1.0, Overlap.omr, Side.both, f32(1, 3), 1
    ),
    "more known words than x has": lambda: passes.dense_pairs(
        good(1), good(), passes.aligned(4, 16), i32(1), 2, 4, 1.0, Overlap.omr, Side.both, f32(1, 3), 1
    ),
    "more known words than y has": lambda: passes.dense_pairs(
        good(1), good(), passes.aligned(9, 16), i32(1), 1, 9, 1.0, Overlap.omr, Side.both, f32(1, 3), 1
    ),
    "no k": lambda: _native.Nearest(2, 0),
    "values of other rows": lambda: _native.Nearest(2, 3).offer(0, f32(3, 4), 0, None, 1),
    "rows past the end": lambda: _native.Nearest(2, 3).offer(1, f32(2, 4), 0, None, 1),
    "allowed too short": lambda: _native.Nearest(2, 3).offer(0, f32(2, 4), 0, np.ones(3, dtype=np.uint8), 1),
}


@pytest.mark.parametrize("case", WRONG)
def test_arrays_that_do_not_fit_are_refused(case: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        WRONG[case]()


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=16, max_size=16),
)
@settings(max_examples=100)
def test_any_weights_give_an_error_or_distances(rows: int, words: int, weights: list[float]) -> None:
    """NaN, infinite and negative weights are refused; huge and tiny ones give finite distances."""
    embeddings = Embeddings([f"w{i}" for i in range(words)], np.eye(words, max(words, 2)))
    X = np.array(weights[: rows * words], dtype=np.float32).reshape(rows, words)
    try:
        out = pairwise(X, None, "rel-rwmd", embeddings=embeddings, on_empty="drop")
    except InputError:
        assert not np.isfinite(X).all() or (X < 0).any()
        return
    assert np.isfinite(out).all()
    assert (np.diag(out) == 0).all()
