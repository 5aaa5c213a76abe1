"""Values of a prepared problem by the method of its plan, in blocks where memory asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array
from wordferry.base.runtime import Report, blas_threads
from wordferry.compare import dense
from wordferry.compare.plan import Plan, make_plan
from wordferry.compare.problem import Problem
from wordferry.kernels import passes

MEMORY = 256 << 20
"""Default of ``memory=``: bytes to work in beside the inputs and the output."""
_LOST = 1e-3  # cosine distances below this have lost digits to 1 - product
_NEAR = 1e-9  # below this share of the squared lengths, a squared distance is computed from the difference
_OTHER_SIDE = {"both": "both", "left": "right", "right": "left"}


def fill(problem: Problem, out: Float32Array, plan: Plan | None = None, memory: int = MEMORY) -> Float32Array:
    """Write all distances of the problem to ``out``."""
    plan = plan or make_plan(problem)
    report = Report(problem.progress, problem.shape[0] * problem.shape[1])
    if out.size:
        if plan.swapped:
            turned = np.empty(problem.shape[::-1], dtype=np.float32)
            _METHODS[plan.method](transposed(problem), turned, memory, report)
            out[...] = turned.T
        else:
            _METHODS[plan.method](problem, out, memory, report)
        settle_empty(problem, out)
    report(1.0)
    return out


def transposed(problem: Problem) -> Problem:
    """The same problem with X and Y in each other's place."""
    return replace(
        problem,
        x=problem.y,
        y=problem.x,
        x_counts=problem.y_counts,
        y_counts=problem.x_counts,
        x_rows=problem.y_rows,
        y_rows=problem.x_rows,
        side=_OTHER_SIDE[problem.side],
    )


def part(problem: Problem, rows: slice, columns: slice) -> Problem:
    """The problem of some rows of x and some of y."""
    x, y = problem.x.rows(rows.start, rows.stop), problem.y.rows(columns.start, columns.stop)
    return replace(
        problem,
        x=x,
        y=y,
        x_counts=_entries(problem.x, problem.x_counts, rows),
        y_counts=_entries(problem.y, problem.y_counts, columns),
        x_rows=problem.x_rows[rows],
        y_rows=problem.y_rows[columns],
        symmetric=False,
        progress=None,
    )


def _entries(side: Csr, counts: np.ndarray | None, rows: slice) -> np.ndarray | None:
    return None if counts is None else counts[side.indptr[rows.start] : side.indptr[rows.stop]]


