"""What the scikit-learn estimators share: reading documents, fitting weights and related words, and searching."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array, canonical_csr
from wordferry.base.checks import whole_number
from wordferry.base.lazy import is_sparse
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import optional_import
from wordferry.compare.distances import find_distance
from wordferry.compare.frame import words_of
from wordferry.compare.nearest import check_k
from wordferry.compare.search import Searcher
from wordferry.errors import InputError
from wordferry.judge.columns import WordMatrix
from wordferry.judge.voting import PAPER_K, RECOMMENDED_DISTANCE, RECOMMENDED_WEIGHTS
from wordferry.texts import bow
from wordferry.texts.datasets import given_or_default
from wordferry.texts.tables import as_documents, is_table, table_texts
from wordferry.texts.weights import fit_weights
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import BaseEstimator  # noqa: E402
from sklearn.utils import validation  # noqa: E402

AUTO_WEIGHTS = "auto"
"""The recommended weights for counts; none for a matrix of weights, which are what a vectorizer has made of counts."""
VOCABULARIES = ("train", "all")


class _Prepared:
    """The searcher of the last words in play; it can be made again, so pickles leave it out."""

    def __init__(self) -> None:
        self.words: bytes | None = None
        self.searcher: Searcher | None = None


class WordMover(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the estimators share: reading documents, fitting weights and related words, and searching."""

    def __init__(
        self,
        n_neighbors: int = PAPER_K,
        distance: str = RECOMMENDED_DISTANCE,
        *,
        r: int | str = 16,
        overlap: str | None = None,
        weights: Any = AUTO_WEIGHTS,
        unknown: str = "match",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        vocabulary: str = "train",
        tokenizer: Any = None,
        on_empty: str = "error",
        threads: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.distance = distance
        self.r = r
        self.overlap = overlap
        self.weights = weights
        self.unknown = unknown
        self.embeddings = embeddings
        self.related = related
        self.vocabulary = vocabulary
        self.tokenizer = tokenizer
        self.on_empty = on_empty
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> WordMover:
        """Remember the documents, their weights, and the related words where the distance needs them."""
        self._fit_documents(X)
        self._fit_related(self._r())
        return self

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest fitted documents of each of X: (distances, indices), as scikit-learn orders them.

        With ``X=None`` the fitted documents themselves are asked, and none is its own neighbour. More neighbours than
        there are fitted documents are an error, as in scikit-learn. Documents without a word that ``on_empty="keep"``
        has kept leave places without a neighbour: -1 and inf.
        """
        validation.check_is_fitted(self)
        k = check_k(self.n_neighbors if n_neighbors is None else n_neighbors)
        found = self._documents if X is None else self._read(X, reset=False)
        others = self.n_samples_fit_ - (X is None)
        if k > others:
            sign, asked = "<" if X is None else "<=", _counts(found).shape[0]
            raise InputError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{self.n_samples_fit_}, n_samples = {asked}. Ask for {others} at most."
            )
        return self._nearest(found, k, X is None, return_distance)

    def _nearest(self, found: Any, k: int, own: bool, return_distance: bool = True) -> Any:
        """The k nearest fitted documents of documents that were read; ``own`` says that these are the fitted ones."""
        result = self._searcher(found).top_k(found, k + own)
        if own:
            result = result.without_self()
        indices, distances = result.indices, result.distances
        indices = np.where(np.isinf(distances), -1, indices)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """The nearest documents as a matrix (queries, fitted documents) of ones or of distances, sorted by distance."""
        check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        there = indices >= 0
        return self._graph(there.sum(axis=1), indices[there], distances[there], mode)

    def _graph(self, lengths: Any, indices: Any, distances: Any, mode: str) -> sp.csr_matrix:
        """Rows of neighbours as a matrix, in the order given: the class that scikit-learn's own graphs have."""
        data = distances.astype(np.float64) if mode == "distance" else np.ones(len(indices))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sp.csr_matrix((data, indices, indptr), shape=(len(lengths), self.n_samples_fit_))

    # Reading ---------------------------------------------------------------------------------------------------------

    def _vectors(self) -> Embeddings | None:
        """The embeddings to use: those given, the default ones for texts, none for a matrix that needs none."""
        if self.reads_texts_:  # what was fitted may go to another process, where other words came before
            return given_or_default(self.embeddings, grow=False)
        return None if self.embeddings is None else given_or_default(self.embeddings).stored

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Counts (or given weights) as CSR, or encoded texts; the first call after ``reset`` decides which."""
        X = _documents(X)
        if self._has_words(X):
            values = validation.validate_data(self, X, accept_sparse="csr", reset=reset, dtype="numeric")
            X = WordMatrix.of(values, self.feature_names_in_)
        named = isinstance(X, WordMatrix) and X.words is not None
        texts = named or _holds_texts(X)
        if reset:
            self.reads_texts_ = texts
        elif texts and not self.reads_texts_ and self.embeddings is None:
            raise InputError("The estimator was fitted on a matrix without embeddings, so it cannot read texts.")
        embeddings = self._vectors()
        if not texts:
            X = validation.validate_data(self, X, accept_sparse="csr", reset=reset, dtype="numeric")
            validation.check_non_negative(X, type(self).__name__)
            columns = None if embeddings is None else len(embeddings)
            counts = canonical_csr(X, columns)
            return self._without_empties(counts)
        assert embeddings is not None
        unknown: Any = self.unknown
        words = embeddings.vocabulary
        if named:
            found = X.encoded(words, unknown)
            self._without_empties(found.matrix)
            return found
        with bow.ways_out(*_WAYS_OUT):
            return bow.bags(X, words, tokenizer=self.tokenizer, on_empty=_kept(self.on_empty), unknown=unknown)

    def _has_words(self, X: Any) -> bool:
        """Whether X is a table whose columns are called by words, so that their vectors can be found by name."""
        if not is_table(X) or not find_distance(self.distance).needs_vectors:
            return False
        named = all(isinstance(name, str) for name in _column_names(X))
        return named and (self.embeddings is None or len(given_or_default(self.embeddings).stored) != X.shape[1])

    def _without_empties(self, counts: sp.csr_array) -> sp.csr_array:
        empty = np.flatnonzero(np.diff(counts.indptr) == 0)
        if len(empty) and _kept(self.on_empty) == "error":
            raise bow.empty_document_error(int(empty[0]), ()).with_ways(*_WAYS_OUT)
        return counts

    def _fit_documents(self, X: Any) -> None:
        record = find_distance(self.distance)
        if self.vocabulary not in VOCABULARIES:
            raise InputError(
                f"vocabulary must be one of {', '.join(map(repr, VOCABULARIES))}; got {self.vocabulary!r}."
            )
        check_k(self.n_neighbors)
        found = self._read(X, reset=True)
        counts = _counts(found)
        if counts.shape[0] == 0:
            raise InputError("Found array with 0 sample(s): fit needs at least one document.")
        if record.needs_vectors and self._vectors() is None:
            raise InputError(
                f"{record.name} needs word vectors, and a matrix does not say which words its columns are. Pass "
                "embeddings= of its columns; or put the vectorizer that made it into a pipeline as "
                "WordColumns(vectorizer), which hands on the words too."
            )
        spec = self._weights_for(counts)
        words = found.vocabulary if isinstance(found, bow.Encoded) else None
        self.weighting_ = fit_weights(spec, counts, self._vectors(), words)
        self._documents = found
        self.n_samples_fit_ = int(counts.shape[0])
        self.related_: RelatedWords | None = self.related
        self._prepared = _Prepared()

    def _weights_for(self, counts: sp.csr_array) -> Any:
        """What ``weights=`` asks for; by itself, the recommended weights for counts, and weights as they are."""
        if not isinstance(self.weights, str):
            return self.weights
        if self.weights == AUTO_WEIGHTS:
            whole = counts.data.dtype.kind in "iu" or bool((counts.data == np.rint(counts.data)).all())
            return (find_distance(self.distance).own_weights or RECOMMENDED_WEIGHTS) if whole else None
        return "idf" if self.weights == "tfidf" else self.weights

    @property
    def idf_(self) -> Float64Array | None:
        """The fitted weight of each word; None for plain counts."""
        return None if self.weighting_ is None else self.weighting_.per_word

    def _lengths(self) -> Int64Array:
        lengths: Int64Array = np.diff(_counts(self._documents).indptr)
        return lengths

    def _words(self, *documents: Any) -> Int64Array:
        """The words with a vector that stand in some document."""
        words, embeddings = words_of(*map(_counts, documents)), self._vectors()
        return words if embeddings is None else words[words < len(embeddings)]

    # Related words and search ----------------------------------------------------------------------------------------

    def _r(self) -> int:
        """The r to build related words with, checked."""
        return whole_number(self.r, "r", of="related words")

    def _fit_related(self, r: int) -> None:
        self.r_ = self.related.r if self.related is not None else r
        if self.related is None and self.vocabulary == "train" and find_distance(self.distance).needs_related:
            self.related_ = self._build_related(self._words(self._documents), r)

    def _build_related(self, words: Int64Array, r: int) -> RelatedWords:
        embeddings = self._vectors()
        assert embeddings is not None
        restricted = embeddings.restrict(words)
        if not find_distance(self.distance).costs <= {"euclidean"}:
            restricted = restricted.normalize()
        return RelatedWords.build(restricted, r, threads=self.threads)

    def _searcher(self, queries: Any) -> Searcher:
        """The fitted documents made ready; with ``vocabulary="all"`` once for each set of words in play."""
        related, key = self.related_, b""
        ready = self._prepared
        transductive = related is None and find_distance(self.distance).needs_related
        words = self._words(self._documents, queries) if transductive else None
        if words is not None:
            key = words.tobytes()
        if ready.searcher is None or ready.words != key:
            ready.words = key
            ready.searcher = Searcher(
                self._documents,
                self.distance,
                embeddings=self._vectors(),
                related=related if words is None else self._build_related(words, self.r_),
                overlap=self.overlap,
                weights="counts" if self.weighting_ is None else self.weighting_,
                on_empty="keep",
                threads=self.threads,
            )
        return ready.searcher

    # scikit-learn ----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_prepared" in state:
            state["_prepared"] = _Prepared()
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags


def check_mode(mode: str) -> None:
    """Refuse a kind of graph that there is none of."""
    if mode not in ("connectivity", "distance"):
        raise InputError(f"mode must be 'connectivity' or 'distance'; got {mode!r}.")


_WAYS_OUT = ("leave out", "keep")
"""Of documents without a word; to drop them would put documents and labels out of step."""


def _counts(documents: Any) -> sp.csr_array:
    return documents.matrix if isinstance(documents, bow.Encoded) else documents


def _documents(X: Any) -> Any:
    """The texts of a table whose column is called ``text`` or is its only one; tables of numbers are scikit-learn's."""
    if not is_table(X):
        return as_documents(X)
    names = [str(name) for name in _column_names(X)]
    values = np.asarray(X)
    texts = "text" in names or (len(names) == 1 and not np.issubdtype(values.dtype, np.number))
    return table_texts(X, "X") if texts or (values.size and isinstance(values.flat[0], str)) else X


def _column_names(table: Any) -> list[Any]:
    return list(getattr(table, "columns", getattr(table, "column_names", table)))


def _holds_texts(X: Any) -> bool:
    """True for an iterable of texts or of token lists; a matrix, a frame, or a list of numbers is none."""
    if isinstance(X, str):
        raise InputError("Expected a list of documents, got one string. Put it in a list: [text].")
    if is_sparse(X) or getattr(X, "ndim", 1) != 1 or not isinstance(X, Iterable):
        return False
    for first in X:
        if isinstance(first, str):
            return True
        return isinstance(first, list | tuple | np.ndarray) and all(isinstance(token, str) for token in first)
    return False


def _kept(on_empty: str) -> Any:
    """Estimators may not drop rows, since labels go with them."""
    if on_empty not in ("error", "keep"):
        raise InputError(
            f"on_empty must be 'error' or 'keep' for an estimator, because labels go with documents; got {on_empty!r}. "
            "Leave documents without words out before you call it, or keep them."
        )
    return on_empty
