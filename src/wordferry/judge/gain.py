"""How good an order of documents is, given which of them answer the query."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wordferry.errors import InputError


def ndcg(found: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first k: 1 where no order could be better, 0 where none answers.

    A document of grade g at place p (from 1) gains ``g / log2(1 + p)``, as trec_eval has it; the sum is divided by
    that of the best order of all graded documents.

    >>> round(ndcg(["b", "x", "a"], {"a": 2, "b": 1}), 3)
    0.76
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}.")
    if len(set(found)) < len(found):
        raise InputError("A document may be found once only; some id came twice.")
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    if not best:
        raise InputError("At least one document must have a grade above 0, or no order is better than another.")
    return _gain([max(0, grades.get(id, 0)) for id in found[:k]]) / _gain(best[:k])


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(grade / math.log2(place + 2) for place, grade in enumerate(grades))
