"""Types of the extension module. Kernels are called through wordferry.kernels.native."""

from typing import Any

def cpu_variant() -> str: ...
def related_select_tile(
    products: Any,
    row_ids: Any,
    column_ids: Any,
    mirror: bool,
    overlapping: bool,
    vectors: Any,
    norms: Any,
    ids: Any,
    squares: Any,
    counts: Any,
    limits: Any,
    locks: Any,
    r: int,
) -> float: ...
def related_rank(
    vectors: Any,
    norms: Any,
    ids: Any,
    squares: Any,
    counts: Any,
    limits: Any,
    locks: Any,
    first: int,
    threads: int,
    own: Any,
    distances: Any,
) -> None: ...
def pair_distances(a: Any, b: Any, rows: Any, columns: Any, threads: int, out: Any) -> None: ...
def nearest_centroids(products: Any, half_norms: Any, out: Any) -> None: ...
def related_union_indptr(own: Any, indptr: Any) -> None: ...
def related_union_rows(own: Any, distances: Any, indptr: Any, indices: Any, data: Any) -> None: ...
