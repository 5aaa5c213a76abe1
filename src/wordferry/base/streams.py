"""Bytes of files, gzipped or not, and arrays read from them a block at a time."""

from __future__ import annotations

import codecs
import gzip
import io
import math
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wordferry.base.checks import whole_number
from wordferry.errors import FormatError, InputError, NotFound

GZIP = b"\x1f\x8b"
UNPACK_VARIABLE = "WORDFERRY_UNPACK"
_UNPACK_BASE, _UNPACK_RATIO = 64 << 20, 64
_UNPACK_PIPE = 4 << 30  # a pipe does not tell its size
_BUFFER = 1 << 16
_OTHER_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def unpack_limit(packed: int | None, asked: int | None = None) -> int:
    """How many bytes a packed file of ``packed`` bytes (None: a pipe) may become.

    What was asked for, else ``WORDFERRY_UNPACK``, else 64 MiB and 64 times the size: more than texts and vectors need,
    and less than a file made to fill the memory gives.
    """
    if asked is None:
        text = os.environ.get(UNPACK_VARIABLE, "").strip()
        if not text:
            return _UNPACK_PIPE if packed is None else _UNPACK_BASE + _UNPACK_RATIO * packed
        if not text.isdecimal():
            raise InputError(f"{UNPACK_VARIABLE} must be a whole number of bytes, got {text!r}.")
        return int(text)
    return whole_number(asked, "unpack", of="bytes")


def too_large(name: object, limit: int) -> FormatError:
    """The error for a packed file that becomes larger than it may."""
    return FormatError(
        f"{name} unpacks to more than the {limit} bytes that a file of its size may become. If you trust it, allow "
        f"more with unpack= (or {UNPACK_VARIABLE}=), a number of bytes."
    )


class ByteReader(io.BufferedReader):
    """A file read from front to back, unpacked when its bytes are gzip, with what progress bars need.

    ``position`` and ``size`` count bytes of the file as it lies on the disk. ``"-"`` is the standard input, which stays
    open and has no size. A byte-order mark at the head is not part of the data; ``marks=False`` leaves it to whoever
    decodes the bytes. ``unpack`` bounds what gzip may become (:func:`unpack_limit`).
    """

    def __init__(self, path: str | os.PathLike[str], *, unpack: int | None = None, marks: bool = True) -> None:
        self._file = _open(path)
        self.size = 0 if path == "-" else os.fstat(self._file.fileno()).st_size
        self.packed = self._file.peek(2)[:2] == GZIP
        self.limit = unpack_limit(None if path == "-" else self.size, unpack)
        super().__init__(_Unpacked(path, self._file, self.limit if self.packed else None), _BUFFER)
        start = self.peek(3) if marks else b""
        if start.startswith(codecs.BOM_UTF8):
            self.read(3)
        elif (name := _OTHER_MARKS.get(start[:2])) is not None:
            raise FormatError(
                f"{self.name} is {name} text; expected UTF-8. Say so with encoding={name.lower()!r} "
                "where documents are read, or convert the file."
            )

    @property
    def position(self) -> int:
        return int(self._file.tell())

    @property
    def most_bytes(self) -> int:
        """A bound on the unpacked size (deflate packs a byte into no less than 1/1032)."""
        return min(self.size * 1032, self.limit) if self.packed else self.size


class _Unpacked(io.RawIOBase):
    """The bytes of an open file: its own, or with a ``limit`` those that its gzip data become."""

    def __init__(self, path: str | os.PathLike[str], file: Any, limit: int | None) -> None:
        self.name = "standard input" if path == "-" else os.fspath(path)
        self._opened = [] if path == "-" else [file]
        self._stream = file if limit is None else gzip.GzipFile(fileobj=file)
        self._offset, self._limit = 0, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data: bytes = self._stream.read1(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(
                f"{self.name}: the gzip data is broken or ends early after {self._offset} bytes ({error})."
            ) from None
        self._offset += len(data)
        if self._limit is not None and self._offset > self._limit:
            raise too_large(self.name, self._limit)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for file in self._opened:
            file.close()
        super().close()


def _open(path: str | os.PathLike[str]) -> Any:
    try:
        return sys.stdin.buffer if path == "-" else open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"There is no file {os.fspath(path)}.") from None
    except IsADirectoryError:
        raise InputError(f"{os.fspath(path)} is a folder; a file was expected.") from None


