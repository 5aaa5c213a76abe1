"""How well distances agree with people: correlation with human ratings of pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.frames import Facts
from wordferry.compare.measure import Measure
from wordferry.errors import InputError
from wordferry.judge.evaluation import judged_measure, paired_distances


@dataclass(frozen=True)
class Agreement(Facts):
    """Correlation of closeness (minus the distance) with the ratings; 1 is perfect agreement."""

    spearman: float
    pearson: float
    pairs: int
    """Pairs compared."""
    empty: int
    """Pairs left out because a text has no known word."""

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)


def agreement(
    first: Sequence[Any],
    second: Sequence[Any],
    ratings: Sequence[float],
    measure: Measure | None = None,
) -> Agreement:
    """Compare the distances of ``first[i]`` to ``second[i]`` with human ratings (higher = more alike).

    ``measure`` None is wmd with idf weights and the default vectors, as ``wordferry judge pairs -s wmd`` has it.

    >>> texts = ["the cat sleeps", "stocks fell sharply", "a dog barks"]
    >>> agreement(texts, ["a cat is sleeping", "a cat is sleeping", "a cat is sleeping"], [5.0, 0.0, 2.0]).spearman
    1.0
    """
    if not len(first) == len(second) == len(ratings):
        raise InputError(f"Expected as many texts as ratings, got {len(first)}, {len(second)} and {len(ratings)}.")
    return correlate(paired_distances(first, second, measure or judged_measure()), ratings)


def correlate(distances: Any, ratings: Any) -> Agreement:
    """Agreement of distances already computed; infinite ones belong to texts without known words."""
    values, scores = np.asarray(distances, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if values.shape != scores.shape or values.ndim != 1:
        raise InputError(f"Expected two lists of the same length, got shapes {values.shape} and {scores.shape}.")
    if not np.isfinite(scores).all():
        raise InputError(f"Rating {int(np.flatnonzero(~np.isfinite(scores))[0])} is not a finite number.")
    known = np.isfinite(values)
    closeness, scores = -values[known], scores[known]
    if len(scores) < 2:
        raise InputError(f"Correlation needs at least 2 pairs of texts with known words, got {len(scores)}.")
    empty = int((~known).sum())
    return Agreement(pearson(ranks(closeness), ranks(scores)), pearson(closeness, scores), len(scores), empty)


def ranks(values: Any) -> Float64Array:
    """Ranks from 1; equal values share the mean of their ranks.

    >>> ranks([10.0, 30.0, 10.0]).tolist()
    [1.5, 3.0, 1.5]
    """
    _, group, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    result: Float64Array = (last - (counts - 1) / 2.0)[group]
    return result


def pearson(a: Any, b: Any) -> float:
    """Linear correlation; NaN when one side does not vary."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip((x @ y) / scale, -1.0, 1.0)) if scale > 0 else float("nan")
