"""Related words: each word's r nearest others as a symmetric graph, and c_max, the distance of all other pairs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Csr, Float32Array, Int32Array, Int64Array
from wordferry.base.checks import whole_number
from wordferry.base.frames import html_table
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress, thread_count
from wordferry.errors import FormatError, InputError, VocabularyMismatch
from wordferry.kernels import native
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.given import as_embeddings
from wordferry.words.related.build import (
    RelatedRecord,
    Work,
    build_lists,
    checked_options,
    extend_lists,
    restricted_record,
)
from wordferry.words.related.exact import OwnLists
from wordferry.words.related.found import RelatedTo
from wordferry.words.related.joined import MOST, JoinedLists, Links, joined, short
from wordferry.words.related.outside import outside_pairs, outside_rows
from wordferry.words.related.stored import stored_lists
from wordferry.words.vocabulary import Vocabulary

DEFAULT_R = 16
Parts = tuple[JoinedLists, Links]
"""Lists and a graph that are not in one piece."""


class RelatedWords:
    """The related-word cache C of Werner & Laber (2020), section 3.2.1.

    Made by :meth:`build` or :meth:`load`. ``own[i]`` are the ids of the r nearest other words of word i, nearest
    first, ties by smaller id, and ``own_distances[i]`` their true distances; ``graph`` joins i and j when either lists
    the other; ``c_max`` is the mean distance of the pairs that no list has (NaN when every pair is related).

    Examples
    --------
    >>> emb = Embeddings(["cat", "dog", "car"], [[1.0, 0.1], [0.9, 0.3], [0.0, 1.0]])
    >>> related = RelatedWords.build(emb, r=1)
    >>> related.own.tolist(), round(related.c_max, 3)
    ([[1], [0], [1]], 1.284)
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        lists: OwnLists | Parts,
        record: RelatedRecord,
        fingerprint: str | Callable[[], str],
    ) -> None:
        self.vocabulary = vocabulary
        self.record = record
        self._fingerprint = fingerprint
        self._lists: OwnLists | None = lists if isinstance(lists, OwnLists) else None
        self._joined: Parts | None = None if isinstance(lists, OwnLists) else lists
        self._edges: Csr | None = None

    @classmethod
    def build(
        cls,
        embeddings: Embeddings | Any,
        r: int = DEFAULT_R,
        method: str = "auto",
        *,
        iterations: int = 5,
        probes: int | None = None,
        seed: int = 0,
        memory: int = 256 << 20,
        threads: int | None = None,
        progress: ShowProgress = None,
        device: str | None = None,
    ) -> RelatedWords:
        """Find the r nearest words of each word.

        Parameters
        ----------
        embeddings : the words and their vectors, ours or whatever :func:`pairwise` takes; distances are
            Euclidean between the vectors as they are.
        r : related words per word, at least 1. With r >= n - 1 every pair is related and c_max is NaN.
        method : ``exact`` compares all pairs; ``clusters`` is approximate: k-means with sqrt(n / iterations) clusters,
            each word compared with the words of ``probes`` clusters and c_max taken from a sample of pairs; ``auto``
            is exact up to about 2e12 operations. ``record`` says which it was, why, and the measured recall.
        iterations : of k-means.
        probes : clusters searched for each word (1: the paper's). None: as few as give a recall of 0.91 on a sample.
        seed : of everything that is drawn.
        memory : bytes for blocks of inner products (the lists themselves, about 0.4 KB per word, come on top).
        threads : None for ``WORDFERRY_THREADS`` or every core. The answer does not depend on it.
        progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)``.
        device : where to find exact lists: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None
            means ``WORDFERRY_DEVICE``, else "cpu".

        >>> emb = Embeddings(["a", "b", "c"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
        >>> related = RelatedWords.build(emb, r=1)
        >>> related.neighbors("a")[0][0], round(related.c_max, 4)
        ('b', 1.241)
        """
        embeddings = as_embeddings(embeddings).stored
        r = checked_r(r)
        options = checked_options(iterations, probes, seed)
        work = Work.checked(memory, threads, progress, device)
        lists, record = build_lists(embeddings.matrix, r, method, options, work)
        return cls(embeddings.vocabulary, lists, record, embeddings.fingerprint)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"RelatedWords({len(self)} words, r={self.r}, c_max={self.c_max:.4f}, {self.record.method})"

    def _repr_html_(self) -> str:
        """What these related words are, as notebooks show it."""
        facts = {"words": len(self), "related per word": self.r, "c_max": self.c_max, "method": self.record.method}
        return html_table({"": list(facts), "value": list(facts.values())})

    @property
    def r(self) -> int:
        return self.record.r

    @property
    def lists(self) -> OwnLists:
        """The own lists, with the sums that c_max follows from for every r."""
        if self._lists is None:
            self._lists = self._parts[0].whole()
        return self._lists

    @property
    def _parts(self) -> Parts:
        """The lists and the graph as they are, or as what new words can be joined to."""
        parts = self._joined
        if parts is None:
            parts = self._joined = JoinedLists.of(self.lists), Links.of(self.edges)
        return parts

    @property
    def links(self) -> Links:
        """The graph by rows, for those who need some of them: it need not be in one piece for that."""
        return self._parts[1]

    @property
    def reach(self) -> Float32Array:
        """The distance of each word to the last of its list."""
        return self.own_distances[:, -1] if self._lists is not None else self._parts[0].reach

    @property
    def own(self) -> Int32Array:
        """(words, min(r, words - 1)) ids, nearest first."""
        return self.lists.own

    @property
    def own_distances(self) -> Float32Array:
        """The distances that belong to :attr:`own`."""
        return self.lists.distances

    @property
    def fingerprint(self) -> str:
        """That of the embeddings these were built from."""
        if not isinstance(self._fingerprint, str):
            self._fingerprint = self._fingerprint()
        return self._fingerprint

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_fingerprint": self.fingerprint, "_lists": self.lists, "_joined": None}

    @cached_property
    def c_max(self) -> float:
        """The one distance of all unrelated pairs; NaN when every pair is related."""
        lists = self._parts[0] if self._lists is None else self._lists
        return lists.c_max(self.r)

    @cached_property
    def graph(self) -> sp.csr_array:
        """True distances of related pairs: symmetric, sorted, without the diagonal."""
        return _scipy(self.edges)

    @property
    def edges(self) -> Csr:
        """The arrays of :attr:`graph`, for those who need no more: SciPy takes longer to load than a search takes."""
        if self._edges is None:
            own, distances = np.ascontiguousarray(self.own), np.ascontiguousarray(self.own_distances)
            self._edges = Csr(*native.union_graph(own, distances), (len(self), len(self)))
        return self._edges

    def neighbors(self, word: str) -> RelatedTo:
        """All words related to a word, nearest first: its own r nearest and those that have it among theirs.

        A list of (word, distance), which a notebook shows as a table and ``.plot()`` draws.
        """
        i = self.vocabulary.id(word)
        ids, distances = self.edges.row(i)
        order = np.lexsort((ids, distances))
        return RelatedTo(word, ((self.vocabulary[int(ids[k])], float(distances[k])) for k in order))

    def plot(self, word: str, ax: Any = None) -> Any:
        """The words related to a word as bars; see :meth:`RelatedTo.plot`."""
        return self.neighbors(word).plot(ax)

    def restrict(self, r: int) -> RelatedWords:
        """The graph of a smaller r, equal to building it again, without computing any distance."""
        r = checked_r(r)
        n = len(self)
        if r > self.r and self.r < n - 1:
            raise InputError(f"These related words were built with r={self.r}; r={r} is larger. Build them again.")
        width = min(r, n - 1)
        old = self.lists
        lists = OwnLists(old.own[:, :width], old.distances[:, :width], old.rank_sums[:width], old.total)
        return RelatedWords(self.vocabulary, lists, restricted_record(self.record, r, n), self.fingerprint)

    def extend(
        self,
        embeddings: Embeddings,
        *,
        memory: int = 256 << 20,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> RelatedWords:
        """Related words of more words: ``embeddings`` holds the old words in the same order, then new ones.

        Only distances to new words are computed; exact related words stay exact and equal those built at once.
        """
        n = len(self)
        if len(embeddings) < n or embeddings.vocabulary[:n] != self.vocabulary[:]:
            raise VocabularyMismatch(
                f"extend needs embeddings whose first {n} words are those of the related words, in the same order."
            )
        self._check_fingerprint(embeddings.restrict(np.arange(n)) if len(embeddings) > n else embeddings)
        if len(embeddings) == n:
            return self
        return self.extended(embeddings, Work.checked(memory, threads, progress), embeddings.fingerprint)

    def extended(self, embeddings: Embeddings, work: Work, fingerprint: str | Callable[[], str]) -> RelatedWords:
        """Related words of more words; the caller knows that the first ones are those that these were built from."""
        return self.extended_among(
            embeddings.matrix, np.arange(len(embeddings)), embeddings.vocabulary, work, fingerprint
        )

    def extended_among(
        self,
        matrix: Float32Array,
        words: Int64Array,
        vocabulary: Vocabulary,
        work: Work,
        fingerprint: str | Callable[[], str],
    ) -> RelatedWords:
        """Related words of more words whose vectors are ``matrix[words]``."""
        few = len(words) - len(self) <= MOST and self.record.method == "exact" and self.r < len(self)
        parts = joined(matrix, words, *self._parts, work.threads) if few else None
        if parts is None:
            lists, record = extend_lists(np.ascontiguousarray(matrix[words]), self.lists, self.record, work)
            return RelatedWords(vocabulary, lists, record, fingerprint)
        work.progress(1, 1)
        record = replace(self.record, c_max_from="all pairs")  # one pair at least is not related now
        return RelatedWords(vocabulary, parts, record, fingerprint)

    def rows_for(self, vectors: Any, embeddings: Embeddings, *, threads: int | None = None) -> sp.csr_array:
        """Related rows (queries x words) of query words outside the vocabulary; nothing here changes.

        A query word is related to j when j is among its r nearest words, or when it is at most as far from j as j's
        own r-th neighbour. ``embeddings`` are those the related words were built from; ``vectors`` are scaled as they.
        """
        self._check_fingerprint(embeddings)
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        if queries.ndim != 2 or queries.shape[1] != embeddings.dimensions:
            raise InputError(f"vectors must have shape (words, {embeddings.dimensions}), got {queries.shape}.")
        if not np.isfinite(queries).all():
            raise InputError("vectors hold NaN or infinite numbers.")
        return _scipy(self.rows_among(queries, embeddings.matrix, thread_count(threads)))

    def rows_among(
        self, vectors: Float32Array, matrix: Float32Array, threads: int, words: Int32Array | None = None
    ) -> Csr:
        """Rows for other vectors, where ``matrix``, or its rows ``words``, has those that these were built from."""
        reach = None if self.r >= len(self) - 1 else self.reach
        rows = outside_rows(vectors, matrix, reach, self.r, threads, words)
        return Csr(*rows, (len(vectors), len(self)))

    def outside_pairs(self, vectors: Float32Array, rows: sp.csr_array) -> tuple[Int32Array, Int32Array, Float32Array]:
        """Which query words outside the vocabulary are related to each other: (i, j, distance) with i < j, each once.

        ``rows`` are what :meth:`rows_for` gives for the vectors. Two such words are related when their distance is at
        most that of either to its own r-th nearest word here: each would be a near one to the other, were it known.
        """
        r = None if self.r >= len(self) - 1 else self.r
        return outside_pairs(np.ascontiguousarray(vectors, dtype=np.float32), rows, r)

    def _check_fingerprint(self, embeddings: Embeddings) -> None:
        if embeddings.fingerprint != self.fingerprint:
            raise VocabularyMismatch(
                f"These related words were built from other embeddings (fingerprint {self.fingerprint}, "
                f"got {embeddings.fingerprint}). Pass the embeddings they were built from, or build them again."
            )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a memory-mappable folder."""
        graph = self.edges
        arrays: dict[str, Any] = {
            "own": self.own,
            "own_distances": self.own_distances,
            "rank_sums": self.lists.rank_sums,
            "graph_indptr": short(graph.indptr),
            "graph_indices": graph.indices,
            "graph_data": graph.data,
        }
        config = {"record": asdict(self.record), "total": self.lists.total, "embeddings": self.fingerprint}
        config["c_max"] = None if math.isnan(self.c_max) else self.c_max
        storage.write_folder(path, "related", config, arrays, {"vocabulary": self.vocabulary}, overwrite=overwrite)
        self._joined = None  # all is in one piece now, and new words are joined to that

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool | None = None) -> RelatedWords:
        """Open a folder written by :meth:`save`; arrays are memory-mapped.

        Ids and distances are always checked for their ranges. Files are compared with their checksums too: always with
        ``verify=True``, never with ``verify=False``, and by default when the folder has up to a gigabyte.
        """
        folder = storage.read_folder(path, "related", verify=verify)
        try:
            words = folder.words["vocabulary"]  # held to their checksum, they are those of a vocabulary
            vocabulary = Vocabulary.trusted(words) if storage.verifies(path, verify) else Vocabulary(words)
            record, lists, graph = stored_lists(folder, len(vocabulary))
            self = cls(vocabulary, lists, record, str(folder.config["embeddings"]))
            self._edges = Csr(*graph, (len(vocabulary), len(vocabulary)))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{path} is not a complete folder of related words: {error}. Build it again.") from None
        return self


def checked_r(r: Any) -> int:
    """r as an int of at least 1."""
    return whole_number(r, "r", of="related words")


def _scipy(edges: Csr) -> sp.csr_array:
    graph = sp.csr_array((edges.data, edges.indices, short(edges.indptr)), shape=edges.shape, copy=False)
    graph.has_canonical_format = True
    return graph
