"""safetensors files: the length of a header, the header as JSON, then arrays. Read without the package of that name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.errors import FormatError
from wordferry.words.loaders.rows import BLOCK, Blocks, checked_shape, pick

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "U8": "u1"}
_LONGEST_HEADER = 100 << 20


def safetensors_blocks(path: Path) -> tuple[tuple[int, int], Blocks]:
    """The shape of the vectors, and their rows a block at a time."""
    size = path.stat().st_size
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise FormatError(
                f"{path}, byte 0: expected the length of the header, found {length} in a file of {size} bytes."
            )
        try:
            header = json.loads(stream.read(length))
            name = pick(path, [name for name in header if name != "__metadata__"])
            facts = header[name]
            shape, kind, (begin, end) = tuple(facts["shape"]), facts["dtype"], facts["data_offsets"]
            if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)) or begin > end:
                raise ValueError(f"shape {shape} and offsets {begin}, {end} must be whole numbers, none negative")
        except FormatError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"{path}, byte 8: the header of the safetensors file is broken ({error}).") from None
    if not isinstance(kind, str) or kind not in _TYPES:
        raise FormatError(f"{path}: {name!r} holds {kind}; expected one of {', '.join(_TYPES)}.")
    dtype = np.dtype(_TYPES[kind])
    words, dimensions = checked_shape(path, shape, dtype.itemsize, size)
    if end - begin != words * dimensions * dtype.itemsize or 8 + length + end > size:
        raise FormatError(
            f"{path}: {name!r} should be {words} x {dimensions} numbers in bytes {8 + length + begin} to "
            f"{8 + length + end}, and the file has {size} bytes. It is truncated or damaged."
        )
    return (words, dimensions), _blocks(path, (words, dimensions), dtype, 8 + length + begin, kind)


def _blocks(path: Path, shape: tuple[int, int], dtype: np.dtype[Any], offset: int, kind: str) -> Blocks:
    with open(path, "rb") as stream:
        stream.seek(offset)
        for start in range(0, shape[0], BLOCK):
            count = min(BLOCK, shape[0] - start)
            block = np.frombuffer(stream.read(count * shape[1] * dtype.itemsize), dtype=dtype).reshape(count, shape[1])
            yield (block.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else block
