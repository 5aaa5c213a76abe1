"""Tasks on a Spark cluster, and the same jobs as functions of DataFrames."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.engines import jobs
from wordferry.engines.jobs import Settings
from wordferry.engines.work import Outcome, Task, perform
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


def knn_graph(
    documents: Any, output: str, k: int = 10, settings: Settings | None = None, *, work: str, **run: Any
) -> Any:
    """The k nearest other documents of each row of a DataFrame, as a DataFrame (id, neighbors, distances).

    ``output`` and ``work`` are folders that every executor sees. Rows are put in the order of their ids, so the answer
    does not depend on how the DataFrame is divided. ``run`` takes what :func:`wordferry.engines.jobs.knn_graph` takes.
    """
    source = _written(documents, work, "documents", settings)
    jobs.knn_graph(source, output, k, settings, engine=Spark(documents.sparkSession), work=f"{work}/job", **run)
    return _answer(documents.sparkSession, output)


def top_k(
    queries: Any, documents: Any, output: str, k: int = 10, settings: Settings | None = None, *, work: str, **run: Any
) -> Any:
    """The k documents nearest to each query, as a DataFrame; the arguments are those of :func:`knn_graph`."""
    sources = _written(queries, work, "queries", settings), _written(documents, work, "documents", settings)
    engine = Spark(documents.sparkSession)
    jobs.top_k(*sources, output, k, settings, engine=engine, work=f"{work}/job", **run)
    return _answer(documents.sparkSession, output)


def duplicates(
    documents: Any, output: str, threshold: float, settings: Settings | None = None, *, work: str, **run: Any
) -> Any:
    """All pairs of rows at a distance of at most ``threshold``, as a DataFrame (first, second, distance).

    ``groups.parquet`` in ``output`` holds the groups they form. The arguments are those of :func:`knn_graph`.
    """
    source = _written(documents, work, "documents", settings)
    engine = Spark(documents.sparkSession)
    jobs.duplicates(source, output, threshold, settings, engine=engine, work=f"{work}/job", **run)
    return _answer(documents.sparkSession, output)


def classify(
    train: Any, test: Any, output: str, k: int = 19, settings: Settings | None = None, *, work: str, **run: Any
) -> Any:
    """The label that the k nearest rows of ``train`` vote for, as a DataFrame (id, predicted, share, label)."""
    sources = _written(train, work, "train", settings), _written(test, work, "test", settings)
    jobs.classify(*sources, output, k, settings, engine=Spark(test.sparkSession), work=f"{work}/job", **run)
    return _answer(test.sparkSession, output)


def _written(frame: Any, work: str, name: str, settings: Settings | None) -> str:
    """The rows of a DataFrame as Parquet files in the order of their ids, written by the executors."""
    fields = (settings or Settings()).fields
    for column in (fields.text, fields.id):
        if column not in frame.columns:
            raise InputError(f"The DataFrame has no column {column!r}; its columns are {', '.join(frame.columns)}.")
    target = Path(work) / name
    if not (target / "_SUCCESS").exists():
        wanted = [one for one in (fields.id, fields.text, fields.label) if one in frame.columns]
        frame.select(*wanted).orderBy(fields.id).write.mode("overwrite").parquet(str(target))
    return str(target)


def _answer(session: Any, output: str) -> Any:
    return session.read.parquet(str(Path(output) / "part-*.parquet"))
