"""Bytes of files, gzipped or not, and arrays read from them a block at a time."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wordferry.errors import FormatError, InputError, NotFound

GZIP = b"\x1f\x8b"
BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)


class ByteReader:
    """A file read from front to back, unpacked when its bytes are gzip, with what progress bars need.

    ``position`` and ``size`` count bytes of the file as it lies on the disk; ``offset`` counts unpacked bytes read.
    """

    def __init__(self, path: str | os.PathLike[str], stream: Any = None) -> None:
        """Open a path, or read on in an open buffered stream (then ``path`` is its name and it stays open)."""
        self.name = os.fspath(path)
        self.offset = 0
        self._owned = stream is None
        self._raw = _open(path) if stream is None else stream
        self.size = os.fstat(self._raw.fileno()).st_size if self._owned else 0
        self.packed = self._raw.peek(2)[:2] == GZIP
        self._stream: Any = gzip.GzipFile(fileobj=self._raw) if self.packed else self._raw

    @property
    def position(self) -> int:
        return int(self._raw.tell())

    @property
    def most_bytes(self) -> int:
        """A bound on the unpacked size (deflate packs a byte into no less than 1/1032)."""
        return self.size * 1032 if self.packed else self.size

    def read(self, count: int) -> bytes:
        """Up to ``count`` bytes; fewer only at the end."""
        return self._counted(self._stream.read, count)

    def readline(self, limit: int = -1) -> bytes:
        """The next line with its line break, or ``limit`` bytes of it."""
        return self._counted(self._stream.readline, limit)

    def peek(self, count: int) -> bytes:
        """Up to ``count`` of the next bytes, without moving on."""
        try:
            return bytes(self._stream.peek(count)[:count])
        except BROKEN_GZIP as error:
            raise self._broken(error) from None

    def _counted(self, method: Any, count: int) -> bytes:
        try:
            data: bytes = method(count)
        except BROKEN_GZIP as error:
            raise self._broken(error) from None
        self.offset += len(data)
        return data

    def _broken(self, error: BaseException) -> FormatError:
        return FormatError(f"{self.name}: the gzip data is broken or ends early after {self.offset} bytes ({error}).")

    def close(self) -> None:
        if self._owned:
            self._stream.close()
            self._raw.close()

    def __enter__(self) -> ByteReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(path: str | os.PathLike[str]) -> Any:
    try:
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"There is no file {os.fspath(path)}.") from None
    except IsADirectoryError:
        raise InputError(f"{os.fspath(path)} is a folder; a file was expected.") from None


def npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of an ``.npy`` stream, which then stands at its first number."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def npy_blocks(stream: IO[bytes], rows: int) -> Iterator[npt.NDArray[Any]]:
    """The rows of an ``.npy`` stream, ``rows`` at a time. ValueError when it is broken or ends early."""
    shape, fortran, dtype = npy_header(stream)
    if not shape or (fortran and len(shape) > 1) or dtype.hasobject:
        raise ValueError(f"an array of numbers in row order is needed, not {dtype} of shape {shape}")
    width = int(np.prod(shape[1:]))
    for start in range(0, shape[0], rows):
        count = min(rows, shape[0] - start)
        data = stream.read(count * width * dtype.itemsize)
        if len(data) < count * width * dtype.itemsize:
            raise ValueError(f"the array ends early, in rows {start} to {start + count - 1} of {shape[0]}")
        yield np.frombuffer(data, dtype=dtype).reshape(count, *shape[1:])
