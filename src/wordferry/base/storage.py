"""The folder format: named arrays, a manifest with checksums, written whole or not at all.

A folder holds ``manifest.json`` (format number, kind, library version, config, and for each file its sha256,
dtype and shape), one ``<name>.npy`` per array (memory-mapped on reading, never pickled), and ``<name>.txt`` for
lists of words (UTF-8, one per line). It is written to a temporary sibling and renamed, so a reader sees the old folder
or the new one, never half of one.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.lazy import shutil, tempfile
from wordferry.base.streams import plain_npy_header
from wordferry.errors import FormatError, InputError

FORMAT = 1
MANIFEST = "manifest.json"
VERIFIED_BYTES = 1 << 30
"""Folders of up to this size are compared with their checksums whenever they are opened (a second or so at most)."""


class MissingFile(FormatError):
    """A file that a folder should hold is not there, or the folder itself is not."""


@dataclass(frozen=True)
class Folder:
    """What a folder holds."""

    config: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    words: dict[str, list[str]]


def file_digest(path: Path) -> str:
    """sha256 of a file, read in pieces."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fsync_path(path: Path) -> None:
    """Ask the system to put a file or a folder on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders; a rename is on the disk when its journal is
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(file: Path, data: bytes) -> None:
    """Write a file beside its place, sync, then rename: whoever reads it sees the old bytes or the new ones."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    fsync_path(temporary)
    os.replace(temporary, file)


