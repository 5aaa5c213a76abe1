"""Weights of words: from counts in a document to the masses that are compared, by one of a few schemes.

A scheme is fitted once, on the documents that are searched, and then used as it is on whatever is compared with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.errors import InputError
from wordferry.texts.bow import TfIdf
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.vocabulary import Vocabulary

WEIGHTS = ("counts", "idf", "log-idf", "bm25", "norm", "norm-idf")
SATURATION = 1.5
"""bm25: how soon more of the same word stops to count (k1)."""
LENGTH_SHARE = 0.75
"""bm25: how much a long document's words are discounted (b)."""


@dataclass(frozen=True, eq=False)
class Weighting:
    """A fitted scheme: what a word weighs, and what its count in a document does to that."""

    scheme: str
    """One of ``WEIGHTS``, or "given" for weights of the caller's own."""
    per_word: Float64Array
    """One weight for each column at the time of fitting."""
    unseen: float
    """The weight of words that came later."""
    documents: int = 0
    mean_length: float = 1.0
    """bm25: the mean number of tokens of a document."""

    def of(self, columns: Any) -> Float64Array:
        """The weights of some columns."""
        inside = columns < len(self.per_word)
        if inside.all():
            found: Float64Array = self.per_word[columns]
            return found
        return np.where(inside, self.per_word[np.where(inside, columns, 0)], self.unseen)

    def apply(self, counts: Float64Array, columns: Any, rows: Int64Array, documents: int) -> Float64Array:
        """Weights from counts; ``rows`` says which of the ``documents`` each count belongs to."""
        weights = self.of(columns)
        if self.scheme == "log-idf":
            counts = np.where(counts > 1, 1 + np.log(np.maximum(counts, 1)), counts)
        elif self.scheme == "bm25":
            lengths = np.bincount(rows, weights=counts, minlength=documents)
            room = room_for(lengths, self.mean_length)
            counts = counts * (SATURATION + 1) / (counts + room[rows])
        with np.errstate(over="ignore"):  # too large a product makes the row's sum infinite, which is refused
            result: Float64Array = counts * weights
        return result


def room_for(lengths: Any, mean_length: float) -> Any:
    """bm25: how much room documents of some lengths leave before more of the same word stops to count."""
    return SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / mean_length)


def fit_weights(
    spec: Any,
    fitted_on: sp.csr_array,
    embeddings: Embeddings | None = None,
    vocabulary: Vocabulary | OpenVocabulary | None = None,
    *,
    name: str = "weights",
) -> Weighting | None:
    """The scheme that ``weights=`` asks for, fitted on a collection; None for plain counts.

    ``"idf"`` is ``ln((1 + N) / (1 + df)) + 1``, ``"log-idf"`` the same with ``1 + ln(count)`` in place of the count,
    ``"bm25"`` its saturated, length-normalised counts and its idf ``ln(1 + (N - df + 0.5) / (df + 0.5))``, ``"norm"``
    the length of the word's vector before it was scaled, ``"norm-idf"`` that times idf. A word that was not there at
    the time of fitting weighs what a word of no document weighs; its length is that of the mean word.
    """
    if isinstance(spec, Weighting):
        return spec
    if isinstance(spec, str):
        return _fit_named(spec, fitted_on, embeddings)
    if spec is None:
        return None
    columns = fitted_on.shape[1]
    if isinstance(spec, TfIdf):
        values, unseen = spec.idf, float(np.log(1 + spec.documents) + 1)
    elif isinstance(spec, Mapping):
        return _by_spelling(spec, columns, vocabulary)
    else:
        values = np.asarray(spec, dtype=np.float64)
        unseen = float(values.max(initial=0.0)) if values.ndim == 1 and np.isfinite(values).all() else 0.0
    allowed = {columns} if embeddings is None else {columns, len(embeddings)}
    if values.ndim != 1 or len(values) not in allowed or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"{name} must be a TfIdf or one finite, non-negative number for each word ({min(allowed)}); "
            f"got shape {values.shape}."
        )
    return Weighting("given", values, unseen)


