"""Nearest documents, reduced block by block."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from wordferry.arrays import BoolArray, Csr, Neighbors
from wordferry.bow import OnEmpty
from wordferry.distances import evaluate
from wordferry.embeddings import Embeddings
from wordferry.errors import InputError
from wordferry.measures import Distance
from wordferry.problem import (
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
from wordferry.related import RelatedWords
from wordferry.runtime import Progress, thread_count
from wordferry.text import Tokenizer


def top_k(
    X: Any,
    Y: Any,
    k: int,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    idf: Any = None,
    mask: BoolArray | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """The k documents of Y nearest to each of X, sorted by (distance, index); the whole matrix is never held.

    The arguments are those of :func:`wordferry.pairwise`; ``mask`` says which documents of Y may be found. Indices
    count the documents of the Y that was passed, also after ``on_empty="drop"``; a dropped document of X has no row.
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
    return nearest(problem, check_k(k), check_mask(mask, problem, _length(Y)))


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


def nearest(problem: Problem, k: int, mask: BoolArray | None = None) -> Neighbors:
    """The k nearest rows of y to each row of x, numbered as the caller numbers them."""
    if problem.distance.transport and find_spec("wordferry.cascade") is not None:
        from wordferry import cascade

        found: Neighbors = cascade.top_k_problem(problem, k, mask=mask)
    else:
        found = _nearest_values(problem, k, mask)
    if len(problem.y_rows) and not np.array_equal(problem.y_rows, np.arange(problem.shape[1])):
        indices = np.where(found.indices >= 0, problem.y_rows[found.indices], -1)
        found = replace(found, indices=indices)
    return found


def _nearest_values(problem: Problem, k: int, mask: BoolArray | None) -> Neighbors:
    values = evaluate(problem, np.empty(problem.shape, dtype=np.float32))
    allowed = np.arange(problem.shape[1]) if mask is None else np.flatnonzero(mask)
    order = np.argsort(values[:, allowed], axis=1, kind="stable")[:, :k]
    indices = np.full((len(values), k), -1, dtype=np.int64)
    distances = np.full((len(values), k), np.inf, dtype=np.float32)
    indices[:, : order.shape[1]] = allowed[order]
    distances[:, : order.shape[1]] = np.take_along_axis(values[:, allowed], order, axis=1)
    return Neighbors(indices, distances, counts={"pairs": len(values) * len(allowed)})


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
        threads: int | None = None,
    ) -> None:
        self.options = Options.check(distance, overlap, side, on_empty, tokenizer)
        record = self.options.distance
        self.threads = thread_count(threads)
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
        )
        self.related = self._frame.related
        self._y, self._y_counts = masses(self._second.matrix, self._frame, self._weights)

    def __len__(self) -> int:
        return self.documents

    def __repr__(self) -> str:
        return f"Searcher({self.documents} documents, {len(self._frame.words)} words, {self.options.distance.name})"

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
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """The k nearest documents of the collection to each of X; ``mask`` says which documents may be found."""
        problem = self.problem(X, threads=threads, progress=progress)
        return nearest(problem, check_k(k), check_mask(mask, problem, self.documents))
