"""The k-NN graph in the form that those take who need it symmetric and in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from wordferry.base.lazy import is_sparse
from wordferry.base.lazy import sparse as sp
from wordferry.errors import InputError


def symmetric_graph(graph: Any, *, connect: bool = True) -> sp.csr_matrix:
    """Give a square k-NN graph of distances each edge in both directions, rows sorted by distance.

    UMAP and HDBSCAN take such a graph as ``metric="precomputed"``.

    Parameters
    ----------
    graph : a square sparse matrix of distances, as ``WordMoverTransformer`` and ``Index.knn_graph`` make it. Edges that
        are not finite, those of documents without a word, are left out.
    connect : join a graph that falls into several pieces, which HDBSCAN refuses: the first document of each piece is
        joined to that of the largest piece at twice the largest distance of the graph, farther than any true neighbour,
        so that no cluster is made of it.

    Returns
    -------
    scipy.sparse.csr_matrix
        The symmetric graph.

    Examples
    --------
    >>> graph = sp.csr_array(([0.0, 0.5, 0.0, 0.0], ([0, 0, 1, 2], [0, 1, 1, 2])), shape=(3, 3))
    >>> symmetric_graph(graph).toarray().tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    if not is_sparse(graph) or graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        shape = getattr(graph, "shape", None)
        raise InputError(
            f"Expected a square sparse graph of a collection with itself, got {type(graph).__name__} of shape {shape}."
        )
    edges = sp.coo_matrix(graph)
    finite = np.isfinite(edges.data)
    ends, data = (edges.row[finite], edges.col[finite]), edges.data[finite].astype(np.float64)
    rows, columns, values = np.concatenate(ends), np.concatenate(ends[::-1]), np.concatenate([data, data])
    if connect:
        rows, columns, values = _connected(rows, columns, values, graph.shape[0])
    order = np.lexsort((values, columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    rows, columns, values = rows[first], columns[first], values[first]
    order = np.lexsort((columns, values, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=graph.shape[0]))])
    return sp.csr_matrix((values[order], columns[order], indptr), shape=graph.shape)


def _connected(rows: Any, columns: Any, values: Any, size: int) -> tuple[Any, Any, Any]:
    """The edges, and one more for each piece but the largest, in both directions."""
    pieces, of = connected_components(sp.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, size)))
    if pieces == 1:
        return rows, columns, values
    first = np.unique(of, return_index=True)[1]
    hub = first[np.bincount(of).argmax()]
    others = first[first != hub]
    far = np.full(2 * len(others), 2.0 * values.max(initial=0.5))
    hubs = np.full(len(others), hub)
    return (
        np.concatenate([rows, others, hubs]),
        np.concatenate([columns, hubs, others]),
        np.concatenate([values, far]),
    )
