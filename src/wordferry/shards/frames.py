"""Jobs over Spark DataFrames: rows in, a DataFrame of the answer out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordferry.engines.on_spark import Spark
from wordferry.engines.sources import SourceFields
from wordferry.errors import InputError
from wordferry.judge.voting import RECOMMENDED_K
from wordferry.shards import jobs


def knn_graph(documents: Any, output: str, k: int = 10, *, work: str, **options: Any) -> Any:
    """The k nearest other documents of each row of a DataFrame, as a DataFrame (id, neighbors, distances).

    ``output`` and ``work`` are folders that every executor sees. Rows are written into ``work`` once, in the order of
    their ids, so the answer does not depend on how the DataFrame is divided, and a job that was stopped goes on with
    them. ``options`` takes what :func:`wordferry.shards.jobs.knn_graph` takes.
    """
    return _run(jobs.knn_graph, {"documents": documents}, output, work, k=k, **options)


def top_k(queries: Any, documents: Any, output: str, k: int = 10, *, work: str, **options: Any) -> Any:
    """The k documents nearest to each query, as a DataFrame; the arguments are those of :func:`knn_graph`."""
    return _run(jobs.top_k, {"queries": queries, "documents": documents}, output, work, k=k, **options)


def duplicates(documents: Any, output: str, threshold: float | None = None, *, work: str, **options: Any) -> Any:
    """All pairs of rows at a distance of at most ``threshold``, as a DataFrame (first, second, distance, exact,
    opposite).

    ``groups.parquet`` in ``output`` holds the groups they form. The arguments are those of :func:`knn_graph`.
    """
    return _run(jobs.duplicates, {"documents": documents}, output, work, threshold=threshold, **options)


def classify(train: Any, test: Any, output: str, k: int = RECOMMENDED_K, *, work: str, **options: Any) -> Any:
    """The label that the k nearest rows of ``train`` vote for, as a DataFrame (id, predicted, share, label)."""
    return _run(jobs.classify, {"train": train, "test": test}, output, work, k=k, **options)


def _run(job: Any, frames: dict[str, Any], output: str, work: str, **options: Any) -> Any:
    """Write the frames, run a job over the files on their session, and read its answer."""
    choices = options.get("choices")
    fields = SourceFields() if choices is None else choices.fields
    sources = {name: _written(frame, Path(work) / name, fields) for name, frame in frames.items()}
    session = next(iter(frames.values())).sparkSession
    job(**sources, output=output, engine=Spark(session), work=f"{work}/job", **options)
    return session.read.parquet(str(Path(output) / "part-*.parquet"))


def _written(frame: Any, target: Path, fields: SourceFields) -> str:
    """The rows of a DataFrame as Parquet files in the order of their ids, written by the executors."""
    for column in (fields.text, fields.id):
        if column not in frame.columns:
            raise InputError(f"The DataFrame has no column {column!r}; its columns are {', '.join(frame.columns)}.")
    if not (target / "_SUCCESS").exists():
        wanted = [one for one in (fields.id, fields.text, fields.label) if one in frame.columns]
        frame.select(*wanted).orderBy(fields.id).write.mode("overwrite").parquet(str(target))
    return str(target)
