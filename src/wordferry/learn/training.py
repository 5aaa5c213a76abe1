"""Training of a metric: first on distances of centroids, then on transport costs, with early stopping.

Every step draws its documents from a generator of its own, seeded by the stage and the number of the step, so that a
training that is stopped and resumed gives the same metric as one that is not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import FloatArray, Int64Array
from wordferry.base.runtime import Progress, one_blas_thread
from wordferry.learn.metric import LabelledDocuments, Metric, TransportLoss, centroid_loss, nca

STAGES = ("centroids", "transport")
CENTROID_BATCH = 256
CENTROID_STEPS = 120
EVERY = 20
"""Steps between two looks at the held-out documents."""
_REFRESH = 5
"""Steps for which the nearest documents are sought by the centroids of one metric."""
_OWN = 3
"""Documents of the anchor's class that are always among its candidates, so that its loss is finite."""
_FADE, _FADE_SQUARES = 0.9, 0.999
"""Decay of the two moments of Adam."""
_SCALE_ANCHORS = 200
_ENOUGH = 20
"""Held-out documents from which on they decide the scale of the map."""
_FACTORS = 2.0 ** np.arange(-6, 14.5, 0.5)
"""Factors of the costs among which the scale of the map is sought."""


@dataclass(frozen=True)
class Settings:
    """How to train."""

    steps: int
    batch: int
    candidates: int
    """Nearest documents, by centroid, that the transport loss of a document looks at."""
    rate: float
    """Learning rate relative to the size of the map; that of the logarithms of weights is twice as large."""
    patience: int
    """Looks at the held-out documents without progress after which a stage ends."""
    seed: int
    threads: int


@dataclass(frozen=True, eq=False)
class State:
    """Everything that training needs to go on: parameters, moments of Adam, and the best parameters so far."""

    metric: Metric
    first: Metric
    second: Metric
    best: Metric
    best_loss: float
    stage: int = 0
    step: int = 0
    """Steps done in the stage."""
    stale: int = 0
    """Looks at the held-out documents since the best one."""
    history: tuple[tuple[int, int, float, float], ...] = field(default=())
    """(stage, step, training loss, held-out loss) at every look."""

    @classmethod
    def of(cls, metric: Metric, stage: int = 0, history: tuple[Any, ...] = ()) -> State:
        """The beginning of a stage."""
        zeros = Metric(np.zeros_like(metric.map), np.zeros_like(metric.logs))
        return cls(metric, zeros, zeros, metric, float("inf"), stage, history=history)

    @property
    def done(self) -> bool:
        """Whether both stages have ended."""
        return self.stage >= len(STAGES)


