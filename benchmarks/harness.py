"""What all benchmarks share: timers, peers, a record of the machine, and results that add up to a history.

A benchmark makes a ``Results`` under its own name, adds figures to it as they come, and ends with ``finish``. With
``--save`` the figures are appended to ``benchmarks/results/NAME.jsonl``, one line per run, with the date, the commit,
the machine and the settings; ``make bench-report`` makes the page of the documentation from those files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry import Embeddings
from wordferry.reproduce.machine import machine_facts

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def parser(about: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--save", action="store_true", help="append the results to benchmarks/results")
    return made


def data_option(made: argparse.ArgumentParser) -> None:
    """Add ``--data``, the folder of the data sets that the user brings."""
    folder = os.environ.get("WORDFERRY_DATA")
    made.add_argument(
        "--data",
        type=Path,
        default=None if folder is None else Path(folder),
        help="the folder of the data sets (default: WORDFERRY_DATA)",
    )


@dataclass(frozen=True)
class Took:
    """What a piece of work returned, and its seconds by the clock and of the processor (all threads)."""

    value: Any
    wall: float
    cpu: float


def timed(work: Callable[[], Any], repeats: int = 1, *, median: bool = False) -> Took:
    """The fastest of some runs by the clock, with its processor time; with ``median``, the median of each."""
    runs = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        value = work()
        runs.append(Took(value, time.perf_counter() - wall, time.process_time() - cpu))
    if median:
        return Took(
            runs[-1].value, statistics.median(run.wall for run in runs), statistics.median(run.cpu for run in runs)
        )
    return min(runs, key=lambda run: run.wall)


def least(work: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.process_time) -> float:
    """The least seconds of some runs, of the processor (which holds on a busy machine) or by another clock."""
    best = float("inf")
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def commit() -> str:
    """The commit that is measured, with a ``+`` when files differ from it; empty outside a clone."""
    try:
        short = _git("rev-parse", "--short", "HEAD")
        return short + ("+" if _git("status", "--porcelain", "--", "src", "native") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


class Results:
    """The figures of one run, printed as they come and kept for the history."""

    def __init__(self, name: str, options: argparse.Namespace, *, folder: Path = RESULTS) -> None:
        self.name, self.folder = name, folder
        self.wanted = bool(options.save)
        hidden = ("save", "data")  # the first is no setting of the measurement, the second a path of this machine
        settings = {key: value for key, value in vars(options).items() if key not in hidden}
        self.facts: dict[str, Any] = {
            "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
            "commit": commit(),
            "machine": machine_facts(),
            "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            "settings": {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()},
        }
        self.values: dict[str, Any] = {}
        machine = self.facts["machine"]
        print(
            f"{self.name}: {machine['processor']}, {machine['kernels']} kernels, {machine['threads']} threads, "
            f"load {self.facts['load']}, commit {self.facts['commit'] or 'unknown'}",
            flush=True,
        )

    def add(self, key: str, value: Any, text: str | None = None) -> None:
        """Keep a figure under a name that says its unit, and print a line about it."""
        self.values[key] = value
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        print(f"{key}: {shown}" if text is None else text, flush=True)

    def note(self, key: str, text: str) -> None:
        """Keep words that figures need to be understood, e.g. which data they come from."""
        self.facts[key] = text
        print(text, flush=True)

    def finish(self) -> None:
        """Append the run to the history, if that was asked for."""
        if not self.wanted:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / f"{self.name}.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps({**self.facts, "values": self.values}, default=float) + "\n")
        print(f"appended to {self.folder.name}/{self.name}.jsonl")


# Peers ---------------------------------------------------------------------------------------------------------------


def pot_wmd(x: Any, y: Any, embeddings: Embeddings) -> float:
    """wmd of two rows of counts by POT, cost matrix included."""
    import ot

    costs = ot.dist(embeddings.matrix[x.indices], embeddings.matrix[y.indices], metric="euclidean")
    return float(ot.emd2(x.data / x.data.sum(), y.data / y.data.sum(), costs))


class GensimWmd:
    """wmd of token lists by gensim, on the same vectors."""

    def __init__(self, embeddings: Embeddings) -> None:
        from gensim.models import KeyedVectors

        self.vectors = KeyedVectors(embeddings.dimensions)
        self.vectors.add_vectors(list(embeddings.vocabulary), embeddings.matrix)
        self.vocabulary = embeddings.vocabulary

    def __call__(self, x: list[str], y: list[str]) -> float:
        return float(self.vectors.wmdistance(x, y, norm=False))

    def tokens(self, row: Any) -> list[str]:
        """The words of a row of counts, each as often as it is counted."""
        return [self.vocabulary[int(word)] for word in np.repeat(row.indices, row.data.astype(int))]
