"""Vectors on demand: models that make a vector of any word, so that a word gets its own when it first comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import optional_import
from wordferry.errors import InputError
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.named import NAMES
from wordferry.words.vocabulary import Vocabulary

Make = Callable[[list[str]], Any]
_AT_ONCE = 4096


@dataclass(frozen=True)
class VectorSource:
    """A model that gives any word a vector.

    Parameters
    ----------
    name : how it is called in messages, and in what is stored.
    make : from a list of words to an array with a row for each.

    >>> lengths = VectorSource("lengths", lambda words: [[len(word), 1.0] for word in words])
    >>> first = lengths.embeddings(["cat", "horse"])
    >>> more = lengths.grown(first, ["cat", "mouse", "elephant"])
    >>> list(more.vocabulary), bool((more.matrix[:2] == first.matrix).all())
    (['cat', 'horse', 'mouse', 'elephant'], True)
    """

    name: str
    make: Make

    @classmethod
    def of(cls, given: Any) -> VectorSource | None:
        """The source in what a caller passes as ``embeddings=``; None for a table of words, which cannot grow.

        Sources are "multilingual" and "wordllama", a model2vec ``StaticModel`` or the folder that one was saved to, and
        gensim's FastText, whose vectors of words are made from their parts.
        """
        if isinstance(given, VectorSource):
            return given
        if isinstance(given, str) and given in NAMES:
            named = NAMES[given][0]
            return cls(given, lambda words: np.concatenate([vectors for _, vectors in named(words)]))
        if isinstance(given, str | os.PathLike):
            folder = Path(given)
            if not (folder / "model.safetensors").is_file() or not (folder / "tokenizer.json").is_file():
                return None
            return cls.of(optional_import("model2vec", "dev").StaticModel.from_pretrained(folder))
        if hasattr(given, "embedding") and hasattr(given, "tokenizer") and hasattr(given, "encode"):
            return cls("model2vec", given.encode)
        keyed = getattr(given, "wv", given)
        if hasattr(keyed, "vectors_ngrams"):
            return cls("fasttext", lambda words: [keyed.get_vector(word) for word in words])
        return None

    def embeddings(self, words: Iterable[str], *, normalize: bool = True) -> Embeddings:
        """The vectors of some words; words of which the model knows no part are left out."""
        wanted = list(dict.fromkeys(words))
        known, matrix = self._made(wanted)
        if not known:
            raise InputError(f"None of the {len(wanted)} words has a vector in {self.name!r}.")
        return Embeddings.adopt(Vocabulary(known), matrix, normalize=normalize)

    def grown(self, embeddings: Embeddings, words: Iterable[str]) -> Embeddings:
        """Embeddings with vectors for further words; the rows that were there keep their numbers and values."""
        new = [word for word in dict.fromkeys(words) if word not in embeddings]
        known, matrix = self._made(new)
        if not known:
            return embeddings
        more = Embeddings.adopt(Vocabulary(known), matrix, normalize=embeddings.normalized)
        if more.dimensions != embeddings.dimensions:
            raise InputError(
                f"{self.name!r} makes vectors of {more.dimensions} numbers; these have {embeddings.dimensions}."
            )
        return embeddings.followed_by(more)

    def _made(self, words: list[str]) -> tuple[list[str], Float32Array]:
        """Words and vectors, without those whose vector is zero: the model knows no part of them."""
        parts = []
        for start in range(0, len(words), _AT_ONCE):
            check_cancelled()
            parts.append(np.asarray(self.make(words[start : start + _AT_ONCE]), dtype=np.float32))
        matrix = np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)
        some = np.flatnonzero(np.isfinite(matrix).all(axis=1) & matrix.any(axis=1))
        return [words[place] for place in some.tolist()], matrix[some]
