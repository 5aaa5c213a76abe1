"""The experiments, cut into cells that are run once and kept: a data set, a division, a distance, an r."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Int64Array
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.compare.search import Searcher
from wordferry.judge.choosing import Validation, cross_validate_r
from wordferry.judge.selection import PAPER_R, choose_k, validation_mask
from wordferry.judge.voting import PAPER_K, error_rate, vote
from wordferry.reproduce.bench import Bench, Clock
from wordferry.texts import bow

PAPER_DISTANCES = ("cosine", "wcd", "rwmd", "rel-rwmd", "wmd")
FAIR_DISTANCES = ("bow-l1", "tfidf-l1", "rel-rwmd", "rel-rwmd+tfidf", "rwmd", "rwmd+tfidf", "wmd", "wmd+tfidf")
VALIDATION_SHARE = 0.2
SEED = 0


@dataclass(frozen=True)
class Cell:
    """One result: what is measured, on which set and division."""

    protocol: str
    """``paper``, ``fair``, ``triplets``, ``facts`` or ``peers``."""
    dataset: str
    split: int = 0
    distance: str = ""
    """With ``+tfidf`` the words are weighted by the idf of the training documents."""
    r: str = ""
    """A number, ``cv`` for choosing it, or empty where the distance has none."""

    @property
    def key(self) -> str:
        parts = [
            self.protocol,
            self.dataset,
            str(self.split),
            self.distance,
            self.r if self.r == "cv" else self.r and f"r{self.r}",
        ]
        return "/".join(part for part in parts if part)

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)


def paper_cells(dataset: str, splits: int, distances: tuple[str, ...]) -> list[Cell]:
    """The cells of the paper's protocol: every distance on every division, related ones for every r and to choose r."""
    cells = []
    for split in range(splits):
        for name in distances:
            record = find_distance(name)
            if not record.needs_related:
                cells.append(Cell("paper", dataset, split, name))
            elif record.transport:
                cells.append(Cell("paper", dataset, split, name, "16"))
            else:
                cells += [Cell("paper", dataset, split, name, str(r)) for r in PAPER_R]
                cells.append(Cell("paper", dataset, split, name, "cv"))
    return cells


def fair_cells(dataset: str, splits: int, distances: tuple[str, ...]) -> list[Cell]:
    """The cells of the fair protocol: every distance and weighting on every division."""
    return [Cell("fair", dataset, split, name) for split in range(splits) for name in distances]


def run_paper(cell: Cell, bench: Bench) -> dict[str, Any]:
    """19 neighbours, ties halved; related words sought among the words of training and test, as in the paper."""
    if cell.r == "cv":
        return _run_choice(cell, bench)
    split = bench.splits[cell.split]
    record = find_distance(cell.distance)
    clock, related = Clock(), None
    if record.needs_related:
        related, clock = _related_for(bench, int(cell.r))
    train, test = bench.counts[split.train], bench.counts[split.test]
    with clock.step("preprocessing"):
        searcher = Searcher(train, cell.distance, embeddings=bench.embeddings, related=related, threads=bench.threads)
    with clock.step("distances"):
        found = searcher.top_k(test, PAPER_K)
    predicted = vote(_classes_of(found.indices, bench.classes[split.train]), len(bench.class_names)).winner
    return {
        **cell.to_json(),
        "error": error_rate(bench.classes[split.test], predicted),
        "train": len(split.train),
        "test": len(split.test),
        "pairs": len(split.train) * len(split.test),
        "solved": found.solved,
        **clock.to_json(),
    }


def _related_for(bench: Bench, r: int) -> tuple[Any, Clock]:
    """Related words of this r. r = 16 is built by itself so that its time is true; others are parts of the largest."""
    if r in (16, max(PAPER_R)):
        graph, built = bench.related(r)
        return graph, Clock(dict(built.wall), dict(built.cpu))
    clock = Clock()
    largest, _ = bench.related(max(PAPER_R))
    with clock.step("preprocessing"):
        graph = largest.restrict(r)
        _ = graph.graph
    return graph, clock


def _run_choice(cell: Cell, bench: Bench) -> dict[str, Any]:
    """Choose r by 5-fold cross-validation on the training documents."""
    train = bench.splits[cell.split].train
    largest, built = bench.related(max(PAPER_R))
    clock = Clock(dict(built.wall), dict(built.cpu))
    with clock.step("choosing"):
        choice = cross_validate_r(
            bench.counts[train],
            bench.classes[train],  # type: ignore[arg-type]
            Measure(cell.distance, embeddings=bench.embeddings, related=largest),
            validation=Validation(seed=SEED),
            threads=bench.threads,
        )
    return {
        **cell.to_json(),
        "chosen": choice.r,
        "validation_errors": {str(r): error for r, error in choice.errors.items()},
        "pairs": choice.pairs,
        **clock.to_json(),
    }


def run_fair(cell: Cell, bench: Bench) -> dict[str, Any]:
    """Sato et al. 2022: no duplicates, k from validation data, idf and related words from training data only."""
    kept = without_duplicates(bench)
    split = bench.splits[cell.split]
    train, test = split.train[kept[split.train]], split.test[kept[split.test]]
    name, _, weighting = cell.distance.partition("+")
    first, second = bench.counts[train], bench.counts[test]
    clock = Clock()
    with clock.step("preprocessing"):
        if weighting == "tfidf":
            idf = bow.TfIdf.fit(first)
            first, second = idf.apply(first), idf.apply(second)
        searcher = Searcher(first, name, embeddings=bench.embeddings, threads=bench.threads)
    held = validation_mask(len(train), VALIDATION_SHARE, seed=SEED)
    classes = bench.classes[train]
    with clock.step("choosing"):
        inner = searcher.top_k(first[np.flatnonzero(held)], PAPER_K, mask=~held)
    errors = _errors_by_k(_classes_of(inner.indices, classes), classes[held], len(bench.class_names))
    with clock.step("distances"):
        found = searcher.top_k(second, PAPER_K)
    k = choose_k(errors)
    predicted = vote(_classes_of(found.indices, classes), len(bench.class_names), k).winner
    return {
        **cell.to_json(),
        "error": error_rate(bench.classes[test], predicted),
        "k": k,
        "train": len(train),
        "test": len(test),
        "duplicates_removed": int((~kept).sum()),
        "pairs": len(train) * len(test),
        "solved": found.solved + inner.solved,
        **clock.to_json(),
    }


def _errors_by_k(neighbours: Int64Array, truth: Int64Array, classes: int) -> dict[int, float]:
    return {k: error_rate(truth, vote(neighbours, classes, k).winner) for k in range(1, PAPER_K + 1)}


def _classes_of(indices: Int64Array, classes: Int64Array) -> Int64Array:
    result: Int64Array = np.where(indices >= 0, classes[indices], -1)
    return result


def without_duplicates(bench: Bench, seed: int = SEED) -> BoolArray:
    """Of documents with equal bags of words one is kept, whichever a shuffle puts first."""
    kept: BoolArray = np.diff(bench.counts.indptr) > 0
    seen: set[bytes] = set()
    for row in np.random.default_rng(seed).permutation(bench.counts.shape[0]):
        span = slice(bench.counts.indptr[row], bench.counts.indptr[row + 1])
        bag = bench.counts.indices[span].tobytes() + bench.counts.data[span].tobytes()
        if bag in seen:
            kept[row] = False
        seen.add(bag)
    return kept
