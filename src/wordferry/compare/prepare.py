"""What a caller passes, as counts over columns: which documents they are, and which word vectors belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array, canonical_csr
from wordferry.base.lazy import is_sparse
from wordferry.base.lazy import sparse as sp
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.compare.problem import Distance, vectors_by_cost
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.texts import bow
from wordferry.texts.weights import Weighting
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.given import as_embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class ReadDocuments:
    """One side as it was read: weights over columns, and which documents of the input the rows are."""

    matrix: sp.csr_array
    rows: Int64Array
    documents: int
    """Documents of the input, kept or not."""

    @classmethod
    def of(cls, matrix: sp.csr_array) -> ReadDocuments:
        """All rows of a matrix."""
        return cls(matrix, np.arange(matrix.shape[0], dtype=np.int64), matrix.shape[0])

    def without_empties(self, on_empty: str, name: str) -> ReadDocuments:
        """Empty rows kept, left out or refused, as ``on_empty`` says; ``name`` is what the error calls the side."""
        filled = self.matrix.indptr[1:] > self.matrix.indptr[:-1]
        if filled.all() or on_empty == "keep":
            return self
        if on_empty == "error":
            error = bow.empty_document_error(int(self.rows[~filled][0]), ())
            raise EmptyDocumentError(f"{name}: {error.problem}", error.ways, error.more)
        return ReadDocuments(self.matrix[filled], self.rows[filled], self.documents)

    def weighed(self, weights: Weighting | None, on_empty: str, name: str) -> ReadDocuments:
        """Without words of weight 0; a document that has no other words is an empty one."""
        if weights is None or weights.per_word.all():
            return self
        some = weights.of(self.matrix.indices) > 0
        indptr = np.concatenate(([0], np.cumsum(some)))[self.matrix.indptr]
        matrix = sp.csr_array((self.matrix.data[some], self.matrix.indices[some], indptr), shape=self.matrix.shape)
        emptied = (np.diff(matrix.indptr) == 0) & (np.diff(self.matrix.indptr) > 0)
        if not emptied.any() or on_empty == "keep":
            return ReadDocuments(matrix, self.rows, self.documents)
        if on_empty == "error":
            raise EmptyDocumentError(
                f"Document {int(self.rows[emptied][0])} of {name} has only words of weight 0.",
                ("drop", "keep"),
                "give its words a weight",
            )
        return ReadDocuments(matrix[~emptied], self.rows[~emptied], self.documents)

    def bags(self, frame: Frame, weights: Weighting | None, name: str) -> Bags:
        """The documents as masses over the ids of a frame."""
        return Bags.of(self.matrix, self.rows, frame, weights, name).among(self.documents)


def is_matrix(X: Any) -> bool:
    """True for CSR and its relatives, false for texts and token lists."""
    return is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind not in "OUS")


def renumbered(X: bow.Encoded, words: OpenVocabulary) -> sp.csr_array:
    """Encoded counts over the columns of ``words``: words without a vector are found by spelling."""
    matrix = canonical_csr(X.matrix)
    if isinstance(X.vocabulary, Vocabulary):
        return matrix
    closed = len(words.closed)
    if len(words) == closed:  # nothing is there yet: the columns stay as they are, those that no document uses too
        words.add_others(X.vocabulary.extra)
    behind = matrix.indices >= closed
    used, where = np.unique(matrix.indices[behind], return_inverse=True)
    names = X.vocabulary.extra
    ids = np.array(words.add_others(names[number - closed] for number in used.tolist()), dtype=np.int64)
    if np.array_equal(ids, used):
        return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], len(words)))
    indices = matrix.indices.astype(np.int64)
    indices[behind] = ids[where]
    moved = sp.csr_array((matrix.data, indices, matrix.indptr), shape=(matrix.shape[0], len(words)))
    moved.sort_indices()
    return moved


def vectors_for(X: Any, Y: Any, record: Distance, embeddings: Embeddings | None) -> Embeddings | None:
    """The embeddings to use: those given, the default ones for texts, none where a matrix needs none.

    They are scaled to length 1 where words cost the cosine of their angle.
    """
    if embeddings is not None:
        given = as_embeddings(embeddings)
        given = given.stored if is_matrix(X) or is_matrix(Y) else given  # no column is of a word that comes later
        return vectors_by_cost(given, record)
    matrices = [name for name, value in (("X", X), ("Y", Y)) if is_matrix(value)]
    if not matrices:
        from wordferry.texts.datasets import default_embeddings

        return default_embeddings()
    if record.needs_vectors or not is_matrix(X) or not (Y is None or is_matrix(Y)):
        raise InputError(f"{matrices[0]} is a matrix, so its word vectors must be given: pass embeddings=.")
    return None
