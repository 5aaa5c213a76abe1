"""Nearest documents, reduced block by block."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Csr, Neighbors
from wordferry.base.runtime import Progress, Report, thread_count
from wordferry.compare import cascade
from wordferry.compare.distances import check_memory, evaluate
from wordferry.compare.measures import Distance
from wordferry.compare.plan import Plan, make_plan
from wordferry.compare.problem import (
    Documents,
    Options,
    Problem,
    assemble,
    frame_for,
    is_matrix,
    masses,
    prepare,
    read_documents,
    vectors_for,
    weights_for,
    words_of,
)
from wordferry.compare.relaxed import MEMORY, part, tiles
from wordferry.errors import InputError
from wordferry.kernels.passes import Heaps
from wordferry.texts.bow import OnEmpty
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


def top_k(
    X: Any,
    Y: Any,
    k: int,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    algorithm: str = "auto",
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    idf: Any = None,
    mask: BoolArray | None = None,
    memory: int = MEMORY,
    budget: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """The k documents of Y nearest to each of X, sorted by (distance, index); the whole matrix is never held.

    The arguments are those of :func:`wordferry.pairwise`; ``mask`` says which documents of Y may be found, and
    ``memory`` how many bytes may be worked in beside inputs and output. Indices count the documents of the Y that was
    passed, also after ``on_empty="drop"``; a dropped document of X has no row.

    The transport distances solve only what can still win. ``budget`` limits how many problems are solved for a query;
    ``.proved`` of the result then says which places are those of the full answer.
    """
    problem = prepare(
        X,
        Y,
        distance,
        embeddings=embeddings,
        related=related,
        overlap=overlap,
        side=side,
        on_empty=on_empty,
        tokenizer=tokenizer,
        idf=idf,
        threads=threads,
        progress=progress,
    )
    allowed = check_mask(mask, problem, _length(Y))
    return nearest(problem, check_k(k), allowed, algorithm, check_memory(memory), budget)


def check_k(k: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(k, bool) or not hasattr(k, "__index__") or int(k) < 1:
        raise InputError(f"k must be a whole number of at least 1, got {k!r}.")
    return int(k)


def check_mask(mask: Any, problem: Problem, documents: int) -> BoolArray | None:
    """The mask over the problem's own rows of Y."""
    if mask is None:
        return None
    allowed = np.asarray(mask)
    if allowed.dtype != bool or allowed.shape != (documents,):
        raise InputError(
            f"mask must be a boolean array with one value a document of Y ({documents}); "
            f"got {allowed.dtype} of shape {allowed.shape}."
        )
    result: BoolArray = allowed[problem.y_rows]
    return result


def _length(Y: Any) -> int:
    return int(Y.shape[0]) if hasattr(Y, "shape") else len(Y)


def nearest(
    problem: Problem,
    k: int,
    mask: BoolArray | None = None,
    algorithm: str = "auto",
    memory: int = MEMORY,
    budget: int | None = None,
) -> Neighbors:
    """The k nearest rows of y to each row of x, numbered as the caller numbers them."""
    if mask is not None and 2 * np.count_nonzero(mask) < len(mask):
        problem, mask = _allowed_only(problem, mask), None
    if problem.distance.transport:
        found: Neighbors = cascade.top_k_problem(problem, k, mask=mask, budget=budget, memory=memory)
    elif budget is not None:
        raise InputError(f"budget= counts solved transport problems; {problem.distance.name} has none. Leave it out.")
    else:
        plan = None if problem.distance.by_pairs else make_plan(problem, algorithm)
        found = _nearest_values(problem, k, mask, plan, memory)
    if len(problem.y_rows) and not np.array_equal(problem.y_rows, np.arange(problem.shape[1])):
        indices = np.where(found.indices >= 0, problem.y_rows[found.indices], -1)
        found = replace(found, indices=indices)
    return found


