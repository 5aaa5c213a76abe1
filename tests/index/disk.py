"""A disk that forgets: replays the recorded system calls of a process and says what a power cut would have left.

The calls are recorded by strace. Every file has the bytes that were written and those that were synced, every folder
the names it has and those that were synced; a cut keeps the second of each, or some of what lies between.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

CALLS = (
    "openat,close,dup,dup2,dup3,fcntl,lseek,write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,rename,renameat,"
    "renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,fallocate,link,symlink,truncate,copy_file_range,sendfile"
)
_LINE = re.compile(r"^\d+\s+(\w+)\((.*)\)\s+= (-?\d+|\?)")
_ARGUMENT = re.compile(r'\s*(?:"((?:\\x[0-9a-f]{2})*)"|([^,]+))')
_LOSABLE = ("-shm",)
"""Shared memory of SQLite, made anew from the log after every start."""


@dataclass
class File:
    """A file: its bytes, those that are safe, and the writes between."""

    data: bytearray = field(default_factory=bytearray)
    safe: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(offset, bytes), or (length, None) for a truncation."""

    def change(self, offset: int, data: bytes | None) -> None:
        apply(self.data, offset, data)
        self.pending.append((offset, data))

    def sync(self) -> None:
        self.safe, self.pending = bytes(self.data), []


