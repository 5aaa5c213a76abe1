"""A job under way, whatever it computes: its parts, its journal, and the engine that does its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.runtime import ShowProgress, no_progress, progress_for
from wordferry.engines.engine import Engine, Local
from wordferry.engines.journal import Done, Journal
from wordferry.engines.sources import Part
from wordferry.engines.work import ATTEMPTS, Names, Task, load
from wordferry.errors import FormatError


def counts_name(side: str, part: Part) -> str:
    """The name of the task that counts the words of a part."""
    return f"counts-{side}-{part.number:06d}"


class Course:
    """Parts of some sources, what is done with them so far, and who does the rest."""

    def __init__(
        self,
        plan: Mapping[str, Any],
        parts: Mapping[str, list[Part]],
        folder: Path,
        engine: Engine | None,
        progress: ShowProgress,
    ) -> None:
        self.parts = dict(parts)
        self.engine = engine or Local()
        self.progress = progress_for(progress, "tasks") or no_progress
        listed = {side: [part.to_json() for part in some] for side, some in self.parts.items()}
        self.journal = Journal(folder, {**plan, "parts": listed})
        self.seen: set[str] = set()
        self.resumed = 0

    def run(self, tasks: Iterable[Task], shared: Any) -> dict[str, Done]:
        """Do what is not done yet; the facts of all tasks by name."""
        wanted = list(tasks)
        new = {task.name for task in wanted} - self.seen
        self.resumed += sum(name in self.journal.done for name in new)
        self.seen |= new
        left = [task for task in wanted if task.name not in self.journal.done]
        finished = len(wanted) - len(left)
        self.progress(finished, len(wanted))
        for task, outcome in self.engine.run(left, str(self.journal.folder.resolve()), shared):
            self.journal.record(task.name, outcome.file, outcome.sha256, outcome.size, outcome.facts)
            finished += 1
            self.progress(finished, len(wanted))
        return {task.name: self.journal.done[task.name] for task in wanted}

    @property
    def repeated(self) -> int:
        """How many tasks were begun more than once, counted as often as they were begun again."""
        file = self.journal.folder / ATTEMPTS
        names = [line.split()[0] for line in file.read_text().splitlines() if line] if file.exists() else []
        return len(names) - len(set(names))

    def check_ids(self, side: str) -> None:
        """Refuse an id that two documents of a side have."""
        parts = self.parts[side]
        hashes = np.concatenate([load(self.journal.folder, counts_name(side, part))["hashes"] for part in parts])
        order = np.argsort(hashes, kind="stable")
        equal = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        names = Names(self.journal.folder, self.columns(side), "ids")
        for place in equal.tolist():
            a, b = sorted((int(order[place]), int(order[place + 1])))
            if names[a] == names[b]:
                raise FormatError(f"{self.where(side, a)} and {self.where(side, b)} have the same id {names[a]!r}.")

    def where(self, side: str, number: int) -> str:
        """The file and the row of a document, by its number in the collection."""
        part = next(part for part in reversed(self.parts[side]) if part.first <= number)
        return f"{part.path}, row {part.start + number - part.first + 1}"

    def columns(self, side: str) -> list[dict[str, Any]]:
        """The parts of a side as tasks name them."""
        return [{"name": counts_name(side, part), "first": part.first} for part in self.parts[side]]
