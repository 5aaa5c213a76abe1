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
    r: int,
) -> float: ...
def related_rank(
    vectors: Any,
    norms: Any,
    ids: Any,
    squares: Any,
    counts: Any,
    limits: Any,
    first: int,
    threads: int,
    own: Any,
    distances: Any,
) -> None: ...
def pair_distances(a: Any, b: Any, rows: Any, columns: Any, threads: int, out: Any) -> None: ...
def related_union_indptr(own: Any, indptr: Any) -> None: ...
def related_union_rows(own: Any, distances: Any, indptr: Any, indices: Any, data: Any) -> None: ...
def transport_one(
    supply: Any,
    demand: Any,
    costs: Any,
    source_duals: Any,
    sink_duals: Any,
    plan_source: Any,
    plan_sink: Any,
    plan_mass: Any,
) -> tuple[int, float, int, int]: ...
def transport_many(supply: Any, demand: Any, costs: Any, total: Any, pivots: Any, proof: Any, threads: int) -> None: ...
def word_distances(query: Any, vectors: Any, out: Any, threads: int) -> None: ...

class TransportDocuments:
    def __init__(
        self, x_indptr: Any, x_indices: Any, x_data: Any, y_indptr: Any, y_indices: Any, y_data: Any
    ) -> None: ...
    def distances(self, costs: Any, row_of: Any, kind: int, transfers: int) -> None: ...
    def related(self, indptr: Any, indices: Any, data: Any, c_max: float, keep: bool) -> None: ...
    def all_pairs(self, symmetric: bool, offset: int, out: Any, threads: int) -> tuple[int, int]: ...
    def search(
        self,
        rows: Any,
        bounds: Any,
        k: int,
        budget: int,
        found: Any,
        values: Any,
        proved: Any,
        counts: Any,
        threads: int,
    ) -> tuple[int, int]: ...