def tiles(problem: Problem, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of at most rows x columns pairs, row blocks outside."""
    for i in range(0, problem.shape[0], rows):
        for j in range(0, problem.shape[1], columns):
            yield slice(i, min(i + rows, problem.shape[0])), slice(j, min(j + columns, problem.shape[1]))


def settle_empty(problem: Problem, out: Float32Array) -> None:
    """An empty document is at distance inf from every other and 0 from another empty one."""
    x_empty = np.flatnonzero(np.diff(problem.x.indptr) == 0)
    y_empty = np.flatnonzero(np.diff(problem.y.indptr) == 0)
    out[x_empty, :] = np.inf
    out[:, y_empty] = np.inf
    out[np.ix_(x_empty, y_empty)] = 0.0


def _panels(problem: Problem, out: Float32Array, memory: int, report: Report) -> None:
    match problem.distance.name:
        case "rel-rwmd":
            _related_panels(problem, out, report)
        case "cosine" | "tfidf-cosine":
            _cosine(problem, out, report)
        case _:
            _l1(problem, out, report)


def _graph(problem: Problem) -> passes.View:
    assert problem.graph is not None
    return passes.view(problem.graph)


def _related_panels(problem: Problem, out: Float32Array, report: Report) -> None:
    """Rel-RWMD, equation (12): both terms by panels; of X with itself, one term is the other transposed."""
    graph, c_max, kind, threads = _graph(problem), problem.c_max, problem.overlap, problem.threads
    x = passes.view(problem.x)
    if problem.symmetric:
        right = problem.side == "right"
        passes.panel_sums(x, x, graph, c_max, kind, out, transposed=right, threads=threads, progress=report)
        if problem.side == "both":
            passes.make_symmetric(out, threads)
        return
    y = passes.view(problem.y)
    both = problem.side == "both"
    first, second = (report.part(0.0, 0.5), report.part(0.5, 1.0)) if both else (report, report)
    if problem.side != "right":
        passes.panel_sums(y, x, graph, c_max, kind, out, threads=threads, progress=first)
    if problem.side != "left":
        passes.panel_sums(
            x, y, graph, c_max, kind, out, transposed=True, combine=both, threads=threads, progress=second
        )


def _l1(problem: Problem, out: Float32Array, report: Report) -> None:
    """sum |x - y| = 2 sum max(x - y, 0), because both sum to 1: OMR with every cost 1."""
    x, y, graph = passes.view(problem.x), passes.view(problem.y), passes.empty_graph(problem.x.shape[1])
    symmetric, threads = problem.symmetric, problem.threads
    passes.panel_sums(y, x, graph, 1.0, "omr", out, lower=symmetric, threads=threads, progress=report)
    if symmetric:
        passes.make_symmetric(out, threads, from_lower=True)
    out *= 2


def _cosine(problem: Problem, out: Float32Array, report: Report) -> None:
    first, second = _unit_rows(problem.x), _unit_rows(problem.y)
    x, y, graph = passes.view(first), passes.view(second), passes.empty_graph(0)
    symmetric, threads = problem.symmetric, problem.threads
    passes.panel_sums(y, x, graph, 0.0, "product", out, lower=symmetric, threads=threads, progress=report)
    if symmetric:
        passes.make_symmetric(out, threads, from_lower=True)
    np.subtract(1, out, out=out)
    passes.refine_cosine(x, y, _LOST, out, threads)


def _unit_rows(bags: Csr) -> Csr:
    """Rows scaled to Euclidean length 1."""
    rows = np.repeat(np.arange(bags.shape[0]), np.diff(bags.indptr))
    values = bags.data.astype(np.float64)
    lengths = np.sqrt(np.bincount(rows, weights=values * values, minlength=bags.shape[0]))
    return replace(bags, data=(values / lengths[rows]).astype(np.float32))


def _scan(problem: Problem, out: Float32Array, memory: int, report: Report) -> None:
    _pairs(problem, out, report, scan=True)


def _lists(problem: Problem, out: Float32Array, memory: int, report: Report) -> None:
    _pairs(problem, out, report, scan=False)


def _pairs(problem: Problem, out: Float32Array, report: Report, *, scan: bool) -> None:
    passes.related_pairs(
        passes.view(problem.x),
        passes.view(problem.y),
        _graph(problem),
        problem.c_max,
        problem.overlap,
        problem.side,
        out,
        scan=scan,
        threads=problem.threads,
        progress=report,
    )


def _rows(problem: Problem, out: Float32Array, memory: int, report: Report) -> None:
    assert problem.vectors is not None
    x, y, vectors = problem.x, problem.y, problem.vectors
    dense.standard(x, y, vectors, problem.overlap, problem.side, out, problem.threads, report)


def _blocks(problem: Problem, out: Float32Array, memory: int, report: Report) -> None:
    """RWMD, equation (5), from distances of the whole vocabulary; the second term needs room of its own."""
    assert problem.vectors is not None
    x, y, vectors, threads = problem.x, problem.y, problem.vectors, problem.threads
    omr = problem.overlap == "omr"
    if problem.symmetric or problem.side == "left":
        dense.linear(x, y, vectors, omr, out, threads, report)
        if problem.symmetric and problem.side == "right":
            out[...] = out.T.copy()
        elif problem.symmetric and problem.side == "both":
            passes.make_symmetric(out, threads)
        return
    columns = max(256, memory // (4 * max(x.shape[0], 1)))
    parts = list(tiles(problem, x.shape[0], columns))
    for number, (_, span) in enumerate(parts):
        tick = report.part(number / len(parts), (number + 1) / len(parts))
        some = y.rows(span.start, span.stop)
        right = np.empty((some.shape[0], x.shape[0]), dtype=np.float32)
        dense.linear(some, x, vectors, omr, right, threads, tick.part(0.0, 0.5))
        if problem.side == "right":
            out[:, span] = right.T
            continue
        dense.linear(x, some, vectors, omr, out[:, span], threads, tick.part(0.5, 1.0))
        passes.transposed_max(out[:, span], right, threads)


def _products(problem: Problem, out: Float32Array, memory: int, report: Report) -> None:
    """Word centroid distance: the distance of the mean vectors, in float64 because centroids lie close together."""
    assert problem.vectors is not None
    a = _centroids(problem.x, problem.vectors)
    b = a if problem.symmetric else _centroids(problem.y, problem.vectors)
    b_squares = np.einsum("ij,ij->i", b, b)
    step = max(16, (8 << 20) // (8 * max(problem.shape[1], 1)))
    with blas_threads(problem.threads):
        for i in range(0, problem.shape[0], step):
            rows = slice(i, min(i + step, problem.shape[0]))
            both = np.einsum("ij,ij->i", a[rows], a[rows])[:, None] + b_squares
            squared = both - 2 * (a[rows] @ b.T)
            near = np.nonzero(squared < _NEAR * both)
            for some in np.array_split(np.arange(len(near[0])), len(near[0]) // 4096 + 1):
                p, q = near[0][some], near[1][some]
                squared[p, q] = ((a[i + p] - b[q]) ** 2).sum(axis=1)
            out[rows] = np.sqrt(squared)
            report(rows.stop, problem.shape[0])
    if problem.symmetric:
        passes.make_symmetric(out, problem.threads, from_lower=True)


def _centroids(bags: Csr, vectors: Float32Array) -> Float64Array:
    import scipy.sparse as sp

    matrix = sp.csr_array((bags.data.astype(np.float64), bags.indices, bags.indptr), shape=bags.shape)
    return np.ascontiguousarray(matrix @ vectors)


_METHODS = {
    "panels": _panels,
    "scan": _scan,
    "lists": _lists,
    "blocks": _blocks,
    "rows": _rows,
    "products": _products,
}
