"""Word Mover's Distance: the cheapest transport of one document onto the other, on true distances or related words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.base.runtime import Report, no_progress, run_jobs
from wordferry.compare import on_device
from wordferry.compare.bags import Bags
from wordferry.compare.distances.centroid import CentroidDistance
from wordferry.compare.distances.related import RelatedRelaxed
from wordferry.compare.distances.relaxed import Relaxed
from wordferry.compare.moves import Costs, Plan, Taken
from wordferry.compare.problem import Distance, Effort, Method, MoverDistance, Problem
from wordferry.compare.transport import solve
from wordferry.device.launch import budget, runtime
from wordferry.device.transport import PairRule
from wordferry.errors import SolverError
from wordferry.kernels import passes
from wordferry.kernels.passes import Kind, Rule

_LARGEST_MASS = 2**61
_COST_BYTES = 64 << 20
_ROWS_A_CALL = 512
_PAIRS_A_CALL = 1 << 22
_PAIRS_A_JOB = 4
_ARC = 12.0  # nanoseconds for one pair of words of one problem


@dataclass(frozen=True)
class Block:
    """Some rows of x, ready to be compared with all of y."""

    start: int
    stop: int
    documents: passes.TransportDocuments


class ByPairs(Method):
    """Pair by pair; the costs between the words of a block of x and all words of y are computed once."""

    name = "pairs"
    title = "pair by pair from word-to-word costs"

    def rule(self, problem: Problem) -> Rule:
        """What the kernel computes for a pair. By a metric, common mass stays, whatever the overlap is called."""
        return Rule(Kind.wmd, keep=problem.frame.squared and problem.overlap == "keep")

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        words = problem.x.masses.nnz / max(rows, 1) * problem.y.masses.nnz / max(columns, 1)
        return rows * columns * words * _ARC * (0.5 if problem.symmetric else 1)

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        for block in self.blocks(problem):
            part = out[block.start : block.stop]
            same, threads = problem.symmetric, problem.run.threads
            where = block.documents.all_pairs(same, block.start if same else 0, part, threads)
            if where[0] >= 0:
                raise unsolved(problem, block, where)
            if problem.symmetric:
                out[block.stop :, block.start : block.stop] = part[:, block.stop :].T
                square = part[:, block.start : block.stop]
                low = np.tril_indices(len(square), -1)
                square[low] = square.T[low]
            report(block.stop, problem.shape[0])

    def blocks(self, problem: Problem, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """The rows ``start`` to ``stop`` of x in blocks, the distances of whose words to all of y's are computed once.

        The costs of related words are the frame's; without related words they are the distances of the vectors.
        """
        x, y = whole_bags(problem.x, problem.y)
        others = problem.y.counted_view if y is problem.y.counted else problem.y.scaled_view
        x, frame = x.rows(start, x.shape[0] if stop is None else stop), problem.frame
        if frame.graph is not None and problem.distance.needs_related:
            for low in range(0, x.shape[0], _ROWS_A_CALL):
                high = min(low + _ROWS_A_CALL, x.shape[0])
                some, keep = passes.whole_view(x.rows(low, high)), problem.overlap == "keep"
                documents = passes.TransportDocuments(some, others, frame.view, frame.c_max, keep)
                yield Block(start + low, start + high, documents)
            return
        for low, high in _query_ranges(x, len(problem.y.words)):
            part = x.rows(low, high)
            costs = *_costs(problem, np.unique(part.indices)), self.rule(problem), frame.unknown is not None
            yield Block(start + low, start + high, passes.TransportDocuments(passes.whole_view(part), others, *costs))


class CudaPairs(ByPairs):
    """One warp of a GPU for each pair; what it does not prove is solved on the CPU."""

    name = "cuda pairs"
    title = "pair by pair from word-to-word costs, on a GPU"
    device = True

    def applies(self, problem: Problem) -> bool:
        # The CPU lets common mass of words without a vector stay in any case.
        return problem.frame.unknown is None or not self.device_rule(problem).keep

    def device_rule(self, problem: Problem) -> PairRule:
        """What the device computes for a pair."""
        return PairRule(keep=problem.frame.squared and problem.overlap == "keep")

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        for rows, (i, j), values in pair_blocks(problem, upper=problem.symmetric):
            if problem.symmetric:
                out[i, j] = out[j, i] = values
                diagonal = np.arange(rows.start, rows.stop)
                out[diagonal, diagonal] = 0
            else:
                out[rows] = values.reshape(rows.stop - rows.start, problem.shape[1])
            report(rows.stop, problem.shape[0])


def pair_blocks(
    problem: Problem, *, upper: bool = False
) -> Iterator[tuple[slice, tuple[Int64Array, Int64Array], Float32Array]]:
    """All pairs of some rows of x: the rows, those of x and of y of each pair, and the distances.

    With ``upper`` only pairs whose row of y is behind that of x.
    """
    device, width = runtime(), problem.shape[1]
    xp, step = device.xp, max(1, _PAIRS_A_CALL // max(width, 1))
    for start, stop, solver in solvers(problem):
        some = problem.part(slice(start, stop), slice(0, width))
        for low in range(start, stop, step):
            high = min(low + step, stop)
            i = xp.repeat(xp.arange(low - start, high - start, dtype=np.int32), width)
            j = xp.tile(xp.arange(width, dtype=np.int32), high - low)
            if upper:
                behind = xp.flatnonzero(j > i + start)
                i, j = i[behind], j[behind]
            values = solve_pairs(some, solver, i, j)[0]
            yield slice(low, high), (device.get(i) + start, device.get(j)), values


@dataclass(frozen=True, eq=False)
class PairsPass:
    """Values of all pairs, solved pair by pair, as rows of the device; they have the bits of the CPU."""

    problem: Problem
    error: float = 0.0
    error_per_word: float = 0.0

    def blocks(self, room: int) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, columns and values of blocks; tables of costs take what ``memory=`` allows."""
        width = self.problem.shape[1]
        for rows, _, values in pair_blocks(self.problem):
            yield rows, slice(0, width), runtime().put(values.reshape(rows.stop - rows.start, width))

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """None: there is nothing to refine."""


