"""Word vectors in context: a model's pieces joined to words, so that a document is a cloud of vectors with names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array
from wordferry.base.runtime import Report, ShowProgress, progress_for
from wordferry.encoders.encoder import sentence_transformer
from wordferry.errors import InputError
from wordferry.texts.tokenizers import Span, WordTokenizer

_AT_ONCE = 32
Pieces = tuple[Sequence[tuple[int, int]], Any]
"""Where each piece of a text stands in it, ``text[start:end]``, and a matrix with a row for each."""
PieceEncoder = Callable[[list[str]], Sequence[Pieces]]


@dataclass(frozen=True, eq=False)
class WordCloud:
    """One document: a vector for each of its words, in the order of the text. NumPy takes it as a matrix."""

    vectors: Float32Array
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.vectors, dtype=dtype) if copy else np.asarray(self.vectors, dtype=dtype)


@dataclass(frozen=True, eq=False)
class WordClouds(Sequence[WordCloud]):
    """Documents as :class:`WordCloud`; ``(vectors, offsets)`` are all of them packed."""

    vectors: Float32Array
    offsets: Int64Array
    """Cloud i is the rows from ``offsets[i]`` to ``offsets[i + 1]``."""
    words: tuple[str, ...]
    """The word of each row."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, place: int) -> WordCloud: ...

    @overload
    def __getitem__(self, place: slice) -> list[WordCloud]: ...

    def __getitem__(self, place: int | slice) -> WordCloud | list[WordCloud]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        number = range(len(self))[place]  # IndexError beyond the last, and places from the end
        rows = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        return WordCloud(self.vectors[rows], self.words[rows])


def encode_words(
    texts: Sequence[str], encoder: str | PieceEncoder, stop: frozenset[str], progress: ShowProgress
) -> WordClouds:
    """The clouds of texts: the pieces that begin in a word have its vector as their mean."""
    pieces, tokenizer = find_piece_encoder(encoder), WordTokenizer(stop=stop)
    report = Report(progress_for(progress), max(len(texts), 1))
    vectors: list[Float32Array] = []
    words: list[str] = []
    ends = [0]
    for start in range(0, len(texts), _AT_ONCE):
        some = list(texts[start : start + _AT_ONCE])
        for number, (text, (places, matrix)) in enumerate(zip(some, pieces(some), strict=True), start):
            spans = tokenizer.spans(text)
            found = list(_joined(spans, places, np.asarray(matrix, dtype=np.float32)))
            if not found:
                raise InputError(
                    f"texts[{number}] has no word that the model read; leave it out"
                    f"{', or keep its stop words (stop=None)' if stop else ''}."
                )
            words += [spans[place].word for place, _ in found]
            vectors.append(np.stack([vector for _, vector in found]))
            ends.append(len(words))
        report(start + len(some), len(texts))
    matrix = np.concatenate(vectors) if vectors else np.zeros((0, 1), dtype=np.float32)
    return WordClouds(matrix, np.array(ends, dtype=np.int64), tuple(words))


def _joined(
    spans: list[Span], places: Sequence[tuple[int, int]], matrix: Float32Array
) -> Iterator[tuple[int, Float32Array]]:
    """The number of each word that has pieces, and the mean of their vectors."""
    if matrix.ndim != 2 or len(matrix) != len(places):
        raise InputError(
            f"An encoder of words must give a matrix with a row for each piece; got shape {matrix.shape} for "
            f"{len(places)} pieces."
        )
    owner = np.full(max((span.end for span in spans), default=0), -1, dtype=np.int64)
    for number, span in enumerate(spans):
        owner[span.start : span.end] = number
    # A piece of no letters (a mark of the model's own) stands at (0, 0).
    owners = np.array([owner[low] if low < min(high, len(owner)) else -1 for low, high in places], dtype=np.int64)
    for number in range(len(spans)):
        rows = matrix[owners == number]
        if len(rows):
            yield number, rows.mean(axis=0)


def find_piece_encoder(given: str | PieceEncoder) -> PieceEncoder:
    """The encoder that a caller means: "sentence-transformers:PATH", or a function from texts to pieces."""
    if callable(given):
        return given
    name, _, path = str(given).partition(":")
    if name != "sentence-transformers" or not Path(path).exists() or not path:
        raise InputError(
            "Vectors of words in context come from 'sentence-transformers:PATH', the path of a model on this machine, "
            "or from a function that gives for each text its pieces as (start, end) and a matrix with a row for each; "
            f"got {given!r}."
        )
    model = sentence_transformer(Path(path).resolve())

    def pieces(texts: list[str]) -> list[Pieces]:
        found = model.encode(texts, output_value="token_embeddings", show_progress_bar=False)
        how = {"truncation": True, "max_length": model.max_seq_length, "return_offsets_mapping": True}
        return [
            (places, vectors.cpu().numpy())
            for places, vectors in zip(model.tokenizer(texts, **how)["offset_mapping"], found, strict=True)
        ]

    return pieces
