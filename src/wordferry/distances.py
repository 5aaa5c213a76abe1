"""The distances as records, and the calls that compute them: ``pairwise``, ``one_to_many``, ``pair``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry import bow
from wordferry.arrays import Float32Array, canonical_csr
from wordferry.embeddings import Embeddings
from wordferry.errors import InputError
from wordferry.kernels import reference
from wordferry.related import DEFAULT_R, RelatedWords


@dataclass(frozen=True)
class Distance:
    """What is known of one distance."""

    name: str
    title: str
    needs_vectors: bool = False
    needs_related: bool = False
    overlaps: tuple[str, ...] = ()
    """Valid ``overlap=`` values, the default first; empty when the option has no meaning."""
    transport: bool = False
    """True when a value is the optimum of a transport problem."""


DISTANCES: dict[str, Distance] = {
    d.name: d
    for d in (
        Distance("cosine", "Cosine of the bags of words"),
        Distance("bow-l1", "L1 distance of the bags of words"),
        Distance("tfidf-l1", "L1 distance of tf-idf weights"),
        Distance("tfidf-cosine", "Cosine of tf-idf weights"),
        Distance("wcd", "Word centroid distance", needs_vectors=True),
        Distance("rwmd", "Relaxed Word Mover's Distance", needs_vectors=True, overlaps=("omr", "keep", "residual")),
        Distance(
            "rel-rwmd",
            "Related relaxed Word Mover's Distance",
            needs_vectors=True,
            needs_related=True,
            overlaps=("omr", "keep", "residual"),
        ),
        Distance(
            "wmd",
            "Word Mover's Distance",
            needs_vectors=True,
            overlaps=("residual", "keep", "omr"),
            transport=True,
        ),
        Distance(
            "rel-wmd",
            "Related Word Mover's Distance",
            needs_vectors=True,
            needs_related=True,
            overlaps=("residual", "keep"),
            transport=True,
        ),
    )
}


def find_distance(name: str | Distance) -> Distance:
    """The record of a name; a wrong name lists the right ones."""
    if isinstance(name, Distance):
        return name
    try:
        return DISTANCES[name]
    except (KeyError, TypeError):
        raise InputError(f"Unknown distance {name!r}. Choose one of: {', '.join(DISTANCES)}.") from None


def as_matrix(X: Any, embeddings: Embeddings | None, name: str = "X") -> tuple[sp.csr_array, Embeddings]:
    """Texts, token lists or CSR to canonical CSR over the embeddings' vocabulary."""
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
        if embeddings is None:
            raise InputError(f"{name} is a matrix, so its word vectors must be given: pass embeddings=.")
        return canonical_csr(X, len(embeddings.vocabulary), name=name), embeddings
    if embeddings is None:
        from wordferry.datasets import default_embeddings

        embeddings = default_embeddings()
    if not isinstance(X, Iterable):
        raise InputError(f"{name} must be a list of texts, token lists, or a sparse matrix; got {type(X).__name__}.")
    return bow.encode(X, embeddings), embeddings


def pairwise(
    X: Any,
    Y: Any = None,
    distance: str = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    algorithm: str = "auto",
    threads: int | None = None,
) -> Float32Array:
    """Distances of all documents of X to all of Y (or of X to each other)."""
    record = find_distance(distance)
    A, embeddings = as_matrix(X, embeddings, "X")
    B = A if Y is None else as_matrix(Y, embeddings, "Y")[0]
    play = np.union1d(A.indices, B.indices).astype(np.int64)
    small = embeddings.restrict(play)
    A, B = A[:, play], B[:, play]
    overlap = overlap or (record.overlaps[0] if record.overlaps else "keep")
    if record.needs_related and related is None:
        related = RelatedWords.build(small, DEFAULT_R)
    x, y = _bags(A), _bags(B)
    out = np.empty((len(x), len(y)), dtype=np.float32)
    if record.needs_related:
        assert related is not None
        ids = related.vocabulary.ids(small.vocabulary)
        lookup = related.cost_lookup()
        inner = reference.related_cost(lookup, related.c_max)
        cost = lambda i, j: inner(int(ids[i]), int(ids[j]))  # noqa: E731
    else:
        cost = reference.euclidean_cost(small.matrix)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            match record.name:
                case "cosine":
                    out[i, j] = reference.cosine(a, b)
                case "bow-l1":
                    out[i, j] = reference.l1(a, b)
                case "wcd":
                    out[i, j] = reference.wcd(a, b, small.matrix)
                case "rwmd" | "rel-rwmd":
                    out[i, j] = reference.rwmd(a, b, cost, overlap)
                case _:
                    out[i, j] = reference.wmd(a, b, cost, overlap)
    return out


def _bags(X: sp.csr_array) -> list[dict[int, float]]:
    N = bow.normalized(X)
    spans = zip(N.indptr[:-1], N.indptr[1:], strict=True)
    return [dict(zip(N.indices[a:b].tolist(), N.data[a:b].tolist(), strict=True)) for a, b in spans]