def solvers(problem: Problem) -> Iterator[tuple[int, int, on_device.PairSolver]]:
    """Rows of x in parts whose costs fit on the device, and a solver for each."""
    room = budget(problem.run.memory)
    waiting = [(0, problem.shape[0])]
    while waiting:
        start, stop = waiting.pop()
        part = problem.part(slice(start, stop), slice(0, problem.shape[1]))
        if stop - start > 1 and on_device.table_bytes(part) > room // 2:
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        elif stop > start:
            rule = next(method for method in part.methods if isinstance(method, CudaPairs)).device_rule(part)
            yield start, stop, on_device.PairSolver(part, whole_bags(part.x, part.y), rule)


def solve_pairs(
    problem: Problem, solver: on_device.PairSolver, i: Any, j: Any, limits: Float32Array | None = None
) -> tuple[Float32Array, int]:
    """Distances of pairs of rows (arrays of the device, or NumPy's), and how many of them the CPU has solved.

    Distances that bounds show to be above the limit of their row of x may be infinite.
    """
    device, none = runtime(), np.zeros(0, dtype=np.int64)
    i, j = device.put(i), device.put(j)
    cells = solver.cells(i, j)

    def pairs(some: Int64Array) -> Any:
        """Some of the pairs on the host; this waits for the device."""
        return device.get(device.xp.stack([i[some], j[some]])) if len(some) else np.zeros((2, 0), dtype=np.int64)

    far = none if limits is None else solver.too_far(i, j, cells, limits)
    if len(far):
        cells[device.put(far)] = 0
    early = solver.left_to_cpu(cells, problem.run.threads)
    if len(early):
        cells[device.put(early)] = 0
    meanwhile = pairs(early)
    ended = solver.solve(i, j, cells, limits)
    by_cpu = _solve_on_cpu(problem, *meanwhile)
    values, late = ended()
    values[far], values[early] = np.inf, by_cpu
    values[late] = _solve_on_cpu(problem, *pairs(late))
    return values, len(early) + len(late)


