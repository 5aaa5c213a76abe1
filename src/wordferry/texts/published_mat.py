"""The ``.mat`` files that Kusner et al. (2015) published, and those their script writes, as a :class:`Collection`.

Layouts, told apart by the variables a file has:

- ``X, Y, BOW_X, words, TR, TE``: all documents, and five divisions as rows of document numbers from 1 (bbcsport,
  twitter, classic, amazon). RECIPE has ``the_words`` in place of ``words``: an empty entry was put in before some
  documents, which shifts all later ones, and the last documents have none.
- ``xtr, xte, ytr, yte, BOW_xtr, BOW_xte`` (and ``words_tr, words_te``): one division made beforehand (ohsumed, r8,
  20news). 20news has no words at all.
- ``X, y, C, BOW_X, words``: what his ``get_word_vectors.py`` writes; it has no division.

Every column of a document's matrix is the vector of one of its words. Where words are missing they are named by their
vectors: equal vectors are one word, called as another document calls it or else ``word#17``.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.streams import too_large, unpack_limit
from wordferry.errors import FormatError, NotFound
from wordferry.texts.collection import Collection, Split, split_of
from wordferry.texts.documents import Record
from wordferry.words.embeddings import Embeddings

_MAT_HEADER, _MAT_PACKED = 128, 15


@dataclass
class _Words:
    """Names of vectors, and vectors of names, as they are met."""

    vectors: dict[str, Any] = field(default_factory=dict)
    by_vector: dict[bytes, str] = field(default_factory=dict)
    unnamed: int = 0

    def named(self, word: str, vector: Any) -> str:
        self.vectors.setdefault(word, vector)
        self.by_vector.setdefault(vector.tobytes(), word)
        return word

    def name_of(self, vector: Any) -> str:
        known = self.by_vector.get(vector.tobytes())
        if known is not None:
            return known
        self.unnamed += 1
        return self.named(f"word#{self.unnamed}", vector)


@dataclass(frozen=True)
class _Side:
    """Parallel lists over documents: matrices of word vectors, counts, labels, and words where there are any."""

    matrices: list[Any]
    counts: list[Any]
    labels: list[Any]
    words: list[list[str] | None]


def read_mat(path: str | Path, *, name: str | None = None) -> Collection:
    """Read one of Kusner's files; documents without any word are kept, as empty token lists."""
    file = Path(path)
    data = _load(file)
    splits: tuple[Split, ...]
    if "xtr" in data:
        train = _side(data, "xtr", "ytr", "BOW_xtr", "words_tr", file)
        test = _side(data, "xte", "yte", "BOW_xte", "words_te", file)
        side = _Side(*(a + b for a, b in zip(vars(train).values(), vars(test).values(), strict=True)))
        n = len(train.labels)
        splits = (split_of(np.arange(n), np.arange(n, n + len(test.labels)), 0, file),)
    elif "X" in data:
        side = _side(data, "X", "Y" if "Y" in data else "y", "BOW_X", "words", file)
        splits = tuple(_divisions(data, len(side.labels), file))
    else:
        known = ", ".join(key for key in data if not key.startswith("__")) or "none"
        raise FormatError(f"{file}: expected the variables X or xtr of Kusner's files, found {known}.")
    records, words = _records(side, file)
    vocabulary = list(words.vectors)
    embeddings = Embeddings(vocabulary, np.array([words.vectors[word] for word in vocabulary], dtype=np.float32))
    return Collection(name or file.stem, records, splits, embeddings)


def _load(file: Path) -> dict[str, Any]:
    import scipy.io

    if not file.is_file():
        raise NotFound(f"There is no file {file}.")
    _check_unpacked(file)
    try:
        data: dict[str, Any] = scipy.io.loadmat(file)
    except NotImplementedError:
        raise FormatError(f"{file} is a MATLAB 7.3 file. Save it again in MATLAB with save(..., '-v7').") from None
    except (ValueError, TypeError, OSError, EOFError) as error:
        raise FormatError(f"{file} is not a readable MATLAB file ({error}).") from None
    return data


