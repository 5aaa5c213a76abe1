"""From what a caller passes to a problem: texts encoded, vocabularies aligned, everything checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Float64Array, Int64Array, canonical_csr
from wordferry.base.runtime import Run
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame, related_over
from wordferry.compare.problem import Distance, Options, Problem
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.texts import bow
from wordferry.texts.bow import TfIdf
from wordferry.texts.tables import as_documents
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.given import as_embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords


@dataclass(frozen=True)
class Encoded:
    """Weights over the embeddings' columns, and which documents of the input the rows are."""

    matrix: sp.csr_array
    rows: Int64Array
    documents: int
    """Documents of the input, kept or not."""

    def weighed(self, weights: Any, on_empty: str, name: str) -> Encoded:
        """Without words of weight 0; a document that has no other words is an empty one."""
        if weights is None or weights.all():
            return self
        some = weights[self.matrix.indices] > 0
        indptr = np.concatenate(([0], np.cumsum(some)))[self.matrix.indptr]
        matrix = sp.csr_array((self.matrix.data[some], self.matrix.indices[some], indptr), shape=self.matrix.shape)
        emptied = (np.diff(matrix.indptr) == 0) & (np.diff(self.matrix.indptr) > 0)
        if not emptied.any() or on_empty == "keep":
            return Encoded(matrix, self.rows, self.documents)
        if on_empty == "error":
            raise EmptyDocumentError(
                f"Document {int(self.rows[emptied][0])} of {name} has only words of weight 0 (idf=). Give them a "
                "weight, drop such documents with on_empty='drop', or keep them at distance inf with on_empty='keep'."
            )
        return Encoded(matrix[~emptied], self.rows[~emptied], self.documents)

    def bags(self, frame: Frame, weights: Any, name: str) -> Bags:
        """The documents as masses over the ids of a frame."""
        return Bags.of(self.matrix, self.rows, frame, weights, name).among(self.documents)


def is_matrix(X: Any) -> bool:
    """True for CSR and its relatives, false for texts and token lists."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind not in "OUS")


def encoded(X: Any, options: Options, embeddings: Embeddings | None, name: str) -> Encoded:
    """Texts, token lists or a matrix to canonical weights, with empty documents decided."""
    if is_matrix(X):
        matrix = canonical_csr(X, None if embeddings is None else len(embeddings), name=name)
        return _without_empties(matrix, options.on_empty, name)
    X = as_documents(X, name)
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise InputError(
            f"{name} must be a list of texts, a list of token lists, or a sparse matrix with one row per document; "
            f"got {type(X).__name__}."
        )
    if embeddings is None:
        raise InputError(f"{name} holds texts, so a vocabulary is needed: pass embeddings=.")
    found = bow.bags(X, embeddings.vocabulary, tokenizer=options.tokenizer, on_empty=options.on_empty)
    return Encoded(found.matrix, found.rows, found.documents)


def _without_empties(matrix: sp.csr_array, on_empty: str, name: str) -> Encoded:
    filled = matrix.indptr[1:] > matrix.indptr[:-1]
    rows = np.arange(matrix.shape[0], dtype=np.int64)
    if filled.all() or on_empty == "keep":
        return Encoded(matrix, rows, len(rows))
    if on_empty == "error":
        error = bow.empty_document_error(int(rows[~filled][0]), ())
        raise type(error)(f"{name}: {error}")
    return Encoded(matrix[filled], rows[filled], len(rows))


def vectors_for(X: Any, Y: Any, record: Distance, embeddings: Embeddings | None) -> Embeddings | None:
    """The embeddings to use: those given, the default ones for texts, none where a matrix needs none."""
    if embeddings is not None:
        return as_embeddings(embeddings)
    matrices = [name for name, value in (("X", X), ("Y", Y)) if is_matrix(value)]
    if not matrices:
        from wordferry.texts.datasets import default_embeddings

        return default_embeddings()
    if record.needs_vectors or not is_matrix(X) or not (Y is None or is_matrix(Y)):
        raise InputError(f"{matrices[0]} is a matrix, so its word vectors must be given: pass embeddings=.")
    return None


def weights_for(record: Distance, idf: Any, fitted_on: sp.csr_array) -> Float64Array | None:
    """One weight a column for the tf-idf distances: given, or fitted on the documents that are searched."""
    if not record.tfidf:
        if idf is not None:
            raise InputError(
                f"idf= has no meaning for {record.name}. Weight the documents yourself: "
                "wordferry.texts.bow.weighted(X, idf)."
            )
        return None
    if idf is None:
        return TfIdf.fit(fitted_on).idf
    values = np.asarray(idf.idf if isinstance(idf, TfIdf) else idf, dtype=np.float64)
    if values.shape != (fitted_on.shape[1],) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"idf must be a TfIdf or one finite, non-negative number a word ({fitted_on.shape[1]}); "
            f"got shape {values.shape}."
        )
    return values


def prepare(options: Options, X: Any, Y: Any = None, run: Run | None = None) -> Problem:
    """Check and align everything that a distance between X and Y (or X and itself) needs."""
    record, how = options.distance, run or Run()
    embeddings = vectors_for(X, Y, record, options.embeddings)
    first = encoded(X, options, embeddings, "X")
    second = first if Y is None else encoded(Y, options, embeddings, "Y")
    if first.matrix.shape[1] != second.matrix.shape[1]:
        raise InputError(f"X has {first.matrix.shape[1]} columns and Y {second.matrix.shape[1]}; they must agree.")
    weights = weights_for(record, options.weights, second.matrix)
    same = second is first
    first = first.weighed(weights, options.on_empty, "X")
    second = first if same else second.weighed(weights, options.on_empty, "Y")
    words = words_of(first.matrix, second.matrix)
    frame = frame_for(record, embeddings, options.related, words, first.matrix.shape[1], how.workers)
    x = first.bags(frame, weights, "X")
    y = x if second is first else second.bags(frame, weights, "Y")
    return Problem(options, x, y, frame, how)


def words_of(*matrices: sp.csr_array) -> Int64Array:
    """The columns that some row uses, sorted."""
    used = np.zeros(matrices[0].shape[1], dtype=bool)
    for matrix in matrices:
        used[matrix.indices] = True
    return np.flatnonzero(used).astype(np.int64)


def frame_for(
    record: Distance,
    embeddings: Embeddings | None,
    related: RelatedWords | None,
    words: Int64Array,
    columns: int,
    threads: int,
) -> Frame:
    """The frame over ``words``, with a graph built over them (and remembered) when one is needed and none given."""
    if not record.needs_related:
        related = None
    elif related is None and embeddings is not None:
        if not len(words):
            return Frame.without_graph(words, columns, embeddings)
        related = related_over(embeddings, words, DEFAULT_R, threads)
    return Frame.build(words, columns, embeddings, related)