def _solve_on_cpu(problem: Problem, rows: Int64Array, columns: Int64Array) -> Float32Array:
    """Distances of pairs, a few of one row of x at a time by one thread; the longest rows come first."""
    values = np.empty(len(rows), dtype=np.float32)
    alone, method = problem.running(device="cpu", threads=1, progress=None), cpu_method(problem)

    def solve_some(some: Int64Array) -> float:
        row = int(rows[some[0]])
        one = replace(alone, x=problem.x.slice(row, row + 1), y=problem.y.take(columns[some]))
        found = np.empty(one.shape, dtype=np.float32)
        method.run(one, found, Report(None, 1))
        values[some] = found[0]
        return float(len(some))

    if len(rows):
        order = np.lexsort((rows, -np.diff(problem.x.masses.indptr)[rows]))
        same = np.split(order, 1 + np.flatnonzero(np.diff(rows[order])))
        jobs = [some[low : low + _PAIRS_A_JOB] for some in same for low in range(0, len(some), _PAIRS_A_JOB)]
        run_jobs(jobs, solve_some, problem.run.threads, no_progress)
    return values


def cpu_method(problem: Problem) -> ByPairs:
    """How the CPU compares documents pair by pair."""
    return next(one for one in problem.distance.methods if isinstance(one, ByPairs) and not one.device)


def _costs(problem: Problem, words: Any) -> tuple[Float32Array, Int32Array, Int32Array]:
    """Costs of some words of x (rows) to all words of y (columns), and the row and the column of each word.

    All words without a vector have one row and one column in common, behind the others: they cost c_max onto every
    other word, and what such a word has in common with itself stays where it is before anything moves.
    """
    frame, other = problem.frame, problem.y.ordered
    targets, squares = problem.y.ordered_vectors(frame)
    known = words if frame.unknown is None else words[~frame.unknown[words]]
    row_of = np.full(len(frame.words), len(known), np.int32)
    row_of[known] = np.arange(len(known), dtype=np.int32)
    apart = int(frame.unknown is not None)
    costs, some = np.empty((len(known) + apart, len(targets) + apart), np.float32), frame.vectors_of(known)
    part = costs[: len(known), : len(targets)]
    passes.word_distances(some, passes.squares(some), targets, squares, part, problem.run.threads)
    frame.price(part)
    if apart:
        costs[-1], costs[:, -1] = frame.far, frame.far
    return costs, row_of, np.minimum(other.local, len(targets)) if apart else other.local


def whole_bags(x: Bags, y: Bags) -> tuple[Csr, Csr]:
    """Both sides with whole weights: the counts where there are counts that multiply without overflow."""
    if x.counted is not None and y.counted is not None and x.largest_sum * y.largest_sum < _LARGEST_MASS:
        return x.counted, y.counted
    return x.scaled, y.scaled


