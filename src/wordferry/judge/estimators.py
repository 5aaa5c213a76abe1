"""scikit-learn estimators: nearest documents, the paper's k-NN classifier, and the k-NN graph as a transformer.

They take raw texts, token lists, or matrices of word counts, and work in pipelines, grid searches and pickles.
"""

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
from wordferry.judge.choosing import Validation, cross_validate_r
from wordferry.judge.voting import PAPER_K, vote
from wordferry.texts import bow
from wordferry.texts.bow import TfIdf
from wordferry.texts.datasets import given_or_default
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin  # noqa: E402
from sklearn.utils import multiclass, validation  # noqa: E402

WEIGHTS = ("counts", "tfidf")
VOCABULARIES = ("train", "all")


class _Prepared:
    """The searcher of the last words in play; it can be made again, so pickles leave it out."""

    def __init__(self) -> None:
        self.words: bytes | None = None
        self.searcher: Searcher | None = None


class _WordMover(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the estimators share: reading documents, fitting weights and related words, and searching."""

    def __init__(
        self,
        n_neighbors: int = PAPER_K,
        distance: str = "rel-rwmd",
        *,
        r: int | str = 16,
        overlap: str | None = None,
        weights: Any = "counts",
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
        self.embeddings = embeddings
        self.related = related
        self.vocabulary = vocabulary
        self.tokenizer = tokenizer
        self.on_empty = on_empty
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> _WordMover:
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
        found = self._documents if X is None else self._weighted(self._read(X, reset=False))
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

    def _read(self, X: Any, *, reset: bool) -> sp.csr_array:
        """Counts (or given weights) as canonical CSR; the first call after ``reset`` decides texts or matrix."""
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
        found = bow.bags(X, embeddings.vocabulary, tokenizer=self.tokenizer, on_empty=_kept(self.on_empty))
        return found.matrix

    def _fit_documents(self, X: Any) -> None:
        record = find_distance(self.distance)
        if self.vocabulary not in VOCABULARIES:
            raise InputError(
                f"vocabulary must be one of {', '.join(map(repr, VOCABULARIES))}; got {self.vocabulary!r}."
            )
        check_k(self.n_neighbors)
        counts = self._read(X, reset=True)
        if counts.shape[0] == 0:
            raise InputError("Found array with 0 sample(s): fit needs at least one document.")
        if record.needs_vectors and self._vectors() is None:
            raise InputError(f"{record.name} needs word vectors: with a matrix, pass embeddings= of its columns.")
        self.idf_ = self._fit_weights(counts)
        self._documents = self._weighted(counts)
        self.n_samples_fit_ = int(counts.shape[0])
        self.related_: RelatedWords | None = self.related
        self._prepared = _Prepared()

    def _fit_weights(self, counts: sp.csr_array) -> Float64Array | None:
        if isinstance(self.weights, str):
            if self.weights not in WEIGHTS:
                raise InputError(
                    f"weights must be one of {', '.join(map(repr, WEIGHTS))} or a weight a word; got {self.weights!r}."
                )
            return TfIdf.fit(counts).idf if self.weights == "tfidf" else None
        return np.asarray(self.weights, dtype=np.float64)

    def _weighted(self, counts: sp.csr_array) -> sp.csr_array:
        return counts if self.idf_ is None else bow.weighted(counts, self.idf_)

    def _lengths(self, documents: sp.csr_array) -> Int64Array:
        lengths: Int64Array = np.diff(documents.indptr)
        return lengths

    # Related words and search ----------------------------------------------------------------------------------------

    def _r(self) -> int:
        """The r to build related words with, checked."""
        return whole_number(self.r, "r", of="related words")

    def _fit_related(self, r: int) -> None:
        self.r_ = self.related.r if self.related is not None else r
        if self.related is None and self.vocabulary == "train" and find_distance(self.distance).needs_related:
            self.related_ = self._build_related(words_of(self._documents), r)

    def _build_related(self, words: Int64Array, r: int) -> RelatedWords:
        embeddings = self._vectors()
        assert embeddings is not None
        return RelatedWords.build(embeddings.restrict(words), r, threads=self.threads)

    def _searcher(self, queries: sp.csr_array) -> Searcher:
        """The fitted documents made ready; with ``vocabulary="all"`` once for each set of words in play."""
        related, key = self.related_, b""
        ready = self._prepared
        transductive = related is None and find_distance(self.distance).needs_related
        words = words_of(self._documents, queries) if transductive else None
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


class WordMoverNeighbors(_WordMover):
    """Nearest documents under any distance of wordferry.

    Parameters
    ----------
    n_neighbors : how many neighbours :meth:`kneighbors` gives.
    distance : a name of ``wordferry.DISTANCES``.
    r : related words per word, for ``rel-rwmd`` and ``rel-wmd``.
    overlap : see :func:`wordferry.pairwise`; None means the distance's own default.
    weights : ``"counts"``, ``"tfidf"`` (idf of the fitted documents), or one weight a word.
    embeddings : word vectors; None means the default ones for texts. A matrix needs the vectors of its columns, unless
        the distance needs none.
    related : related words made before; None builds them.
    vocabulary : the words that related words are sought among: ``"train"``, the words of the fitted documents, so that
        an answer depends on nothing but them and the query; or ``"all"``, those of the fitted documents and of all
        queries asked at once, as in the paper (transductive: an answer may change with the company a query is in).
    tokenizer : from a text to its words; None means the default one.
    on_empty : ``"error"`` refuses a document without known words, ``"keep"`` puts it at distance inf from all others.
    threads : see ``WORDFERRY_THREADS``.

    >>> near = WordMoverNeighbors(1, "wmd").fit(["the cat sleeps", "stocks fell sharply"])
    >>> near.kneighbors(["a dog is resting"], return_distance=False).tolist()
    [[0]]
    """


class WordMoverTransformer(TransformerMixin, _WordMover):  # type: ignore[misc]
    """The k-NN graph of documents as a sparse matrix, for estimators that take ``metric="precomputed"``.

    The parameters are those of :class:`WordMoverNeighbors`, and ``mode``: ``"distance"``, where each document gets
    ``n_neighbors + 1`` entries because it is its own first neighbour (as scikit-learn's ``KNeighborsTransformer`` has
    it), or ``"connectivity"``.

    >>> graph = WordMoverTransformer(1).fit_transform(["the cat sleeps", "stocks fell sharply", "a dog sleeps"])
    >>> graph.shape, graph.nnz
    ((3, 3), 6)
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        distance: str = "rel-rwmd",
        *,
        mode: str = "distance",
        r: int = 16,
        overlap: str | None = None,
        weights: Any = "counts",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        vocabulary: str = "train",
        tokenizer: Any = None,
        on_empty: str = "error",
        threads: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            distance,
            r=r,
            overlap=overlap,
            weights=weights,
            embeddings=embeddings,
            related=related,
            vocabulary=vocabulary,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.mode = mode

    def transform(self, X: Any) -> sp.csr_array:
        """The graph (documents of X, fitted documents)."""
        validation.check_is_fitted(self)
        return self.kneighbors_graph(X, int(self.n_neighbors) + (self.mode == "distance"), self.mode)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns, one for each fitted document."""
        validation.check_is_fitted(self)
        return np.array([f"document{i}" for i in range(self.n_samples_fit_)], dtype=object)


class WordMoverClassifier(ClassifierMixin, _WordMover):  # type: ignore[misc]
    """The k-NN classifier of the paper: 19 neighbours vote, and k is halved while classes tie.

    The parameters are those of :class:`WordMoverNeighbors`; besides, ``r="cv"`` chooses r among 1, 2, 4 ... 128 by
    cross-validation on the training documents (the smallest whose error is at most 1 % above the best), with ``folds``
    folds, ``stratified`` or not, shuffled by ``random_state``. A document without known words (``on_empty="keep"``)
    is near to other such documents only; where there are none, it gets the most frequent class.

    Fitted: ``classes_``, ``r_``, ``related_``, and with ``r="cv"`` ``cv_errors_`` (percent, by r).

    >>> texts = ["the cat sleeps", "a dog barks", "stocks fell sharply", "the bank raised rates"]
    >>> model = WordMoverClassifier(1).fit(texts, ["pets", "pets", "money", "money"])
    >>> model.predict(["kittens and puppies", "shares and bonds"]).tolist()
    ['pets', 'money']
    """

    def __init__(
        self,
        n_neighbors: int = PAPER_K,
        distance: str = "rel-rwmd",
        *,
        r: int | str = 16,
        overlap: str | None = None,
        weights: Any = "counts",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        vocabulary: str = "train",
        tokenizer: Any = None,
        on_empty: str = "error",
        threads: int | None = None,
        folds: int = 5,
        stratified: bool = False,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            n_neighbors,
            distance,
            r=r,
            overlap=overlap,
            weights=weights,
            embeddings=embeddings,
            related=related,
            vocabulary=vocabulary,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.folds = folds
        self.stratified = stratified
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> WordMoverClassifier:
        """Remember the training documents and their classes, and choose r if asked to."""
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: a classifier needs classes.")
        labels = validation.column_or_1d(y, warn=True)
        multiclass.check_classification_targets(labels)
        self._fit_documents(X)
        validation.check_consistent_length(self._documents, labels)
        self.classes_, self._classes = np.unique(labels, return_inverse=True)
        self._shares = np.bincount(self._classes, minlength=len(self.classes_)) / len(labels)
        if self._chooses_r():
            self._choose_r()
        else:
            self._fit_related(self._r())
        return self

    def predict(self, X: Any) -> Any:
        """The class of each document."""
        validation.check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Float64Array:
        """The share of each class among the neighbours that decided."""
        validation.check_is_fitted(self)
        indices = self.kneighbors(X, return_distance=False)
        classes = np.where(indices >= 0, self._classes[indices], -1)
        votes = vote(classes, len(self.classes_), int(self.n_neighbors))
        return np.where((votes.winner < 0)[:, None], self._shares, votes.shares)

    def _chooses_r(self) -> bool:
        if isinstance(self.r, str) and self.r != "cv":
            raise InputError(f"r must be a whole number of at least 1, or 'cv'; got {self.r!r}.")
        return self.r == "cv" and find_distance(self.distance).needs_related

    def _choose_r(self) -> None:
        """One graph with the largest r; the others are parts of it, and folds share distances."""
        plan = Validation(int(self.n_neighbors), folds=self.folds, seed=self.random_state, stratified=self.stratified)
        filled = np.flatnonzero(self._lengths(self._documents))
        largest = self.related or self._build_related(words_of(self._documents), max(plan.values))
        embeddings = self._vectors()
        assert embeddings is not None
        choice = cross_validate_r(
            self._documents[filled],
            self._classes[filled],  # type: ignore[arg-type]
            largest,
            embeddings=embeddings,
            distance=self.distance,
            overlap=self.overlap,
            validation=plan,
            threads=self.threads,
        )
        self.cv_errors_ = choice.errors
        self.r_ = choice.r
        if self.related is not None or self.vocabulary == "train":
            self.related_ = largest.restrict(choice.r) if choice.r != largest.r else largest


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
