"""``Searcher``: a collection prepared once, for many searches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wordferry.base.arrays import BoolArray, Neighbors
from wordferry.base.runtime import MEMORY, Run, ShowProgress
from wordferry.compare.frame import words_of
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import check_k, check_mask, nearest
from wordferry.compare.prepare import vectors_for
from wordferry.compare.problem import Distance, Problem
from wordferry.errors import InputError
from wordferry.texts.bow import OnEmpty, Unknown
from wordferry.texts.tokenizers import Tokenizer
from wordferry.texts.weights import weights_with
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords


class Searcher:
    """A collection prepared once, for many searches.

    What is derived from Y - checked arrays, word frequencies, centroids and the like - is made when it is first needed,
    and kept. ``Searcher(Y).top_k(X, k)`` is ``top_k(X, Y, k)``.

    Parameters
    ----------
    Y : the documents to search: texts, token lists, or a sparse matrix over ``embeddings.vocabulary``.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    embeddings : word vectors; None means the default ones (texts only).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), so that a pair of texts
        has one value whatever else is searched. Words of Y or of a query that they do not know are joined to them
        (:meth:`RelatedWords.rows_for`).
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only a query's words onto a document's, "right" only the document's onto the query's, "both" is
        the larger of the two.
    on_empty : documents without a word: "error", "drop" (they are never found, and a query has no row) or "keep" (at
        distance inf from all but other empty documents).
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf", "bm25", "norm", "norm-idf", a TfIdf, a dict of words,
        or one number for each word of the vocabulary. Document frequencies are those of Y.
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    memory : bytes to work in beside the collection and the result.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Examples
    --------
    >>> emb = Embeddings(["cat", "dog", "cow"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
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
        threads: int | None = None,
        memory: int = MEMORY,
        device: str | None = None,
    ) -> None:
        measure = Measure(distance, overlap, side, weights, unknown, embeddings, related, tokenizer, on_empty)
        self._open(measure, Y, Run(threads, memory, None, device))

    @classmethod
    def of(cls, measure: Measure, Y: Any, run: Run | None = None) -> Searcher:
        """Prepare a collection to be compared by a measure.

        Parameters
        ----------
        measure : how to compare.
        Y : the documents to search: texts, token lists, or a sparse matrix over the vocabulary of the vectors.
        run : how to run: threads, memory, device.

        Returns
        -------
        Searcher
            The collection, ready to be searched.

        Examples
        --------
        >>> len(Searcher.of(Measure("wcd"), ["the cat sleeps", "a dog barks"]))
        2
        """
        self = cls.__new__(cls)
        self._open(measure, Y, run or Run())
        return self

    def _open(self, measure: Measure, Y: Any, run: Run) -> None:
        self.embeddings = vectors_for(Y, None, measure.distance, measure.embeddings)
        self.measure, self.run = measure.changed(embeddings=self.embeddings), run
        self._vocabulary = None if self.embeddings is None else OpenVocabulary(self.embeddings.vocabulary)
        second = self.measure.read(Y, self._vocabulary, "Y")
        self._columns = second.matrix.shape[1] if self._vocabulary is None else len(self._vocabulary)
        self._weights = self.measure.fitted_weights(second.matrix, self._vocabulary)
        second = second.weighed(self._weights, measure.on_empty, "Y")
        self._words = words_of(second.matrix)
        self._frame = self.measure.frame(self._words, self._columns, self._vocabulary, run.threads)
        self.related = self._frame.related
        self.bags = second.bags(self._frame, self._weights, "Y")

    def __len__(self) -> int:
        return self.bags.passed

    def __repr__(self) -> str:
        return f"Searcher({len(self)} documents, {len(self._words)} words, {self.measure.distance.name})"

    def problem(self, X: Any, *, threads: int | None = None, progress: ShowProgress = None) -> Problem:
        """The problem of some queries against the prepared collection.

        Words that are new to the collection are put behind its own, for this problem only.
        """
        words = None if self._vocabulary is None else OpenVocabulary(self._vocabulary)
        first = self.measure.read(X, words, "X")
        columns = first.matrix.shape[1]
        if words is None and columns != self._columns:
            raise InputError(f"X has {columns} columns, the collection {self._columns}; they must agree.")
        weights = weights_with(self._weights, self.measure.weights, words, columns)
        first = first.weighed(weights, self.measure.on_empty, "X")
        frame = self._frame.extended(words_of(first.matrix), columns, words)
        run = replace(self.run, threads=self.run.threads if threads is None else threads, progress=progress)
        return self.measure.problem_of(first.bags(frame, weights, "X"), self.bags, frame, run)

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
        """Find the k documents of the collection nearest to each of X.

        Parameters
        ----------
        X : the queries: texts, token lists, or a sparse matrix over the vocabulary of the vectors.
        k : number of documents to find for each query.
        mask : one bool for each document of the collection: which of them may be found.
        budget : the most transport problems to solve for a query; ``.proved`` of the result then says which places are
            those of the full answer.
        threads : number of threads of this search; None means that of the searcher.
        progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.

        Returns
        -------
        Neighbors
            ``indices`` and ``distances`` with a row for each query and min(k, documents) columns, nearest first, ties
            by the smaller index; places without a document are -1 and inf.

        Examples
        --------
        >>> Searcher(["the cat sleeps", "stocks fell"]).top_k(["a dog barks"], 1).indices.tolist()
        [[0]]
        """
        problem = self.problem(X, threads=threads, progress=progress)
        return nearest(problem, check_k(k), check_mask(mask, problem), budget=budget)
