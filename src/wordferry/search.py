"""Nearest documents, reduced block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.arrays import Neighbors
from wordferry.distances import pairwise
from wordferry.embeddings import Embeddings
from wordferry.related import RelatedWords


def top_k(
    X: Any,
    Y: Any,
    k: int,
    distance: str = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    threads: int | None = None,
) -> Neighbors:
    """The k documents of Y nearest to each of X."""
    D = pairwise(X, Y, distance, embeddings=embeddings, related=related, overlap=overlap, threads=threads)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return Neighbors(order.astype(np.int64), np.take_along_axis(D, order, axis=1))
