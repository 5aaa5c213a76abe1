"""What of a job is planned and what is done, on disk, so that a stopped job goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordferry.base.storage import write_whole
from wordferry.errors import InputError

_PLAN, _DONE = "plan.json", "done.jsonl"


@dataclass(frozen=True)
class Done:
    """One finished task: its file, what the file holds, and who made it."""

    task: str
    file: str
    sha256: str
    size: int
    facts: Mapping[str, Any]


class Journal:
    """The folder of one job: the plan, the finished tasks, and their files.

    Only the driver writes the plan and the list of finished tasks; workers write files of their own. A task counts as
    done when its line is on the disk and its file still has the bytes that the line says.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plan, sort_keys=True, indent=1, ensure_ascii=False)
        file = folder / _PLAN
        if file.exists():
            if file.read_text(encoding="utf-8") != text:
                raise InputError(
                    f"{folder} holds another job (other options, or documents that differ or have changed since). "
                    "Give this one another folder, or remove that."
                )
        else:
            write_whole(file, text.encode())
        self.done = self._read()

    def _read(self) -> dict[str, Done]:
        """The finished tasks whose files are whole; a line that a kill cut off ends the list."""
        file = self.folder / _DONE
        found: dict[str, Done] = {}
        if not file.exists():
            return found
        good = 0
        for line in file.read_bytes().splitlines(keepends=True):
            try:
                done = Done(**json.loads(line)) if line.endswith(b"\n") else None
            except (ValueError, TypeError):
                done = None
            if done is None:
                break
            good += len(line)
            if _is_whole(self.folder / done.file, done):
                found[done.task] = done
        if good < file.stat().st_size:
            with file.open("rb+") as stream:
                stream.truncate(good)
        return found

    def record(self, task: str, file: str, sha256: str, size: int, facts: Mapping[str, Any]) -> Done:
        """Put a finished task on the disk."""
        done = Done(task, file, sha256, size, dict(facts))
        with (self.folder / _DONE).open("ab") as stream:
            stream.write((json.dumps(vars(done), ensure_ascii=False) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())
        self.done[task] = done
        return done


def _is_whole(file: Path, done: Done) -> bool:
    try:
        return file.stat().st_size == done.size and digest(file.read_bytes()) == done.sha256
    except OSError:
        return False


def digest(data: bytes) -> str:
    """The checksum of a file's bytes."""
    return hashlib.sha256(data).hexdigest()