def weights_with(
    fitted: Weighting | None, spec: Any, vocabulary: OpenVocabulary | None, columns: int
) -> Weighting | None:
    """Fitted weights with those of words that came later, where a dict names them."""
    known = 0 if fitted is None else len(fitted.per_word)
    if fitted is None or vocabulary is None or not isinstance(spec, Mapping) or columns == known:
        return fitted
    later = [float(spec.get(vocabulary[column], fitted.unseen)) for column in range(known, columns)]
    return replace(fitted, per_word=np.concatenate([fitted.per_word, later]))


def check_scheme(scheme: Any) -> str:
    """One of the names of ``WEIGHTS``."""
    if scheme not in WEIGHTS:
        raise InputError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}; got {scheme!r}.")
    return str(scheme)


def _fit_named(scheme: str, fitted_on: sp.csr_array, embeddings: Embeddings | None) -> Weighting | None:
    if scheme not in WEIGHTS:
        raise InputError(
            f"weights must be one of {', '.join(map(repr, WEIGHTS))}, a TfIdf, a dict of words, or one number for each "
            f"word; got {scheme!r}."
        )
    if scheme == "counts":
        return None
    documents, columns = fitted_on.shape
    df = np.bincount(fitted_on.indices, minlength=columns)
    tokens = float(fitted_on.sum(dtype=np.float64)) if scheme == "bm25" else 0.0
    return weights_of_counts(scheme, documents, df, tokens, embeddings)


def weights_of_counts(
    scheme: str, documents: int, df: Any, tokens: float, embeddings: Embeddings | None
) -> Weighting | None:
    """A scheme of ``WEIGHTS`` from counts: documents, in how many of them each word stands, and tokens of them all."""
    if scheme == "counts":
        return None
    if scheme == "norm":
        lengths = vector_lengths(embeddings)
        return Weighting(scheme, lengths, float(lengths.mean()) if len(lengths) else 1.0, documents)
    if scheme == "bm25":
        mean = float(tokens) / documents if documents else 1.0
        per_word, unseen = _bm25_idf(documents, df), float(_bm25_idf(documents, np.zeros(1))[0])
        return Weighting(scheme, per_word, unseen, documents, mean or 1.0)
    per_word, unseen = _idf(documents, df), float(_idf(documents, np.zeros(1))[0])
    if scheme == "norm-idf":  # of words without a vector, the mean length
        lengths = vector_lengths(embeddings)
        mean = float(lengths.mean()) if len(lengths) else 1.0
        per_word[: len(lengths)] *= lengths[: len(per_word)]
        per_word[len(lengths) :] *= mean
        unseen *= mean
    return Weighting(scheme, per_word, unseen, documents)


def _idf(documents: int, df: Any) -> Float64Array:
    result: Float64Array = np.log((1 + documents) / (1 + df)) + 1.0
    return result


def _bm25_idf(documents: int, df: Any) -> Float64Array:
    result: Float64Array = np.log(1 + (documents - df + 0.5) / (df + 0.5))
    return result


def vector_lengths(embeddings: Embeddings | None) -> Float64Array:
    """The lengths that the vectors had before they were scaled, for the weights "norm"."""
    if embeddings is None:
        raise InputError("weights='norm' are the lengths of word vectors: pass embeddings=.")
    if embeddings.lengths is not None:
        return embeddings.lengths
    if embeddings.normalized:
        raise InputError(
            "weights='norm' needs the lengths that the vectors had before they were scaled, and these have lost "
            "them. Load them from their own file again."
        )
    matrix = embeddings.matrix
    lengths: Float64Array = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    return lengths


def _by_spelling(spec: Mapping[str, float], columns: int, vocabulary: Vocabulary | OpenVocabulary | None) -> Weighting:
    """Weights by word; a word that is not named weighs 1."""
    if vocabulary is None:
        raise InputError("A dict of weights names words, so the words must be known: pass embeddings=.")
    per_word = np.ones(columns)
    for word, value in spec.items():
        if not isinstance(value, int | float) or not np.isfinite(value) or value < 0:
            raise InputError(f"The weight of {word!r} must be a finite number that is not negative; got {value!r}.")
        place = vocabulary.get(word, -1)
        if 0 <= place < columns:
            per_word[place] = value
    return Weighting("given", per_word, 1.0)
