"""The distances as formulas, slow and readable. Nothing here is optimised and nothing of ours is imported.

A document is ``{word: mass}`` with masses that sum to 1. A cost is a function ``cost(i, j)`` that is 0 for i == j.
Every distance is a list of moves - so much mass of one word goes to another word, so far - and its value is their sum
of mass times distance; explanations show the same moves.
Sections and equations are those of Werner & Laber, *Speeding up Word Mover's Distance and its variants via
properties of distances between embeddings* (ECAI 2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Bag = Mapping[int, float]
Cost = Callable[[int, int], float]
Plan = Iterable[tuple[int, int, float]]
"""How much goes from which place of one list to which of another."""
Solver = Callable[[Sequence[float], Sequence[float], npt.NDArray[np.float64]], Plan]
"""From supplies, demands and costs to a cheapest plan."""


class Move(NamedTuple):
    """``mass`` of the word ``source`` goes to the word ``target``, ``distance`` far. None stands for no word."""

    source: int | None
    target: int | None
    mass: float
    distance: float


def euclidean_cost(vectors: npt.NDArray[np.floating[Any]]) -> Cost:
    """c(i,j) = ||x(i) - x(j)||, in float64."""
    x = np.asarray(vectors, dtype=np.float64)
    return lambda i, j: 0.0 if i == j else float(np.linalg.norm(x[i] - x[j]))


def cosine_cost(vectors: npt.NDArray[np.floating[Any]]) -> Cost:
    """c(i,j) = 1 - x(i).x(j) / (||x(i)|| ||x(j)||), in float64."""
    x = np.asarray(vectors, dtype=np.float64)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return lambda i, j: 0.0 if i == j else float(1 - x[i] @ x[j])


def related_cost(graph: Mapping[int, Mapping[int, float]], c_max: float) -> Cost:
    """Equation (7): 0 for the same word, min(c, c_max) for related words, c_max for all others."""

    def cost(i: int, j: int) -> float:
        if i == j:
            return 0.0
        related = graph.get(i, {}).get(j)
        if related is None:
            return c_max
        return related if math.isnan(c_max) else min(related, c_max)

    return cost


def related_words(
    vectors: npt.NDArray[np.floating[Any]], r: int, outside: Collection[int] = ()
) -> tuple[dict[int, dict[int, float]], float]:
    """Section 3.2.1: the union of each word's r nearest others, and c_max, the mean of all other distances.

    Words ``outside`` are nobody's neighbours and do not count for c_max. They are joined afterwards: to their own r
    nearest words, to words that are at least as far from their own r-th nearest, and by that rule to each other.
    """
    x = np.asarray(vectors, dtype=np.float64)
    words, inside = range(len(x)), [i for i in range(len(x)) if i not in outside]
    distance = [np.linalg.norm(x - x[i], axis=1).tolist() for i in words]
    order = [sorted((j for j in inside if j != i), key=lambda j, i=i: (distance[i][j], j)) for i in words]  # type: ignore[misc]
    reach = [distance[i][order[i][r - 1]] if r < len(inside) - 1 else math.inf for i in words]
    graph: dict[int, dict[int, float]] = {i: {} for i in words}
    related = [(i, j) for i in words for j in order[i][:r]]
    related += [(i, j) for i in outside for j in inside if distance[i][j] <= reach[j]]
    related += [(i, j) for i in outside for j in outside if i != j and distance[i][j] <= max(reach[i], reach[j])]
    for i, j in related:
        graph[i][j] = graph[j][i] = distance[i][j]
    rest = [distance[i][j] for i in inside for j in order[i][r:]]
    return graph, sum(rest) / len(rest) if rest else math.nan


def total(moves: Iterable[Move]) -> float:
    """What moves cost: the sum of mass times distance."""
    return float(sum(move.mass * move.distance for move in moves))


def _empty(x: Bag, y: Bag) -> float | None:
    if x and y:
        return None
    return 0.0 if not x and not y else math.inf


def _either(x: Bag, y: Bag) -> list[tuple[int, int | None, int | None]]:
    """Each word of either bag, and where it stands: as a word of x, as a word of y."""
    words = [*x, *(j for j in y if j not in x)]
    return [(word, word if word in x else None, word if word in y else None) for word in words]


def cosine_moves(x: Bag, y: Bag) -> list[Move]:
    """1 - x.y of vectors of length 1 is sum_i (x_i - y_i)^2 / 2: each gap times half of itself."""
    lengths = [math.sqrt(sum(mass * mass for mass in bag.values())) for bag in (x, y)]
    moves = []
    for word, source, target in _either(x, y):
        gap = abs(x.get(word, 0.0) / lengths[0] - y.get(word, 0.0) / lengths[1])
        moves.append(Move(source, target, gap, gap / 2))
    return moves


def cosine(x: Bag, y: Bag) -> float:
    """1 - x.y / (|x| |y|)."""
    return total(cosine_moves(x, y)) if (empty := _empty(x, y)) is None else empty


def l1_moves(x: Bag, y: Bag) -> list[Move]:
    """Each word's gap, at distance 1."""
    return [Move(i, j, abs(x.get(word, 0.0) - y.get(word, 0.0)), 1.0) for word, i, j in _either(x, y)]


