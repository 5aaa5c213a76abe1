"""The k nearest documents of each row, reduced on the device block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array
from wordferry.device.launch import runtime

MOST = 992
"""Places of a list that is reduced on the device; longer ones are for the CPU."""
_WARPS = 4
_NONE = np.uint64(2**64 - 1)
_COLUMN = np.uint64(2**32 - 1)


def list_size(places: int) -> int:
    """Keys that a warp sorts at once: a power of two with room for a list and for new candidates."""
    return 1 << (places + 31).bit_length()


class DeviceBest:
    """Lists of the least values of rows: 64-bit keys on the device, the bits of a value above its column."""

    def __init__(self, rows: int, places: int) -> None:
        device = runtime()
        self.rows, self.places, self.size = rows, places, list_size(places)
        self.keys = device.xp.full((rows, places), _NONE, dtype=np.uint64)

    def offer(self, rows: slice, columns: slice, values: Any, allowed: Any = None) -> None:
        """Offer a block of values; ``allowed`` has a byte for each column of the block."""
        count = rows.stop - rows.start
        runtime().launch(
            "best_of_rows", -(-count // _WARPS), 32 * _WARPS, 8 * _WARPS * self.size, values, values.shape[1], allowed,
            count, columns.stop - columns.start, columns.start, self.places, self.size,
            self.keys[rows.start : rows.stop],
        )  # fmt: skip

    def doubts(self, k: int, ends: tuple[Any, Any], longest: int, errors: tuple[float, float]) -> tuple[Any, Any]:
        """Marks of the candidates that rounding could put into another of the first k places, and for each row a value
        that nothing unlisted is below.

        ``ends`` are the row pointers of both sides, ``longest`` the words of the longest document (-1 where all are
        listed); errors are absolute, and relative for each word of the longer document.
        """
        device = runtime()
        marks = device.xp.empty((self.rows, self.places), dtype=np.uint8)
        outside = device.xp.empty(self.rows, dtype=np.float64)
        device.launch(
            "mark_doubts", -(-self.rows // (32 * _WARPS)), 32 * _WARPS, 0, self.keys, self.rows, self.places, k, *ends,
            longest, np.float64(errors[0]), np.float64(errors[1]), marks, outside,
        )  # fmt: skip
        return marks, outside

    def replace(self, places: Any, of_pairs: Callable[[Any, Any], Any]) -> bool:
        """Give the keys at ``places`` the values that a function has for their rows and columns, and sort all lists.

        False where it has none.
        """
        keys = self.keys.ravel()
        columns = keys[places] & _COLUMN
        values = of_pairs(places // self.places, columns.astype(np.int64))
        if values is None:
            return False
        keys[places] = values.view(np.uint32).astype(np.uint64) << np.uint64(32) | columns
        rows = slice(0, self.rows)
        self.offer(rows, slice(0, 0), runtime().xp.zeros((self.rows, 1), dtype=np.float32))  # which sorts
        return True

    def values(self, place: int) -> Any:
        """The values of one place of all lists, on the device."""
        return _values(self.keys[:, place])

    def read(self, places: int) -> tuple[Int64Array, Float32Array]:
        """Columns and values of the first places; those without a candidate are (-1, inf)."""
        device, keys = runtime(), self.keys[:, :places]
        columns = device.xp.where(keys == _NONE, np.int64(-1), (keys & _COLUMN).astype(np.int64))
        values = device.xp.where(keys == _NONE, np.float32(np.inf), _values(keys))
        return device.get(columns), device.get(values)


def _values(keys: Any) -> Any:
    return (keys >> np.uint64(32)).astype(np.uint32).view(np.float32)


def allowed_bytes(mask: BoolArray | None) -> Any:
    """A mask on the device, a byte for each document; None where all are allowed."""
    return None if mask is None else runtime().put(np.ascontiguousarray(mask).view(np.uint8))
