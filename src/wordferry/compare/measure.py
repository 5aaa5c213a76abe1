"""How to compare, as one object: the distance and everything that changes a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Neighbors
from wordferry.base.runtime import Report, Run
from wordferry.compare.distances import find_distance, find_overlap, find_side
from wordferry.compare.plan import fill, make_plan
from wordferry.compare.prepare import is_matrix, prepare, vectors_for
from wordferry.compare.problem import Distance, Options, Problem, replace_options
from wordferry.compare.search import Searcher, check_k, check_mask, nearest
from wordferry.errors import InputError
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.texts import bow
from wordferry.texts.bow import OnEmpty, Unknown
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.whole import related_of

_PAIRED_ROWS = 64
"""Rows whose distances are computed together where all of them cost less than a call of its own for each pair."""


class Measure(Options):
    """A distance with everything that it needs to compare texts.

    Parameters
    ----------
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), or a
        distance object.
    overlap : what happens to words in both documents: "keep", "omr" or "residual"; None is the distance's default.
    side : "left" moves only the first document's words onto the second's, "right" only the second's onto the
        first's, "both" is the larger of the two. For the relaxed distances.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Frequencies are those of Y (of X when there is no Y).
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    embeddings : word vectors; None means the default ones (texts only).
    related : related words; None means those (r = 16) of the words at hand for collections, and those of the whole
        vocabulary of the vectors for single pairs (``pair``, ``paired``, ``explain``), so that a pair has one value.
    tokenizer : splits texts; token lists are taken as they are.
    on_empty : documents without a word: "error", "drop" (they are left out) or "keep" (at distance inf from
        all but other empty documents).

    How to run - threads, memory, progress, device - is a :class:`~wordferry.Run`.

    >>> measure = Measure("bow-l1", embeddings=Embeddings(["cat", "dog"], np.eye(2)))
    >>> measure.pairwise([["cat"], ["dog"]], [["cat"]]).tolist()
    [[0.0], [2.0]]
    """

    def __init__(
        self,
        distance: str | Distance,
        overlap: str | None = None,
        side: str = "both",
        weights: Any = "counts",
        unknown: Unknown = "match",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        tokenizer: Tokenizer | None = None,
        on_empty: OnEmpty = "error",
    ) -> None:
        record = find_distance(distance)
        bow.check_on_empty(on_empty)
        bow.check_unknown(unknown)
        overlap, side = find_overlap(record, overlap), find_side(record, side)
        super().__init__(record, overlap, side, weights, unknown, embeddings, related, tokenizer, on_empty)

    def __repr__(self) -> str:
        weights = self.weights if isinstance(self.weights, str) else type(self.weights).__name__
        options = f"overlap={self.overlap!r}, side={self.side!r}, weights={weights!r}, unknown={self.unknown!r}"
        return f"Measure({self.distance.label!r}, {options})"

    def problem(self, X: Any, Y: Any = None, run: Run | None = None) -> Problem:
        """X and Y (or X and itself) made ready for kernels."""
        return prepare(self, X, Y, run)

    def pairwise(
        self,
        X: Any,
        Y: Any = None,
        *,
        algorithm: str = "auto",
        out: Float32Array | None = None,
        explain_plan: bool = False,
        run: Run | None = None,
    ) -> Any:
        """Distances of all documents of X to all of Y, or of X to each other; see :func:`wordferry.pairwise`."""
        problem = prepare(self, X, Y, run)
        plan = make_plan(problem, algorithm)
        return plan if explain_plan else fill(problem, _output(problem, out), plan)

    def top_k(
        self,
        X: Any,
        Y: Any,
        k: int,
        *,
        mask: BoolArray | None = None,
        budget: int | None = None,
        algorithm: str = "auto",
        run: Run | None = None,
    ) -> Neighbors:
        """The k documents of Y nearest to each of X; see :func:`wordferry.top_k`."""
        problem = prepare(self, X, Y, run)
        return nearest(problem, check_k(k), check_mask(mask, problem), algorithm, budget)

    def pair(self, x: Any, y: Any, run: Run | None = None) -> float:
        """The distance of two documents: texts, token lists, or matrices of one row."""
        value = self._single_pair(x, y)
        if value is not None:
            return value
        self._refuse_drop("a single pair")
        problem = self._pairs_problem(one(x), one(y), run)
        return float(fill(problem, np.empty(problem.shape, dtype=np.float32))[0, 0])

    def paired(self, A: Any, B: Any, run: Run | None = None) -> Float32Array:
        """The distance of each document of A to the document of B in the same place; see :func:`wordferry.paired`."""
        self._refuse_drop("paired documents")
        problem = self._pairs_problem(A, B, run, "leave out")
        if problem.shape[0] != problem.shape[1]:
            raise InputError(f"Expected as many documents in A as in B, got {problem.shape[0]} and {problem.shape[1]}.")
        values = np.empty(problem.shape[0], dtype=np.float32)
        # A call costs more than a few pairs that nobody asked for, unless a pair compares all its words.
        step = 1 if self.distance.costly else _PAIRED_ROWS
        report = Report(problem.run.progress, len(values))
        for start in range(0, len(values), step):
            rows = slice(start, min(start + step, len(values)))
            part = problem.part(rows, rows)
            values[rows] = fill(part, np.empty(part.shape, dtype=np.float32)).diagonal()
            report(rows.stop, len(values))
        return values

    def explain(self, a: Any, b: Any) -> Explanation:
        """Why two documents are as far apart as they are; see :func:`wordferry.explain`."""
        with bow.ways_out("give both texts a word: there is nothing to explain otherwise"):
            problem = self._pairs_problem(one(a), one(b), Run(threads=1))
        return explanation_of(problem)

    def searcher(self, Y: Any, run: Run | None = None) -> Searcher:
        """A collection prepared once, for many searches."""
        return Searcher.of(self, Y, run)

    def _refuse_drop(self, where: str) -> None:
        if self.on_empty == "drop":
            raise InputError(f"on_empty='drop' would put rows out of step; use 'keep' or 'error' for {where}.")

    def _pairs_problem(self, A: Any, B: Any, run: Run | None, *ways: str) -> Problem:
        """A problem whose related words, unless given, are those of the whole vocabulary of the vectors.

        A pair then has one value, whoever asks and whatever else is compared in the same call. ``ways`` are what a
        caller can do about an empty document, beside keeping it.
        """
        options: Options = self
        if self.distance.needs_related and self.related is None:
            embeddings = vectors_for(A, B, self.distance, self.embeddings)
            assert embeddings is not None  # or vectors_for would have said what is missing
            related = related_of(embeddings, threads=None if run is None else run.threads)
            options = replace_options(self, embeddings=embeddings, related=related)
        with bow.ways_out(*ways, "keep"):
            return prepare(options, A, B, run)

    def _single_pair(self, x: Any, y: Any) -> float | None:
        """The distance of two texts or token lists without what collections need; None where there is more to it."""
        plain = isinstance(self.weights, str) and self.weights == "counts" and not self.distance.tfidf
        if not plain or type(self.distance).single is Distance.single or is_matrix(x) or is_matrix(y):
            return None
        embeddings = vectors_for(x, y, self.distance, self.embeddings)
        if not isinstance(embeddings, Embeddings) or isinstance(x, bow.Encoded) or isinstance(y, bow.Encoded):
            return None
        read = [bow.known_counts(document, embeddings.vocabulary, self.tokenizer) for document in (x, y)]
        whole = all(complete for _, complete in read) or self.unknown == "drop"
        bags = [bag for bag, _ in read]
        return self.distance.single(embeddings.matrix, *bags) if whole and all(bags) else None


def one(document: Any) -> Any:
    """One document as a collection of one."""
    if not is_matrix(document):
        return [document]
    if document.shape[0] != 1:
        raise InputError(f"Expected one document (a matrix of one row), got {document.shape[0]} rows.")
    return document


def _output(problem: Problem, out: Float32Array | None) -> Float32Array:
    if out is None:
        return np.empty(problem.shape, dtype=np.float32)
    if not isinstance(out, np.ndarray) or out.shape != problem.shape or out.dtype != np.float32:
        came = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out must be a float32 array of shape {problem.shape}; got {came}.")
    if not out.flags.writeable or not out.flags.c_contiguous:
        raise InputError("out must be writeable and C-contiguous.")
    return out