def l1(x: Bag, y: Bag) -> float:
    """sum_i |x_i - y_i|; on tf-idf weights scaled to sum 1 this is tfidf-l1."""
    return total(l1_moves(x, y)) if (empty := _empty(x, y)) is None else empty


def wcd_moves(x: Bag, y: Bag, vectors: npt.NDArray[np.floating[Any]], squared: bool = False) -> list[Move]:
    """Each word's excess x_i - y_i (below 0 where y has more), times its place on the line between the centroids.

    ``squared`` gives half the squared distance, which bounds wmd with cosine costs.
    """
    v = np.asarray(vectors, dtype=np.float64)
    excess = [(x.get(word, 0.0) - y.get(word, 0.0), word, i, j) for word, i, j in _either(x, y)]
    difference = np.sum([mass * v[word] for mass, word, _, _ in excess], axis=0, dtype=np.float64)
    length = float(np.linalg.norm(difference))
    direction = difference / 2 if squared else difference / length if length else difference
    return [Move(i, j, mass, float(v[word] @ direction)) for mass, word, i, j in excess]


def wcd(x: Bag, y: Bag, vectors: npt.NDArray[np.floating[Any]]) -> float:
    """Word centroid distance: || sum_i x_i v(i) - sum_j y_j v(j) ||."""
    return total(wcd_moves(x, y, vectors)) if (empty := _empty(x, y)) is None else empty


def residual(x: Bag, y: Bag) -> tuple[dict[int, float], dict[int, float]]:
    """What is left of both bags when the common mass min(x_i, y_i) is taken away."""
    left = {i: mass - y.get(i, 0.0) for i, mass in x.items() if mass > y.get(i, 0.0)}
    right = {j: mass - x.get(j, 0.0) for j, mass in y.items() if mass > x.get(j, 0.0)}
    if not left or not right:  # equal bags up to rounding
        return {}, {}
    return left, right


def staying(x: Bag, y: Bag) -> list[Move]:
    """The mass common to both, which goes nowhere."""
    return [Move(i, i, min(mass, y[i]), 0.0) for i, mass in x.items() if i in y]


def one_way(x: Bag, y: Bag, cost: Cost, overlap: str = "keep") -> list[Move]:
    """One term of equation (5): each word of x moves all its mass to the nearest word of y.

    keep: the plain formula. omr: the mass common to both stays, what exceeds it pays the distance to the nearest
    *other* word of y. residual: the common mass is removed from both, and the formula is applied to what is left.
    """
    moves = [] if overlap == "keep" else staying(x, y)
    if overlap != "keep":
        x, rest = residual(x, y)
        y = rest if overlap == "residual" else y
    for i, mass in x.items():
        targets = [j for j in y if overlap != "omr" or j != i]
        nearest = min(targets, key=lambda j: cost(i, j))
        moves.append(Move(i, nearest, mass, cost(i, nearest)))
    return moves


def chosen_side(sides: Mapping[str, list[Move]], side: str) -> str:
    """The name of the side asked for; with "both", of the one that costs more."""
    return max(sides, key=lambda name: total(sides[name])) if side == "both" else side


def rwmd_moves(x: Bag, y: Bag, cost: Cost, overlap: str = "omr") -> dict[str, list[Move]]:
    """The two one-sided relaxations: x's words onto y's, and y's onto x's."""
    return {"left": one_way(x, y, cost, overlap), "right": one_way(y, x, cost, overlap)}


