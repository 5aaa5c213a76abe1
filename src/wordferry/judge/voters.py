"""Why a document got its class: the neighbours that voted, how much each counted, and the words they share with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.frames import Tabular
from wordferry.compare.problem import Problem

_SHOWN_WORDS = 6


@dataclass(frozen=True)
class Voter:
    """A fitted document among the nearest, and its vote."""

    document: int
    """Its number among the fitted documents."""
    label: Any
    distance: float
    vote: float
    """Its share of all votes; 0 for one that is no nearer than the last."""
    words: dict[str, float]
    """The words that it shares, with the mass common to both, the largest first."""


@dataclass(frozen=True)
class VoteExplanation(Tabular):
    """The class of a document, the shares of all classes, and the neighbours that voted, nearest first."""

    label: Any
    shares: dict[Any, float]
    voters: tuple[Voter, ...]

    def to_columns(self) -> dict[str, Any]:
        """One row per neighbour."""
        names = ("document", "label", "distance", "vote")
        columns: dict[str, Any] = {name: [getattr(voter, name) for voter in self.voters] for name in names}
        return columns | {"words": [" ".join(voter.words) for voter in self.voters]}

    def __str__(self) -> str:
        sure = ", ".join(f"{label} {share:.0%}" for label, share in _largest(self.shares) if share > 0)
        width = max([5, *(len(str(voter.label)) for voter in self.voters)])
        lines = [f"{self.label} ({sure})", f"{'document':>8}  {'label':<{width}}  distance    vote  shared words"]
        for voter in self.voters:
            words = " ".join(list(voter.words)[:_SHOWN_WORDS])
            start = f"{voter.document:8}  {voter.label!s:<{width}}  {voter.distance:8.4f}  {voter.vote:6.1%}"
            lines.append(f"{start}  {words}".rstrip())
        return "\n".join(lines)


def _largest(shares: dict[Any, float]) -> list[tuple[Any, float]]:
    return sorted(shares.items(), key=lambda pair: -pair[1])


def shared_words(problem: Problem, documents: Sequence[int]) -> list[dict[str, float]]:
    """The words that the only document of x shares with some of y, with the mass common to both, the largest first."""
    words, masses = problem.x.masses.row(0)
    own = np.zeros(len(problem.frame.words))
    own[words] = masses
    found = []
    for document in documents:
        others, theirs = problem.y.masses.row(document)
        common = np.minimum(own[others], theirs)
        order = np.lexsort((others, -common))
        found.append({problem.frame.name(int(others[i])): float(common[i]) for i in order if common[i] > 0})
    return found
