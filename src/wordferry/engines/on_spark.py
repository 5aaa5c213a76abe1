"""Tasks on a Spark cluster."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.engines.tasks import Outcome, Task, perform
from wordferry.errors import FormatError, InputError, StorageError

_WAVES = 4
"""Tasks given out at once, per place of work: what a driver that dies may lose."""


class Spark:
    """A Spark session that runs already. The job's folder must be one that every executor sees."""

    def __init__(self, session: Any) -> None:
        optional_import("pyspark", "spark")
        self.session = session
        self.places = max(1, int(session.sparkContext.defaultParallelism))
        self.name = f"Spark, {self.places} places of work"

    def run(self, tasks: Iterable[Task], folder: str, shared: Any) -> Iterator[tuple[Task, Outcome]]:
        """Do all tasks in waves; what is shared is broadcast, once per executor.

        Only what a task has to say about itself comes back to the driver, never documents or distances.
        """
        context = self.session.sparkContext
        broadcast = context.broadcast(pickle.dumps(shared, protocol=5))
        waiting = iter(tasks)
        try:
            while wave := list(islice(waiting, _WAVES * self.places)):
                by_name = {task.name: task for task in wave}
                rows = [(pickle.dumps(task),) for task in wave]
                frame = self.session.createDataFrame(rows, "task binary").repartition(len(wave))
                done = frame.mapInArrow(_worker(broadcast, folder), "outcome string").collect()
                for row in done:
                    name, found = json.loads(row.outcome)
                    if "error" in found:
                        raise _error(found)
                    yield by_name[name], Outcome(**found)
        finally:
            broadcast.unpersist()

    def close(self) -> None:
        """The session belongs to the caller."""


def _worker(broadcast: Any, folder: str) -> Any:
    """What runs on the executors: Arrow batches of tasks in, one line of JSON per task out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        shared = None
        for batch in batches:
            lines = []
            for data in batch.column("task").to_pylist():
                if shared is None:
                    shared = [pickle.loads(broadcast.value)]
                task = pickle.loads(data)
                try:
                    outcome = vars(perform(task, folder, shared[0]))
                except (FormatError, InputError) as error:
                    outcome = {"error": str(error), "kind": type(error).__name__}
                lines.append(json.dumps([task.name, outcome], default=dict))
            yield pyarrow.RecordBatch.from_pydict({"outcome": lines})

    return run


def _error(found: dict[str, str]) -> Exception:
    kinds = {"FormatError": FormatError, "InputError": InputError}
    return kinds.get(found["kind"], StorageError)(found["error"])