def rwmd(x: Bag, y: Bag, cost: Cost, overlap: str = "omr", side: str = "both") -> float:
    """Equation (5): the larger of the two one-sided relaxations. With :func:`related_cost` this is Rel-RWMD (12)."""
    if (empty := _empty(x, y)) is not None:
        return empty
    sides = rwmd_moves(x, y, cost, overlap)
    return total(sides[chosen_side(sides, side)])


def linear_program(supply: Sequence[float], demand: Sequence[float], costs: npt.NDArray[np.float64]) -> Plan:
    """Equations (1)-(4) as they stand: the cheapest plan whose rows sum to the supply and columns to the demand."""
    from scipy.optimize import linprog

    m, n = costs.shape
    a = np.zeros((m + n, m * n))
    for i in range(m):
        a[i, i * n : (i + 1) * n] = 1
    for j in range(n):
        a[m + j, j::n] = 1
    b = np.array([*supply, *demand])
    plan = linprog(costs.ravel(), A_eq=a[:-1], b_eq=b[:-1], bounds=(0, None), method="highs").x.reshape(m, n)
    return [(i, j, plan[i, j]) for i, j in np.argwhere(plan > 0).tolist()]


def wmd_moves(x: Bag, y: Bag, cost: Cost, overlap: str = "keep", solver: Solver = linear_program) -> list[Move]:
    """The cheapest transport of x onto y; unless ``overlap="keep"``, common mass stays and the rest is transported."""
    moves = [] if overlap == "keep" else staying(x, y)
    if overlap != "keep":
        x, y = residual(x, y)
    rows, columns = list(x), list(y)
    if rows:
        costs = np.array([[cost(i, j) for j in columns] for i in rows])
        plan = solver([x[i] for i in rows], [y[j] for j in columns], costs)
        moves += [Move(rows[i], columns[j], mass, float(costs[i, j])) for i, j, mass in plan]
    return moves


def wmd(x: Bag, y: Bag, cost: Cost, overlap: str = "keep") -> float:
    """Equations (1)-(4): the cheapest transport of x onto y, by linear programming.

    With :func:`related_cost` this is Rel-WMD; then ``overlap="residual"`` (common mass stays) and ``"keep"`` differ.
    """
    return total(wmd_moves(x, y, cost, overlap)) if (empty := _empty(x, y)) is None else empty


def wrd(x: Bag, y: Bag, vectors: npt.NDArray[np.floating[Any]]) -> float:
    """Word Rotator's Distance (Yokoi et al., EMNLP 2020, section 4): a word's mass in proportion to its count times the
    length of its vector, moved at 1 - cosine. ``vectors`` have their own lengths; ``x`` and ``y`` are counts."""
    lengths = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    masses = [{i: count * float(lengths[i]) for i, count in bag.items()} for bag in (x, y)]
    first, second = ({i: mass / sum(bag.values()) for i, mass in bag.items()} for bag in masses)
    return wmd(first, second, cosine_cost(vectors))


def soft_plan(
    supply: Sequence[float], demand: Sequence[float], costs: npt.NDArray[np.float64], softness: float, rounds: int
) -> npt.NDArray[np.float64]:
    """The plan with these masses that minimises <P, C> - softness * H(P) (Cuturi 2013).

    It is P = exp((f + g - C) / softness); the potentials f and g are set in turn so that rows, then columns, have their
    masses, in logarithms throughout.
    """
    from scipy.special import logsumexp

    f, g = np.zeros(len(supply)), np.zeros(len(demand))
    for _ in range(rounds):
        f = softness * (np.log(supply) - logsumexp((g[None, :] - costs) / softness, axis=1))
        g = softness * (np.log(demand) - logsumexp((f[:, None] - costs) / softness, axis=0))
    plan: npt.NDArray[np.float64] = np.exp((f[:, None] + g[None, :] - costs) / softness)
    return plan


def sinkhorn(
    x: Bag, y: Bag, cost: Cost, overlap: str = "residual", softness: float = 0.05, rounds: int = 2000
) -> float:
    """<P, C> of :func:`soft_plan`; unless ``overlap="keep"``, common mass stays and only the rest moves."""
    if (empty := _empty(x, y)) is not None:
        return empty

    def solver(supply: Sequence[float], demand: Sequence[float], costs: npt.NDArray[np.float64]) -> Plan:
        first, second = ([mass / sum(side) for mass in side] for side in (supply, demand))
        plan = sum(supply) * soft_plan(first, second, costs, softness, rounds)
        return [(i, j, plan[i, j]) for i in range(len(supply)) for j in range(len(demand))]

    return total(wmd_moves(x, y, cost, overlap, solver))