def text_lines(
    source: str | os.PathLike[str], *, encoding: str = "utf-8", unpack: int | None = None
) -> Iterator[tuple[int, str]]:
    """Numbered lines, decoded, of a file or of the standard input (``"-"``); broken bytes are named with their line."""
    try:
        plain = codecs.lookup(encoding).name == "utf-8"
    except (LookupError, TypeError):
        raise InputError(f"There is no encoding {encoding!r}. Common ones: utf-8, latin-1, cp1252, utf-16.") from None
    number = 0
    with ByteReader(source, unpack=unpack, marks=plain) as reader:
        # In other encodings a line break may be something else than the one byte of ASCII.
        lines: Iterable[bytes | str] = reader if plain else io.TextIOWrapper(reader, encoding, newline="\n")
        try:
            for number, line in enumerate(lines, start=1):
                yield number, line.decode("utf-8") if isinstance(line, bytes) else line
        except UnicodeDecodeError as error:
            if not plain:
                raise FormatError(
                    f"{reader.name} is no {encoding} text after line {number}: {error.reason}. Name another encoding."
                ) from None
            raise FormatError(
                f"{reader.name}, line {number}: expected UTF-8 text, found byte 0x{error.object[error.start]:02x} at "
                f"position {error.start} of the line. Name its encoding, e.g. encoding='latin-1', where documents are "
                "read, or convert the file to UTF-8."
            ) from None


def npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of an ``.npy`` stream, which then stands at its first number.

    ValueError when there is no such header, or it describes something else than an array of real numbers.
    """
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except (ValueError, EOFError):
        raise
    except Exception as error:  # NumPy evaluates the header as Python, which fails in as many ways as Python has
        raise ValueError(f"the header of the array is broken ({type(error).__name__}: {error})") from None
    if any(size < 0 for size in shape):
        raise ValueError(f"the header of the array is broken (shape {shape})")
    return shape, fortran, dtype


_PLAIN_HEADER = re.compile(
    rb"\{'descr': '([<>|][biuf]\d+)', 'fortran_order': (False|True), 'shape': \(((?:\d+,? ?)*)\), ?\}\s*\n"
)


def plain_npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]] | None:
    """:func:`npy_header` for headers as NumPy writes them, read without evaluating Python; None for any other.

    NumPy evaluates headers as Python, and Python 3.11 now and then fails in that when several threads do it at once
    ("AST constructor recursion depth mismatch"). What we have written ourselves need not run that risk.
    """
    start = stream.read(10)
    if len(start) < 10 or start[:8] != b"\x93NUMPY\x01\x00":
        return None
    found = _PLAIN_HEADER.fullmatch(stream.read(int.from_bytes(start[8:10], "little")))
    if found is None:
        return None
    shape = tuple(int(size) for size in found[3].split(b",") if size.strip())
    return shape, found[2] == b"True", np.dtype(found[1].decode())


def npy_blocks(stream: IO[bytes], rows: int) -> Iterator[npt.NDArray[Any]]:
    """The rows of an ``.npy`` stream, ``rows`` at a time. ValueError when it is broken or ends early."""
    shape, fortran, dtype = npy_header(stream)
    if not shape or (fortran and len(shape) > 1) or dtype.kind not in "fiu":
        order = "column order" if fortran else "row order"
        raise ValueError(f"real numbers in row order are needed, not {dtype} of shape {shape} in {order}")
    width = math.prod(shape[1:])
    for start in range(0, shape[0], rows):
        count = min(rows, shape[0] - start)
        data = stream.read(count * width * dtype.itemsize)
        if len(data) < count * width * dtype.itemsize:
            raise ValueError(f"the array ends early, in rows {start} to {start + count - 1} of {shape[0]}")
        yield np.frombuffer(data, dtype=dtype).reshape(count, *shape[1:])
