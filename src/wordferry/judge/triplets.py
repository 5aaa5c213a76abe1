"""The triplet task: of three documents, are the two related ones the nearest pair? (Dai et al. 2015)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordferry.base.frames import Facts
from wordferry.compare.measure import Measure
from wordferry.errors import InputError
from wordferry.judge.evaluation import encoded, indexed_distances, judged_measure

RULES = ("closer", "smallest")


@dataclass(frozen=True)
class TripletResult(Facts):
    """How many triplets a distance solved."""

    solved: int
    failed: int
    """Not solved, ties included."""
    ties: int
    """Of the failed, those where the related pair was not beaten but only equalled."""
    empty: int
    """Triplets with a document without known words: neither solved nor failed, and not in ``error``."""
    rule: str

    @property
    def error(self) -> float:
        """Failed triplets in percent of those judged; NaN when there are none."""
        judged = self.solved + self.failed
        return 100.0 * self.failed / judged if judged else float("nan")

    def to_json(self) -> dict[str, Any]:
        """The fields and the error as plain values."""
        return {**asdict(self), "error": self.error}


def triplets(
    documents: Sequence[Any],
    triples: Sequence[tuple[int, int, int]],
    measure: Measure | None = None,
    *,
    rule: str = "closer",
) -> TripletResult:
    """Judge a distance on triplets (a, b, c) of document numbers, a and b being the related pair.

    Parameters
    ----------
    documents : texts or token lists.
    triples : numbers of three documents each.
    measure : the distance; None is wmd with idf weights and the default vectors, as ``wordferry judge triplets -s wmd``
        has it.
    rule : ``"closer"``: solved when d(a, b) < d(a, c), as the authors compute it; ``"smallest"``: when d(a, b) is
        smaller than both d(a, c) and d(b, c), the paper's wording.

    >>> texts = ["the cat sleeps on the sofa", "a dog rests on the couch", "shares fell on the stock exchange"]
    >>> triplets(texts, [(0, 1, 2)]).solved
    1
    """
    check_rule(rule)
    numbers = np.asarray(triples, dtype=np.int64).reshape(-1, 3)
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(documents)):
        raise InputError(f"Triplets name documents 0 .. {len(documents) - 1}, got {numbers.min()} .. {numbers.max()}.")
    chosen = measure or judged_measure()
    counts = encoded(documents, chosen)
    a, b, c = numbers.T
    ab = indexed_distances(counts, a, b, chosen)
    ac = indexed_distances(counts, a, c, chosen)
    bc = indexed_distances(counts, b, c, chosen) if rule == "smallest" else None
    filled = np.diff(counts.matrix.indptr) > 0
    return judge(ab, ac, bc, empty=~filled[numbers].all(axis=1), rule=rule)


def judge(ab: Any, ac: Any, bc: Any = None, *, empty: Any = None, rule: str = "closer") -> TripletResult:
    """Count solved triplets from their distances; ``empty`` marks those to leave apart.

    >>> judge([1.0, 2.0, 3.0], [2.0, 2.0, 1.0])
    TripletResult(solved=1, failed=2, ties=1, empty=0, rule='closer')
    """
    check_rule(rule)
    near = np.asarray(ab, dtype=np.float64)
    far = np.asarray(ac, dtype=np.float64)
    if rule == "smallest":
        if bc is None:
            raise InputError("The rule 'smallest' needs the distances of b and c as well.")
        far = np.minimum(far, np.asarray(bc, dtype=np.float64))
    if near.shape != far.shape:
        raise InputError(f"Expected as many distances a-b as a-c, got shapes {near.shape} and {far.shape}.")
    apart = np.zeros(len(near), dtype=bool) if empty is None else np.asarray(empty, dtype=bool)
    near, far = near[~apart], far[~apart]
    solved = int((near < far).sum())
    return TripletResult(solved, len(near) - solved, int((near == far).sum()), int(apart.sum()), rule)


def check_rule(rule: str) -> None:
    """Refuse an unknown rule, listing the valid ones."""
    if rule not in RULES:
        raise InputError(f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}.")
