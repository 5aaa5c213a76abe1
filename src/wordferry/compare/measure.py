"""How to compare, as one record: the distance and everything that changes a value."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors, canonical_csr
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Report, Run
from wordferry.compare.bags import Bags
from wordferry.compare.distances import find_distance, find_overlap, find_side
from wordferry.compare.frame import Frame, words_of
from wordferry.compare.nearest import check_k, check_mask, nearest
from wordferry.compare.prepare import ReadDocuments, is_matrix, renumbered, vectors_for
from wordferry.compare.problem import Distance, MethodPlan, Problem, Running, fill, make_plan
from wordferry.errors import InputError
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.explanations.marked import SentenceExplanation, SplitText
from wordferry.texts import bow
from wordferry.texts.bow import OnEmpty, Unknown
from wordferry.texts.tables import as_documents, no_column
from wordferry.texts.tokenizers import Tokenizer, WordTokenizer, as_tokenizer
from wordferry.texts.weights import Weighting, fit_weights
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.whole import related_of
from wordferry.words.vocabulary import Vocabulary

_PAIRED_ROWS = 64
"""Rows whose distances are computed together where all of them cost less than a call of its own for each pair."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Measure:
    """A distance with everything that it needs to compare texts.

    Parameters
    ----------
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only the first document's words onto the second's, "right" only the second's onto the
        first's, "both" is the larger of the two. For the relaxed distances.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Document frequencies are those of Y (of X when there is
        no Y). Where "counts" is left, the tf-idf distances weigh by "idf" and wrd by "norm".
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    embeddings : word vectors; None means the default ones (texts only).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), with its c_max, so that
        a pair of texts has one value whichever call is asked and whatever else is compared. Those of the default
        vectors come with the package; those of others are found once and kept in the user's cache folder, which takes
        some 20 s of processor time at most for 100,000 words, and half a minute for 340,000 (by clusters).
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    on_empty : documents without a word: "error", "drop" (they are left out) or "keep" (at distance inf from
        all but other empty documents).

    How to run - threads, memory, progress, device - is a :class:`~wordferry.Run`.

    Examples
    --------
    >>> measure = Measure("bow-l1", embeddings=Embeddings(["cat", "dog"], np.eye(2)))
    >>> measure.pairwise([["cat"], ["dog"]], [["cat"]]).tolist()
    [[0.0], [2.0]]
    """

    distance: Distance
    overlap: str
    side: str
    weights: Any
    unknown: Unknown
    embeddings: Embeddings | None
    related: RelatedWords | None
    tokenizer: Tokenizer | None
    on_empty: OnEmpty

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
        vars(self).update(distance=record, overlap=find_overlap(record, overlap), side=find_side(record, side))
        vars(self).update(weights=record.weighed_by(weights), unknown=unknown, embeddings=embeddings, related=related)
        vars(self).update(tokenizer=tokenizer, on_empty=on_empty)

    def __repr__(self) -> str:
        weights = self.weights if isinstance(self.weights, str) else type(self.weights).__name__
        options = f"overlap={self.overlap!r}, side={self.side!r}, weights={weights!r}, unknown={self.unknown!r}"
        return f"Measure({self.distance.name!r}, {options})"

    def changed(self, **fields: Any) -> Measure:
        """A copy in which some fields have other values, which are taken as they are."""
        other = copy(self)
        vars(other).update(fields)
        return other

    # What is asked ----------------------------------------------------------------------------------------------------

    def pairwise(
        self,
        X: Any,
        Y: Any = None,
        *,
        algorithm: str = "auto",
        out: Float32Array | None = None,
        run: Run | None = None,
    ) -> Float32Array:
        """Distances of all documents of X to all of Y, or of X to each other.

        Parameters
        ----------
        X : documents: texts, token lists, or a sparse matrix with one row per document.
        Y : documents to compare X with; None compares X with itself in half the work.
        algorithm : "standard" works pair by pair, "linear" on all documents at once; the values are the same.
        out : a float32 array to fill instead of a new one.
        run : how to run: threads, memory, progress, device.

        Returns
        -------
        numpy.ndarray
            float32, one row for each document of X and one column for each of Y.

        Examples
        --------
        >>> Measure("wmd").pairwise(["the cat sleeps"], ["the cat sleeps", "stocks fell"]).shape
        (1, 2)
        """
        problem = self.problem(X, Y, run)
        return fill(problem, _output(problem, out), make_plan(problem, algorithm))

    def plan(self, X: Any, Y: Any = None, *, algorithm: str = "auto", run: Run | None = None) -> MethodPlan:
        """The method by which :meth:`pairwise` would compare X and Y, and what it is expected to cost.

        Parameters
        ----------
        X : documents, as :meth:`pairwise` takes them.
        Y : documents to compare X with; None compares X with itself.
        algorithm : "auto", "standard" or "linear".
        run : how to run: threads, memory, device.

        Returns
        -------
        MethodPlan
            The method chosen, those that it was chosen from, and estimated seconds of processor time.

        Examples
        --------
        >>> Measure("cosine").plan(["the cat sleeps", "stocks fell"]).method
        'panels'
        """
        return make_plan(self.problem(X, Y, run), algorithm)

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
        """The k documents of Y nearest to each of X.

        Parameters
        ----------
        X : the queries: texts, token lists, or a sparse matrix with one row per document.
        Y : the documents to search.
        k : number of documents to find for each query.
        mask : one bool for each document of Y: which of them may be found.
        budget : the most transport problems to solve for a query; ``.proved`` of the result then says which places are
            those of the full answer.
        algorithm : "standard" works pair by pair, "linear" on all documents at once; the values are the same.
        run : how to run: threads, memory, progress, device.

        Returns
        -------
        Neighbors
            ``indices`` and ``distances`` with a row for each query and min(k, documents of Y) columns, sorted by
            distance and then index; places without a document are -1 and inf.

        Examples
        --------
        >>> Measure("wmd").top_k(["a dog barks"], ["stocks fell", "the cat sleeps"], 1).indices.tolist()
        [[1]]
        """
        problem = self.problem(X, Y, run)
        return nearest(problem, check_k(k), check_mask(mask, problem), algorithm, budget)

    def pair(self, a: Any, b: Any, run: Run | None = None) -> float:
        """The distance of two documents.

        Parameters
        ----------
        a, b : texts, token lists, or matrices of one row.
        run : how to run: threads, memory, device.

        Returns
        -------
        float
            The distance, inf where only one of them has a word (``on_empty="keep"``).

        Examples
        --------
        >>> Measure("wmd").pair("the cat sleeps", "the cat sleeps")
        0.0
        """
        value = self._single_pair(a, b)
        if value is not None:
            return value
        self._refuse_drop("a single pair")
        with bow.ways_out("keep"):
            problem = self.problem(one(a), one(b), run)
        return float(fill(problem, np.empty(problem.shape, dtype=np.float32))[0, 0])

    def paired(self, X: Any, Y: Any, run: Run | None = None) -> Float32Array:
        """The distance of each document of X to the document of Y in the same place.

        Parameters
        ----------
        X, Y : two collections of as many documents: texts, token lists, or sparse matrices.
        run : how to run: threads, memory, progress, device.

        Returns
        -------
        numpy.ndarray
            float32, one distance for each pair.

        Examples
        --------
        >>> Measure("wcd").paired(["the cat sleeps", "stocks fell"], ["the cat sleeps", "a dog barks"]).shape
        (2,)
        """
        self._refuse_drop("paired documents")
        with bow.ways_out("leave out", "keep"):
            problem = self.problem(X, Y, run)
        if problem.shape[0] != problem.shape[1]:
            raise InputError(f"Expected as many documents in X as in Y, got {problem.shape[0]} and {problem.shape[1]}.")
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

    @overload
    def explain(self, a: Any, b: Any, by: Literal["word"] = "word") -> Explanation: ...
    @overload
    def explain(self, a: Any, b: Any, by: Literal["sentence"]) -> SentenceExplanation: ...
    def explain(self, a: Any, b: Any, by: Literal["word", "sentence"] = "word") -> Explanation | SentenceExplanation:
        """Take the distance of two documents apart: which word went where, and what that cost.

        Parameters
        ----------
        a, b : texts, token lists, or matrices of one row.
        by : "word", or "sentence" for which sentence of a went to which of b, and with which words.

        Returns
        -------
        Explanation or SentenceExplanation
            Rows, or pairs of sentences, whose costs sum to the distance.

        Examples
        --------
        >>> told = Measure("wmd").explain("Obama speaks to the media", "The president greets the press")
        >>> abs(sum(row.cost for row in told.rows) - told.distance) < 1e-6
        True
        """
        with bow.ways_out("give both texts a word: there is nothing to explain otherwise"):
            # Words of the package's tokenizers end where a sentence ends, so that texts need be split only once.
            once = by == "sentence" and isinstance(as_tokenizer(self.tokenizer), WordTokenizer)
            split = [SplitText.of(text, self.tokenizer) for text in (a, b) if once and isinstance(text, str)]
            first, second = (split[0].words, split[1].words) if len(split) == 2 else (a, b)
            problem = self.problem(one(first), one(second), Run(threads=1))
        told = explanation_of(problem)
        if is_matrix(a) or is_matrix(b):
            return told.told_by(by)
        told = told.with_texts(a, b, self.tokenizer)
        return told.by_sentence((split[0], split[1])) if len(split) == 2 else told.told_by(by)

    # How it is prepared -----------------------------------------------------------------------------------------------

    def problem(self, X: Any, Y: Any = None, run: Run | None = None) -> Problem:
        """X and Y (or X and itself) checked, aligned over the words in play, and ready for kernels."""
        how = run or Run()
        measure = self.changed(embeddings=vectors_for(X, Y, self.distance, self.embeddings))
        embeddings = measure.embeddings
        words = None if embeddings is None else OpenVocabulary(embeddings.vocabulary)
        first = measure.read(X, words, "X")
        second = first if Y is None else measure.read(Y, words, "Y")
        widths = [side.matrix.shape[1] for side in (first, second)]
        if words is None and widths[0] != widths[1]:
            raise InputError(f"X has {widths[0]} columns and Y {widths[1]}; they must agree.")
        weights = measure.fitted_weights(second.matrix, words)
        same = second is first
        first = first.weighed(weights, self.on_empty, "X")
        second = first if same else second.weighed(weights, self.on_empty, "Y")
        frame = measure.frame(words_of(first.matrix, second.matrix), max(widths), words, how.threads)
        x = first.bags(frame, weights, "X")
        y = x if second is first else second.bags(frame, weights, "Y")
        return measure.problem_of(x, y, frame, how)

    def problem_of(self, x: Bags, y: Bags, frame: Frame, run: Run) -> Problem:
        """The problem of documents that were prepared before."""
        return Problem(self.distance, self.overlap, self.side, x, y, frame.priced(self.distance.cost), Running.of(run))

    def read(self, X: Any, words: OpenVocabulary | None, name: str) -> ReadDocuments:
        """Texts, token lists or a matrix to canonical counts, with empty documents decided.

        ``words`` is the vocabulary of the vectors, which grows by the words that have none; None without vectors.
        """
        if is_matrix(X):
            matrix = canonical_csr(X, None if words is None else len(words.closed), name=name)
            return ReadDocuments.of(matrix).without_empties(self.on_empty, name)
        if isinstance(X, bow.Encoded):
            if words is None or X.vocabulary_below != words.closed:
                raise InputError(f"{name} was encoded with another vocabulary than that of embeddings=.")
            read = ReadDocuments(renumbered(X, words), X.rows, X.documents)
            return read.without_empties(self.on_empty, name)
        X = as_documents(X, name)
        if isinstance(X, str | bytes) or not isinstance(X, Iterable):
            raise InputError(
                f"{name} must be a list of texts, a list of token lists, or a sparse matrix with one row per document; "
                f"got {type(X).__name__}."
            )
        if isinstance(X, np.ndarray) and X.ndim != 1:
            raise no_column(X, name)
        if words is None:
            raise InputError(f"{name} holds texts, so a vocabulary is needed: pass embeddings=.")
        found = bow.bags(X, words, tokenizer=self.tokenizer, on_empty=self.on_empty, unknown=self.unknown)
        return ReadDocuments(found.matrix, found.rows, found.documents)

    def fitted_weights(self, fitted_on: sp.csr_array, words: Vocabulary | OpenVocabulary | None) -> Weighting | None:
        """The weights, fitted on the documents that are searched unless they are given."""
        return fit_weights(self.weights, fitted_on, self.embeddings, words)

    def frame(
        self, words: Int64Array, columns: int, vocabulary: OpenVocabulary | None, threads: int | None = None
    ) -> Frame:
        """The frame over ``words``, with the graph of related words where the distance needs one."""
        related = self.related if self.distance.needs_related else None
        if related is None and self.distance.needs_related and self.embeddings is not None:
            related = related_of(self.embeddings, threads=threads)
        return Frame.build(words, columns, self.embeddings, related, vocabulary)

    def _refuse_drop(self, where: str) -> None:
        if self.on_empty == "drop":
            raise InputError(f"on_empty='drop' would put rows out of step; use 'keep' or 'error' for {where}.")

    def _single_pair(self, a: Any, b: Any) -> float | None:
        """The distance of two texts or token lists without what collections need; None where there is more to it."""
        plain = isinstance(self.weights, str) and self.weights == "counts"
        if not plain or type(self.distance).single is Distance.single or is_matrix(a) or is_matrix(b):
            return None
        embeddings = vectors_for(a, b, self.distance, self.embeddings)
        if not isinstance(embeddings, Embeddings) or isinstance(a, bow.Encoded) or isinstance(b, bow.Encoded):
            return None
        read = [bow.known_counts(document, embeddings.vocabulary, self.tokenizer) for document in (a, b)]
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
