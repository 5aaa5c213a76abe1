"""Each distance as a list of costs that sum to it: the moves of the reference, with names and kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float64Array
from wordferry.compare.problem import Problem
from wordferry.compare.transport import ACT_TRANSFERS, solve, whole_bags
from wordferry.errors import Unsupported
from wordferry.kernels import native_transport, reference
from wordferry.kernels.reference import Move

Bag = dict[int, float]


@dataclass(frozen=True)
class Row:
    """Mass of one word that went somewhere.

    ``kind`` says how it is priced: "same" (stays, free), "moved" (at the distance of the vectors), "related" (at the
    distance of related words), "c_max" (no related word), or for distances without moves "both", "a" or "b": whose
    word it is.
    """

    source: str | None
    target: str | None
    mass: float
    distance: float
    cost: float
    share: float
    kind: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names people use."""
        return {
            "from": self.source,
            "to": self.target,
            "mass": self.mass,
            "distance": self.distance,
            "cost": self.cost,
            "share": self.share,
            "kind": self.kind,
        }

    @property
    def sort_key(self) -> tuple[str, str]:
        return self.source or "", self.target or ""

    def with_share(self, total: float) -> Row:
        return replace(self, share=self.cost / total if total else 0.0)


@dataclass(frozen=True)
class Taken:
    """A distance taken apart: moves, the kind of each, and the direction they show."""

    moves: list[Move]
    kinds: list[str]
    side: str = "both"

    def rows(self, names: list[str]) -> list[Row]:
        """The moves with words in place of numbers."""
        return [_row(move, kind, names) for move, kind in zip(self.moves, self.kinds, strict=True)]


def _row(move: Move, kind: str, names: list[str]) -> Row:
    source, target = (None if word is None else names[word] for word in (move.source, move.target))
    cost = move.mass * move.distance + 0.0  # no negative zero
    return Row(source, target, abs(move.mass), move.distance, cost, 0.0, kind)


def masses(problem: Problem) -> tuple[Bag, Bag]:
    """The two documents with masses in float64, exact shares of counts where there are counts."""
    return _bag(problem.x, problem.x_counts), _bag(problem.y, problem.y_counts)


def _bag(bags: Csr, counts: Any) -> Bag:
    words, data = bags.row(0)
    values = np.asarray(data if counts is None else counts[: len(words)], dtype=np.float64)
    return dict(zip(words.tolist(), (values / values.sum()).tolist(), strict=True))


class Costs:
    """Costs between the words of two documents, and what kind of cost each is."""

    def __init__(self, problem: Problem, x: Bag, y: Bag) -> None:
        self.c_max = problem.c_max
        self.graph = problem.graph
        self.vectors = None if problem.vectors is None else np.ascontiguousarray(problem.vectors)
        values = self._matrix(list(x), list(y))
        self._table: dict[int, dict[int, float]] = {word: {} for word in (*x, *y)}
        for i, row in zip(x, values.tolist(), strict=True):
            self._table[i].update(zip(y, row, strict=True))
        for j, column in zip(y, values.T.tolist(), strict=True):
            self._table[j].update(zip(x, column, strict=True))

    def __call__(self, i: int, j: int) -> float:
        """The cost of a word of one document and a word of the other."""
        return self._table[i][j]

    def _matrix(self, rows: list[int], columns: list[int]) -> Float64Array:
        """Costs of rows' words to columns' words, 0 for the same word."""
        if self.graph is None:
            assert self.vectors is not None
            costs = native_transport.word_distances(self.vectors[rows], self.vectors[columns], 1).astype(np.float64)
        else:
            costs = np.full((len(rows), len(columns)), self.c_max, dtype=np.float64)
            place = {word: number for number, word in enumerate(columns)}
            for i, word in enumerate(rows):
                for other, value in zip(*(part.tolist() for part in self.graph.row(word)), strict=True):
                    if other in place:
                        costs[i, place[other]] = min(value, self.c_max)
        costs[np.equal.outer(rows, columns)] = 0.0
        return costs

    def kind(self, move: Move) -> str:
        """How a move is priced."""
        if move.source == move.target:
            return "same"
        if self.graph is None:
            return "moved"
        assert move.source is not None
        related = move.target in self.graph.row(move.source)[0] and move.distance <= self.c_max
        return "related" if related else "c_max"