def _query_ranges(x: Csr, targets: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose words' distances to ``targets`` words fit in a fixed amount of memory."""
    room = max(1, _COST_BYTES // (4 * max(targets, 1)))
    if x.shape[0] <= _ROWS_A_CALL and x.nnz <= room:
        if x.shape[0]:
            yield 0, x.shape[0]
        return
    seen = np.full(x.shape[1], -1, np.int64)
    start = used = 0
    for row in range(x.shape[0]):
        indices = x.row(row)[0]
        fresh = int((seen[indices] != start).sum())
        if row > start and (used + fresh > room or row - start == _ROWS_A_CALL):
            yield start, row
            start, used = row, 0
            fresh = len(indices)
        seen[indices] = start
        used += fresh
    if start < x.shape[0]:
        yield start, x.shape[0]


def unsolved(problem: Problem, block: Block, where: tuple[int, int]) -> SolverError:
    """The error for a pair whose costs have no optimum."""
    return SolverError(
        f"Documents {int(problem.x.rows[block.start + where[0]])} and {int(problem.y.rows[where[1]])} have word "
        "distances that are NaN or infinite. Vectors must be of moderate size: pass normalize=True to Embeddings."
    )


def _solved(supply: Any, demand: Any, costs: Float64Array) -> Plan:
    """A plan of our own solver, in the units of the supply: whole masses where they fit, else floats that it scales."""
    kind = np.int64 if supply.sum() < _LARGEST_MASS else np.float64
    plan = solve(supply.astype(kind), demand.astype(kind), costs).plan
    return plan.sources, plan.sinks, plan.masses


_EFFORT = Effort(8.0, pair=20.0)


@cache
def _relaxed(cost: str) -> Relaxed:
    return Relaxed(cost=cost)


@dataclass(frozen=True, repr=False)
class WordMoverTransport(MoverDistance):
    """Word Mover's Distance. True distances are a metric, so the three overlaps are equal; cosine costs are none."""

    family: str = "wmd"
    title: str = "Word Mover's Distance"
    overlaps: tuple[str, ...] = ("residual", "keep", "omr")
    methods: tuple[Method, ...] = (ByPairs(), CudaPairs())
    transport: bool = True
    costly: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_overlaps(*(("residual", "keep", "omr") if self.metric else ("keep", "residual")))

    def bounds(self, overlap: str, unknown: bool = False) -> tuple[tuple[Distance, str], ...]:
        # Words without a vector lie in no space with the others, so that their centroid bounds nothing.
        relaxed = (_relaxed(self.cost), "omr" if self.metric or overlap != "keep" else "keep")
        return (relaxed,) if unknown else (relaxed, (CentroidDistance(cost=self.cost), "keep"))

    def single(self, vectors: Float32Array, x: dict[int, int], y: dict[int, int]) -> float | None:
        if not self.metric:
            return None
        value = float(np.float32(passes.transport_pair(vectors, x, y)))
        return None if np.isnan(value) else value

    def moves(self, problem: Problem) -> Taken:
        """The optimal plan. Masses are whole numbers until the end, so that nothing is lost by rounding."""
        (x_words, x_mass), (y_words, y_mass) = (bags.row(0) for bags in whole_bags(problem.x, problem.y))
        sums = int(x_mass.sum()), int(y_mass.sum())
        kind = np.int64 if math.prod(sums) < _LARGEST_MASS else object
        x, y = x_mass.astype(kind) * sums[1], y_mass.astype(kind) * sums[0]
        costs = Costs(problem.frame)
        taken = costs.cheapest((x_words.astype(np.int64), x), (y_words.astype(np.int64), y), problem.overlap, _solved)
        return costs.priced(replace(taken, masses=(taken.masses / math.prod(sums)).astype(np.float64)))


@dataclass(frozen=True, repr=False)
class RelatedTransport(WordMoverTransport):
    """wmd with the costs of related words, which are not a metric: "keep" and "residual" differ."""

    family: str = "rel-wmd"
    title: str = "Related Word Mover's Distance"
    needs_related: bool = True
    overlaps: tuple[str, ...] = ("residual", "keep")
    effort: Effort = _EFFORT

    def __post_init__(self) -> None:
        MoverDistance.__post_init__(self)

    def bounds(self, overlap: str, unknown: bool = False) -> tuple[tuple[Distance, str], ...]:
        return ((RelatedRelaxed(cost=self.cost), "keep" if overlap == "keep" else "omr"),)

    def least_moves(self, problem: Problem) -> Float64Array | None:
        return RelatedRelaxed().least_moves(problem)

    def single(self, vectors: Float32Array, x: dict[int, int], y: dict[int, int]) -> float | None:
        return None


@dataclass(frozen=True, repr=False)
class WordRotator(WordMoverTransport):
    """Word Rotator's Distance (Yokoi et al. 2020): wmd with cosine costs, a word weighing the length of its vector."""

    family: str = "wrd"
    title: str = "Word Rotator's Distance"
    own_weights: str = "norm"
    cost: str = "cosine"

    def __post_init__(self) -> None:
        self._set_overlaps("keep")
