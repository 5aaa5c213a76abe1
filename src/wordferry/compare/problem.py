"""From what a caller passes to what kernels take: texts encoded, vocabularies aligned, everything checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int64Array, canonical_csr, row_sums
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare.frame import Frame, related_over
from wordferry.compare.measures import Distance, find_distance, find_overlap, find_side
from wordferry.errors import InputError
from wordferry.texts import bow
from wordferry.texts.bow import OnEmpty, TfIdf
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords

_LARGEST_COUNT = 2**31


@dataclass(frozen=True)
class Problem:
    """Distances to compute, ready for kernels. Words have compact ids that x, y, vectors and graph share."""

    distance: Distance
    overlap: str
    side: str
    x: Csr
    """Masses (float32, rows sum to 1; empty rows are empty documents) of the first documents."""
    y: Csr
    """The same of the second documents; the very object ``x`` when ``symmetric``."""
    words: Int64Array
    """The id in the embeddings' vocabulary of each compact id."""
    vectors: Float32Array | None
    graph: Csr | None
    """Costs of related words, clamped at c_max: symmetric, sorted, float32; None where the distance needs none."""
    c_max: float
    """The cost of unrelated words (NaN without a graph; where all pairs are related, the largest cost)."""
    x_counts: Int64Array | None
    """The weights that x was made of, one for each of its entries, when they are whole numbers; else None."""
    y_counts: Int64Array | None
    x_rows: Int64Array
    """The number in the caller's X of each row (they differ after ``on_empty="drop"``)."""
    y_rows: Int64Array
    symmetric: bool
    """True when X is compared with itself (``Y=None``)."""
    threads: int
    progress: Progress | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.x.shape[0], self.y.shape[0]


@dataclass(frozen=True)
class Documents:
    """Weights over the embeddings' columns, and which documents of the input the rows are."""

    matrix: sp.csr_array
    rows: Int64Array


@dataclass(frozen=True)
class Options:
    """How a caller wants documents read: kept together because every entry point takes them."""

    distance: Distance
    overlap: str
    side: str
    on_empty: OnEmpty = "error"
    tokenizer: Tokenizer | None = None

    @classmethod
    def check(
        cls,
        distance: str | Distance,
        overlap: str | None,
        side: str,
        on_empty: OnEmpty,
        tokenizer: Tokenizer | None,
    ) -> Options:
        """Names to records; a wrong one is refused with the list of right ones."""
        record = find_distance(distance)
        bow.check_on_empty(on_empty)
        return cls(record, find_overlap(record, overlap), find_side(record, side), on_empty, tokenizer)


def is_matrix(X: Any) -> bool:
    """True for CSR and its relatives, false for texts and token lists."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind not in "OUS")


def read_documents(X: Any, options: Options, embeddings: Embeddings | None, name: str) -> Documents:
    """Texts, token lists or a matrix to canonical weights, with empty documents decided."""
    if is_matrix(X):
        matrix = canonical_csr(X, None if embeddings is None else len(embeddings), name=name)
        return _without_empties(matrix, options.on_empty, name)
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise InputError(
            f"{name} must be a list of texts, a list of token lists, or a sparse matrix with a row a document; "
            f"got {type(X).__name__}."
        )
    if embeddings is None:
        raise InputError(f"{name} holds texts, so a vocabulary is needed: pass embeddings=.")
    found = bow.bags(X, embeddings.vocabulary, tokenizer=options.tokenizer, on_empty=options.on_empty)
    return Documents(found.matrix, found.rows)


def _without_empties(matrix: sp.csr_array, on_empty: str, name: str) -> Documents:
    filled = matrix.indptr[1:] > matrix.indptr[:-1]
    rows = np.arange(matrix.shape[0], dtype=np.int64)
    if filled.all() or on_empty == "keep":
        return Documents(matrix, rows)
    if on_empty == "error":
        error = bow.empty_document_error(int(rows[~filled][0]), ())
        raise type(error)(f"{name}: {error}")
    return Documents(matrix[filled], rows[filled])


def vectors_for(X: Any, Y: Any, record: Distance, embeddings: Embeddings | None) -> Embeddings | None:
    """The embeddings to use: those given, the default ones for texts, none where a matrix needs none."""
    if embeddings is not None:
        return embeddings
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


def prepare(
    X: Any,
    Y: Any = None,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    idf: Any = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Problem:
    """Check and align everything that a distance between X and Y (or X and itself) needs.

    The arguments are those of :func:`wordferry.pairwise`.
    """
    options = Options.check(distance, overlap, side, on_empty, tokenizer)
    record = options.distance
    workers = thread_count(threads)
    embeddings = vectors_for(X, Y, record, embeddings)
    first = read_documents(X, options, embeddings, "X")
    second = first if Y is None else read_documents(Y, options, embeddings, "Y")
    if first.matrix.shape[1] != second.matrix.shape[1]:
        raise InputError(f"X has {first.matrix.shape[1]} columns and Y {second.matrix.shape[1]}; they must agree.")
    weights = weights_for(record, idf, second.matrix)
    words = words_of(first.matrix, second.matrix)
    frame = frame_for(record, embeddings, related, words, first.matrix.shape[1], workers)
    return assemble(options, frame, first, second, weights, workers, progress)


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
    return Frame.build(words, columns, embeddings, related, vectors=record.needs_vectors)


def assemble(
    options: Options,
    frame: Frame,
    first: Documents,
    second: Documents,
    weights: Float64Array | None,
    threads: int,
    progress: Progress | None,
) -> Problem:
    """The problem of two sets of documents whose words are all in the frame."""
    x, x_counts = masses(first.matrix, frame, weights)
    y, y_counts = (x, x_counts) if second is first else masses(second.matrix, frame, weights)
    return Problem(
        distance=options.distance,
        overlap=options.overlap,
        side=options.side,
        x=x,
        y=y,
        words=frame.words,
        vectors=frame.vectors,
        graph=frame.graph,
        c_max=frame.c_max,
        x_counts=x_counts,
        y_counts=y_counts,
        x_rows=first.rows,
        y_rows=second.rows,
        symmetric=second is first,
        threads=threads,
        progress=progress,
    )


def masses(matrix: sp.csr_array, frame: Frame, weights: Float64Array | None) -> tuple[Csr, Int64Array | None]:
    """Rows scaled to sum 1 over compact ids, and the whole-number weights they came from, if they are whole."""
    if weights is not None:
        matrix = bow.weighted(matrix, weights)
    indices = frame.columns[matrix.indices]
    indptr = matrix.indptr.astype(np.int64)
    values = matrix.data.astype(np.float64)
    rows = np.repeat(np.arange(matrix.shape[0]), indptr[1:] - indptr[:-1])
    shares = values / row_sums(matrix)[rows]
    if ((indices[1:] < indices[:-1]) & (rows[1:] == rows[:-1])).any():
        order = np.lexsort((indices, rows))
        indices, shares, values = indices[order], shares[order], values[order]
    whole = bool((values == np.floor(values)).all() and values.max(initial=0) < _LARGEST_COUNT)
    counts = values.astype(np.int64) if whole else None
    bag = Csr(
        indptr, indices.astype(np.int32, copy=False), shares.astype(np.float32), (matrix.shape[0], len(frame.words))
    )
    return bag, counts
