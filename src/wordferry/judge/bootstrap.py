"""How sure a mean is: intervals from drawing the judged items again, with a fixed seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.errors import InputError

DRAWS = 2000
_LOW, _HIGH = 0.025, 0.975


@dataclass(frozen=True)
class Interval:
    """A value with the range that holds 95 % of what other draws of the same size would give."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Plain numbers."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def interval_of(values: Any, *, seed: int = 0, draws: int = DRAWS) -> Interval:
    """The mean of some values, and the range of means of as many values drawn from them with replacement.

    >>> print(interval_of([1.0, 1.0, 1.0]))
    1.000 [1.000, 1.000]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise InputError("An interval needs at least one value.")
    generator = np.random.default_rng(seed)
    means = np.array([numbers[generator.integers(0, len(numbers), len(numbers))].mean() for _ in range(draws)])
    return Interval(float(numbers.mean()), float(np.quantile(means, _LOW)), float(np.quantile(means, _HIGH)))


def interval_by(statistic: Any, size: int, *, seed: int = 0, draws: int = 500) -> Interval:
    """Bootstrap interval of any statistic of items: ``statistic(rows)`` is given the numbers of the items drawn."""
    if size < 1:
        raise InputError("An interval needs at least one value.")
    generator = np.random.default_rng(seed)
    found = np.array([statistic(generator.integers(0, size, size)) for _ in range(draws)])
    found = found[np.isfinite(found)]
    whole = float(statistic(np.arange(size)))
    if not len(found):
        return Interval(whole, whole, whole)
    return Interval(whole, float(np.quantile(found, _LOW)), float(np.quantile(found, _HIGH)))