class Training:
    """Labelled documents, those of them that are held out, and how to learn from the others."""

    def __init__(self, documents: LabelledDocuments, held_out: Int64Array, settings: Settings, given: Metric) -> None:
        self.documents, self.held_out, self.settings, self.given = documents, held_out, settings, given
        self.trained = np.setdiff1d(np.arange(len(documents.classes)), held_out)
        counts = np.bincount(documents.classes[self.trained], minlength=int(documents.classes.max()) + 1)
        # A document whose class has no other document cannot choose one of its class.
        self.anchors = self.trained[counts[documents.classes[self.trained]] > 1]
        self.judges = held_out[counts[documents.classes[held_out]] > 0]
        self._inner = LabelledDocuments(
            documents.counts[self.trained], documents.vectors, documents.classes[self.trained]
        )
        self.limits = min(CENTROID_STEPS, settings.steps), settings.steps
        """Steps of each stage, at most."""
        self._centroids: tuple[int, FloatArray] | None = None

    def run(self, state: State, progress: Progress, keep: Callable[[State], object]) -> State:
        """Train until both stages have ended; ``keep`` is handed the state at every look. Ctrl-C ends with the best."""
        limits, total = self.limits, sum(self.limits)
        # Threads of BLAS spin while they wait, and take the cores from the threads that solve: three times the seconds.
        with one_blas_thread(), ThreadPoolExecutor(self.settings.threads) as pool:
            while not state.done and len(self.anchors):
                state = self._begin(state, pool) if state.step == 0 else state
                last = limits[state.stage]
                while state.step < last and state.stale < self.settings.patience:
                    state = self._stepped(state, pool)
                    progress(sum(limits[: state.stage]) + state.step, total)
                    if state.history[-1][1] == state.step:
                        keep(state)
                state = State.of(state.best, state.stage + 1, state.history)
                keep(state)
        progress(total, total)
        return state

    # Steps ------------------------------------------------------------------------------------------------------------

    def _begin(self, state: State, pool: ThreadPoolExecutor) -> State:
        """Search the scale of the map, and look at the held-out documents for the first time.

        Transport begins from what the stage before has learned, or from the metric that was given where that is better
        on documents that were held out: near centroids need not be near words.
        """
        rng = np.random.default_rng([self.settings.seed, state.stage, 0])
        # Of documents that a stage was trained on, the largest scale looks best; those held out know better.
        held_out = len(self.judges) >= _ENOUGH
        some = self.judges if held_out else self._drawn(rng, _SCALE_ANCHORS)
        starts = [state.metric, self.given] if state.stage and held_out else [state.metric]
        found = [self._scaled(metric, some, pool, state.stage) for metric in starts]
        loss, scaled = min(found, key=lambda one: one[0])
        return self._judged(State.of(scaled, state.stage, state.history), loss, pool)

    def _scaled(self, metric: Metric, some: Int64Array, pool: ThreadPoolExecutor, stage: int) -> tuple[float, Metric]:
        """A metric at the scale at which the loss of some documents is least, and that loss."""
        others, costs = self._costs(metric, some, pool, stage)
        losses = [self._mean(some, others, [cost * factor for cost in costs]) for factor in _FACTORS]
        factor = float(_FACTORS[int(np.argmin(losses))])
        return min(losses), metric.scaled(factor if stage else factor**0.5)  # centroids are compared by squares

    def _stepped(self, state: State, pool: ThreadPoolExecutor) -> State:
        """The state after one step of Adam, and a look at the held-out documents now and then."""
        loss, slope = self._gradient(state, pool)
        step = state.step + 1
        first = Metric(*(_faded(_FADE, *pair) for pair in zip(state.first, slope, strict=True)))
        second = Metric(*(_faded(_FADE_SQUARES, old, new**2) for old, new in zip(state.second, slope, strict=True)))
        rate = self.settings.rate * (1.0 if step <= self.settings.steps // 2 else 0.3)
        sizes = float(np.sqrt(np.mean(state.metric.map**2))), 2.0
        parts = zip(state.metric, first, second, sizes, strict=True)
        moved = Metric(*(old - _adam_step(m, v, step) * np.float32(rate * size) for old, m, v, size in parts))
        state = replace(state, metric=moved, first=first, second=second, step=step)
        looks = step % EVERY == 0 or step == self.limits[state.stage]
        return self._judged(state, loss, pool) if looks else state

    def _gradient(self, state: State, pool: ThreadPoolExecutor) -> tuple[float, Metric]:
        rng = np.random.default_rng([self.settings.seed, state.stage, state.step + 1])
        if state.stage == 0:
            drawn = self._drawn(rng, CENTROID_BATCH)
            return centroid_loss(state.metric, self._inner, np.searchsorted(self.trained, drawn))
        drawn = self._drawn(rng, self.settings.batch)
        if self._centroids is None or self._centroids[0] != state.step // _REFRESH:
            self._centroids = state.step // _REFRESH, self.documents.centroids(state.metric)
        others = self._near(self._centroids[1], drawn)
        rows = np.concatenate([drawn, *others])
        return TransportLoss(state.metric, self.documents, rows).gradient(drawn, others, pool)

    def _drawn(self, rng: np.random.Generator, most: int) -> Int64Array:
        return np.sort(rng.choice(self.anchors, min(most, len(self.anchors)), replace=False))

    # Looks at documents -----------------------------------------------------------------------------------------------

    def _judged(self, state: State, loss: float, pool: ThreadPoolExecutor) -> State:
        """The state after a look at the held-out documents."""
        if not len(self.judges):  # nobody can say which state is best: the last one
            history = (*state.history, (state.stage, state.step, loss, float("nan")))
            return replace(state, best=state.metric, history=history)
        others, costs = self._costs(state.metric, self.judges, pool, state.stage)
        held = self._mean(self.judges, others, costs)
        history = (*state.history, (state.stage, state.step, loss, held))
        if held < state.best_loss:
            return replace(state, best=state.metric, best_loss=held, stale=0, history=history)
        return replace(state, stale=state.stale + 1, history=history)

    def _costs(
        self, metric: Metric, rows: Int64Array, pool: ThreadPoolExecutor, stage: int
    ) -> tuple[list[Int64Array], list[FloatArray]]:
        """Candidates of some documents, and the costs to them by the distance of the stage."""
        centroids = self.documents.centroids(metric)
        others = self._near(centroids, rows)
        if stage == 0:
            return others, [
                ((centroids[near] - centroids[row]) ** 2).sum(axis=1) for row, near in zip(rows, others, strict=True)
            ]
        loss = TransportLoss(metric, self.documents, np.concatenate([rows, *others]))
        return others, list(pool.map(loss.costs, rows.tolist(), others))

    def _mean(self, rows: Int64Array, others: list[Int64Array], costs: list[FloatArray]) -> float:
        """Mean NCA loss of documents, given the costs to their candidates."""
        classes = self.documents.classes
        found = [
            nca(cost[None], (classes[near] == classes[row])[None])[0][0]
            for row, near, cost in zip(rows, others, costs, strict=True)
        ]
        return float(np.mean(found))

    def _near(self, centroids: FloatArray, rows: Int64Array) -> list[Int64Array]:
        """The nearest training documents of some documents by centroid, and a few of their own class."""
        pool, classes = self.trained, self.documents.classes
        against = centroids[pool]
        costs = np.einsum("ij,ij->i", against, against) - 2 * (centroids[rows] @ against.T)
        found = []
        for row, cost in zip(rows.tolist(), costs, strict=True):
            place = np.searchsorted(pool, row)
            if place < len(pool) and pool[place] == row:  # a document is left out by its number: ranks may tie
                cost[place] = np.inf
            own = np.where(classes[pool] == classes[row], cost, np.inf)
            near = np.union1d(_smallest(cost, self.settings.candidates), _smallest(own, _OWN))
            found.append(pool[near])
        return found


def _faded(fade: float, old: FloatArray, new: FloatArray) -> FloatArray:
    """A moving average that keeps the type of its array."""
    result: FloatArray = (fade * old + (1 - fade) * new).astype(old.dtype, copy=False)
    return result


def _adam_step(first: FloatArray, second: FloatArray, step: int) -> FloatArray:
    """Direction and relative size of a step, from the moments, which begin at zero."""
    result: FloatArray = (first / (1 - _FADE**step)) / (np.sqrt(second / (1 - _FADE_SQUARES**step)) + 1e-12)
    return result


def _smallest(values: FloatArray, count: int) -> Int64Array:
    """Places of the smallest finite values."""
    places = np.argpartition(values, min(count, len(values)) - 1)[:count]
    return places[np.isfinite(values[places])]


def held_out_rows(classes: Int64Array, share: float, most: int, seed: int) -> Int64Array:
    """Documents to hold out: a share of every class, never the whole of one."""
    rng = np.random.default_rng([seed, len(STAGES)])
    parts = []
    for number in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == number))
        parts.append(rows[: min(round(share * len(rows)), len(rows) - 1)])
    found = np.concatenate(parts)
    if len(found) > most:
        found = rng.choice(found, most, replace=False)
    return np.sort(found)
