"""Vectors as arrays beside a vocabulary: NumPy ``.npz``, ``.npy`` and safetensors, read a block of rows at a time."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Progress
from wordferry.base.streams import ByteReader, npy_blocks, npy_header
from wordferry.errors import FormatError, InputError
from wordferry.words.loaders.rows import Rows, Selection

_BLOCK = 2048
_TENSORS = ("vectors", "embeddings", "embedding", "embedding.weight", "embeddings.weight", "weight")
_VOCABULARIES = ("words", "vocabulary", "vocab", "index_to_key")
_SAFE_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "U8": "u1"}
_LONGEST_HEADER = 100 << 20

Blocks = Iterator[npt.NDArray[Any]]


def read_array_file(
    path: Path, selection: Selection, vocabulary: Iterable[str] | str | os.PathLike[str] | None, progress: Progress
) -> tuple[list[str], Float32Array]:
    """Read an ``.npz``, ``.npy`` or ``.safetensors`` file and its vocabulary."""
    if path.suffix == ".safetensors":
        words = find_vocabulary(path, vocabulary)
        shape, blocks = _safetensors_blocks(path)
        return _collect(path, words, shape, blocks, selection, progress)
    if path.suffix == ".npy":
        words = find_vocabulary(path, vocabulary)
        with open(path, "rb") as stream:
            shape = _matrix_shape(path, npy_header(stream)[0])
            stream.seek(0)
            return _collect(path, words, shape, npy_blocks(stream, _BLOCK), selection, progress)
    return _read_npz(path, selection, vocabulary, progress)


def find_vocabulary(path: Path, vocabulary: Iterable[str] | str | os.PathLike[str] | None) -> list[str]:
    """The words of an array file: a list, a path to one word a line, or a file that lies beside it."""
    if vocabulary is not None and not isinstance(vocabulary, str | os.PathLike):
        return list(vocabulary)
    if vocabulary is not None:
        return read_words(vocabulary)
    stem = path.name.removesuffix(path.suffix)
    names = [f"{base}{end}" for base in (f"{stem}.vocab.txt", f"{stem}.txt", "vocabulary.txt", "vocab.txt")
             for end in ("", ".gz")]  # fmt: skip
    for name in names:
        if (path.parent / name).is_file():
            return read_words(path.parent / name)
    raise InputError(
        f"{path} holds vectors without words. Pass vocabulary= (a list, or a file with a word a line), or put "
        f"{names[0]} beside it."
    )


def read_words(path: str | os.PathLike[str]) -> list[str]:
    """A file with a word a line (UTF-8, gzipped or not)."""
    with ByteReader(path) as reader:
        data = reader.read(-1)
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{os.fspath(path)}, line {line}: expected a word in UTF-8, found {error.reason}.") from None
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _matrix_shape(path: Path, shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2 or shape[1] == 0:
        raise FormatError(f"{path}: expected an array of words x dimensions, found shape {shape}.")
    return shape[0], shape[1]


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
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            inside = next((name for name in _VOCABULARIES if name in names), None)
            if vocabulary is None and inside is not None:
                words = _words_inside(path, archive, inside)
            else:
                words = find_vocabulary(path, vocabulary)
            quantised = "vectors_q" in names and "scale" in names
            name = "vectors_q" if quantised else _pick(path, [n for n in names if n not in _VOCABULARIES])
            with archive.open(f"{name}.npy") as stream:
                shape = _matrix_shape(path, npy_header(stream)[0])
            scale = np.ones(1)
            if quantised:
                with archive.open("scale.npy") as stream:
                    scale = np.concatenate(list(npy_blocks(stream, _BLOCK)))
            with archive.open(f"{name}.npy") as stream:
                blocks = npy_blocks(stream, _BLOCK)
                scaled = _times(blocks, scale) if quantised else blocks
                return _collect(path, words, shape, scaled, selection, progress)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise FormatError(f"{path} is no readable .npz file: {error}.") from None


def _times(blocks: Blocks, scale: npt.NDArray[Any]) -> Blocks:
    done = 0
    for block in blocks:
        yield block.astype(np.float32) * scale[done : done + len(block)].reshape(-1, 1)
        done += len(block)


def _words_inside(path: Path, archive: zipfile.ZipFile, name: str) -> list[str]:
    with archive.open(f"{name}.npy") as stream:
        try:
            array = np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError as error:
            raise FormatError(
                f"{path}: the words in {name!r} cannot be read ({error}). "
                "Store them as an array of text, or pass vocabulary=."
            ) from None
    if array.dtype.kind != "U" or array.ndim != 1:
        raise FormatError(f"{path}: expected a list of words in {name!r}, found {array.dtype} of shape {array.shape}.")
    return [str(word) for word in array.tolist()]


def _pick(path: Path, names: list[str]) -> str:
    for name in _TENSORS:
        if name in names:
            return name
    if len(names) == 1:
        return names[0]
    raise FormatError(
        f"{path}: expected one array, or one named {', '.join(_TENSORS[:3])}; found {', '.join(names) or 'none'}."
    )


def _safetensors_blocks(path: Path) -> tuple[tuple[int, int], Blocks]:
    """Read a safetensors file: the length of its header, the header as JSON, then the arrays."""
    size = path.stat().st_size
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise FormatError(
                f"{path}, byte 0: expected the length of the header, found {length} in a file of {size} bytes."
            )
        try:
            header = json.loads(stream.read(length))
            tensors = {name: facts for name, facts in header.items() if name != "__metadata__"}
            name = _pick(path, list(tensors))
            facts = tensors[name]
            shape, kind, (begin, end) = (
                _matrix_shape(path, tuple(facts["shape"])),
                facts["dtype"],
                facts["data_offsets"],
            )
        except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path}, byte 8: the header of the safetensors file is broken ({error}).") from None
    if kind not in _SAFE_TYPES:
        raise FormatError(f"{path}: {name!r} holds {kind}; expected one of {', '.join(_SAFE_TYPES)}.")
    dtype = np.dtype(_SAFE_TYPES[kind])
    if end - begin != shape[0] * shape[1] * dtype.itemsize or 8 + length + end > size:
        raise FormatError(
            f"{path}: {name!r} should be {shape[0]} x {shape[1]} numbers in bytes {8 + length + begin} to "
            f"{8 + length + end}, and the file has {size} bytes. It is truncated or damaged."
        )
    return shape, _mapped_blocks(path, shape, dtype, 8 + length + begin, kind)


def _mapped_blocks(path: Path, shape: tuple[int, int], dtype: np.dtype[Any], offset: int, kind: str) -> Blocks:
    with open(path, "rb") as stream:
        stream.seek(offset)
        for start in range(0, shape[0], _BLOCK):
            count = min(_BLOCK, shape[0] - start)
            block = np.frombuffer(stream.read(count * shape[1] * dtype.itemsize), dtype=dtype).reshape(count, shape[1])
            yield (block.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else block
