"""Each distance as a list of costs that sum to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float64Array
from wordferry.compare.problem import Problem
from wordferry.compare.transport import ACT_TRANSFERS, solve, whole_bags
from wordferry.errors import Unsupported
from wordferry.kernels import native_transport

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
class Move:
    """A row before words have names; -1 is no word."""

    source: int
    target: int
    mass: float
    distance: float
    kind: str
    cost: float | None = None

    def named(self, names: list[str]) -> Row:
        cost = (self.mass * self.distance if self.cost is None else self.cost) + 0.0  # no negative zero
        words = [names[word] if word >= 0 else None for word in (self.source, self.target)]
        return Row(words[0], words[1], self.mass, self.distance, cost, 0.0, self.kind)


@dataclass(frozen=True)
class Taken:
    rows: list[Move]
    side: str = "both"


def masses(problem: Problem) -> tuple[Bag, Bag]:
    """The two documents with masses in float64, exact shares of counts where there are counts."""
    return _bag(problem.x, problem.x_counts), _bag(problem.y, problem.y_counts)


def _bag(bags: Csr, counts: Any) -> Bag:
    words, data = bags.row(0)
    values = np.asarray(data if counts is None else counts[: len(words)], dtype=np.float64)
    return dict(zip(words.tolist(), (values / values.sum()).tolist(), strict=True))


class Costs:
    """Word-to-word costs of one problem, and what kind of cost each is."""

    def __init__(self, problem: Problem) -> None:
        self.related: dict[tuple[int, int], float] = {}
        self.c_max = problem.c_max
        self.graph = problem.graph
        self.vectors = None if problem.vectors is None else np.ascontiguousarray(problem.vectors)

    def matrix(self, rows: list[int], columns: list[int]) -> Float64Array:
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

    def kind(self, source: int, target: int, cost: float) -> str:
        if source == target:
            return "same"
        if self.graph is None:
            return "moved"
        return "related" if target in self.graph.row(source)[0] and cost <= self.c_max else "c_max"


def take_apart(problem: Problem) -> Taken:
    """The rows of any distance."""
    try:
        method = _METHODS[problem.distance.name]
    except KeyError:
        raise Unsupported(f"{problem.distance.name} cannot be explained: its parts are not known.") from None
    return method(problem)


def _transport(problem: Problem) -> Taken:
    x, y = whole_bags(problem)
    costs = Costs(problem)
    (x_words, x_mass), (y_words, y_mass) = x.row(0), y.row(0)
    left = dict(zip(x_words.tolist(), (x_mass.astype(object) * int(y_mass.sum())).tolist(), strict=True))
    right = dict(zip(y_words.tolist(), (y_mass.astype(object) * int(x_mass.sum())).tolist(), strict=True))
    total = sum(left.values())
    rows = []
    if problem.overlap != "keep":
        for word in left.keys() & right.keys():
            common = min(left[word], right[word])
            rows.append(Move(word, word, common / total, 0.0, "same"))
            left[word] -= common
            right[word] -= common
    sources, sinks = [w for w in left if left[w]], [w for w in right if right[w]]
    if sources:
        matrix = costs.matrix(sources, sinks)
        supply, demand = _masses([left[w] for w in sources]), _masses([right[w] for w in sinks])
        plan = solve(supply, demand, matrix).plan
        scale = sum(left.values()) / total / float(supply.sum())
        for i, j, mass in zip(plan.sources.tolist(), plan.sinks.tolist(), plan.masses.tolist(), strict=True):
            distance = float(matrix[i, j])
            kind = costs.kind(sources[i], sinks[j], distance)
            rows.append(Move(sources[i], sinks[j], mass * scale, distance, kind))
    return Taken(rows)


def _masses(values: list[int]) -> Any:
    """Whole masses where they fit, else floats that solve() scales."""
    return np.array(values, dtype=np.int64 if sum(values) < 2**61 else np.float64)


def _relaxed(problem: Problem) -> Taken:
    x, y = masses(problem)
    costs = Costs(problem)
    sides = {"left": _one_way(x, y, costs, problem.overlap), "right": _one_way(y, x, costs, problem.overlap)}
    return _dearer(sides, problem.side)


def _dearer(sides: dict[str, list[Move]], side: str) -> Taken:
    """The side asked for, or the one that costs more; what moves from b to a is shown from b to a."""
    if side == "both":
        side = max(sides, key=lambda name: sum(move.mass * move.distance for move in sides[name]))
    return Taken(sides[side], side)


def _one_way(x: Bag, y: Bag, costs: Costs, overlap: str) -> list[Move]:
    """Each word's mass to its nearest word: equation (5), with the overlap modes of the reference."""
    rows = []
    target = y
    if overlap != "keep":
        rows = [Move(word, word, min(x[word], y[word]), 0.0, "same") for word in x if word in y]
        x, rest = _rest(x, y)
        target = rest if overlap == "residual" else y
    if not x:
        return rows
    sources, sinks = list(x), list(target)
    matrix = costs.matrix(sources, sinks)
    if overlap == "omr":
        matrix[np.equal.outer(sources, sinks)] = np.inf
    for i, word in enumerate(sources):
        j = int(matrix[i].argmin())
        kind = costs.kind(word, sinks[j], float(matrix[i, j]))
        rows.append(Move(word, -1 if kind == "c_max" else sinks[j], x[word], float(matrix[i, j]), kind))
    return rows


