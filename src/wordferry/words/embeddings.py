"""Word vectors: a float32 matrix whose rows are the words of a vocabulary."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Float32Array, Float64Array, Int64Array
from wordferry.errors import FormatError, InputError
from wordferry.words.vocabulary import Vocabulary

_BLOCK_ROWS = 2048
SHORTEST, LONGEST = 1e-18, 8e18
"""Between these lengths (or at 0) vectors are used as they are: squares of their differences are ordinary float32."""
_SHORTEST_SCALED = 1e-30
"""From this length on vectors can be scaled to length 1; below it float32 has lost their direction."""
_UNIT_TOLERANCE = 1e-3


class Embeddings:
    """Words and their vectors, immutable.

    Parameters
    ----------
    vocabulary : the words, a list of str or a Vocabulary.
    matrix : (words, dimensions) numbers, kept as C-ordered float32.
    normalize : scale every vector to length 1 (the default, as in the paper); zero vectors are then refused by name.

    Examples
    --------
    >>> emb = Embeddings(["cat", "dog"], [[3.0, 4.0], [0.0, 2.0]])
    >>> emb.vector("cat").tolist(), emb.normalized
    ([0.6000000238418579, 0.800000011920929], True)
    """

    _dimensions: int
    _load: Callable[[], Embeddings]

    def __init__(
        self,
        vocabulary: Iterable[str] | Vocabulary,
        matrix: Any,
        *,
        normalize: bool = True,
    ) -> None:
        words = vocabulary if isinstance(vocabulary, Vocabulary) else Vocabulary(vocabulary)
        values = np.asarray(matrix)
        if values.ndim != 2 or not np.issubdtype(values.dtype, np.number) or np.iscomplexobj(values):
            raise InputError(f"Vectors must be a (words, dimensions) array of real numbers, got shape {values.shape}.")
        with np.errstate(over="ignore"):  # a number too large for float32 is found as infinity, and named
            copy = np.array(values, dtype=np.float32, order="C")
        self._keep(words, *_checked(copy, words, normalize), bool(normalize))

    def _keep(
        self, vocabulary: Vocabulary, matrix: Float32Array, lengths: Float64Array | None, normalized: bool
    ) -> None:
        self.vocabulary, self.matrix, self.normalized = vocabulary, matrix, normalized
        self.lengths = lengths

    @classmethod
    def late(cls, vocabulary: Vocabulary, dimensions: int, load: Callable[[], Embeddings]) -> Embeddings:
        """Vectors of length 1 that are loaded when one of them is first asked for."""
        self = cls.__new__(cls)
        self.vocabulary, self.normalized = vocabulary, True
        self._dimensions, self._load = dimensions, load
        return self

    @cached_property
    def matrix(self) -> Float32Array:
        """The vectors, one row per word, read-only."""
        return self._load().matrix

    @cached_property
    def lengths(self) -> Float64Array | None:
        """What each word counts for with ``weights="norm"``; None where that is not known.

        It is the length that the vector had before it was scaled to length 1, or a weight that was learned.
        """
        return self._load().lengths

    @classmethod
    def adopt(cls, vocabulary: Vocabulary, matrix: Float32Array, *, normalize: bool = True) -> Embeddings:
        """Take over a float32 matrix that nobody else uses: checked and scaled in place; copied only to bring it into C
        order."""
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        matrix, lengths = _checked(matrix, vocabulary, normalize)
        return cls._trusted(vocabulary, matrix, bool(normalize), lengths)

    @classmethod
    def weighed(cls, vocabulary: Vocabulary, matrix: Any, weights: Any) -> Embeddings:
        """Vectors that keep their lengths, with weights of their own for ``weights="norm"``: those of a learned metric.

        Parameters
        ----------
        vocabulary : the words.
        matrix : (words, dimensions) numbers.
        weights : one positive number for each word.

        Examples
        --------
        >>> found = Embeddings.weighed(Vocabulary(["cat", "the"]), [[3.0], [1.0]], [1.5, 0.5])
        >>> found, found.lengths.tolist()
        (Embeddings(2 words, 1 dimensions, true length), [1.5, 0.5])
        """
        lengths = np.array(weights, dtype=np.float64)
        if lengths.shape != (len(vocabulary),) or not (np.isfinite(lengths) & (lengths >= 0)).all():
            raise InputError(
                f"weights must be {len(vocabulary)} finite numbers, none negative; got shape {lengths.shape}."
            )
        with np.errstate(over="ignore"):  # a number too large for float32 is found as infinity, and named
            values, _ = _checked(np.array(matrix, dtype=np.float32, order="C"), vocabulary, False)
        return cls._trusted(vocabulary, values, False, lengths)

    @classmethod
    def _trusted(
        cls, vocabulary: Vocabulary, matrix: Float32Array, normalized: bool, lengths: Float64Array | None = None
    ) -> Embeddings:
        """Wrap a matrix that was checked before (a restriction, or a verified folder)."""
        self = cls.__new__(cls)
        matrix.flags.writeable = False
        self._keep(vocabulary, matrix, lengths, normalized)
        return self

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        kind = "unit length" if self.normalized else "true length"
        return f"Embeddings({len(self)} words, {self.dimensions} dimensions, {kind})"

    @property
    def dimensions(self) -> int:
        return self._dimensions if "matrix" not in self.__dict__ else int(self.matrix.shape[1])

    @property
    def stored(self) -> Embeddings:
        """These, without rows that are kept for words of queries: only embeddings that grow have such rows."""
        return self

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of words, order and vectors."""
        digest = hashlib.sha256(self.vocabulary.fingerprint.encode())
        digest.update(f"{self.matrix.shape}{self.normalized}".encode())
        digest.update(np.ascontiguousarray(self.matrix).data)
        if not self.normalized and self.lengths is not None:
            digest.update(self.lengths.data)
        return digest.hexdigest()[:16]

    def vector(self, word: str) -> Float32Array:
        """The vector of one word; NotFound when it has none."""
        result: Float32Array = self.matrix[self.vocabulary.id(word)]
        return result

    def restrict(self, words: Iterable[str] | Iterable[int] | Int64Array) -> Embeddings:
        """A new Embeddings of some words (or ids), in the order given; words without a vector are left out."""
        if not isinstance(words, str | np.ndarray):
            words = list(words)
            if words and all(isinstance(one, int) for one in words):
                words = np.array(words, dtype=np.int64)
        if isinstance(words, np.ndarray) and np.issubdtype(words.dtype, np.integer):
            ids = words.astype(np.int64)
            if len(ids) and (ids.min() < 0 or ids.max() >= len(self)):
                raise InputError(f"Word ids must lie in 0 .. {len(self) - 1}, got {ids.min()} .. {ids.max()}.")
        else:
            if isinstance(words, str):
                raise InputError("restrict takes a list of words, got one string. Put it in a list: [word].")
            ids = self.vocabulary.ids(dict.fromkeys(words))
            ids = ids[ids >= 0]
        words_here = self.vocabulary[:]
        chosen = [words_here[i] for i in ids.tolist()]
        kept = Vocabulary.trusted(chosen) if len(np.unique(ids)) == len(ids) else Vocabulary(chosen)
        return self.rows(ids, kept)

    def rows(self, ids: Int64Array, vocabulary: Vocabulary) -> Embeddings:
        """Some rows, for a caller who knows that the vocabulary holds just their words."""
        lengths = None if self.lengths is None else self.lengths[ids]
        return Embeddings._trusted(vocabulary, np.ascontiguousarray(self.matrix[ids]), self.normalized, lengths)

    def normalize(self) -> Embeddings:
        """These words with vectors of length 1."""
        return self if self.normalized else Embeddings(self.vocabulary, self.matrix, normalize=True)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write our own memory-mappable folder format."""
        config = {"normalized": self.normalized, "fingerprint": self.fingerprint}
        arrays: dict[str, Any] = {"vectors": self.matrix}
        if self.lengths is not None:
            arrays["lengths"] = self.lengths
        storage.write_folder(
            path,
            "embeddings",
            config,
            arrays,
            {"vocabulary": self.vocabulary},
            overwrite=overwrite,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool | None = None) -> Embeddings:
        """Open a folder written by :meth:`save`; vectors are memory-mapped.

        Files are compared with their checksums and vectors with what can be computed with: always with
        ``verify=True``, never with ``verify=False``, and by default when the folder has up to a gigabyte.
        """
        folder = storage.read_folder(path, "embeddings", verify=verify)
        try:
            words, matrix = Vocabulary(folder.words["vocabulary"]), folder.arrays["vectors"]
            normalized, fingerprint = bool(folder.config["normalized"]), str(folder.config["fingerprint"])
        except KeyError as error:
            raise FormatError(f"{path} is not a complete embeddings folder: {error.args[0]!r} is missing.") from None
        except InputError as error:
            raise FormatError(f"{path} is damaged: {error}") from None
        if matrix.shape[:1] != (len(words),) or matrix.ndim != 2 or matrix.dtype != np.float32:
            raise FormatError(
                f"{path}: expected {len(words)} float32 vectors, found {matrix.dtype} of shape {matrix.shape}."
            )
        if storage.verifies(path, verify):
            _check_stored(matrix, words, normalized, path)
        lengths = folder.arrays.get("lengths")
        if lengths is not None and (lengths.shape != (len(words),) or lengths.dtype != np.float64):
            raise FormatError(
                f"{path}: expected {len(words)} float64 lengths, found {lengths.dtype} of shape {lengths.shape}."
            )
        self = cls._trusted(words, matrix, normalized, lengths)
        self.__dict__["fingerprint"] = fingerprint
        return self


def _check_stored(matrix: Float32Array, vocabulary: Vocabulary, normalized: bool, path: str | os.PathLike[str]) -> None:
    """The checks that vectors pass where they enter, and that those said to be of length 1 are."""
    try:
        for start in range(0, len(matrix), _BLOCK_ROWS):
            lengths = _lengths(matrix[start : start + _BLOCK_ROWS], start, vocabulary)
            _check_lengths(lengths, start, vocabulary, scaled=False)
            if normalized:
                _check_unit(lengths, start, vocabulary)
    except InputError as error:
        raise FormatError(f"{path} is damaged: {error}") from None


def _check_unit(lengths: Float64Array, start: int, vocabulary: Vocabulary) -> None:
    away = np.flatnonzero(np.abs(lengths - 1) > _UNIT_TOLERANCE)
    if len(away):
        row = start + int(away[0])
        raise InputError(f"The vector of {vocabulary[row]!r} (row {row}) has length {lengths[away[0]]:g} instead of 1.")


def _checked(matrix: Float32Array, vocabulary: Vocabulary, normalize: bool) -> tuple[Float32Array, Float64Array | None]:
    """The matrix, read-only, free of NaN, scaled in place to unit length on request, and the lengths it had then.

    Worked through in blocks, to need no memory.
    """
    kept = np.empty(len(matrix), dtype=np.float64) if normalize else None
    if matrix.shape[0] != len(vocabulary):
        raise InputError(f"There are {len(vocabulary)} words but {matrix.shape[0]} vectors.")
    if matrix.shape[1] == 0:
        raise InputError("Vectors must have at least one dimension, got 0.")
    for start in range(0, len(matrix), _BLOCK_ROWS):
        block = matrix[start : start + _BLOCK_ROWS]
        lengths = _lengths(block, start, vocabulary)
        _check_lengths(lengths, start, vocabulary, scaled=normalize)
        if kept is not None:
            kept[start : start + len(block)] = lengths
            np.divide(block, lengths[:, None], out=block, casting="same_kind")
    matrix.flags.writeable = False
    return matrix, kept


def _lengths(block: Float32Array, start: int, vocabulary: Vocabulary) -> Float64Array:
    """The length of each vector; NaN and infinity are refused by word."""
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        row = start + int(np.flatnonzero(~finite)[0])
        raise InputError(f"The vector of {vocabulary[row]!r} (row {row}) holds NaN or infinite numbers (as float32).")
    lengths: Float64Array = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    return lengths


def _check_lengths(lengths: Float64Array, start: int, vocabulary: Vocabulary, *, scaled: bool) -> None:
    """Refuse, by word, vectors of a length that cannot be computed with."""
    if scaled:
        bad = np.flatnonzero(lengths < _SHORTEST_SCALED)
    else:
        bad = np.flatnonzero((lengths > LONGEST) | ((lengths < SHORTEST) & (lengths > 0)))
    if not len(bad):
        return
    row, length = start + int(bad[0]), float(lengths[bad[0]])
    name = f"The vector of {vocabulary[row]!r} (row {row})"
    if length == 0:
        raise InputError(
            f"{name} is zero and cannot be scaled to length 1. Leave the word out, or pass normalize=False."
        )
    if scaled:
        raise InputError(
            f"{name} has a length of {length:.1e}, too small for float32 to keep its direction (at least "
            f"{_SHORTEST_SCALED:.0e}). Multiply the vectors by a large number, or leave the word out."
        )
    raise InputError(
        f"{name} has a length of {length:.1e}; distances can be computed from {SHORTEST:.0e} to {LONGEST:.0e}. Pass "
        "normalize=True, or scale the vectors yourself."
    )