def _check_unpacked(file: Path) -> None:
    """Refuse a file whose packed variables become larger than they may, before SciPy unpacks them into memory."""
    size, total = file.stat().st_size, 0
    limit = unpack_limit(size)
    with open(file, "rb") as stream:
        head = stream.read(_MAT_HEADER)
        order = ">" if head[126:128] == b"MI" else "<"
        while len(tag := stream.read(8)) == 8:
            kind, length = struct.unpack(f"{order}II", tag)
            if kind != _MAT_PACKED:
                stream.seek(length, os.SEEK_CUR)
                continue
            unpacker, data = zlib.decompressobj(), stream.read(min(length, size))
            try:
                while data and not unpacker.eof and total <= limit:
                    total += len(unpacker.decompress(data, 1 << 20))
                    data = unpacker.unconsumed_tail
            except zlib.error:
                return  # SciPy says what is broken
            if total > limit:
                raise too_large(file, limit)


def _side(data: dict[str, Any], x: str, y: str, counts: str, words: str, file: Path) -> _Side:
    missing = [key for key in (x, y, counts) if key not in data]
    if missing:
        raise FormatError(f"{file}: expected the variables {', '.join(missing)} beside those found.")
    matrices = [np.asarray(cell) for cell in data[x].ravel()]
    labels = np.asarray(data[y]).ravel().tolist()
    numbers = [np.asarray(cell).ravel() for cell in data[counts].ravel()]
    if not len(matrices) == len(labels) == len(numbers):
        raise FormatError(
            f"{file}: {x}, {y} and {counts} have {len(matrices)}, {len(labels)} and {len(numbers)} entries."
        )
    if words in data:
        names: list[list[str] | None] = [_names(cell) for cell in data[words].ravel()]
    elif "the_words" in data:
        names = _unshifted([_names(cell) for cell in data["the_words"].ravel()])
    else:
        names = []
    names += [None] * (len(matrices) - len(names))
    return _Side(matrices, numbers, labels, names)


def _names(cell: Any) -> list[str]:
    """The words of one document; MATLAB wraps each in an array of its own."""
    return [str(np.asarray(item).ravel()[0]) if np.size(item) else "" for item in np.asarray(cell).ravel()]


def _unshifted(cells: list[list[str]]) -> list[list[str] | None]:
    """Undo the shift of RECIPE: an empty entry belongs to nobody, and pushed all that follow one place on."""
    kept: list[list[str] | None] = [words for words in cells if words]
    return kept


def _records(side: _Side, file: Path) -> tuple[tuple[Record, ...], _Words]:
    words = _Words()
    for matrix, names in zip(side.matrices, side.words, strict=True):
        for word, vector in zip(names or (), matrix.T, strict=False):
            words.named(word, vector)
    records = []
    for number, (matrix, counts, label, names) in enumerate(
        zip(side.matrices, side.counts, side.labels, side.words, strict=True)
    ):
        found = matrix.shape[1] if matrix.ndim == 2 and matrix.size else 0
        called = names if names is not None and found else [words.name_of(vector) for vector in matrix.T[:found]]
        if not found == len(counts) == len(called):
            if not found and not len(counts):
                called = []
            else:
                raise FormatError(
                    f"{file}: document {number} has {found} vectors, {len(counts)} counts and {len(called)} words."
                )
        tokens = tuple(w for w, count in zip(called, counts, strict=True) for _ in range(round(float(count))))
        records.append(Record(tokens, id=str(number), label=_label(label)))
    return tuple(records), words


def _label(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _divisions(data: dict[str, Any], documents: int, file: Path) -> Iterator[Split]:
    """Rows of TR and TE, counted from 1; rows of unequal length come as a cell each."""
    if "TR" not in data or "TE" not in data:
        return
    pairs = zip(_rows(data["TR"]), _rows(data["TE"]), strict=True)
    for number, (train, test) in enumerate(pairs):
        both = np.concatenate([train, test])
        if both.min() < 1 or both.max() > documents:
            raise FormatError(f"{file}: split {number} names documents {both.min()} .. {both.max()} of {documents}.")
        yield split_of(train - 1, test - 1, number, file)


def _rows(table: Any) -> list[Any]:
    if table.dtype == object:
        return [np.asarray(cell).ravel().astype(np.int64) for cell in table.ravel()]
    return [row.astype(np.int64) for row in np.atleast_2d(table)]