def _rest(x: Bag, y: Bag) -> tuple[Bag, Bag]:
    left = {word: mass - y.get(word, 0.0) for word, mass in x.items() if mass > y.get(word, 0.0)}
    right = {word: mass - x.get(word, 0.0) for word, mass in y.items() if mass > x.get(word, 0.0)}
    return (left, right) if left and right else ({}, {})


def _act(problem: Problem) -> Taken:
    x, y = masses(problem)
    costs = Costs(problem)
    same = [Move(word, word, min(x[word], y[word]), 0.0, "same") for word in x if word in y]
    left, right = _rest(x, y)
    residual = problem.overlap == "residual"
    there = same + _transfers(left, right if residual else y, costs)
    back = same + _transfers(right, left if residual else x, costs)
    return _dearer({"left": there, "right": back}, problem.side)


def _transfers(x: Bag, y: Bag, costs: Costs) -> list[Move]:
    rows = []
    sources, sinks = list(x), list(y)
    matrix = costs.matrix(sources, sinks) if x else np.zeros((0, len(y)))
    matrix[np.equal.outer(sources, sinks)] = np.inf
    for i, word in enumerate(sources):
        mass = x[word]
        order = [j for j in np.argsort(matrix[i], kind="stable").tolist() if sinks[j] != word]
        for step, j in enumerate(order):
            last = step == ACT_TRANSFERS or step + 1 == len(order)
            moved = mass if last else min(mass, y[sinks[j]])
            if moved > 0:
                rows.append(Move(word, sinks[j], moved, float(matrix[i, j]), "moved"))
            mass -= moved
            if last:
                break
    return rows


def _centroids(problem: Problem) -> Taken:
    """wcd is linear along the line between the centroids: each word adds its excess times its place on that line."""
    x, y = masses(problem)
    assert problem.vectors is not None
    vectors = problem.vectors.astype(np.float64)
    excess = {word: x.get(word, 0.0) - y.get(word, 0.0) for word in [*x, *(w for w in y if w not in x)]}
    difference = np.sum([mass * vectors[word] for word, mass in excess.items()], axis=0)
    length = float(np.linalg.norm(difference))
    direction = difference / length if length else difference
    rows = []
    for word, mass in excess.items():
        place = float(vectors[word] @ direction)
        rows.append(Move(*_ends(word, x, y), abs(mass), place, _whose(word, x, y), mass * place))
    return Taken(rows)


def _cosine(problem: Problem) -> Taken:
    """1 - x.y of unit vectors is the sum of (x_i - y_i)^2 / 2 over the words."""
    x, y = masses(problem)
    unit = [{w: m / float(np.linalg.norm(list(bag.values()))) for w, m in bag.items()} for bag in (x, y)]
    rows = []
    for word in [*x, *(w for w in y if w not in x)]:
        gap = unit[0].get(word, 0.0) - unit[1].get(word, 0.0)
        rows.append(Move(*_ends(word, x, y), abs(gap), abs(gap) / 2, _whose(word, x, y)))
    return Taken(rows)


def _l1(problem: Problem) -> Taken:
    x, y = masses(problem)
    words = [*x, *(w for w in y if w not in x)]
    gaps = {word: abs(x.get(word, 0.0) - y.get(word, 0.0)) for word in words}
    return Taken([Move(*_ends(w, x, y), gaps[w], 1.0, _whose(w, x, y)) for w in words])


def _ends(word: int, x: Bag, y: Bag) -> tuple[int, int]:
    return word if word in x else -1, word if word in y else -1


def _whose(word: int, x: Bag, y: Bag) -> str:
    return "both" if word in x and word in y else "a" if word in x else "b"


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
