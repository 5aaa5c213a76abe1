"""Vectors as arrays beside a vocabulary: NumPy ``.npz`` and ``.npy``, and safetensors, a block of rows at a time."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Progress
from wordferry.base.streams import ByteReader, npy_blocks, npy_header, too_large, unpack_limit
from wordferry.errors import FormatError, InputError, WordferryError
from wordferry.words.loaders.rows import BLOCK, Blocks, Rows, Selection, checked_shape, pick
from wordferry.words.loaders.safetensors import safetensors_blocks

_VOCABULARIES = ("words", "vocabulary", "vocab", "index_to_key")


def read_array_file(
    path: Path, selection: Selection, vocabulary: Iterable[str] | str | os.PathLike[str] | None, progress: Progress
) -> tuple[list[str], Float32Array]:
    """Read an ``.npz``, ``.npy`` or ``.safetensors`` file and its vocabulary."""
    if path.suffix not in (".safetensors", ".npy"):
        return _read_npz(path, selection, vocabulary, progress)
    words = find_vocabulary(path, vocabulary, selection.unpack)
    if path.suffix == ".safetensors":
        shape, blocks = safetensors_blocks(path)
        return _collect(path, words, shape, blocks, selection, progress)
    with open(path, "rb") as stream:
        if stream.read(2) == b"PK":
            raise FormatError(f"{path} is a zip archive and no array. If it is an .npz file, give it that name.")
        stream.seek(0)
        shape = _matrix_shape(path, stream, path.stat().st_size)
        stream.seek(0)
        return _collect(path, words, shape, npy_blocks(stream, BLOCK), selection, progress)


def find_vocabulary(
    path: Path, vocabulary: Iterable[str] | str | os.PathLike[str] | None, unpack: int | None = None
) -> list[str]:
    """The words of an array file: a list, a path to one word per line, or a file that lies beside it."""
    if vocabulary is not None and not isinstance(vocabulary, str | os.PathLike):
        return list(vocabulary)
    if vocabulary is not None:
        return read_words(vocabulary, unpack=unpack)
    stem = path.name.removesuffix(path.suffix)
    names = [f"{base}{end}" for base in (f"{stem}.vocab.txt", f"{stem}.txt", "vocabulary.txt", "vocab.txt")
             for end in ("", ".gz")]  # fmt: skip
    for name in names:
        if (path.parent / name).is_file():
            return read_words(path.parent / name, unpack=unpack)
    raise InputError(
        f"{path} holds vectors without words. Pass vocabulary= (a list, or a file with one word per line), or put "
        f"{names[0]} beside it."
    )


def read_words(path: str | os.PathLike[str], *, unpack: int | None = None) -> list[str]:
    """A file with one word per line (UTF-8, gzipped or not)."""
    with ByteReader(path, unpack=unpack) as reader:
        data = reader.read(-1)
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{os.fspath(path)}, line {line}: expected a word in UTF-8, found {error.reason}.") from None
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _matrix_shape(path: Path, stream: IO[bytes], size: int) -> tuple[int, int]:
    """The shape in the header of an ``.npy`` stream of ``size`` bytes, if the stream can hold such a matrix."""
    try:
        shape, _, dtype = npy_header(stream)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path}: expected an array in NumPy's format ({error}).") from None
    if dtype.kind not in "fiu":
        raise FormatError(f"{path}: expected an array of real numbers, found {dtype}.")
    return checked_shape(path, shape, dtype.itemsize, size)


def _collect(
    path: Path, words: list[str], shape: tuple[int, int], blocks: Blocks, selection: Selection, progress: Progress
) -> tuple[list[str], Float32Array]:
    if len(words) != shape[0]:
        raise FormatError(f"{path} holds {shape[0]} vectors, but its vocabulary has {len(words)} words.")
    rows = Rows(shape[1], selection, lambda row: f"{path}, row {row}", shape[0])
    stop = shape[0] if selection.limit is None else min(shape[0], selection.limit)
    done = 0
    try:
        for block in blocks:
            for i, vector in enumerate(block[: stop - done]):
                if rows.wants(words[done + i], done + i):
                    rows.add(words[done + i], vector, done + i)
            done += len(block)
            progress(min(done, stop), stop)
            if done >= stop or rows.complete:
                break
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: {error} (after row {done}).") from None
    return rows.finish()


def _read_npz(path: Path, selection: Selection, vocabulary: Any, progress: Progress) -> tuple[list[str], Float32Array]:
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = _member_sizes(path, archive, selection.unpack)
            inside = next((name for name in _VOCABULARIES if name in sizes), None)
            if vocabulary is None and inside is not None:
                words = _words_inside(path, archive, inside, sizes[inside])
            else:
                words = find_vocabulary(path, vocabulary, selection.unpack)
            quantised = "vectors_q" in sizes and "scale" in sizes
            name = "vectors_q" if quantised else pick(path, [n for n in sizes if n not in _VOCABULARIES])
            with archive.open(f"{name}.npy") as stream:
                shape = _matrix_shape(path, stream, sizes[name])
            scale = _read_scale(path, archive, shape[0], sizes["scale"]) if quantised else None
            with archive.open(f"{name}.npy") as stream:
                blocks = npy_blocks(stream, BLOCK)
                scaled = blocks if scale is None else _times(blocks, scale)
                return _collect(path, words, shape, scaled, selection, progress)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        if isinstance(error, WordferryError):
            raise
        raise FormatError(f"{path} is not a readable .npz file: {error}.") from None


def _member_sizes(path: Path, archive: zipfile.ZipFile, unpack: int | None) -> dict[str, int]:
    """The arrays of an archive and what each unpacks to, which is known beforehand and kept to by zipfile."""
    limit = unpack_limit(path.stat().st_size, unpack)
    sizes: dict[str, int] = {}
    for info in archive.infolist():
        if info.flag_bits & 1:
            raise FormatError(f"{path} is encrypted ({info.filename}). Save the arrays without a password.")
        if info.filename.endswith(".npy"):
            sizes[info.filename.removesuffix(".npy")] = info.file_size
    if sum(sizes.values()) > limit:
        raise too_large(path, limit)
    return sizes


def _read_scale(path: Path, archive: zipfile.ZipFile, words: int, size: int) -> npt.NDArray[Any]:
    """One finite number a word, by which its stored vector is multiplied."""
    with archive.open("scale.npy") as stream:
        try:
            shape, _, dtype = npy_header(stream)
        except (ValueError, EOFError) as error:
            raise FormatError(f"{path}: 'scale' is not an array ({error}).") from None
    if shape not in ((words,), (words, 1)) or dtype.kind not in "fiu" or words * dtype.itemsize > size:
        raise FormatError(f"{path}: 'scale' must be {words} numbers, one a word; found {dtype} of shape {shape}.")
    with archive.open("scale.npy") as stream:
        try:
            scale = np.concatenate([np.zeros((0, *shape[1:])), *npy_blocks(stream, BLOCK)])
        except (ValueError, EOFError) as error:
            raise FormatError(f"{path}: 'scale' cannot be read ({error}).") from None
    if not np.isfinite(scale).all():
        raise FormatError(f"{path}: 'scale' holds NaN or infinite numbers.")
    return scale


def _times(blocks: Blocks, scale: npt.NDArray[Any]) -> Blocks:
    done = 0
    for block in blocks:
        yield block.astype(np.float32) * scale[done : done + len(block)].reshape(-1, 1)
        done += len(block)


def _words_inside(path: Path, archive: zipfile.ZipFile, name: str, size: int) -> list[str]:
    try:
        with archive.open(f"{name}.npy") as stream:
            shape, _, dtype = npy_header(stream)
        if dtype.kind != "U" or len(shape) != 1 or shape[0] * dtype.itemsize > size:
            raise FormatError(f"{path}: expected a list of words in {name!r}, found {dtype} of shape {shape}.")
        with archive.open(f"{name}.npy") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{path}: the words in {name!r} cannot be read ({error}). "
            "Store them as an array of text, or pass vocabulary=."
        ) from None
    return [str(word) for word in array.tolist()]
