"""One data set made ready: encoded documents, word vectors, related words, and how long each step took."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.errors import NotFound
from wordferry.judge.voting import class_numbers
from wordferry.texts import bow
from wordferry.texts.collection import Split
from wordferry.texts.published import differences, find_set, published, read_collection
from wordferry.texts.tokenizers import WordTokenizer, stop_words
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

GOOGLE_NEWS = "embeddings/word2vec-google-news-300-subset31k.npz"
SMART_LIST = "stop_words_smart570.txt"
KEEPS_STOP_WORDS = ("twitter",)
LONGEST = {"20news": 500}
"""Distinct words kept of a document, the most frequent ones: Kusner et al. cut 20news so."""


@dataclass
class Clock:
    """Seconds on the wall and of processor time, by step."""

    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what is done inside, added to what the step has taken already."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
            self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu

    def to_json(self) -> dict[str, Any]:
        """Rounded to a tenth of a millisecond."""
        return {
            "seconds": {name: round(value, 4) for name, value in self.wall.items()},
            "cpu_seconds": {name: round(value, 4) for name, value in self.cpu.items()},
        }


@dataclass(frozen=True)
class Source:
    """Where the data of a run come from."""

    folder: Path
    embeddings: Path | None = None
    """A file of word vectors; None means the Google News vectors of the folder, else the default ones."""

    @property
    def vectors_file(self) -> Path | None:
        if self.embeddings is not None:
            return self.embeddings
        file = self.folder / GOOGLE_NEWS
        return file if file.is_file() else None

    @property
    def stop_file(self) -> Path | None:
        file = self.folder / SMART_LIST
        return file if file.is_file() else None

    def load_vectors(self) -> Embeddings:
        """The word vectors of the run, of unit length."""
        file = self.vectors_file
        if file is None:
            from wordferry.texts.datasets import default_embeddings

            return default_embeddings()
        from wordferry.words.loaders import load_embeddings

        return load_embeddings(file)

    def tokenizer(self, name: str) -> WordTokenizer:
        """Lower-cased words without the stop words; tweets keep theirs."""
        if name in KEEPS_STOP_WORDS:
            return WordTokenizer()
        if self.stop_file is None:
            return WordTokenizer(stop=stop_words())
        words = self.stop_file.read_text(encoding="utf-8").split()
        return WordTokenizer(stop=frozenset(words))


@dataclass
class Bench:
    """A data set ready for experiments; documents without known words are left out."""

    name: str
    counts: sp.csr_array
    classes: Int64Array
    class_names: list[str]
    splits: tuple[Split, ...]
    embeddings: Embeddings
    facts: dict[str, Any]
    threads: int | None = None
    learned: dict[int, Embeddings] = field(default_factory=dict)
    """Vectors and weights that were learned from the training documents of a division."""
    _graphs: dict[int, tuple[RelatedWords, Clock]] = field(default_factory=dict)

    def related(self, r: int) -> tuple[RelatedWords, Clock]:
        """Related words over all words of the set, built with this r, and what that took."""
        if r not in self._graphs:
            clock = Clock()
            with clock.step("preprocessing"):
                graph = RelatedWords.build(self.embeddings, r, threads=self.threads)
                _ = graph.graph
            self._graphs[r] = (graph, clock)
        return self._graphs[r]


def open_set(name: str, source: Source, vectors: Embeddings | None, threads: int | None = None) -> Bench:
    """Read a data set, encode it over the words that have a vector, and note how it differs from the paper's."""
    path = find_set(source.folder, name)
    collection = read_collection(path, name=name)
    embeddings = collection.embeddings or vectors
    if embeddings is None:
        raise NotFound("There are no word vectors for this data set.")
    found = bow.bags(collection.texts, embeddings.vocabulary, tokenizer=source.tokenizer(name), on_empty="keep")
    counts = _cut(found.matrix, LONGEST.get(name)) if collection.embeddings is None else found.matrix
    words = np.unique(counts.indices).astype(np.int64)
    counts = counts[:, words]
    counts.sort_indices()
    filled = np.diff(counts.indptr) > 0
    classes, names = class_numbers(collection.labels)
    splits = tuple(Split(s.train[filled[s.train]], s.test[filled[s.test]]) for s in collection.splits)
    tokens = int(found.tokens.sum())
    facts = {
        "documents": len(collection.records),
        "without_known_words": int((~filled).sum()),
        "classes": len(names),
        "splits": len(splits),
        "words": len(words),
        "mean_words": round(float(np.diff(counts.indptr)[filled].mean()), 1),
        "coverage": round(float(found.known.sum()) / max(tokens, 1), 4),
        "train": [len(s.train) for s in splits],
        "test": [len(s.test) for s in splits],
        "notes": _notes(name, path, collection, len(words)),
    }
    return Bench(name, counts, classes, names, splits, embeddings.restrict(words), facts, threads)


def paper_name(name: str) -> str | None:
    """The name the paper gives this set, or None when it is none of the paper's."""
    try:
        return published(name).name
    except NotFound:
        return None


def _notes(name: str, path: Path, collection: Any, words: int) -> list[str]:
    """Where the set at hand is not the authors'."""
    known = paper_name(name)
    if known is None:
        return ["not a data set of the paper: no published number to compare with"]
    entry = published(known)
    notes = differences(collection, entry)
    if collection.embeddings is None and words != entry.words:
        notes.append(f"words with a vector: {words:,} here, {entry.words:,} in the paper")
    if path.suffix != ".mat" and len(collection.splits) > 1:
        notes.append("divisions into training and test are this file's own, not Kusner's")
    if path.suffix != ".mat":
        notes.append("texts prepared again, not taken from Kusner's file")
    return notes


def _cut(counts: sp.csr_array, longest: int | None) -> sp.csr_array:
    """Keep the most frequent words of documents that have more than ``longest`` distinct ones."""
    if longest is None:
        return counts
    long_rows = np.flatnonzero(np.diff(counts.indptr) > longest)
    if not len(long_rows):
        return counts
    result = counts.copy()
    for row in long_rows:
        span = slice(result.indptr[row], result.indptr[row + 1])
        order = np.argsort(-result.data[span], kind="stable")[longest:]
        result.data[span][order] = 0
    result.eliminate_zeros()
    return result


def data_folder(folder: str | os.PathLike[str] | None) -> Path:
    """The folder given, else the one that WORDFERRY_DATA names."""
    chosen = folder or os.environ.get("WORDFERRY_DATA")
    if not chosen:
        raise NotFound("Name the folder of the data sets with --data or WORDFERRY_DATA; nothing is downloaded.")
    return Path(chosen)
