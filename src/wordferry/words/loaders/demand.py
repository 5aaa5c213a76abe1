"""Vectors on demand: models that make a vector of any word, so that a word gets its own when it first comes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import Progress, optional_import
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.named import NAMES
from wordferry.words.vocabulary import Vocabulary

Make = Callable[[list[str]], Any]
_AT_ONCE = 512
"""Words of a call of the model, after which progress is told."""


@dataclass(frozen=True)
class VectorSource:
    """A model that gives any word a vector.

    Parameters
    ----------
    name : how it is called in messages, and in what is stored.
    make : from a list of words to an array with a row for each.
    place : what :meth:`of` makes it of again, in another program; None for an object that only this one has.

    >>> lengths = VectorSource("lengths", lambda words: [[len(word), 0.0] for word in words])
    >>> made = lengths.made(["cat", ""])
    >>> list(made.vocabulary), made.matrix.tolist(), lengths.dimensions
    (['cat'], [[1.0, 0.0]], 2)
    """

    name: str
    make: Make
    place: str | None = None

    @classmethod
    def of(cls, given: Any) -> VectorSource | None:
        """The source in what a caller passes as ``embeddings=``; None for a table of words, which cannot grow.

        Sources are "multilingual" and "wordllama", a model2vec ``StaticModel`` or the folder that one was saved to, and
        gensim's FastText, whose vectors of words are made from their parts.
        """
        if isinstance(given, VectorSource):
            return given
        if isinstance(given, str | os.PathLike) and (name := os.fspath(given)) in NAMES:
            named = NAMES[name][0]
            return cls(name, lambda words: np.concatenate([vectors for _, vectors in named(words)]), name)
        if isinstance(given, str | os.PathLike):
            folder = Path(given)
            if not (folder / "model.safetensors").is_file() or not (folder / "tokenizer.json").is_file():
                return None
            model = optional_import("model2vec", "dev").StaticModel.from_pretrained(folder)
            return cls("model2vec", model.encode, str(folder.resolve()))
        if hasattr(given, "embedding") and hasattr(given, "tokenizer") and hasattr(given, "encode"):
            return cls("model2vec", given.encode)
        keyed = getattr(given, "wv", given)
        if hasattr(keyed, "vectors_ngrams"):
            return cls("fasttext", lambda words: [keyed.get_vector(word) for word in words])
        return None

    @cached_property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(np.asarray(self.make(["word"])).shape[1])

    def made(self, words: list[str], progress: Progress | None = None) -> Embeddings | None:
        """Different words with their vectors, of length 1; those of which the model knows no part are left out.

        None where it knows none of them.
        """
        parts = []
        for start in range(0, len(words), _AT_ONCE):
            check_cancelled()
            parts.append(np.asarray(self.make(words[start : start + _AT_ONCE]), dtype=np.float32))
            if progress is not None:
                progress(min(start + _AT_ONCE, len(words)), len(words))
        matrix = np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)
        some = np.flatnonzero(np.isfinite(matrix).all(axis=1) & matrix.any(axis=1))
        known = Vocabulary([words[place] for place in some.tolist()])
        return Embeddings.adopt(known, matrix[some]) if len(known) else None
