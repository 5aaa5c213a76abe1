"""One task of a job, from arguments to one file: the same function runs in this process, on Ray and on Spark."""

from __future__ import annotations

import io
import json
import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.runtime import optional_import
from wordferry.base.storage import write_whole
from wordferry.engines.journal import digest

TaskFunction = Callable[[Mapping[str, Any], Any], tuple[bytes, dict[str, Any]]]
"""From the arguments of a task and the shared data to the bytes of a file, and facts about it."""
_PARQUET = b"PAR1"
ATTEMPTS = "attempts.log"
"""The file of a job's folder that gets a line whenever a worker begins a task."""


@dataclass(frozen=True)
class Task:
    """One piece of a job; its name says the same on every engine and in every run."""

    name: str
    function: TaskFunction
    """A function of a module, so that other processes find it by its name."""
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The file a task has written, and what there is to say about it."""

    file: str
    sha256: str
    size: int
    facts: Mapping[str, Any]


def perform(task: Task, folder: str, shared: Any) -> Outcome:
    """Do one task and write its file into the job's folder, whole or not at all."""
    start, cpu = time.perf_counter(), time.process_time()
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with open(Path(folder) / ATTEMPTS, "ab", buffering=0) as stream:
        stream.write(f"{task.name} {os.getpid()}\n".encode())
    data, facts = task.function(task.arguments, shared)
    file = f"{task.name}.{'parquet' if data.startswith(_PARQUET) else 'npz'}"
    write_whole(Path(folder) / file, data)
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts = {
        **facts,
        "seconds": round(time.perf_counter() - start, 3),
        "cpu": round(time.process_time() - cpu, 3),
        "base": base,
        "peak": used.ru_maxrss * 1024,
        "process": os.getpid(),
    }
    return Outcome(file, digest(data), len(data), facts)


def saved(**arrays: Any) -> bytes:
    """Named arrays as the bytes of a file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def load(folder: Path, name: str) -> Any:
    """The arrays of a task's file."""
    return np.load(folder / f"{name}.npz", allow_pickle=False)


def json_array(values: Any) -> Any:
    """Plain values as an array of bytes, for :func:`saved`."""
    return np.frombuffer(json.dumps(values, ensure_ascii=False).encode(), dtype=np.uint8)


def json_values(data: Any, name: str) -> Any:
    """Values that :func:`json_array` has turned into an array of a task's file."""
    return json.loads(data[name].tobytes())


def parquet_bytes(columns: Mapping[str, Any]) -> bytes:
    """A table as the bytes of a Parquet file; equal rows give equal bytes."""
    arrow = optional_import("pyarrow", "cluster")
    types = {
        "id": arrow.string(),
        "neighbors": arrow.list_(arrow.string()),
        "distances": arrow.list_(arrow.float32()),
        "scores": arrow.list_(arrow.float64()),
        "predicted": arrow.string(),
        "label": arrow.string(),
        "share": arrow.float64(),
        "first": arrow.string(),
        "second": arrow.string(),
        "distance": arrow.float64(),
        "exact": arrow.bool_(),
        "opposite": arrow.bool_(),
        "group": arrow.string(),
    }
    table = arrow.table({name: arrow.array(values, type=types[name]) for name, values in columns.items()})
    stream = io.BytesIO()
    optional_import("pyarrow.parquet", "cluster").write_table(table, stream, compression="zstd")
    return stream.getvalue()