@dataclass
class Folder:
    """A folder: its names, and those that are safe."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    safe: dict[str, File | Folder] = field(default_factory=dict)


Tree = dict[str, bytes | None]
"""The bytes of files and None for folders, by path."""


def apply(data: bytearray, offset: int, new: bytes | None) -> None:
    if new is None:
        del data[offset:]
        data.extend(bytes(offset - len(data)))
        return
    data.extend(bytes(max(0, offset - len(data))))
    data[offset : offset + len(new)] = new


def read_tree(place: Path) -> Folder:
    """What lies on a disk after a clean shutdown: all of it is safe."""
    folder = Folder()
    for entry in place.iterdir():
        if entry.is_dir():
            folder.names[entry.name] = read_tree(entry)
        else:
            folder.names[entry.name] = File(bytearray(entry.read_bytes()), entry.read_bytes())
    folder.safe = dict(folder.names)
    return folder


@dataclass
class Handle:
    """An open file or folder; those made by dup share it."""

    node: File | Folder
    position: int = 0
    append: bool = False


class Disk:
    """Follows one process's calls below a root folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = read_tree(root)
        self.open: dict[int, Handle] = {}

    def _find(self, base: str, name: str) -> tuple[Folder, str] | None:
        """The folder and the last name of a path, or None when it lies elsewhere."""
        path = PurePosixPath(name)
        node: File | Folder = self.tree
        if path.is_absolute():
            if not path.is_relative_to(self.root) or path == self.root:
                return (Folder({".": self.tree}), ".") if path == self.root else None
            parts = path.relative_to(self.root).parts
        else:
            if base == "AT_FDCWD" or int(base) not in self.open:
                return None
            node, parts = self.open[int(base)].node, path.parts
        for part in parts[:-1]:
            assert isinstance(node, Folder)
            node = node.names[part]
        assert isinstance(node, Folder)
        return (node, parts[-1]) if parts else (Folder({".": node}), ".")

    def call(self, name: str, a: list[Any], result: int) -> bool:
        """Follow one call that succeeded; whether it may have changed what a cut leaves."""
        handle = self.open.get(int(a[0])) if a and re.fullmatch(r"\d+", str(a[0])) else None
        file = handle.node if handle is not None and isinstance(handle.node, File) else None
        match name:
            case "openat":
                return self._openat(a, result)
            case "close":
                self.open.pop(int(a[0]), None)
            case "dup" | "dup2" | "dup3" | "fcntl":
                if name != "fcntl" or "F_DUPFD" in a[1]:
                    self.open.pop(result, None)
                    if handle is not None:
                        self.open[result] = handle
            case "lseek" if handle is not None:
                handle.position = result
            case "write" if handle is not None and file is not None:
                offset = len(file.data) if handle.append else handle.position
                file.change(offset, a[1][:result])
                handle.position = offset + result
                return True
            case "pwrite64" if file is not None:
                file.change(int(a[3]), a[1][:result])
                return True
            case "ftruncate" if file is not None:
                file.change(int(a[1]), None)
                return True
            case "fsync" | "fdatasync" if handle is not None:
                if file is not None:
                    file.sync()
                else:
                    assert isinstance(handle.node, Folder)
                    handle.node.safe = dict(handle.node.names)
                return True
            case "writev" | "pwritev" | "link" | "symlink" | "truncate" | "copy_file_range" | "sendfile":
                assert handle is None, f"{name} is not followed"
            case _:
                return self._names(name, a)
        return False

    def _openat(self, a: list[Any], result: int) -> bool:
        self.open.pop(result, None)
        found = self._find(a[0], a[1].decode())
        if found is None:
            return False
        folder, name = found
        made = name not in folder.names
        if made:
            folder.names[name] = File()
        node = folder.names[name]
        if "O_TRUNC" in a[2] and isinstance(node, File) and node.data:
            node.change(0, None)
        self.open[result] = Handle(node, append="O_APPEND" in a[2])
        return made or "O_TRUNC" in a[2]

    def _names(self, name: str, a: list[Any]) -> bool:
        if name in ("mkdir", "rmdir", "unlink"):
            a = ["AT_FDCWD", *a]
        if name == "rename":
            a = ["AT_FDCWD", a[0], "AT_FDCWD", a[1]]
        if name.startswith("rename"):
            old, new = self._find(a[0], a[1].decode()), self._find(a[2], a[3].decode())
            if old is None and new is None:
                return False
            assert old is not None
            assert new is not None, "a rename out of the index"
            moved = old[0].names.pop(old[1])
            if len(a) > 4 and "EXCHANGE" in a[4]:
                old[0].names[old[1]] = new[0].names[new[1]]
            new[0].names[new[1]] = moved
            return True
        found = self._find(a[0], a[1].decode()) if name not in ("fallocate", "fcntl", "lseek", "write") else None
        if found is None or name not in ("mkdir", "mkdirat", "rmdir", "unlink", "unlinkat"):
            return False
        if name.startswith("mkdir"):
            found[0].names[found[1]] = Folder()
        else:
            del found[0].names[found[1]]
        return True

    def after_cut(self, names: str, data: str, seed: int = 0) -> Tree:
        """What is left: the names "safe" or "all" of them, the bytes "safe", "all", or "some" of the pending writes."""
        rng = random.Random(seed)
        left: Tree = {}

        def walk(folder: Folder, place: str) -> None:
            for name, node in sorted((folder.safe if names == "safe" else folder.names).items()):
                if isinstance(node, Folder):
                    left[f"{place}{name}"] = None
                    walk(node, f"{place}{name}/")
                elif not name.endswith(_LOSABLE):
                    left[f"{place}{name}"] = self._bytes(node, data, rng)

        walk(self.tree, "")
        return left

    def _bytes(self, file: File, data: str, rng: random.Random) -> bytes:
        if data != "some":
            return file.safe if data == "safe" else bytes(file.data)
        left = bytearray(file.safe)
        for offset, new in file.pending:
            if rng.random() < 0.5:
                apply(left, offset, new)
        return bytes(left)


def calls(trace: Path) -> Iterator[tuple[str, list[Any], int]]:
    """The calls of a trace that succeeded: name, arguments (texts as bytes), result."""
    begun: dict[str, str] = {}
    with open(trace, encoding="ascii") as lines:
        for line in lines:
            process, _, rest = line.partition(" ")
            if line.rstrip().endswith("<unfinished ...>"):
                begun[process] = line.rstrip().removesuffix("<unfinished ...>")
                continue
            if " resumed>" in rest:
                line = begun.pop(process) + rest.partition(" resumed>")[2]
            found = _LINE.match(line)
            if found is None or found[3] == "?" or int(found[3]) < 0:
                continue
            arguments: list[Any] = []
            for text, word in _ARGUMENT.findall(found[2]):
                if word.strip():
                    arguments.append(word.strip())
                elif not word:
                    arguments.append(bytes.fromhex(text.replace("\\x", "")))
            yield found[1], arguments, int(found[3])


def write_tree(tree: Tree, place: Path) -> None:
    """Put what a cut left on a real disk."""
    place.mkdir(parents=True)
    for name, data in tree.items():
        if data is None:
            (place / name).mkdir()
        else:
            (place / name).write_bytes(data)