def take_apart(problem: Problem) -> Taken:
    """The moves of any distance."""
    try:
        method = _METHODS[problem.distance.name]
    except KeyError:
        raise Unsupported(f"{problem.distance.name} cannot be explained: its parts are not known.") from None
    return method(problem)


def _transport(problem: Problem) -> Taken:
    """The optimal plan of our solver. Masses are whole numbers until the end, so that nothing is lost by rounding."""
    (x_words, x_mass), (y_words, y_mass) = (bags.row(0) for bags in whole_bags(problem))
    x = dict(zip(x_words.tolist(), (x_mass.astype(object) * int(y_mass.sum())).tolist(), strict=True))
    y = dict(zip(y_words.tolist(), (y_mass.astype(object) * int(x_mass.sum())).tolist(), strict=True))
    costs = Costs(problem, x, y)
    total = sum(x.values())
    moves = reference.wmd_moves(x, y, costs, problem.overlap, _solved)
    shares = [move._replace(mass=move.mass / total) for move in moves]
    return Taken(shares, [costs.kind(move) for move in moves])


def _solved(supply: Sequence[float], demand: Sequence[float], costs: Float64Array) -> reference.Plan:
    """A plan of our own solver, in the units of the supply: whole masses where they fit, else floats that it scales."""
    kind = np.int64 if sum(supply) < 2**61 else np.float64
    left, right = np.array(supply, dtype=kind), np.array(demand, dtype=kind)
    plan = solve(left, right, costs).plan
    return zip(plan.sources.tolist(), plan.sinks.tolist(), plan.masses.tolist(), strict=True)


def _relaxed(problem: Problem) -> Taken:
    x, y = masses(problem)
    costs = Costs(problem, x, y)
    sides = reference.rwmd_moves(x, y, costs, problem.overlap)
    side = reference.chosen_side(sides, problem.side)
    kinds = [costs.kind(move) for move in sides[side]]
    # A word without a related one is as far from every word: it goes to none of them in particular.
    moves = [
        move._replace(target=None) if kind == "c_max" else move for move, kind in zip(sides[side], kinds, strict=True)
    ]
    return Taken(moves, kinds, side)


def _act(problem: Problem) -> Taken:
    x, y = masses(problem)
    costs = Costs(problem, x, y)
    sides = reference.act_moves(x, y, costs, problem.overlap, ACT_TRANSFERS)
    side = reference.chosen_side(sides, problem.side)
    return Taken(sides[side], [costs.kind(move) for move in sides[side]], side)


def _centroids(problem: Problem) -> Taken:
    assert problem.vectors is not None
    return _by_word(reference.wcd_moves(*masses(problem), problem.vectors))


def _cosine(problem: Problem) -> Taken:
    return _by_word(reference.cosine_moves(*masses(problem)))


def _l1(problem: Problem) -> Taken:
    return _by_word(reference.l1_moves(*masses(problem)))


def _by_word(moves: list[Move]) -> Taken:
    """What each word adds, by whose word it is."""
    kinds = ["a" if move.target is None else "b" if move.source is None else "both" for move in moves]
    return Taken(moves, kinds)


_METHODS: dict[str, Callable[[Problem], Taken]] = {
    "wmd": _transport,
    "rel-wmd": _transport,
    "rwmd": _relaxed,
    "rel-rwmd": _relaxed,
    "act": _act,
    "wcd": _centroids,
    "cosine": _cosine,
    "tfidf-cosine": _cosine,
    "bow-l1": _l1,
    "tfidf-l1": _l1,
}
