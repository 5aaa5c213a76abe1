"""Nearest documents, reduced block by block, and a collection that is prepared once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.checks import whole_number
from wordferry.base.runtime import MEMORY, Report, Run, ShowProgress
from wordferry.compare import cascade
from wordferry.compare.distances import find_distance, find_overlap, find_side, find_weights
from wordferry.compare.plan import fill, make_plan
from wordferry.compare.prepare import frame_for, read_side, vectors_for, weights_for, words_of
from wordferry.compare.problem import Distance, Options, Problem, replace_options
from wordferry.errors import InputError
from wordferry.kernels.passes import Heaps
from wordferry.texts.bow import OnEmpty, Unknown, check_on_empty, check_unknown
from wordferry.texts.tokenizers import Tokenizer
from wordferry.texts.weights import weights_with
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords


def check_k(k: Any) -> int:
    """A whole number of at least 1."""
    return whole_number(k, "k")


MOST_EMPTY_PLACES = 1 << 16
"""A result has places for k neighbours, also where there are fewer documents, but no more than this beyond them."""
_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to a radius or to 1."""


def check_mask(mask: Any, problem: Problem) -> BoolArray | None:
    """The mask over the problem's own rows of Y."""
    if mask is None:
        return None
    allowed, documents = np.asarray(mask), problem.y.passed
    if allowed.dtype != bool or allowed.shape != (documents,):
        raise InputError(
            f"mask must be a boolean array with one value for each document of Y ({documents}); "
            f"got {allowed.dtype} of shape {allowed.shape}."
        )
    result: BoolArray = allowed if problem.y.in_order else allowed[problem.y.rows]
    return result


def nearest(
    problem: Problem, k: int, mask: BoolArray | None = None, algorithm: str = "auto", budget: int | None = None
) -> Neighbors:
    """The k nearest rows of y to each row of x, numbered as the caller numbers them.

    Work is done for as many places as there are documents; the others are added in the end.
    """
    places, k = min(k, max(problem.y.passed, MOST_EMPTY_PLACES)), min(k, max(len(problem.y), 1))
    if mask is not None and 2 * np.count_nonzero(mask) < len(mask):
        problem, mask = replace(problem, y=problem.y.take(np.flatnonzero(mask))), None
    plan = make_plan(problem, algorithm)
    if problem.distance.transport:
        found = cascade.top_k_problem(problem, k, mask=mask, budget=budget)
    elif budget is not None:
        raise InputError(f"budget= counts solved transport problems; {problem.distance.name} has none. Leave it out.")
    else:
        found = _nearest_values(problem, k, mask, plan)
    if len(problem.y) and not problem.y.in_order:
        found = replace(found, indices=np.where(found.indices >= 0, problem.y.rows[found.indices], -1))
    return found.widened(places)


def _nearest_values(problem: Problem, k: int, mask: BoolArray | None, plan: Any) -> Neighbors:
    """Blocks of distances, each offered to the heaps of its rows and then forgotten."""
    heaps = Heaps(problem.shape[0], k)
    half = problem.run.memory // 2
    rows, columns = _tile_shape(problem, half)
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    blocks = list(problem.tiles(rows, columns))
    values = np.empty((min(rows, problem.shape[0]), min(columns, problem.shape[1])), dtype=np.float32)
    for number, (some, others) in enumerate(blocks):
        shape = some.stop - some.start, others.stop - others.start
        block = values.ravel()[: shape[0] * shape[1]].reshape(shape)
        tick = report.part(number / len(blocks), (number + 1) / len(blocks))
        fill(problem.part(some, others).running(problem.run.within(half).telling(tick)), block, plan)
        heaps.offer(some, block, others.start, None if mask is None else mask[others], problem.threads)
    found = heaps.finish(problem.threads)
    report(1.0)
    pairs = problem.shape[0] * (problem.shape[1] if mask is None else int(mask.sum()))
    return replace(found, counts={"pairs": pairs})


