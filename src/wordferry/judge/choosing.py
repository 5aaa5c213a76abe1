"""Choosing r, the number of related words, by cross-validation as in the paper, with one graph and shared distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.frames import Tabular, bars
from wordferry.base.runtime import Run, ShowProgress, no_progress, progress_for
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Problem, fill
from wordferry.errors import InputError
from wordferry.judge.selection import PAPER_FOLDS, PAPER_R, PAPER_TOLERANCE, PairBlock, choose_r, fold_neighbours, folds
from wordferry.judge.voting import PAPER_K, class_numbers, decide, error_rate
from wordferry.texts.bow import Encoded


@dataclass(frozen=True)
class Validation:
    """How the training documents are divided and how a value is chosen."""

    k: int = PAPER_K
    values: tuple[int, ...] = PAPER_R
    folds: int = PAPER_FOLDS
    seed: int = 0
    stratified: bool = False
    tolerance: float = PAPER_TOLERANCE
    voting: str = "majority"


@dataclass(frozen=True)
class RChoice(Tabular):
    """The chosen r and what it was chosen from."""

    r: int
    errors: dict[int, float]
    """Cross-validation error in percent of each r that was tried."""
    pairs: int
    """Distances computed for each r: every pair of documents from two folds once."""

    def to_columns(self) -> dict[str, Any]:
        """One row per r that was tried."""
        return {
            "r": list(self.errors),
            "error %": list(self.errors.values()),
            "chosen": [r == self.r for r in self.errors],
        }

    def plot(self, ax: Any = None) -> Any:
        """The error of each r; on ``ax``, or on a figure that a notebook shows."""
        names, values = [f"r = {r}" for r in self.errors], list(self.errors.values())
        return bars(names, values, ax=ax, label="error in percent", title=f"chosen: r = {self.r}")


def cross_validate_r(
    X: Any,
    labels: Sequence[Any],
    measure: Measure,
    *,
    validation: Validation | None = None,
    threads: int | None = None,
    progress: ShowProgress = None,
) -> RChoice:
    """Choose r on the training documents X (Werner & Laber 2020, section 4.1).

    All folds share distances: for each r a pair of documents is computed at most once.

    Parameters
    ----------
    X : training documents as CSR over the embeddings' words, or encoded texts; no row may be empty.
    labels : their classes.
    measure : how to compare, with related words of the largest r to try or more; smaller ones are taken from them.
    validation : folds, seed, the values of r to try and the rule's tolerance; the paper's when None.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)``.

    Returns
    -------
    RChoice
        The chosen r, and the error of each that was tried.
    """
    plan, related = validation or Validation(), measure.related
    if not measure.distance.needs_related:
        raise InputError(f"{measure.distance.name} uses no related words, so there is no r to choose.")
    if related is None or max(plan.values) > related.r:
        there = "none are given" if related is None else f"the related words have r = {related.r}"
        raise InputError(f"r up to {max(plan.values)} is to be tried, but {there}.")
    numbers, names = class_numbers(labels)
    fold = folds(numbers, plan.folds, seed=plan.seed, stratified=plan.stratified)
    order = np.argsort(fold, kind="stable")
    arranged = X.take(order) if isinstance(X, Encoded) else X[order]
    tell = progress_for(progress, "choosing r") or no_progress
    errors: dict[int, float] = {}
    for done, r in enumerate(sorted(plan.values)):
        smaller = related if r == related.r else related.restrict(r)
        problem = measure.changed(related=smaller).problem(arranged, None, Run(threads))
        nearest = fold_neighbours(_blocks(problem, order), fold, plan.k)
        neighbours = np.where(nearest.indices >= 0, numbers[nearest.indices], -1)
        votes = decide(neighbours, nearest.distances, len(names), plan.k, plan.voting)
        errors[r] = error_rate(numbers, votes.winner)
        tell(done + 1, len(plan.values))
    sizes = np.bincount(fold)
    pairs = (len(fold) ** 2 - int((sizes**2).sum())) // 2
    return RChoice(choose_r(errors, plan.tolerance), errors, pairs)


def _blocks(problem: Problem, order: Int64Array) -> PairBlock:
    """Distances of two stretches of documents; ``order`` puts each fold's documents side by side in the problem."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))

    def block(rows: Int64Array, columns: Int64Array) -> Any:
        a, b = int(place[rows[0]]), int(place[columns[0]])
        some = problem.part(slice(a, a + len(rows)), slice(b, b + len(columns)))
        return fill(some, np.empty(some.shape, dtype=np.float32))

    return block
