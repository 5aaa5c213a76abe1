"""One run of a job, whatever it computes: its journal, the engine that does its tasks, and where its answer goes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wordferry.base.runtime import ShowProgress, no_progress, progress_for
from wordferry.engines.engine import Local, TaskEngine
from wordferry.engines.journal import Done, Journal
from wordferry.engines.location import Location
from wordferry.engines.tasks import ATTEMPTS, Task
from wordferry.errors import InputError


@dataclass(frozen=True)
class JobSummary:
    """What a job did."""

    output: str
    documents: int
    tasks: int
    resumed: int
    """Tasks that an earlier run had done."""
    repeated: int
    """Tasks that had to be begun again, because a worker, a node or a driver had died."""
    peak: int
    """The most memory that a task's process has held, in bytes."""
    engine: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Numbers of this kind of job: pairs, queries, shards, ..."""


class JobRun:
    """A plan, the tasks of it that are done, and the engine that does the rest.

    ``work`` is the folder of the plan and of all finished tasks, which every worker must see (default: beside
    ``output``). ``keep`` leaves it there when the job is done.
    """

    def __init__(
        self,
        output: Location,
        plan: Mapping[str, Any],
        *,
        engine: TaskEngine | None = None,
        work: str | os.PathLike[str] | None = None,
        progress: ShowProgress = None,
        keep: bool = False,
    ) -> None:
        self.output, self.keep = output, keep
        self.engine = engine or Local()
        self.progress = progress_for(progress, "tasks") or no_progress
        self.journal = Journal(output.work_folder(work), plan)
        self.folder = self.journal.folder
        self._seen: set[str] = set()
        self._resumed = 0

    def run(self, tasks: Iterable[Task], shared: Any) -> dict[str, Done]:
        """Do the tasks that are not done yet; the facts of all of them by name."""
        wanted = list(tasks)
        new = {task.name for task in wanted} - self._seen
        self._resumed += sum(name in self.journal.done for name in new)
        self._seen |= new
        left = [task for task in wanted if task.name not in self.journal.done]
        finished = len(wanted) - len(left)
        self.progress(finished, len(wanted))
        for task, outcome in self.engine.run(left, str(self.folder.resolve()), shared):
            self.journal.record(task.name, outcome.file, outcome.sha256, outcome.size, outcome.facts)
            finished += 1
            self.progress(finished, len(wanted))
        return {task.name: self.journal.done[task.name] for task in wanted}

    def write(self, done: Mapping[str, Done]) -> None:
        """Put the Parquet files of tasks, in the order of their names, where the answer was asked for."""
        for number, name in enumerate(sorted(done)):
            self.output.write(f"part-{number:05d}.parquet", (self.folder / done[name].file).read_bytes())

    def finish(self, documents: int, facts: Mapping[str, Any]) -> JobSummary:
        """Sum up, and remove the job's folder unless it is to be kept."""
        file = self.folder / ATTEMPTS
        begun = [line.split()[0] for line in file.read_text().splitlines() if line] if file.exists() else []
        summary = JobSummary(
            self.output.address,
            documents,
            len(self._seen),
            self._resumed,
            len(begun) - len(set(begun)),
            max((int(one.facts.get("peak", 0)) for one in self.journal.done.values()), default=0),
            self.engine.name,
            facts,
        )
        if not self.keep:
            shutil.rmtree(self.folder)
        return summary


def empty_output(output: str | os.PathLike[str]) -> Location:
    """The folder of an answer; one that holds something is refused."""
    place = Location(output)
    if place.names():
        raise InputError(f"{place.address} exists and is not empty. Give the job another output folder.")
    return place
