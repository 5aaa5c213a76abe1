"""What the scikit-learn estimators share: reading documents, fitting weights and related words, and searching."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Float64Array, Int64Array, canonical_csr
from wordferry.base.checks import whole_number
from wordferry.base.runtime import optional_import
from wordferry.compare.distances import find_distance
from wordferry.compare.prepare import words_of
from wordferry.compare.search import Searcher, check_k
from wordferry.errors import InputError
from wordferry.judge.voting import PAPER_K
from wordferry.texts import bow
from wordferry.texts.datasets import given_or_default
from wordferry.texts.tables import as_documents, is_table, table_texts
from wordferry.texts.weights import fit_weights
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import BaseEstimator  # noqa: E402
from sklearn.utils import validation  # noqa: E402

RECOMMENDED_DISTANCE = "rel-rwmd + 2*cosine"
"""Chosen by cross-validation on five collections: python benchmarks/quality.py --choose."""
RECOMMENDED_WEIGHTS = "log-idf"
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
        weights: Any = RECOMMENDED_WEIGHTS,
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

        With ``X=None`` the fitted documents themselves are asked, and none is its own neighbour. Places without a
        document are -1 and inf.
        """
        validation.check_is_fitted(self)
        k = check_k(self.n_neighbors if n_neighbors is None else n_neighbors)
        found = self._documents if X is None else self._read(X, reset=False)
        if X is None:
            k = min(k, self.n_samples_fit_ - 1)
        k = min(k, self.n_samples_fit_)
        result = self._searcher(found).top_k(found, max(k, 1) + (X is None))
        if X is None:
            result = result.without_self()
        indices, distances = result.indices[:, :k], result.distances[:, :k]
        indices = np.where(np.isinf(distances), -1, indices)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_array:
        """The nearest documents as a matrix (queries, fitted documents) of ones or of distances, sorted by distance."""
        if mode not in ("connectivity", "distance"):
            raise InputError(f"mode must be 'connectivity' or 'distance'; got {mode!r}.")
        distances, indices = self.kneighbors(X, n_neighbors)
        there = indices >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        data = distances[there].astype(np.float64) if mode == "distance" else np.ones(int(there.sum()))
        return sp.csr_array((data, indices[there], indptr), shape=(len(indices), self.n_samples_fit_))

    # Reading ---------------------------------------------------------------------------------------------------------

    def _vectors(self) -> Embeddings | None:
        """The embeddings to use: those given, the default ones for texts, none for a matrix that needs none."""
        return None if self.embeddings is None and not self.reads_texts_ else given_or_default(self.embeddings)

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Counts (or given weights) as CSR, or encoded texts; the first call after ``reset`` decides which."""
        X = _documents(X)
        texts = _holds_texts(X)
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
            if self.on_empty == "error":
                empty = np.flatnonzero(np.diff(counts.indptr) == 0)
                if len(empty):
                    raise bow.empty_document_error(int(empty[0]), ())
            return counts
        assert embeddings is not None
        unknown: Any = self.unknown
        words = embeddings.vocabulary
        return bow.bags(X, words, tokenizer=self.tokenizer, on_empty=_kept(self.on_empty), unknown=unknown)

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
            raise InputError(f"{record.name} needs word vectors: with a matrix, pass embeddings= of its columns.")
        spec = "idf" if isinstance(self.weights, str) and self.weights == "tfidf" else self.weights
        words = found.vocabulary if isinstance(found, bow.Encoded) else None
        self.weighting_ = fit_weights(spec, counts, self._vectors(), words)
        self._documents = found
        self.n_samples_fit_ = int(counts.shape[0])
        self.related_: RelatedWords | None = self.related
        self._prepared = _Prepared()

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
        return RelatedWords.build(embeddings.restrict(words), r, threads=self.threads)

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


def _counts(documents: Any) -> sp.csr_array:
    return documents.matrix if isinstance(documents, bow.Encoded) else documents


def _documents(X: Any) -> Any:
    """The texts of a table whose column is called ``text`` or is its only one; other tables are scikit-learn's."""
    if not is_table(X):
        return as_documents(X)
    columns = getattr(X, "columns", getattr(X, "column_names", X))
    names = [str(name) for name in columns]
    return table_texts(X, "X") if "text" in names or (len(names) == 1 and not _is_numeric(X)) else X


def _is_numeric(table: Any) -> bool:
    return bool(np.issubdtype(np.asarray(table).dtype, np.number))


def _holds_texts(X: Any) -> bool:
    """True for an iterable of texts or of token lists; a matrix, a frame, or a list of numbers is none."""
    if isinstance(X, str):
        raise InputError("Expected a list of documents, got one string. Put it in a list: [text].")
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1 or not isinstance(X, Iterable):
        return False
    for first in X:
        if isinstance(first, str):
            return True
        return isinstance(first, list | tuple | np.ndarray) and all(isinstance(token, str) for token in first)
    return False


def _kept(on_empty: str) -> Any:
    """Estimators may not drop rows, since labels go with them."""
    if on_empty not in ("error", "keep"):
        raise InputError(f"on_empty must be 'error' or 'keep' for an estimator; got {on_empty!r}.")
    return on_empty