def _nearest_values(problem: Problem, k: int, mask: BoolArray | None, plan: Plan | None, memory: int) -> Neighbors:
    """Blocks of distances, each offered to the heaps of its rows and then forgotten."""
    heaps = Heaps(problem.shape[0], k)
    rows, columns = _tile_shape(problem, memory // 2)
    report = Report(problem.progress, problem.shape[0] * problem.shape[1])
    blocks = list(tiles(problem, rows, columns))
    values = np.empty((min(rows, problem.shape[0]), min(columns, problem.shape[1])), dtype=np.float32)
    for number, (some, others) in enumerate(blocks):
        shape = some.stop - some.start, others.stop - others.start
        block = values.ravel()[: shape[0] * shape[1]].reshape(shape)
        tick = report.part(number / len(blocks), (number + 1) / len(blocks))
        evaluate(replace(part(problem, some, others), progress=tick), block, plan, memory // 2)
        heaps.offer(some, block, others.start, None if mask is None else mask[others], problem.threads)
    heaps.finish(problem.threads)
    report(1.0)
    pairs = problem.shape[0] * (problem.shape[1] if mask is None else int(mask.sum()))
    return Neighbors(heaps.indices, heaps.distances, counts={"pairs": pairs})


def _tile_shape(problem: Problem, memory: int) -> tuple[int, int]:
    """Rows and columns of a block: as square as the documents allow, because both sides pay for each block."""
    area = max(memory // 4, 4096)
    rows = min(problem.shape[0], max(1, math.isqrt(area)))
    columns = min(problem.shape[1], max(1, area // max(rows, 1)))
    rows = min(problem.shape[0], max(1, area // max(columns, 1)))
    return max(rows, 1), max(columns, 1)


def _allowed_only(problem: Problem, mask: BoolArray) -> Problem:
    """The problem against the documents of y that the mask allows."""
    chosen = np.flatnonzero(mask)
    lengths = np.diff(problem.y.indptr)[chosen]
    indptr = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    entries = np.arange(indptr[-1]) + np.repeat(problem.y.indptr[chosen] - indptr[:-1], lengths)
    y = Csr(indptr, problem.y.indices[entries], problem.y.data[entries], (len(chosen), problem.y.shape[1]))
    counts = None if problem.y_counts is None else problem.y_counts[entries]
    return replace(problem, y=y, y_counts=counts, y_rows=problem.y_rows[chosen], symmetric=False)


class Searcher:
    """A collection prepared once, for many searches.

    The arguments are those of :func:`top_k`. Without ``related=`` the related words are those of Y's words; query
    words outside them are joined as :meth:`RelatedWords.rows_for` says. tf-idf weights are fitted on Y.

    >>> emb = Embeddings(["cat", "dog", "cow"], np.eye(3))
    >>> Searcher([["cat"], ["dog"]], "bow-l1", embeddings=emb).top_k([["cow", "dog"]], 1).indices.tolist()
    [[1]]
    """

    def __init__(
        self,
        Y: Any,
        distance: str | Distance = "rel-rwmd",
        *,
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        overlap: str | None = None,
        side: str = "both",
        on_empty: OnEmpty = "error",
        tokenizer: Tokenizer | None = None,
        idf: Any = None,
        memory: int = MEMORY,
        threads: int | None = None,
    ) -> None:
        self.options = Options.check(distance, overlap, side, on_empty, tokenizer)
        record = self.options.distance
        self.threads = thread_count(threads)
        self.memory = check_memory(memory)
        self.embeddings = vectors_for(Y, None, record, embeddings)
        self.documents = _length(Y) if is_matrix(Y) or hasattr(Y, "__len__") else -1
        if self.documents < 0:
            Y = list(Y)
            self.documents = len(Y)
        self._second = read_documents(Y, self.options, self.embeddings, "Y")
        self._weights = weights_for(record, idf, self._second.matrix)
        self._frame = frame_for(
            record,
            self.embeddings,
            related,
            words_of(self._second.matrix),
            self._second.matrix.shape[1],
            self.threads,
        )
        self.related = self._frame.related
        self._y, self._y_counts = masses(self._second.matrix, self._frame, self._weights)

    def __len__(self) -> int:
        return self.documents

    def __repr__(self) -> str:
        return f"Searcher({self.documents} documents, {len(self._frame.words)} words, {self.options.distance.name})"

    def with_related(self, related: RelatedWords) -> Searcher:
        """The same collection with other related words; its documents are not prepared again."""
        other = copy(self)
        columns = self._second.matrix.shape[1]
        words = words_of(self._second.matrix)
        other._frame = frame_for(self.options.distance, self.embeddings, related, words, columns, self.threads)
        other.related = other._frame.related
        return other

    def problem(self, X: Any, *, threads: int | None = None, progress: Progress | None = None) -> Problem:
        """The problem of some queries against the prepared collection."""
        first = read_documents(X, self.options, self.embeddings, "X")
        columns = self._second.matrix.shape[1]
        if first.matrix.shape[1] != columns:
            raise InputError(f"X has {first.matrix.shape[1]} columns, the collection {columns}; they must agree.")
        frame = self._frame.extended(words_of(first.matrix))
        workers = self.threads if threads is None else thread_count(threads)
        nothing = Documents(self._second.matrix[:0], self._second.rows[:0])
        small = assemble(self.options, frame, first, nothing, self._weights, workers, progress)
        y = Csr(self._y.indptr, self._y.indices, self._y.data, (self._y.shape[0], len(frame.words)))
        return replace(small, y=y, y_counts=self._y_counts, y_rows=self._second.rows, symmetric=False)

    def top_k(
        self,
        X: Any,
        k: int,
        *,
        mask: BoolArray | None = None,
        budget: int | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """The k nearest documents of the collection to each of X; ``mask`` says which documents may be found."""
        problem = self.problem(X, threads=threads, progress=progress)
        allowed = check_mask(mask, problem, self.documents)
        return nearest(problem, check_k(k), allowed, memory=self.memory, budget=budget)