def write_folder(
    path: str | os.PathLike[str],
    kind: str,
    config: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    words: Mapping[str, Sequence[str]] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a folder atomically. An existing one is replaced only with ``overwrite=True``."""
    from wordferry import __version__

    target = Path(path)
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already. Choose another path, or overwrite it explicitly.")
    if target.exists() and not (target / MANIFEST).is_file():
        raise InputError(f"{target} exists and is not a wordferry folder (no {MANIFEST}); it is left alone.")
    with written_whole(target) as temporary:
        files: dict[str, Any] = {}
        for name, array in arrays.items():
            file = temporary / f"{name}.npy"
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            files[file.name] = {"sha256": file_digest(file), "dtype": str(array.dtype), "shape": list(array.shape)}
        for name, lines in (words or {}).items():
            file = temporary / f"{name}.txt"
            file.write_bytes(_join_words(lines))
            files[file.name] = {"sha256": file_digest(file), "lines": len(lines)}
        manifest: dict[str, Any] = {"format": FORMAT, "kind": kind, "wordferry": __version__}
        manifest |= {"config": dict(config), "files": files}
        manifest["sha256"] = json_digest(manifest)
        (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")


@contextmanager
def written_whole(target: Path, swap: Callable[[Path, Path], None] | None = None) -> Iterator[Path]:
    """A folder to write into, which takes the place of another when it is on the disk, or goes if anything fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        yield temporary
        for file in temporary.iterdir():
            fsync_path(file)
        fsync_path(temporary)
        os.chmod(temporary, 0o755)
        (swap or swap_in)(temporary, target)
        fsync_path(target.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def swap_in(temporary: Path, target: Path) -> None:
    """Put the new folder in the place of the old one, in one step where the system can exchange two names."""
    if not target.exists():
        os.rename(temporary, target)
        return
    if exchange(temporary, target):
        shutil.rmtree(temporary, ignore_errors=True)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    os.rename(target, old / "folder")
    try:
        os.rename(temporary, target)
    except BaseException:
        os.rename(old / "folder", target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def exchange(a: Path, b: Path) -> bool:
    """Swap two names atomically (Linux: renameat2 with RENAME_EXCHANGE); False where that cannot be done."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    here, exchange = -100, 2
    return renameat2 is not None and renameat2(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0


def read_folder(path: str | os.PathLike[str], kind: str, *, verify: bool | None = None) -> Folder:
    """Open a folder of the given kind, its arrays mapped.

    ``verify=True`` compares every file with its checksum first, ``None`` does so for folders of up to a gigabyte.
    """
    manifest = read_manifest(path)
    folder = Path(path)
    if manifest["kind"] != kind:
        raise FormatError(f"{folder} holds {manifest['kind']!r}, not {kind!r}.")
    if verifies(folder, verify):
        verify_folder(folder)
    files = manifest["files"].items()
    arrays = {name[:-4]: _open_array(folder / name, facts) for name, facts in files if name.endswith(".npy")}
    words = {name[:-4]: _split_words(folder / name, facts) for name, facts in files if not name.endswith(".npy")}
    return Folder(manifest["config"], arrays, words)


def verifies(path: str | os.PathLike[str], verify: bool | None, most: int | None = None) -> bool:
    """Whether what a folder holds is to be checked: as asked, or, not being asked, when it is of moderate size."""
    if verify is not None:
        return verify
    try:
        return sum(file.stat().st_size for file in Path(path).iterdir()) <= (most or VERIFIED_BYTES)
    except FileNotFoundError:
        return True


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a folder, checked for being one that this version can read."""
    file = Path(path) / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFile(f"{path} is not a wordferry folder: it has no {MANIFEST}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{file} is damaged: {error}.") from None
    if not isinstance(manifest, dict) or not {"format", "kind", "config", "files"} <= manifest.keys():
        raise FormatError(f"{file} is not a wordferry manifest: format, kind, config or files is missing.")
    number = manifest["format"]
    if not isinstance(number, int) or isinstance(number, bool) or number > FORMAT:
        raise FormatError(
            f"{path} is in format {number}, written by wordferry {manifest.get('wordferry')}; this version "
            f"reads formats up to {FORMAT}. Upgrade with: pip install -U wordferry"
        )
    if "sha256" in manifest and manifest.pop("sha256") != json_digest(manifest):
        raise FormatError(f"{file} is damaged: it differs from the checksum in it. Restore it or rebuild.")
    if unknown := manifest.keys() - {"format", "kind", "wordferry", "config", "files"}:
        raise FormatError(f"{file} is damaged: {min(unknown)!r} is nothing that a manifest holds.")
    if not isinstance(manifest["config"], dict) or not isinstance(manifest["files"], dict):
        raise FormatError(f"{file} is damaged: config and files must be objects.")
    for name, facts in manifest["files"].items():
        _check_entry(file, name, facts)
    return manifest


def json_digest(values: Mapping[str, Any]) -> str:
    """sha256 of values as JSON, whatever the order of their keys: the checksum of everything else in a manifest."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_entry(file: Path, name: str, facts: Any) -> None:
    """What a manifest says of one file: a name in the folder, a checksum, and the size of what it holds."""
    if Path(name).name != name:
        raise FormatError(f"{file} is damaged: {name!r} is not a file of the folder.")
    kinds = {"sha256": str} | ({"shape": list, "dtype": str} if name.endswith(".npy") else {"lines": int})
    if not isinstance(facts, dict) or not all(isinstance(facts.get(key), kind) for key, kind in kinds.items()):
        raise FormatError(f"{file} is damaged: what it says of {name!r} is incomplete.")


def verify_folder(path: str | os.PathLike[str]) -> None:
    """Compare every file with its checksum; raise FormatError naming the first that differs."""
    folder = Path(path)
    for name, facts in read_manifest(folder)["files"].items():
        file = folder / name
        try:
            found = file_digest(file)
        except (FileNotFoundError, IsADirectoryError):
            raise MissingFile(f"{file} is missing.") from None
        if found != facts["sha256"]:
            raise FormatError(f"{file} is damaged: its checksum differs from the manifest. Restore it or rebuild.")


def _open_array(file: Path, facts: Mapping[str, Any]) -> npt.NDArray[Any]:
    """An array of a folder, mapped."""
    array: npt.NDArray[Any]
    try:
        with open(file, "rb") as stream:
            header = plain_npy_header(stream)
            if header is None:
                stream.seek(0)
                array = np.load(stream, allow_pickle=False)
            elif 0 in header[0]:  # an empty part of a file cannot be mapped
                array = np.zeros(header[0], header[2])
            else:  # a plain array: slices of NumPy's own kind of mapped ones cost far more, and so does making them
                shape, fortran, dtype = header
                whole = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
                array = np.ndarray(shape, dtype, whole, stream.tell(), order="F" if fortran else "C")
    except FileNotFoundError:
        raise MissingFile(f"{file} is missing.") from None
    except (ValueError, TypeError, OSError, EOFError) as error:
        raise FormatError(f"{file} is damaged or truncated: {error}.") from None
    if list(array.shape) != facts["shape"] or str(array.dtype) != facts["dtype"]:
        raise FormatError(
            f"{file} holds {array.dtype} of shape {array.shape}, the manifest says {facts['dtype']} {facts['shape']}."
        )
    return array


def _join_words(words: Sequence[str]) -> bytes:
    for word in words:
        if "\n" in word:
            raise InputError(f"The word {word!r} has a line break in it and cannot be stored.")
    try:
        return "".join(f"{word}\n" for word in words).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"A word cannot be stored as UTF-8: {error}.") from None


def _split_words(file: Path, facts: Mapping[str, Any]) -> list[str]:
    try:
        lines = file.read_bytes().decode("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        raise MissingFile(f"{file} is missing.") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is damaged: {error}.") from None
    if len(lines) != facts["lines"]:
        raise FormatError(f"{file} has {len(lines)} words, the manifest says {facts['lines']}.")
    return lines


def cache_folder() -> Path:
    """Where what can be made again is kept: ``WORDFERRY_CACHE``, else the user's usual cache folder."""
    chosen = os.environ.get("WORDFERRY_CACHE", "").strip()
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "wordferry" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "wordferry"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordferry"
