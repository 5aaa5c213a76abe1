"""Related words as they come from the disk: checked in every id and distance before a kernel walks along them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wordferry.base.storage import Folder
from wordferry.words.related.build import RelatedRecord
from wordferry.words.related.exact import OwnLists

_C_MAX_TOLERANCE = 1e-9

Graph = tuple[Any, Any, Any]


def stored_lists(folder: Folder, words: int) -> tuple[RelatedRecord, OwnLists, Graph]:
    """The record, the lists and the graph (indptr, indices, distances) of a folder of ``words`` words.

    ValueError, KeyError or TypeError says what is wrong or missing.
    """
    record = RelatedRecord(**folder.config["record"])
    if not isinstance(record.r, int) or isinstance(record.r, bool) or record.r < 1:
        raise ValueError(f"r must be a whole number of at least 1, found {record.r!r}")
    arrays = folder.arrays
    total = folder.config["total"]
    if not isinstance(total, int | float) or not math.isfinite(total):
        raise ValueError(f"the sum of all distances must be a finite number, found {total!r}")
    lists = OwnLists(arrays["own"], arrays["own_distances"], arrays["rank_sums"], float(total))
    _check_lists(lists, words, min(record.r, words - 1))
    _check_c_max(lists.c_max(record.r), folder.config["c_max"])
    graph = arrays["graph_indptr"], arrays["graph_indices"], arrays["graph_data"]
    _check_graph(*graph, words)
    return record, lists, graph


def _check_lists(lists: OwnLists, words: int, width: int) -> None:
    _check_array("own", lists.own, np.int32, (words, width))
    _check_array("own_distances", lists.distances, np.float32, (words, width))
    _check_array("rank_sums", lists.rank_sums, np.float64, (width,))
    if not lists.own.size:
        return
    if lists.own.min() < 0 or lists.own.max() >= words:
        raise ValueError(f"own holds ids {lists.own.min()} to {lists.own.max()}, allowed are 0 to {words - 1}")
    if (lists.own == np.arange(words, dtype=np.int32)[:, None]).any():
        raise ValueError("own lists a word as its own neighbour")
    _check_distances("own_distances", lists.distances)
    _check_distances("rank_sums", lists.rank_sums)


def _check_c_max(found: float, stored: Any) -> None:
    """c_max follows from the lists and is stored beside them: the two must agree."""
    if stored is None and math.isnan(found):
        return
    if not isinstance(stored, int | float) or not math.isclose(found, stored, rel_tol=_C_MAX_TOLERANCE, abs_tol=1e-30):
        raise ValueError(f"c_max is said to be {stored}, and the lists give {found}")


def _check_graph(indptr: Any, indices: Any, data: Any, words: int) -> None:
    if indptr.dtype not in (np.int32, np.int64) or indptr.shape != (words + 1,):
        raise ValueError(f"graph_indptr must be {words + 1} integers, found {indptr.dtype} of shape {indptr.shape}")
    _check_array("graph_indices", indices, np.int32, (len(indices),))
    _check_array("graph_data", data, np.float32, (len(indices),))
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"graph_indptr must rise from 0 to {len(indices)}")
    if not len(indices):
        return
    if indices.min() < 0 or indices.max() >= words:
        raise ValueError(f"graph_indices holds ids {indices.min()} to {indices.max()}, allowed are 0 to {words - 1}")
    begins = np.zeros(len(indices) + 1, dtype=bool)
    begins[indptr] = True
    if ((indices[1:] <= indices[:-1]) & ~begins[1:-1]).any():
        raise ValueError("graph_indices must rise within each row")
    _check_distances("graph_data", data)


def _check_array(name: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} must be {np.dtype(dtype)} of shape {shape}, found {array.dtype} of {array.shape}")


def _check_distances(name: str, values: Any) -> None:
    if not np.isfinite(values).all() or values.min() < 0:
        raise ValueError(f"{name} must hold finite numbers that are not negative")
