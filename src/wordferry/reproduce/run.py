"""Run the cells that are missing, keep each as it is finished, and write the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordferry.compare.distances import find_distance
from wordferry.errors import InputError
from wordferry.reproduce.bench import Bench, Source, open_set
from wordferry.reproduce.cells import (
    FAIR_DISTANCES,
    PAPER_DISTANCES,
    Cell,
    fair_cells,
    paper_cells,
    run_fair,
    run_paper,
)
from wordferry.reproduce.figures import ALL_PAIRS, FROM_WORD, run_figure
from wordferry.reproduce.learned import METHODS, learned_cells, run_learned
from wordferry.reproduce.machine import machine_facts
from wordferry.reproduce.peers import run_peers
from wordferry.reproduce.store import Store, fingerprint_of
from wordferry.reproduce.triplet_cells import TripletBench, triplet_files
from wordferry.texts.published import find_set, list_sets
from wordferry.words.embeddings import Embeddings

PROTOCOLS = ("paper", "fair", "learned")
PEER_SETS = ("r8", "reuters", "twitter")
"""The set that peers are compared on: the first of these that is there."""

Note = Callable[[str], object]


@dataclass(frozen=True)
class Plan:
    """What is to be run."""

    source: Source
    protocol: str = "paper"
    datasets: tuple[str, ...] = ()
    """Empty means every labelled set of the folder (and, for the paper's protocol, every triplet set)."""
    distances: tuple[str, ...] = ()
    """Empty means those of the protocol."""
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise InputError(f"protocol must be one of {', '.join(map(repr, PROTOCOLS))}; got {self.protocol!r}.")
        for name in self.distances:
            if self.protocol == "learned":
                if name not in METHODS:
                    raise InputError(f"{name!r} is not a method of this protocol: {'; '.join(METHODS)}.")
                continue
            plain, _, weighting = name.partition("+")
            find_distance(plain)
            if weighting not in ("", "tfidf") or (weighting and self.protocol == "paper"):
                raise InputError(f"{name!r} is not a distance of this protocol; '+tfidf' weights belong to 'fair'.")

    @property
    def chosen_distances(self) -> tuple[str, ...]:
        own = {"paper": PAPER_DISTANCES, "fair": FAIR_DISTANCES, "learned": METHODS}
        return self.distances or own[self.protocol]

    def chosen_sets(self) -> tuple[list[str], list[str]]:
        """Names of labelled sets and of triplet sets to run."""
        triplets = triplet_files(self.source.folder) if self.protocol == "paper" else {}
        if not self.datasets:
            return list_sets(self.source.folder), list(triplets)
        labelled = [name for name in self.datasets if name not in triplets]
        for name in labelled:
            find_set(self.source.folder, name)
        return labelled, [name for name in self.datasets if name in triplets]


@dataclass(frozen=True)
class Results:
    """All cells of a plan, finished."""

    plan: Plan
    cells: tuple[dict[str, Any], ...]
    machine: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "protocol": self.plan.protocol,
            "embeddings": self.plan.source.vectors_file.name if self.plan.source.vectors_file else "default",
            "stop_words": self.plan.source.stop_file.name if self.plan.source.stop_file else "package list",
            "machine": self.machine,
            "cells": list(self.cells),
        }


class Runner:
    """Runs a plan; what is finished is read from the store, what is missing is computed and kept."""

    def __init__(self, plan: Plan, store: Store, note: Note) -> None:
        self.plan = plan
        self.store = store
        self.note = note
        self.computed = 0
        self._vectors: Embeddings | None = None
        self._bench: Bench | None = None
        self._base = fingerprint_of(plan.source.vectors_file, plan.source.stop_file)

    def run(self) -> Results:
        """All cells of the plan, in order."""
        labelled, triplets = self.plan.chosen_sets()
        if not labelled and not triplets:
            raise InputError(f"{self.plan.source.folder} holds no data set.")
        cells: list[dict[str, Any]] = []
        for name in labelled:
            cells += self._run_set(name)
            self._bench = None
        for name in triplets:
            cells += self._run_triplets(name)
        return Results(self.plan, tuple(cells), machine_facts(self.plan.threads))

    def _run_set(self, name: str) -> Iterable[dict[str, Any]]:
        fingerprint = fingerprint_of(self._base, find_set(self.plan.source.folder, name))
        facts = self._cell(Cell("facts", name), fingerprint, lambda cell: self._facts(cell, name))
        yield facts
        paper = self.plan.protocol == "paper"
        ways: dict[str, tuple[Any, Any]] = {
            "paper": (paper_cells, run_paper),
            "fair": (fair_cells, run_fair),
            "learned": (learned_cells, run_learned),
        }
        make, run = ways[self.plan.protocol]
        for cell in make(name, facts["splits"], self.plan.chosen_distances):
            yield self._cell(cell, fingerprint, lambda cell: run(cell, self._open(name)))
        if paper and (name in FROM_WORD or name in ALL_PAIRS):
            yield self._cell(Cell("figure", name), fingerprint, lambda cell: run_figure(cell, self._open(name)))
        if paper and name == next((s for s in PEER_SETS if s in self.plan.chosen_sets()[0]), None):
            yield self._cell(Cell("peers", name), fingerprint, lambda cell: run_peers(cell, self._open(name)))

    def _facts(self, cell: Cell, name: str) -> dict[str, Any]:
        return {**cell.to_json(), **self._open(name).facts}

    def _open(self, name: str) -> Bench:
        """The data set, read when the first missing cell asks for it."""
        if self._bench is None:
            if self._vectors is None:
                self._vectors = self.plan.source.load_vectors()
            self._bench = open_set(name, self.plan.source, self._vectors, self.plan.threads)
        return self._bench

    def _run_triplets(self, name: str) -> Iterable[dict[str, Any]]:
        file = triplet_files(self.plan.source.folder)[name]
        fingerprint = fingerprint_of(self._base, file)
        opened: list[TripletBench] = []

        def run(cell: Cell) -> dict[str, Any]:
            if not opened:
                opened.append(TripletBench(name, file, self.plan.source, self.plan.threads))
            return opened[0].run(cell)

        for distance in self.plan.chosen_distances:
            yield self._cell(Cell("triplets", name, 0, distance), fingerprint, run)

    def _cell(self, cell: Cell, fingerprint: str, run: Callable[[Cell], dict[str, Any]]) -> dict[str, Any]:
        done = self.store.load(cell.key, fingerprint)
        if done is not None:
            return done
        result = run(cell)
        self.store.save(cell.key, fingerprint, result)
        self.computed += 1
        self.note(_line(cell, result))
        return result


def _line(cell: Cell, result: dict[str, Any]) -> str:
    """What a finished cell says, in one line."""
    seconds = sum(result.get("seconds", {}).values())
    what = f"{cell.key}: "
    if "chosen" in result:
        return what + f"r = {result['chosen']} chosen in {seconds:.1f} s"
    if "closer" in result:
        return what + f"error {result['closer']['error']:.2f} % in {seconds:.1f} s"
    if "error" in result:
        return what + f"error {result['error']:.2f} % in {seconds:.1f} s"
    return what + "done"


def reproduce(plan: Plan, folder: str | Path, note: Note = lambda message: None) -> Results:
    """Run a plan, keeping finished cells under ``folder/cells``, and write the report beside them."""
    from wordferry.reproduce.report import write_report

    root = Path(folder)
    results = Runner(plan, Store(root / "cells"), note).run()
    write_report(results, root)
    return results
