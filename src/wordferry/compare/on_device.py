"""Problems on a GPU: what is kept there beside bags and frames, values of all pairs, and nearest documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from wordferry.base.arrays import BoolArray, Csr, Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import Report
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.compare.problem import Method, Problem
from wordferry.device import best, panels, transport, vectors
from wordferry.device.launch import runtime, within_memory
from wordferry.kernels import passes
from wordferry.kernels.lists import COSINE_LOST

_Made = TypeVar("_Made")
_SPARE = (44, 200)
"""Places of lists beyond the one behind k: what is not listed must be farther by the error of the longest document.
Rows for which that is not enough get longer lists."""
_COST_ERROR = 2.0**-23
"""How far distances of words from matrix products may be from those of the CPU, relative to the largest."""
_PROOF = 2.0**-23
"""A distance of transport may be above the optimum by this share of itself at most: the rounding of float32."""


def kept(owner: Bags | Frame, name: str, make: Callable[[], _Made]) -> _Made:
    """What ``make`` gives the first time, kept with bags or with a frame for as long as they live."""
    found = owner.__dict__.setdefault("_on_device", {})
    device = runtime()
    if name not in found or found[name][0] is not device:
        found[name] = device, make()
    made: _Made = found[name][1]
    return made


def side_of(bags: Bags) -> panels.PanelSide:
    """The masses of documents on the device."""
    return kept(bags, "masses", lambda: panels.PanelSide.of(bags.masses))


def ends_of(bags: Bags) -> Any:
    """Where each document begins, and the last ends."""
    return kept(bags, "ends", lambda: runtime().put(bags.masses.indptr.astype(np.int64)))


def moving_of(bags: Bags, size: int) -> panels.MovingPanel:
    """Documents as what moves: rows of tables for the words that stand in them."""
    return kept(bags, f"moving {size}", lambda: panels.MovingPanel(side_of(bags), bags.words, size))


def unit_of(bags: Bags, size: int) -> panels.MovingPanel:
    """Documents scaled to Euclidean length 1, as what moves."""
    return kept(bags, f"unit {size}", lambda: panels.MovingPanel(panels.PanelSide.of(bags.unit), bags.words, size))


def rising_of(bags: Bags) -> panels.PanelSide:
    """Documents scaled to Euclidean length 1, words in rising order in each."""
    return kept(bags, "rising", lambda: panels.PanelSide.of(bags.rising_unit))


def ordered_of(bags: Bags, size: int) -> panels.MovingPanel:
    """Documents as what moves, words with a vector first."""
    return kept(bags, f"ordered {size}", lambda: panels.MovingPanel(side_of(bags), bags.ordered.words, size))


def vector_pass(problem: Problem) -> vectors.VectorPass:
    """The pass of rwmd: costs are distances of all words of one side to all of the other."""
    frame, size = problem.frame, len(problem.frame.words)
    words = {side_of(bags): _words(bags, frame) for bags in (problem.x, problem.y)}
    scale = frame.largest_cost
    far = 0.0 if frame.unknown is None else frame.far
    error = (_COST_ERROR if frame.unknown is None else 4 * _COST_ERROR) * scale
    costs = vectors.VectorCosts(words, max(scale, far), far, problem.overlap == "keep", error)
    return vectors.VectorPass(ordered_of(problem.x, size), ordered_of(problem.y, size), costs, problem.side)


def _words(bags: Bags, frame: Frame) -> vectors.DeviceWords:
    def make() -> vectors.DeviceWords:
        ordered, some = bags.ordered, vectors.Vectors.of(*bags.ordered_vectors(frame))
        return vectors.DeviceWords.of(some, ordered.words, ordered.bags, len(frame.words))

    return kept(bags, "words", make)


def centroid_pass(problem: Problem) -> vectors.CentroidPass:
    """The pass of wcd."""
    return vectors.CentroidPass.of(problem.x.centroids(problem.frame), problem.y.centroids(problem.frame))


def cosine_pass(problem: Problem) -> panels.CosinePass:
    """The pass of cosine."""
    x, y, size = problem.x, problem.y, len(problem.frame.words)
    products = panels.Pass(unit_of(x, size), unit_of(y, size), panels.PanelProducts(), "left")
    return panels.CosinePass(products, (rising_of(x), rising_of(y)), COSINE_LOST)


@dataclass(frozen=True, eq=False)
class SumPass:
    """Shares of other passes, added block by block in the order of the CPU."""

    parts: list[tuple[panels.RelatedPass | vectors.VectorPass | panels.CosinePass, float]]

    @property
    def error(self) -> float:
        """How far a value may be from that of the CPU,"""
        rounded = len(self.parts) * _PROOF  # shares and sums of what differs are rounded on both
        return sum(share * (part.error + rounded * part.scale) for part, share in self.parts)

    @property
    def error_per_word(self) -> float:
        """and how much more for each word of the longer document, relative to the value: no part is larger."""
        return max(part.error_per_word for part, _ in self.parts)

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """The values of the CPU of some pairs; None where a part has none."""
        total = None
        for part, share in self.parts:
            values = part.of_pairs(rows, columns)
            if values is None:
                return None
            values *= np.float32(share)
            total = values if total is None else total + values
        return total

    def blocks(self, room: int) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, columns and values of blocks that need about ``room`` bytes."""
        room //= len(self.parts) + 1
        step = min(part.block_rows(room) for part, _ in self.parts)
        for blocks in zip(*(part.blocks(room, step) for part, _ in self.parts), strict=True):
            (rows, columns, values), *others = blocks
            values *= np.float32(self.parts[0][1])
            for (_, _, more), (_, share) in zip(others, self.parts[1:], strict=True):
                values += np.float32(share) * more
            yield rows, columns, values


