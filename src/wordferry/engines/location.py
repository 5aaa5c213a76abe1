"""Folders that jobs read from and write to: on this machine, or in a bucket through pyarrow's file systems."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.base.storage import write_whole
from wordferry.errors import InputError, NotFound, StorageError


def system_of(address: str) -> tuple[Any, str]:
    """The file system of a path or of the address of a bucket, and the path there."""
    fs = optional_import("pyarrow.fs", "cluster")
    if "://" not in address:
        return fs.LocalFileSystem(), os.path.abspath(address)
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise InputError(f"{address} cannot be reached: {error}.") from None
    return system, path


class Location:
    """A folder by its path or address; names within it are separated by slashes."""

    def __init__(self, address: str | os.PathLike[str]) -> None:
        self.address = os.fspath(address)
        self._fs = optional_import("pyarrow.fs", "cluster")
        self._system, self._path = system_of(self.address)
        self.local = Path(self._path) if self._system.type_name == "local" else None
        """Where it is on this machine; None in a bucket."""

    def work_folder(self, given: str | os.PathLike[str] | None) -> Path:
        """The folder of the plan of a job whose answer goes here: as given, or beside it."""
        if given is not None:
            return Path(given)
        if self.local is None:
            raise InputError("An answer in a bucket needs a folder for the job's plan: pass work= (--work).")
        return self.local.with_name(self.local.name + ".job")

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}" if name else self._path

    def names(self, name: str = "") -> list[str]:
        """What a folder holds directly; nothing when there is no such folder."""
        found = self._system.get_file_info(self._fs.FileSelector(self._at(name), allow_not_found=True))
        return sorted(one.base_name for one in found)

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        if self.local is not None:
            (self.local / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.local / name, data)
            return
        try:
            with self._system.open_output_stream(self._at(name), compression=None) as stream:
                stream.write(data)
        except OSError as error:
            raise StorageError(f"{self.address}: {name} cannot be written: {error}.") from None

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        try:
            with self._system.open_input_stream(self._at(name), compression=None) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            raise NotFound(f"{self.address} holds no {name}.") from None
        except OSError as error:
            raise StorageError(f"{self.address}: {name} cannot be read: {error}.") from None

    def upload(self, folder: Path, name: str) -> None:
        """Copy a folder of this machine here, under a name that is not there yet."""
        self._system.create_dir(self._at(name), recursive=True)
        local = self._fs.LocalFileSystem()
        self._fs.copy_files(str(folder), self._at(name), source_filesystem=local, destination_filesystem=self._system)

    def download(self, name: str, folder: Path) -> None:
        """Copy a folder to this machine, where it is whole or not there."""
        if not self._exists(name):
            raise NotFound(f"{self.address} holds no {name}.")
        beside = folder.with_name(f".{folder.name}.{os.getpid()}")
        beside.mkdir(parents=True, exist_ok=True)
        local = self._fs.LocalFileSystem()
        self._fs.copy_files(self._at(name), str(beside), source_filesystem=self._system, destination_filesystem=local)
        try:
            beside.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(beside, ignore_errors=True)
            if not folder.exists():
                raise

    def _exists(self, name: str) -> bool:
        return bool(self._system.get_file_info(self._at(name)).type != self._fs.FileType.NotFound)

    def remove(self, name: str) -> None:
        """Remove a folder with all it holds."""
        if self._exists(name):
            self._system.delete_dir(self._at(name))
