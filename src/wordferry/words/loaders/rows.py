"""Where readers put the vectors they find: which words are wanted, how far to read, and checks that name the place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import Float32Array
from wordferry.base.checks import whole_number
from wordferry.errors import FormatError, InputError

_CHECK_ROWS = 1024
_FIRST_ROWS = 4096
BLOCK = 2048
"""Rows that are read from an array at a time."""
_TENSORS = ("vectors", "embeddings", "embedding", "embedding.weight", "embeddings.weight", "weight")

Blocks = Iterator[npt.NDArray[Any]]


@dataclass(frozen=True)
class Selection:
    """Which words of a file are kept: the first ``limit`` of them, and of those the ``words`` asked for."""

    limit: int | None = None
    words: frozenset[str] | None = None
    on_duplicate: str = "error"
    unpack: int | None = None
    """Bytes that a packed file may become (None: the usual bound)."""

    @classmethod
    def of(
        cls, limit: int | None, words: Iterable[str] | None, on_duplicate: str, unpack: int | None = None
    ) -> Selection:
        """Check the options of a caller."""
        if limit is not None:
            limit = whole_number(limit, "limit", of="words")
        if isinstance(words, str):
            raise InputError("words must be a list of words, got one string. Put it in a list: [word].")
        wanted = None if words is None else frozenset(words)
        if wanted is not None and not all(isinstance(word, str) for word in wanted):
            raise InputError("words must be a list of str.")
        if on_duplicate not in ("error", "first"):
            raise InputError(f"on_duplicate must be 'error' or 'first', got {on_duplicate!r}.")
        return cls(limit, wanted, on_duplicate, unpack)

    def most(self, available: int | None) -> int | None:
        """The largest number of words that can be kept out of ``available`` (None: unknown)."""
        bounds = [b for b in (available, self.limit, None if self.words is None else len(self.words)) if b is not None]
        return min(bounds) if bounds else None


class Rows:
    """Collects (word, vector) into one matrix that grows in place; the result needs no second copy.

    ``place`` turns the number that a reader gives with each row (a line or a byte) into words for an error;
    ``capacity`` is how many rows may come, if that is known (memory is used only by those that do).
    """

    def __init__(
        self, dimensions: int, selection: Selection, place: Callable[[int], str], capacity: int | None
    ) -> None:
        most = selection.most(capacity)
        self.matrix: Float32Array = np.empty((_FIRST_ROWS if most is None else most, dimensions), dtype=np.float32)
        self.words: dict[str, int] = {}
        self._selection, self._place = selection, place
        self._places: list[int] = []
        self._checked = 0

    @property
    def complete(self) -> bool:
        """True when every word asked for was found, so that reading on is of no use."""
        wanted = self._selection.words
        return wanted is not None and len(self.words) == len(wanted)

    def wants(self, word: str, place: int) -> bool:
        """Whether a word's vector is to be added; a word that comes again is an error, or passed over if so asked."""
        wanted = self._selection.words
        if wanted is not None and word not in wanted:
            return False
        if word in self.words:
            if self._selection.on_duplicate == "first":
                return False
            raise FormatError(
                f"{self._place(place)}: the word {word!r} appears a second time (first as word {self.words[word] + 1} "
                "of those kept). Keep the first of them with on_duplicate='first'."
            )
        return True

    def add(self, word: str, vector: npt.ArrayLike, place: int) -> None:
        """Append a row of the right length."""
        row = len(self.words)
        if row == len(self.matrix):
            self.matrix.resize((row + row // 2 + 1, self.matrix.shape[1]), refcheck=False)
        self.matrix[row] = vector
        self.words[word] = row
        self._places.append(place)
        if len(self._places) == _CHECK_ROWS:
            self._check()

    def _check(self) -> None:
        block = self.matrix[self._checked : len(self.words)]
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            bad = int(np.flatnonzero(~finite)[0])
            word = list(self.words)[self._checked + bad]
            raise FormatError(
                f"{self._place(self._places[bad])}: the vector of {word!r} holds NaN or infinity; "
                "expected finite numbers (as float32)."
            )
        self._checked = len(self.words)
        self._places.clear()

    def finish(self) -> tuple[list[str], Float32Array]:
        """The words and their vectors."""
        self._check()
        self.matrix.resize((len(self.words), self.matrix.shape[1]), refcheck=False)
        return list(self.words), self.matrix


def checked_shape(path: Path, shape: tuple[int, ...], itemsize: int, size: int) -> tuple[int, int]:
    """(words, dimensions), refused when numbers of ``itemsize`` bytes do not fit into ``size`` bytes."""
    if len(shape) != 2 or shape[1] == 0:
        raise FormatError(f"{path}: expected an array of words x dimensions, found shape {shape}.")
    if shape[0] * shape[1] * itemsize > size:
        raise FormatError(
            f"{path} should hold {shape[0]} x {shape[1]} numbers of {itemsize} bytes, and the file has {size} bytes. "
            "It is truncated or damaged."
        )
    return shape[0], shape[1]


def pick(path: Path, names: list[str]) -> str:
    """The array of several that holds the vectors."""
    for name in _TENSORS:
        if name in names:
            return name
    if len(names) == 1:
        return names[0]
    raise FormatError(
        f"{path}: expected one array, or one named {', '.join(_TENSORS[:3])}; found {', '.join(names) or 'none'}."
    )
