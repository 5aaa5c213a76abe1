"""The state of a training as a folder, so that a later run can go on from it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from wordferry.base import storage
from wordferry.errors import FormatError, InputError
from wordferry.learn.metric import LabelledDocuments, Metric
from wordferry.learn.training import Settings, State

_KIND = "learning"
_METRICS = ("metric", "first", "second", "best")


def problem_digest(documents: LabelledDocuments, start: Metric, settings: Settings) -> str:
    """A digest of documents, start and settings: a training is resumed with the same ones only."""
    digest = hashlib.sha256(repr(asdict(replace(settings, threads=1))).encode())
    matrix = documents.counts
    arrays = (matrix.indptr, matrix.indices, matrix.data, documents.vectors, documents.classes, start.map, start.logs)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def write_state(path: str | os.PathLike[str], state: State, problem: str) -> None:
    """Write a state, over an earlier one if there is one."""
    arrays = {f"{name}-{part}": getattr(getattr(state, name), part) for name in _METRICS for part in ("map", "logs")}
    config = {
        "problem": problem,
        "best_loss": state.best_loss,
        "stage": state.stage,
        "step": state.step,
        "stale": state.stale,
        "history": [list(row) for row in state.history],
    }
    storage.write_folder(path, _KIND, config, arrays, overwrite=True)


def read_state(path: str | os.PathLike[str], problem: str) -> State | None:
    """The state in a folder, or None where there is no folder yet."""
    if not Path(path).exists():
        return None
    folder = storage.read_folder(path, _KIND)
    if folder.config.get("problem") != problem:
        raise InputError(
            f"{path} holds a training on other documents or with other settings. Choose another folder, or remove it."
        )
    try:
        metric, first, second, best = (
            Metric(*(np.array(folder.arrays[f"{name}-{part}"]) for part in ("map", "logs"))) for name in _METRICS
        )
        loss, stage, step, stale = (folder.config[name] for name in ("best_loss", "stage", "step", "stale"))
        history = tuple((int(a), int(b), float(c), float(d)) for a, b, c, d in folder.config["history"])
    except (KeyError, ValueError, TypeError) as error:
        raise FormatError(f"{path} is not a complete training: {error}.") from None
    return State(metric, first, second, best, float(loss), int(stage), int(step), int(stale), history)
