"""How well systems find: nDCG, average precision, recall and reciprocal rank on judged queries, with intervals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordferry.base.frames import Tabular, bars, columns_of
from wordferry.base.runtime import ShowProgress, no_progress, optional_import, progress_for
from wordferry.errors import InputError
from wordferry.judge.bootstrap import Interval, interval_of
from wordferry.judge.judged import Judged
from wordferry.judge.systems import System

MEASURES = ("nDCG@10", "AP", "R@100", "RR")
"""As ir-measures names them: AP's mean is MAP, RR's is MRR."""
DEPTH = 100
Moved = tuple[str, float]
"""A query and how far its value moved."""


@dataclass(frozen=True)
class Score:
    """What one system reached."""

    system: str
    means: Mapping[str, Interval]
    by_query: Mapping[str, Mapping[str, float]]
    """measure -> query -> value."""
    seconds: float
    """Processor time of the whole run, indexing included."""
    differences: Mapping[str, Interval] = field(default_factory=dict)
    """Against the baseline, query by query; an interval without 0 is a difference that would come back."""

    def row(self) -> dict[str, Any]:
        """One row of a table."""
        row: dict[str, Any] = {"system": self.system}
        for measure, interval in self.means.items():
            row[measure] = round(interval.value, 4)
        first = next(iter(self.means.values()))
        row[f"{MEASURES[0]} from"], row["to"] = round(first.low, 4), round(first.high, 4)
        if self.differences:
            ahead = self.differences[MEASURES[0]]
            row |= {"ahead": round(ahead.value, 4), "ahead from": round(ahead.low, 4), "ahead to": round(ahead.high, 4)}
        row["cpu s"] = round(self.seconds, 2)
        return row

    def cells(self) -> dict[str, Any]:
        """One row of a table for people: ranges beside the values they belong to."""
        first = self.means[MEASURES[0]]
        row: dict[str, Any] = {"system": self.system, MEASURES[0]: first.value, "range": _range(first)}
        row |= {measure: self.means[measure].value for measure in MEASURES[1:]}
        if self.differences:
            ahead = self.differences[MEASURES[0]]
            row |= {"ahead": f"{ahead.value:+.3f}", "range of it": _range(ahead)}
        return {**row, "cpu s": round(self.seconds, 2)}

    def to_json(self) -> dict[str, Any]:
        """Everything, with the value of each query."""
        return {
            "system": self.system,
            "seconds": self.seconds,
            "means": {measure: interval.to_json() for measure, interval in self.means.items()},
            "differences": {measure: interval.to_json() for measure, interval in self.differences.items()},
            "by_query": {measure: dict(values) for measure, values in self.by_query.items()},
        }


def _range(interval: Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"


@dataclass(frozen=True, repr=False)
class Retrieval(Tabular):
    """The scores of several systems on one collection."""

    collection: Judged
    baseline: str | None
    scores: tuple[Score, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row per system."""
        return [score.row() for score in self.scores]

    def to_columns(self) -> dict[str, Any]:
        """The rows as columns of a table."""
        return columns_of(self.rows())

    def __repr__(self) -> str:
        values = ", ".join(f"{score.system} {score.means[MEASURES[0]].value:.3f}" for score in self.scores)
        return f"Retrieval({self.collection.name}, {MEASURES[0]}: {values})"

    def plot(self, ax: Any = None) -> Any:
        """A bar and its range for each system; on ``ax``, or on a figure that a notebook shows."""
        means = [score.means[MEASURES[0]] for score in self.scores]
        ranges = [(mean.low, mean.high) for mean in means]
        names, values = [score.system for score in self.scores], [mean.value for mean in means]
        return bars(names, values, ax=ax, label=MEASURES[0], title=self.collection.name, ranges=ranges)

    def to_json(self) -> dict[str, Any]:
        """Everything that was measured."""
        return {
            "collection": self.collection.name,
            "documents": len(self.collection.ids),
            "queries": len(self.collection.queries),
            "queries_left_out": self.collection.left_out,
            "baseline": self.baseline,
            "scores": [score.to_json() for score in self.scores],
        }


