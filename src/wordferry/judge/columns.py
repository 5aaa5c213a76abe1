"""Matrices whose columns know their words, and the vectorizers of scikit-learn that make them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import canonical_csr
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import optional_import
from wordferry.errors import InputError
from wordferry.texts import bow
from wordferry.texts.tables import as_documents
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.vocabulary import Vocabulary

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import BaseEstimator, TransformerMixin, clone  # noqa: E402
from sklearn.utils import validation  # noqa: E402


class WordMatrix(sp.csr_array):  # type: ignore[misc]  # SciPy has no types
    """Counts or weights, one row per document, that carry the words of their columns (until something is computed)."""

    words: tuple[str, ...] | None = None

    @classmethod
    def of(cls, matrix: Any, words: Any) -> WordMatrix:
        """A matrix with one word for each of its columns."""
        names = tuple(map(str, words))
        found = cls(canonical_csr(matrix))
        if len(names) != found.shape[1]:
            raise InputError(f"Expected one word for each of {found.shape[1]} columns, got {len(names)}.")
        found.words = names
        return found

    def encoded(self, vocabulary: Vocabulary, unknown: bow.Unknown) -> bow.Encoded:
        """Counts over the words that have vectors; what becomes of the others, ``unknown`` says."""
        bow.check_unknown(unknown)
        assert self.words is not None
        every = OpenVocabulary(vocabulary)
        used = np.zeros(self.shape[1], dtype=bool)
        used[self.indices] = True
        places = np.full(self.shape[1], -1, dtype=np.int64)
        for column in np.flatnonzero(used).tolist():
            word = self.words[column]
            places[column] = every.add(word) if unknown == "match" else vocabulary.get(word, -1)
        if unknown == "error" and (missing := np.flatnonzero(used & (places < 0))).size:
            row = np.searchsorted(self.indptr, np.flatnonzero(self.indices == missing[0])[0], side="right") - 1
            raise bow.unknown_word_error(int(row), self.words[int(missing[0])])
        known = places[self.indices] >= 0
        indptr = np.concatenate(([0], np.cumsum(known)))[self.indptr]
        words: Vocabulary | OpenVocabulary = every if unknown == "match" else vocabulary
        shape = self.shape[0], len(words)
        found = sp.csr_array((self.data[known], places[self.indices[known]], indptr), shape=shape)
        return bow.Encoded.of(canonical_csr(found), words)


class WordColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A vectorizer in a pipeline before an estimator of wordferry, which then knows the words of the columns.

    scikit-learn passes on the matrix of a ``CountVectorizer`` without the words of its columns, and so without a way to
    find their vectors. This hands on both: columns whose words have vectors are compared by them, the others are words
    without a vector (see ``unknown=``).

    Parameters
    ----------
    vectorizer : a ``CountVectorizer``, a ``TfidfVectorizer``, or a pipeline of transformers that has
        ``get_feature_names_out``; None means a ``CountVectorizer``.

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from wordferry.neighbors import WordMoverClassifier
    >>> texts = ["the cat sleeps", "a dog barks", "stocks fell sharply", "the bank raised rates"]
    >>> pipeline = make_pipeline(WordColumns(CountVectorizer(stop_words="english")), WordMoverClassifier(1))
    >>> pipeline.fit(texts, ["pets", "pets", "money", "money"]).predict(["a cat barks"]).tolist()
    ['pets']
    """

    def __init__(self, vectorizer: Any = None) -> None:
        self.vectorizer = vectorizer

    def fit(self, X: Any, y: Any = None) -> WordColumns:
        """Fit the vectorizer on texts."""
        self._fitted(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> WordMatrix:
        """Fit the vectorizer on texts, and count or weigh their words."""
        return WordMatrix.of(self._fitted(X, y), self.get_feature_names_out())

    def transform(self, X: Any) -> WordMatrix:
        """Counts or weights of texts, with the words of the columns."""
        validation.check_is_fitted(self)
        return WordMatrix.of(self.vectorizer_.transform(as_documents(X, "X")), self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The words of the columns."""
        validation.check_is_fitted(self)
        return self.vectorizer_.get_feature_names_out()

    def _fitted(self, X: Any, y: Any) -> Any:
        if self.vectorizer is None:
            from sklearn.feature_extraction.text import CountVectorizer

            self.vectorizer_ = CountVectorizer()
        else:
            self.vectorizer_ = clone(self.vectorizer)
        if not hasattr(self.vectorizer_, "get_feature_names_out"):
            raise InputError(
                f"WordColumns needs a vectorizer that tells the words of its columns, by get_feature_names_out(); "
                f"{type(self.vectorizer_).__name__} does not."
            )
        return self.vectorizer_.fit_transform(as_documents(X, "X"), y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
