"""Vectors on demand: models that make a vector of any word, so that a word gets its own when it first comes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.runtime import Progress, check_cancelled, no_progress, optional_import
from wordferry.errors import InputError
from wordferry.words.embeddings import Embeddings
from wordferry.words.growing import VectorTable
from wordferry.words.loaders.named import NAMES, USUAL_WORDS
from wordferry.words.loaders.objects import read_object
from wordferry.words.loaders.rows import Selection
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
    usual : gives the vocabulary that related words and c_max are taken from where texts in memory are compared; None
        where the source has none.

    >>> lengths = VectorSource("lengths", lambda words: [[len(word), 0.0] for word in words])
    >>> made = lengths.made(["cat", ""])
    >>> list(made.vocabulary), made.matrix.tolist(), lengths.dimensions
    (['cat'], [[1.0, 0.0]], 2)
    """

    name: str
    make: Make
    place: str | None = None
    usual: Callable[[], Embeddings] | None = None

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
            usual = partial(_loaded, name, USUAL_WORDS[name])
            return cls(name, lambda words: np.concatenate([vectors for _, vectors in named(words)]), name, usual)
        if isinstance(given, str | os.PathLike):
            folder = Path(given)
            if not (folder / "model.safetensors").is_file() or not (folder / "tokenizer.json").is_file():
                return None
            model = optional_import("model2vec", "dev").StaticModel.from_pretrained(folder)
            return replace(_static(model), place=str(folder.resolve()))
        if hasattr(given, "embedding") and hasattr(given, "tokenizer") and hasattr(given, "encode"):
            return _static(given)
        keyed = getattr(given, "wv", given)
        if hasattr(keyed, "vectors_ngrams"):
            usual = partial(_loaded, keyed)
            return cls("fasttext", lambda words: [keyed.get_vector(word) for word in words], None, usual)
        return None

    def growing(self) -> Embeddings:
        """The usual words, and vectors for others from when they are first looked up."""
        if self.usual is None:
            raise InputError(f"{self.name!r} has no vocabulary. Make vectors of your words: VectorSource.made(words).")
        stored = self.usual()
        table = VectorTable(stored.dimensions, self.made)
        lengths = np.ones(len(stored)) if stored.lengths is None else stored.lengths
        table.append(stored.vocabulary, stored.matrix, lengths)
        return table.embeddings

    @cached_property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(np.asarray(self.make(["word"])).shape[1])

    def made(self, words: list[str], progress: Progress | None = None) -> Embeddings | None:
        """Different words with their vectors, of length 1; those of which the model knows no part are left out.

        None where it knows none of them.
        """
        parts = []
        order = sorted(range(len(words)), key=lambda place: len(words[place]))  # encoders pad words of a call
        for start in range(0, len(words), _AT_ONCE):
            check_cancelled()
            some = [words[place] for place in order[start : start + _AT_ONCE]]
            parts.append(np.asarray(self.make(some), dtype=np.float32))
            if progress is not None:
                progress(start + len(some), len(words))
        made = np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)
        matrix = np.empty_like(made)
        matrix[order] = made
        known = np.flatnonzero(np.isfinite(matrix).all(axis=1) & matrix.any(axis=1))
        found = Vocabulary([words[place] for place in known.tolist()])
        return Embeddings.adopt(found, matrix[known]) if len(found) else None


def _static(model: Any) -> VectorSource:
    """A model2vec model; its usual words are the pieces that are whole words."""

    def usual() -> Embeddings:
        tokens, _ = read_object(model, Selection(), no_progress)
        found = made.made([token for token in tokens if not token.startswith("##")])
        if found is None:
            raise InputError("The model2vec model has no token that is a word.")
        return found

    made = VectorSource("model2vec", model.encode, None, usual)
    return made


def _loaded(given: Any, limit: int | None = None) -> Embeddings:
    from wordferry.words.loaders import load_embeddings

    return load_embeddings(given, limit)