def judge_retrieval(
    collection: Judged,
    systems: Mapping[str, System],
    *,
    baseline: str | None = None,
    seed: int = 0,
    progress: ShowProgress = None,
) -> Retrieval:
    """Let each system answer all judged queries with its best 100 documents, and measure the answers.

    A query for which a system finds nothing counts as 0. With ``baseline`` (one of the systems) each score also tells
    how far it is ahead, with an interval over queries.
    """
    if baseline is not None and baseline not in systems:
        raise InputError(f"The baseline {baseline!r} is not among what is judged: {', '.join(systems)}.")
    library = optional_import("ir_measures", "judge")
    measures = [library.parse_measure(name) for name in MEASURES]
    grades = {query: {d: max(0, g) for d, g in found.items()} for query, found in collection.right.items()}
    found: dict[str, tuple[dict[str, dict[str, float]], float]] = {}
    tell = progress_for(progress, "judging") or no_progress
    for number, (name, system) in enumerate(systems.items()):
        start = time.process_time()
        run = _run(collection, system, lambda done, n=number: tell(n * len(grades) + done, len(systems) * len(grades)))
        seconds = time.process_time() - start
        values = {measure: dict.fromkeys(grades, 0.0) for measure in MEASURES}
        for metric in library.iter_calc(measures, grades, run):
            values[str(metric.measure)][metric.query_id] = float(metric.value)
        found[name] = values, seconds
    reference = found[baseline][0] if baseline is not None else None
    scores = tuple(_score(name, values, seconds, reference, seed) for name, (values, seconds) in found.items())
    return Retrieval(collection, baseline, scores)


def _run(collection: Judged, system: System, tell: Any) -> dict[str, dict[str, float]]:
    """The answers of a system as ir-measures takes them; scores fall by one per place, so that ties keep our order."""
    answers = system(collection.texts, list(collection.queries.values()), DEPTH)
    run: dict[str, dict[str, float]] = {}
    for done, (query, (rows, _)) in enumerate(zip(collection.queries, answers, strict=True), start=1):
        run[query] = {collection.ids[int(row)]: float(DEPTH - place) for place, row in enumerate(rows[:DEPTH])}
        tell(done)
    return run


def _score(name: str, values: dict[str, dict[str, float]], seconds: float, reference: Any, seed: int) -> Score:
    means = {measure: interval_of(list(found.values()), seed=seed) for measure, found in values.items()}
    ahead = {}
    if reference is not None:
        for measure, found in values.items():
            other = reference[measure]
            ahead[measure] = interval_of([found[query] - other[query] for query in found], seed=seed)
    return Score(name, means, values, seconds, ahead)


def moved_most(result: Retrieval, score: Score, places: int = 5) -> tuple[list[Moved], list[Moved]]:
    """The queries that gained and lost most against the baseline, by the first measure."""
    if result.baseline is None or score.system == result.baseline:
        return [], []
    base = next(one for one in result.scores if one.system == result.baseline)
    gains = {q: v - base.by_query[MEASURES[0]][q] for q, v in score.by_query[MEASURES[0]].items()}
    order = sorted(gains, key=lambda query: (-gains[query], query))
    best = [(query, gains[query]) for query in order[:places] if gains[query] > 0]
    worst = [(query, gains[query]) for query in reversed(order[-places:]) if gains[query] < 0]
    return best, worst


def mean_rows(results: list[Retrieval]) -> list[dict[str, Any]]:
    """The mean over collections of each system's measures; every collection counts the same."""
    names = [score.system for score in results[0].scores]
    rows = []
    for place, name in enumerate(names):
        means = {m: float(np.mean([r.scores[place].means[m].value for r in results])) for m in MEASURES}
        rows.append({"system": name, **{measure: round(value, 4) for measure, value in means.items()}})
    return rows
