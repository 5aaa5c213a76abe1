"""Types of the extension module. Kernels are called through wordferry.kernels.native."""

from contextvars import ContextVar
from typing import Any

class Token:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

current_token: ContextVar[Token | None]

def cpu_variant() -> str: ...
def parse_numbers(text: bytes, begin: int, out: Any) -> bool: ...
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
    words: Any,
    threads: int,
    own: Any,
    distances: Any,
) -> None: ...
def pair_distances(a: Any, b: Any, rows: Any, columns: Any, threads: int, out: Any) -> None: ...
def product_error(dimensions: int) -> float: ...
def nearest_centroids(products: Any, half_norms: Any, out: Any) -> None: ...
def related_union_indptr(own: Any, indptr: Any) -> None: ...
def related_union_rows(own: Any, distances: Any, indptr: Any, indices: Any, data: Any) -> None: ...

class Csr:
    def __init__(self, indptr: Any, indices: Any, data: Any, columns: int) -> None: ...
    def widened(self, columns: int) -> Csr: ...

def panel_sums(
    panel: Csr,
    pass_over: Csr,
    graph: Csr,
    rest: float,
    kind: int,
    out: Any,
    transposed: bool,
    combine: bool,
    lower: bool,
    threads: int,
    progress: Any,
) -> None: ...
def make_symmetric(values: Any, from_lower: bool, threads: int) -> None: ...
def transposed_max(out: Any, other: Any, threads: int) -> None: ...
def products_to_distances(products: Any, a: Any, a_squares: Any, b: Any, b_squares: Any, threads: int) -> None: ...
def document_minima(documents: Csr, costs: Any, nearest: Any, column0: int, threads: int) -> None: ...
def accumulate(
    pass_over: Csr,
    pass_from: Any,
    pass_to: Any,
    panel: Csr,
    panel_from: Any,
    panel_to: Any,
    nearest: Any,
    first_word: int,
    omr: bool,
    add: bool,
    out: Any,
    threads: int,
) -> None: ...
def related_pairs(
    x: Csr,
    y: Csr,
    graph: Csr,
    c_max: float,
    overlap: int,
    side: int,
    scan: bool,
    out: Any,
    threads: int,
    progress: Any,
) -> None: ...
def dense_pairs(x: Csr, y: Csr, costs: Any, own: Any, overlap: int, side: int, out: Any, threads: int) -> None: ...
def refine_cosine(x: Csr, y: Csr, limit: float, out: Any, threads: int) -> None: ...
def heaps_offer(distances: Any, indices: Any, values: Any, first: int, allowed: Any, threads: int) -> None: ...
def heaps_finish(distances: Any, indices: Any, threads: int) -> None: ...
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
def transport_pair(vectors: Any, x_words: Any, x_counts: Any, y_words: Any, y_counts: Any) -> float: ...
def word_distances(query: Any, vectors: Any, out: Any, threads: int) -> None: ...

class TransportDocuments:
    def __init__(
        self, x_indptr: Any, x_indices: Any, x_data: Any, y_indptr: Any, y_indices: Any, y_data: Any
    ) -> None: ...
    def distances(self, costs: Any, row_of: Any, column_of: Any, kind: int, transfers: int) -> None: ...
    def related(self, indptr: Any, indices: Any, data: Any, c_max: float, keep: bool) -> None: ...
    def all_pairs(self, symmetric: bool, offset: int, out: Any, threads: int) -> tuple[int, int]: ...
    def search(
        self,
        bounds: Any,
        allowed: Any,
        slack: float,
        k: int,
        budget: int,
        found: Any,
        values: Any,
        proved: Any,
        counts: Any,
        threads: int,
    ) -> tuple[int, int]: ...

def count_lists(indptr: Any, words: Any, counts: Any, group_of: Any, form_of: Any, sizes: Any, df: Any) -> None: ...
def fill_lists(
    indptr: Any,
    words: Any,
    counts: Any,
    group_of: Any,
    form_of: Any,
    starts: Any,
    documents: Any,
    forms: Any,
    found: Any,
) -> None: ...

class WordLists:
    def __init__(self, starts: Any, documents: Any, forms: Any, counts: Any, lengths: Any) -> None: ...
    def best(
        self,
        groups: Any,
        forms: Any,
        factors: Any,
        stem: float,
        floor: float,
        slope: float,
        allowed: Any,
        rows: Any,
        scores: Any,
    ) -> int: ...

def nearest_among(indptr: Any, stems: Any, counts: Any, weight: Any, groups: int, found: Any, cosines: Any) -> None: ...
def list_bounds(
    blocks: Any,
    words: Any,
    starts: Any,
    rows: Any,
    counts: Any,
    touched: Any,
    near: Any,
    gain: Any,
    common: Any,
    totals: Any,
    rest: float,
    out: Any,
    threads: int,
) -> int: ...