def transfers(source: Bag, target: Bag, cost: Cost, number: int) -> list[Move]:
    """Each word sends its nearest other words at most their mass each, and the rest after ``number`` to the next."""
    moves = []
    for i, mass in source.items():
        nearest = sorted((cost(i, j), place, j) for place, j in enumerate(target) if j != i)
        for step, (distance, _, j) in enumerate(nearest):
            moved = min(mass, target[j]) if step < number and step + 1 < len(nearest) else mass
            if moved > 0:
                moves.append(Move(i, j, moved, distance))
            mass -= moved
    return moves


def act_moves(x: Bag, y: Bag, cost: Cost, overlap: str = "omr", number: int = 7) -> dict[str, list[Move]]:
    """Both directions of :func:`act`."""
    left, right = residual(x, y)
    there = transfers(left, right if overlap == "residual" else y, cost, number)
    back = transfers(right, left if overlap == "residual" else x, cost, number)
    return {"left": staying(x, y) + there, "right": staying(y, x) + back}


def act(x: Bag, y: Bag, cost: Cost, overlap: str = "omr", number: int = 7) -> float:
    """Iterative constrained transfers (Atasu & Mittelholzer 2019, section 4), the larger of both directions.

    Common mass stays. What exceeds it goes to the nearest other words, to each at most that word's mass (in
    "residual": what is left of it), regardless of what other words send there; after ``number`` such words the rest
    pays the distance to the next one.
    """
    if (empty := _empty(x, y)) is not None:
        return empty
    sides = act_moves(x, y, cost, overlap, number)
    return total(sides[chosen_side(sides, "both")])


def word_scores(
    query: Sequence[str],
    documents: Sequence[Sequence[str]],
    stem_of: Callable[[str], str],
    *,
    k1: float,
    b: float,
    stem: float,
) -> list[float]:
    """BM25 (Robertson & Zaragoza 2009) in which another form of a query word counts ``stem`` of the word itself.

    A query word q gives ``times(q) idf (k1 + 1) tf / (tf + k1 (1 - b + b length / mean length))``, where tf is the
    count of q plus ``stem`` times that of other words with q's stem, and ``idf = ln(1 + (N - df + 1/2) / (df + 1/2))``
    with df documents that have any word of the stem.
    """
    mean = sum(map(len, documents)) / len(documents) if any(documents) else 1.0
    scores = [0.0] * len(documents)
    for word in dict.fromkeys(query):
        same = [[other for other in document if stem_of(other) == stem_of(word)] for document in documents]
        df = sum(1 for words in same if words)
        factor = query.count(word) * math.log(1 + (len(documents) - df + 0.5) / (df + 0.5)) * (k1 + 1)
        for i, words in enumerate(same):
            tf = words.count(word) + stem * (len(words) - words.count(word))
            if tf > 0:
                scores[i] += factor * (tf / (tf + (k1 * (1 - b) + k1 * b / mean * len(documents[i]))))
    return scores


def stem_cosine(a: Sequence[str], b: Sequence[str], weight: Mapping[str, float]) -> float:
    """The cosine of two lists of stems, a stem weighing ``(1 + ln count) weight``."""
    x, y = ({s: (1 + math.log(d.count(s))) * weight[s] for s in set(d)} for d in (a, b))
    inner = sum(x[s] * y[s] for s in x.keys() & y.keys())
    return inner / math.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values())) if x and y else 0.0


def lifted_scores(
    own: Sequence[float],
    nearness: Sequence[Sequence[float]],
    complete: Sequence[bool],
    *,
    lift: float,
    neighbours: int,
    power: float,
) -> list[float]:
    """``(1 - lift) own + lift mean``: the mean of the nearest others' own scores, weighed by nearness to a power.

    A document that is near to no other keeps its own score; one that is complete, having every word of the query, keeps
    it where it is higher.
    """
    scores = []
    for i, value in enumerate(own):
        others = sorted((j for j in range(len(own)) if j != i and nearness[i][j] > 0), key=lambda j: -nearness[i][j])
        near = {j: nearness[i][j] ** power for j in others[:neighbours]}
        mean = sum(weight * own[j] for j, weight in near.items()) / sum(near.values()) if near else value
        lifted = (1 - lift) * value + lift * mean if near else value
        scores.append(max(value, lifted) if complete[i] else lifted)
    return scores