def within(problem: Problem, radius: float) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs of rows at a distance of at most the radius: rows of x, rows of y and distances, block by block.

    Transport problems are solved only where their lower bounds leave a chance.
    """
    limit = np.float32(radius)
    loose = limit + np.float32(_ROUNDING) * max(np.float32(1), abs(limit))
    rows, columns = _tile_shape(problem, problem.run.memory // 2)
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    blocks = list(problem.tiles(rows, columns))
    run = problem.run.within(problem.run.memory // 2)
    for number, (some, others) in enumerate(blocks):
        tick = report.part(number / len(blocks), (number + 1) / len(blocks))
        part = problem.part(some, others).running(run.telling(tick))
        if problem.distance.transport:
            i, j, near = _solved(part, cascade.lower_bounds(part) <= loose)
        else:
            values = fill(part, np.empty(part.shape, dtype=np.float32))
            i, j = np.nonzero(values <= limit)
            near = values[i, j]
        i, j, near = i[near <= limit], j[near <= limit], near[near <= limit]
        yield problem.x.rows[i + some.start], problem.y.rows[j + others.start], near


def _solved(problem: Problem, chosen: BoolArray) -> tuple[Int64Array, Int64Array, Float32Array]:
    """The distances of chosen pairs."""
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    for row in np.flatnonzero(chosen.any(axis=1)).tolist():
        columns = np.flatnonzero(chosen[row])
        one = replace(
            problem, x=problem.x.slice(row, row + 1), y=problem.y.take(columns), run=problem.run.telling(None)
        )
        values = fill(one, np.empty(one.shape, dtype=np.float32))[0]
        found.append((np.full(len(columns), row), columns, values))
    i, j, near = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, near


def _tile_shape(problem: Problem, memory: int) -> tuple[int, int]:
    """Rows and columns of a block: as square as the documents allow, because both sides pay for each block."""
    area = max(memory // 4, 4096)
    rows = min(problem.shape[0], max(1, math.isqrt(area)))
    columns = min(problem.shape[1], max(1, area // max(rows, 1)))
    rows = min(problem.shape[0], max(1, area // max(columns, 1)))
    return max(rows, 1), max(columns, 1)


class Searcher:
    """A collection prepared once, for many searches.

    Without ``related=`` the related words are those of Y's words; query words outside them are joined as
    :meth:`RelatedWords.rows_for` says. Weights are fitted on Y. What is derived from Y - checked arrays, word
    frequencies, centroids and the like - is made when it is first needed, and kept.

    Parameters
    ----------
    Y : the documents to search: texts, token lists, or a sparse matrix over ``embeddings.vocabulary``.
    distance, embeddings, related, overlap, side, on_empty, tokenizer, weights, unknown, idf : how to
        compare; see :func:`pairwise`.
    threads, memory, device : how to run; see :func:`pairwise`. A search may bring its own threads and progress.
    words : columns that count as words of Y even where no document has them: where the documents' own words are none of
        ``related``, whose words others are joined to.

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
        weights: Any = "counts",
        unknown: Unknown = "match",
        idf: Any = None,
        threads: int | None = None,
        memory: int = MEMORY,
        device: str = "cpu",
        words: Int64Array | None = None,
    ) -> None:
        record = find_distance(distance)
        check_on_empty(on_empty)
        check_unknown(unknown)
        overlap, side = find_overlap(record, overlap), find_side(record, side)
        weighed = find_weights(record, weights, idf)
        self._open(
            Options(record, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty),
            Y,
            Run(threads, memory, None, device),
            words,
        )

    @classmethod
    def of(cls, options: Options, Y: Any, run: Run | None = None) -> Searcher:
        """A searcher that compares as the options say: what :meth:`Measure.searcher` makes."""
        self = cls.__new__(cls)
        self._open(options, Y, run or Run())
        return self

    def _open(self, options: Options, Y: Any, run: Run, words: Int64Array | None = None) -> None:
        self.embeddings = vectors_for(Y, None, options.distance, options.embeddings)
        self.options, self.run = replace_options(options, embeddings=self.embeddings), run
        self._vocabulary = None if self.embeddings is None else OpenVocabulary(self.embeddings.vocabulary)
        second = read_side(Y, self.options, self._vocabulary, "Y")
        self._columns = second.matrix.shape[1] if self._vocabulary is None else len(self._vocabulary)
        self._weights = weights_for(self.options, second.matrix, self._vocabulary)
        second = second.weighed(self._weights, options.on_empty, "Y")
        used = words_of(second.matrix)
        self._words = used if words is None else np.union1d(used, words)
        self._frame = frame_for(self.options, self._words, self._columns, self._vocabulary, run.workers)
        self.related = self._frame.related
        self.bags = second.bags(self._frame, self._weights, "Y")

    def __len__(self) -> int:
        return self.bags.passed

    def __repr__(self) -> str:
        return f"Searcher({len(self)} documents, {len(self._words)} words, {self.options.distance.label})"

    def with_related(self, related: RelatedWords) -> Searcher:
        """The same collection with other related words; its documents are not prepared again."""
        other = copy(self)
        other.options = replace_options(self.options, related=related)
        other._frame = frame_for(other.options, self._words, self._columns, self._vocabulary, self.run.workers)
        other.related = other._frame.related
        return other

    def problem(self, X: Any, *, threads: int | None = None, progress: ShowProgress = None) -> Problem:
        """The problem of some queries against the prepared collection.

        Words that are new to the collection are put behind its own, for this problem only.
        """
        words = None if self._vocabulary is None else OpenVocabulary(self._vocabulary)
        first = read_side(X, self.options, words, "X")
        columns = first.matrix.shape[1]
        if words is None and columns != self._columns:
            raise InputError(f"X has {columns} columns, the collection {self._columns}; they must agree.")
        weights = weights_with(self._weights, self.options.weights, words, columns)
        first = first.weighed(weights, self.options.on_empty, "X")
        frame = self._frame.extended(words_of(first.matrix), columns, words)
        run = replace(self.run, threads=self.run.threads if threads is None else threads, progress=progress)
        return Problem(self.options, first.bags(frame, weights, "X"), self.bags, frame, run)

    def among(self, rows: slice, *, threads: int | None = None) -> Problem:
        """The problem of some documents of the collection against all of it; nothing is prepared again."""
        run = replace(self.run, threads=self.run.threads if threads is None else threads, progress=None)
        return Problem(self.options, self.bags.slice(rows.start, rows.stop), self.bags, self._frame, run)

    def top_k(
        self,
        X: Any,
        k: int,
        *,
        mask: BoolArray | None = None,
        budget: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Neighbors:
        """The k nearest documents of the collection to each of X.

        ``mask`` says which documents may be found; ``budget`` limits how many transport problems are solved for a
        query (see :func:`top_k`); ``threads`` and ``progress`` are those of this search.
        """
        problem = self.problem(X, threads=threads, progress=progress)
        return nearest(problem, check_k(k), check_mask(mask, problem), budget=budget)
