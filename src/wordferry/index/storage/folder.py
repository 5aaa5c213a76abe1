"""Which folder a path named when it was opened, and what state a closed catalogue was in: both may change under us."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from wordferry.errors import ReplacedError


class OpenedFolder:
    """The folder behind a path; a handle to it is held, so that no other folder can get its number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor: int | None = None
        if os.name == "posix":  # elsewhere a folder with open files cannot be renamed or removed at all
            self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            facts = os.fstat(self._descriptor)
            self._number = facts.st_dev, facts.st_ino

    def replaced(self) -> bool:
        """Whether the path names another folder now, or none."""
        if self._descriptor is None:
            return False
        try:
            facts = os.stat(self.folder)
        except OSError:
            return True
        return (facts.st_dev, facts.st_ino) != self._number

    def check(self) -> None:
        """Refuse to go on when the folder is no longer the one that was opened."""
        if self.replaced():
            raise self.error()

    def error(self) -> ReplacedError:
        """What to say to somebody who has an index open that is no longer there."""
        return ReplacedError(
            f"The index at {self.folder} was replaced, moved or removed after it was opened here. Open it again."
        )

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.close()


@dataclass(frozen=True)
class Stamp:
    """The state of a catalogue that nobody has open for writing: if it is the same later, no byte has changed."""

    facts: tuple[int, int, int, int]
    log: bool
    """Whether there is a write-ahead log, which is there as long as anybody with the right to write has it open."""

    @classmethod
    def of(cls, file: Path) -> Stamp:
        log = file.with_name(file.name + "-wal")
        try:
            unfinished = log.stat().st_size > 0 or log.with_name(file.name + "-shm").exists()
        except FileNotFoundError:
            unfinished = False
        try:
            facts = file.stat()
        except FileNotFoundError:
            return cls((0, 0, 0, 0), unfinished)
        return cls((facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns), unfinished)
