"""One writer at a time, and never on a file system that cannot promise it."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from wordferry.base.lazy import shutil
from wordferry.base.runtime import logger
from wordferry.errors import LockedError, StorageError, Unsupported

LOCK = "lock"
_LOCKED_BYTE = 1 << 30
"""Windows locks bytes, and nobody else may read them: one far behind the text that names the holder."""
_REMOTE = ("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs")
_CLUSTER = ("ceph", "lustre", "gfs", "gfs2", "ocfs2", "glusterfs", "beegfs", "gpfs")
_MOUNTED = ("sshfs", "glusterfs", "ceph", "s3fs", "rclone", "gcsfuse", "davfs")
NETWORK = frozenset([*_REMOTE, *_CLUSTER, *(f"fuse.{name}" for name in _MOUNTED)])
DOUBTFUL = frozenset(["9p", "virtiofs", "drvfs", "vboxsf", "fuse.vmhgfs-fuse"])
"""Folders shared with a host: safe when one machine uses them, which cannot be seen from here."""


class WriterLock:
    """An exclusive advisory lock on the index folder, held until :meth:`release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def acquire(self) -> bool:
        """Take the lock; True when it was not held before. LockedError names whoever holds it."""
        if self._descriptor is not None:
            return False
        import datetime
        import socket

        file = self._folder / LOCK
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        except OSError as error:
            raise write_error(self._folder, error) from None
        try:
            lock_file(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise LockedError(
                    f"{self._folder} is being written by {_holder(file)}. Only one writer is allowed: close that one "
                    "(or wait), then try again. Reading and searching need no lock."
                ) from None
            raise StorageError(f"{file} cannot be locked: {error.strerror}.") from None
        self._descriptor = descriptor
        _held.add(self)
        since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        text = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        try:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, text.encode("utf-8"))
        except OSError as error:
            self.release()
            raise StorageError(f"{file} cannot be written: {error.strerror}.") from None
        return True

    def release(self, *, forked: bool = False) -> None:
        """Give the lock back; harmless when it is not held. A child of fork leaves that of its parent alone."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if not forked:  # not only closed, as a child that another library made by fork may have the file open still
                lock_file(descriptor, take=False)
            os.close(descriptor)

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ending():  # then nothing can be imported any more, and the lock goes with the process
            self.release()


_held: WeakSet[WriterLock] = WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock.release(forked=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def lock_file(descriptor: int, *, take: bool = True) -> None:
    """Lock an open file against other processes, or give the lock back; OSError (EAGAIN, EACCES) if another has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK if take else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if take else fcntl.LOCK_UN)


def _holder(file: Path) -> str:
    try:
        facts: dict[str, Any] = json.loads(file.read_bytes())
        return f"process {facts['pid']} on {facts['host']} since {facts['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def write_error(folder: Path, error: OSError) -> StorageError:
    """The error for a folder that cannot be written."""
    reason = "the disk is full" if is_full(error, folder) else error.strerror or str(error)
    readable = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    hint = " It can be opened for reading and search." if readable else ""
    return StorageError(f"{folder} cannot be written: {reason}.{hint}")


def is_full(error: OSError, place: Path) -> bool:
    """Whether a failed write was for want of space (NumPy does not pass the number of the error on)."""
    if error.errno is not None:
        return error.errno in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
    try:
        return shutil.disk_usage(place.parent).free < 1 << 20
    except OSError:
        return False


def file_system(path: Path, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The type of the file system that holds a path, where the system tells it."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    place, best, kind = path.resolve(), -1, None
    for line in lines:
        left, _, right = line.partition(" - ")
        mount = left.split(" ")[4].encode().decode("unicode_escape")
        if place.is_relative_to(mount) and len(mount) >= best:
            best, kind = len(mount), right.split(" ")[0]
    return kind


def refuse_network(path: Path, mounts: str = "/proc/self/mountinfo") -> None:
    """Refuse a file system whose locks and shared memory do not work between machines."""
    kind = file_system(path, mounts)
    if kind in NETWORK:
        raise Unsupported(
            f"{path} is on a network file system ({kind}). The index needs file locks and shared memory that such "
            "file systems do not give reliably, and could lose documents. Put it on a local disk; to share it, serve "
            "it from the machine that holds it, or copy the closed folder."
        )
    if kind in DOUBTFUL:
        logger.warning("%s is on a shared folder (%s): use the index from one machine only.", path, kind)