def related_pass(problem: Problem) -> panels.RelatedPass:
    """The pass of rel-rwmd."""
    words = len(problem.frame.words)
    costs = related_costs(problem.frame, problem.overlap == "keep")
    return panels.RelatedPass(moving_of(problem.x, words), moving_of(problem.y, words), costs, problem.side)


def related_costs(frame: Frame, keep: bool) -> panels.RelatedCosts:
    """The graph of a frame on the device."""
    graph: Csr | None = frame.graph
    assert graph is not None
    return kept(frame, f"graph {keep}", lambda: panels.RelatedCosts.of(graph, frame.c_max, keep))


class DeviceBlocks(Protocol):
    """Values of all pairs on the device, block by block."""

    @property
    def error(self) -> float:
        """How far a value may be from that of the CPU,"""

    @property
    def error_per_word(self) -> float:
        """and how much more for each word of the longer document, relative to the value."""

    def blocks(self, room: int) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, columns and values of blocks that need about ``room`` bytes."""

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """The values of the CPU of some pairs, to the bit; None where the device cannot have them."""


def fill_values(work: DeviceBlocks, problem: Problem, out: Float32Array, report: Report) -> None:
    """All values of a pass, copied from the device block by block."""

    def fill(room: int) -> None:
        done = 0
        for rows, columns, values in work.blocks(room):
            out[rows, columns] = runtime().get(values)
            done += values.size
            report(done, max(out.size, 1))

    within_memory(fill, problem.run.memory)


def largest_values(problems: list[Problem]) -> Any:
    """For each pair the largest value by some distances, an array of the device; what is not finite counts as 0.

    Each has a method that runs there and gives its values block by block.
    """
    xp = runtime().xp
    found = xp.zeros(problems[0].shape, dtype=np.float32)

    def raise_values(work: DeviceBlocks, room: int) -> None:
        for rows, columns, values in work.blocks(room):
            here = found[rows, columns]
            xp.maximum(here, xp.where(values < np.inf, values, np.float32(0)), out=here)

    for problem in problems:
        method = next(method for method in problem.methods if method.device)
        within_memory(partial(raise_values, method.device_pass(problem)), problem.run.memory)
    return found


@dataclass(frozen=True)
class Search:
    """What is searched: the k nearest rows of y, where ``mask`` allows them, to each row of x."""

    problem: Problem
    k: int
    mask: BoolArray | None

    @property
    def allowed(self) -> int:
        """How many rows of y may be found."""
        return self.problem.shape[1] if self.mask is None else int(self.mask.sum())

    def _without_empty(self) -> Search:
        """The search among rows of y that have words: others are infinitely far from all that have some."""
        mask = np.ones(self.problem.shape[1], dtype=bool) if self.mask is None else self.mask.copy()
        mask[self.problem.y.empty] = False
        return replace(self, mask=mask)

    def by(self, passed: Callable[[Problem], DeviceBlocks]) -> tuple[Neighbors, Int64Array] | None:
        """The nearest rows, reduced on the device, and the rows of x in which rounding could have decided.

        Candidates that rounding could have put into another place get the values of the CPU. None where the device
        cannot say: lists that would be too long, or in which documents without words have a place.
        """
        some = self._without_empty() if len(self.problem.y.empty) else self
        if not self.problem.shape[0] or some.allowed < min(self.k, self.allowed):
            return None
        found = some._settled(passed)
        return None if found is None else (found[0], np.union1d(found[1], self.problem.x.empty))

    def _settled(self, passed: Callable[[Problem], DeviceBlocks]) -> tuple[Neighbors, Int64Array] | None:
        """:meth:`by` among documents that have words."""
        found: tuple[Neighbors, Int64Array] | None = None
        for spare in _SPARE:  # longer lists for the rows in which something unlisted could be as near
            places = min(self.k + 1 + spare, self.problem.shape[1])
            if places > best.MOST:
                break
            if found is None:
                found = self._by(passed, places)
            elif len(found[1]):
                some = replace(self, problem=replace(self.problem, x=self.problem.x.take(found[1])))
                lists, unsure = some._by(passed, places)
                found[0].indices[found[1]], found[0].distances[found[1]] = lists.indices, lists.distances
                found = found[0], found[1][unsure]
        return found

    def _by(self, passed: Callable[[Problem], DeviceBlocks], places: int) -> tuple[Neighbors, Int64Array]:
        """:meth:`by` with lists of some places."""
        device, work = runtime(), passed(self.problem)
        lists, unsure = self._candidates(work, places), np.zeros(0, dtype=np.int64)
        if work.error or work.error_per_word:
            marks, outside = self._doubts(work, lists)
            doubtful, marked = marks.any(axis=1), device.xp.flatnonzero(marks)
            if len(marked) and lists.replace(marked, work.of_pairs):
                doubtful &= lists.values(min(self.k, places) - 1) >= outside
            unsure = device.get(device.xp.flatnonzero(doubtful))
        counts = {"pairs": self.problem.shape[0] * self.allowed}
        return replace(Neighbors(*lists.read(self.k)), counts=counts), unsure

    def _doubts(self, work: DeviceBlocks, lists: best.DeviceBest) -> tuple[Any, Any]:
        """Marks of the candidates that could have another place, and for each row what nothing unlisted is below."""
        x, y = ends_of(self.problem.x), ends_of(self.problem.y)
        longest = -1 if self.allowed <= lists.places else int(np.diff(self.problem.y.masses.indptr).max())
        return lists.doubts(self.k, (x, y), longest, (work.error, work.error_per_word))

    def _candidates(self, work: DeviceBlocks, places: int) -> best.DeviceBest:
        rows, columns = self.problem.shape
        report = Report(self.problem.run.progress, rows * columns)
        allowed = best.allowed_bytes(self.mask)

        def search(room: int) -> best.DeviceBest:
            found, done = best.DeviceBest(rows, places), 0
            for some, others, values in work.blocks(room):
                found.offer(some, others, values, None if allowed is None else allowed[others])
                done += values.size
                report(done, rows * columns)
            return found

        return within_memory(search, self.problem.run.memory)


class BlockMethod(Method):
    """A method whose values come from the device block by block; lists of the nearest are reduced there."""

    device = True

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        fill_values(self.device_pass(problem), problem, out, report)

    def nearest(self, problem: Problem, k: int, mask: BoolArray | None) -> tuple[Neighbors, Int64Array] | None:
        return Search(problem, k, mask).by(self.device_pass)


class PairSolver:
    """Pairs of documents on the device, by a rule; what it does not prove is left to the caller."""

    def __init__(self, problem: Problem, whole: tuple[Csr, Csr], rule: transport.PairRule) -> None:
        self.problem, self.rule = problem, rule
        self.x, self.y = (transport.WholeSide.of(bags) for bags in whole)
        self.costs = self._costs()

    def _costs(self) -> transport.TableCosts | panels.RelatedCosts:
        problem, frame = self.problem, self.problem.frame
        if frame.graph is not None and problem.distance.needs_related:
            return related_costs(frame, problem.overlap == "keep")
        device, known = runtime(), [bags.words for bags in (problem.x, problem.y)]
        if frame.unknown is not None:
            known = [words[~frame.unknown[words]] for words in known]
        a, b = (vectors.Vectors.of(some, passes.squares(some)) for some in map(frame.vectors_of, known))
        shape = len(a) + (frame.unknown is not None), len(b) + (frame.unknown is not None)
        table = device.xp.empty((max(shape[0], 1), max(shape[1], 1)), dtype=np.float32)
        a.costs(b, table)
        frame.price(table)
        if frame.unknown is not None:  # one row and one column for all words without a vector
            table[-1, :] = frame.far
            table[:, -1] = frame.far
        places = []
        for words in known:
            place = np.full(len(frame.words), len(words), dtype=np.int32)
            place[words] = np.arange(len(words), dtype=np.int32)
            places.append(device.put(place))
        return transport.TableCosts(table, places[0], places[1], frame.unknown is not None)

    def cells(self, rows: Any, columns: Any) -> Any:
        """How many costs each of some pairs, which are arrays of the device, has."""
        cells = self.x.lengths[rows].astype(np.int64) * self.y.lengths[columns]
        return cells

    def left_to_cpu(self, cells: Any, threads: int) -> Int64Array:
        """Which pairs, given their costs, the CPU computes while the device is busy with the others."""
        if self.rule.kind != transport.EXACT:
            return np.zeros(0, dtype=np.int64)
        return transport.left_to_cpu(cells, threads)

    def too_far(self, rows: Any, columns: Any, cells: Any, limits: Float32Array) -> Int64Array:
        """Which of the large pairs, the only ones that the CPU may be left, are soon proved to be above the limit of
        their row: the CPU would solve them to the end."""
        large = runtime().xp.flatnonzero(cells > transport.LARGE_CELLS)
        if not len(large):
            return np.zeros(0, dtype=np.int64)
        _, left = self.solve(rows[large], columns[large], cells[large], limits, solved=0)()
        return np.delete(runtime().get(large), left)

    def solve(
        self, rows: Any, columns: Any, cells: Any, limits: Float32Array | None = None, solved: int | None = None
    ) -> Callable[[], tuple[Float32Array, Int64Array]]:
        """Begin to solve pairs that have some costs, to the end where they are no more than ``solved``. What comes back
        waits for the distances, infinite where they are above the limit of the row, and says which are not proved."""
        most = None if limits is None else runtime().put(limits)
        found = transport.solve_documents((rows, columns), (self.x, self.y), self.costs, self.rule, cells, most, solved)

        def ended() -> tuple[Float32Array, Int64Array]:
            device = runtime()
            left = device.get(device.xp.flatnonzero(~found.proved(_PROOF) & (cells > 0)))
            return device.get(found.values.astype(np.float32)), left

        return ended


def table_bytes(problem: Problem) -> int:
    """Device memory for the costs between all words of x and all of y; 0 where they are those of related words."""
    related = problem.frame.graph is not None and problem.distance.needs_related
    return 0 if related else 4 * (len(problem.x.words) + 1) * (len(problem.y.words) + 1)
