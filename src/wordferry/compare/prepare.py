"""From what a caller passes to a problem: texts encoded, vocabularies aligned, everything checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array, canonical_csr
from wordferry.base.lazy import is_sparse
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Run
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame, related_over
from wordferry.compare.problem import Distance, Options, Problem, replace_options
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.texts import bow
from wordferry.texts.tables import as_documents
from wordferry.texts.weights import Weighting, fit_weights
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.given import as_embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import DEFAULT_R
from wordferry.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class Documents:
    """One side as it was read: weights over columns, and which documents of the input the rows are."""

    matrix: sp.csr_array
    rows: Int64Array
    documents: int
    """Documents of the input, kept or not."""

    def weighed(self, weights: Weighting | None, on_empty: str, name: str) -> Documents:
        """Without words of weight 0; a document that has no other words is an empty one."""
        if weights is None or weights.per_word.all():
            return self
        some = weights.of(self.matrix.indices) > 0
        indptr = np.concatenate(([0], np.cumsum(some)))[self.matrix.indptr]
        matrix = sp.csr_array((self.matrix.data[some], self.matrix.indices[some], indptr), shape=self.matrix.shape)
        emptied = (np.diff(matrix.indptr) == 0) & (np.diff(self.matrix.indptr) > 0)
        if not emptied.any() or on_empty == "keep":
            return Documents(matrix, self.rows, self.documents)
        if on_empty == "error":
            raise EmptyDocumentError(
                f"Document {int(self.rows[emptied][0])} of {name} has only words of weight 0.",
                ("drop", "keep"),
                "give its words a weight",
            )
        return Documents(matrix[~emptied], self.rows[~emptied], self.documents)

    def bags(self, frame: Frame, weights: Weighting | None, name: str) -> Bags:
        """The documents as masses over the ids of a frame."""
        return Bags.of(self.matrix, self.rows, frame, weights, name).among(self.documents)


def is_matrix(X: Any) -> bool:
    """True for CSR and its relatives, false for texts and token lists."""
    return is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind not in "OUS")


def read_side(X: Any, options: Options, words: OpenVocabulary | None, name: str) -> Documents:
    """Texts, token lists or a matrix to canonical weights, with empty documents decided.

    ``words`` is the vocabulary of the vectors, which grows by the words that have none; None without vectors.
    """
    if is_matrix(X):
        matrix = canonical_csr(X, None if words is None else len(words.closed), name=name)
        return _without_empties(matrix, options.on_empty, name)
    if isinstance(X, bow.Encoded):
        if words is None or X.vocabulary_below != words.closed:
            raise InputError(f"{name} was encoded with another vocabulary than that of embeddings=.")
        return _without_empties(_renumbered(X, words), options.on_empty, name, X.rows, X.documents)
    X = as_documents(X, name)
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise InputError(
            f"{name} must be a list of texts, a list of token lists, or a sparse matrix with one row per document; "
            f"got {type(X).__name__}."
        )
    if words is None:
        raise InputError(f"{name} holds texts, so a vocabulary is needed: pass embeddings=.")
    found = bow.bags(X, words, tokenizer=options.tokenizer, on_empty=options.on_empty, unknown=options.unknown)
    return Documents(found.matrix, found.rows, found.documents)


def _renumbered(X: bow.Encoded, words: OpenVocabulary) -> sp.csr_array:
    """The counts over the columns of ``words``: words without a vector are found by spelling."""
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


def _without_empties(
    matrix: sp.csr_array, on_empty: str, name: str, numbers: Int64Array | None = None, documents: int | None = None
) -> Documents:
    filled = matrix.indptr[1:] > matrix.indptr[:-1]
    rows = np.arange(matrix.shape[0], dtype=np.int64) if numbers is None else numbers
    total = len(rows) if documents is None else documents
    if filled.all() or on_empty == "keep":
        return Documents(matrix, rows, total)
    if on_empty == "error":
        error = bow.empty_document_error(int(rows[~filled][0]), ())
        raise EmptyDocumentError(f"{name}: {error.problem}", error.ways, error.more)
    return Documents(matrix[filled], rows[filled], total)


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


def weights_for(options: Options, fitted_on: sp.csr_array, words: OpenVocabulary | None) -> Weighting | None:
    """The weights of a measure, fitted on the documents that are searched unless they are given.

    The tf-idf distances are weighted by idf where nothing else is asked for.
    """
    record, given = options.distance, options.weights
    if record.tfidf and (given is None or (isinstance(given, str) and given == "counts")):
        given = "idf"
    name = "idf" if record.tfidf else "weights"
    return fit_weights(given, fitted_on, options.embeddings, words, name=name)


def prepare(options: Options, X: Any, Y: Any = None, run: Run | None = None) -> Problem:
    """Check and align everything that a distance between X and Y (or X and itself) needs."""
    record, how = options.distance, run or Run()
    embeddings = vectors_for(X, Y, record, options.embeddings)
    options = options if embeddings is options.embeddings else replace_options(options, embeddings=embeddings)
    words = None if embeddings is None else OpenVocabulary(embeddings.vocabulary)
    first = read_side(X, options, words, "X")
    second = first if Y is None else read_side(Y, options, words, "Y")
    widths = [side.matrix.shape[1] for side in (first, second)]
    if words is None and widths[0] != widths[1]:
        raise InputError(f"X has {widths[0]} columns and Y {widths[1]}; they must agree.")
    columns = max(widths)
    weights = weights_for(options, second.matrix, words)
    same = second is first
    first = first.weighed(weights, options.on_empty, "X")
    second = first if same else second.weighed(weights, options.on_empty, "Y")
    used = words_of(first.matrix, second.matrix)
    frame = frame_for(options, used, columns, words, how.workers)
    x = first.bags(frame, weights, "X")
    y = x if second is first else second.bags(frame, weights, "Y")
    return Problem(options, x, y, frame, how)


def words_of(*matrices: sp.csr_array) -> Int64Array:
    """The columns that some row uses, sorted."""
    used = np.zeros(max(matrix.shape[1] for matrix in matrices), dtype=bool)
    for matrix in matrices:
        used[matrix.indices] = True
    return np.flatnonzero(used).astype(np.int64)


def frame_for(
    options: Options, words: Int64Array, columns: int, vocabulary: OpenVocabulary | None, threads: int
) -> Frame:
    """The frame over ``words``, with a graph built over them (and remembered) when one is needed and none given."""
    record, embeddings, related = options.distance, options.embeddings, options.related
    if not record.needs_related:
        related = None
    elif related is None and embeddings is not None:
        known = words[words < len(embeddings)]
        if not len(known):
            return Frame.without_graph(words, columns, embeddings, vocabulary)
        related = related_over(embeddings, known, DEFAULT_R, threads)
    return Frame.build(words, columns, embeddings, related, vocabulary)
