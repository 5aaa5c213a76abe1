"""
Kernels of wordferry: flat arrays in, arrays filled. Use them through wordferry.kernels.native.
"""

from collections.abc import Sequence
from contextvars import ContextVar
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

def cpu_variant() -> str:
    """The instruction-set variant the kernels run as."""

class Csr:
    """
    A sparse matrix of float32, checked once; its arrays must not be changed after that.
    """

    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        columns: int,
    ) -> None: ...
    def widened(self, columns: int) -> Csr:
        """These rows over at least `columns` columns."""

    @property
    def shape(self) -> tuple[int, int]: ...

class WholeCsr:
    """Documents with whole weights, words rising; checked once, as Csr is."""

    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        data: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        columns: int,
    ) -> None: ...
    def widened(self, columns: int) -> WholeCsr:
        """These rows over at least `columns` columns."""

    @property
    def shape(self) -> tuple[int, int]: ...

class Token:
    """A flag that kernels look at while they run."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

current_token: ContextVar[Token | None]

def parse_numbers(
    text: bytes, begin: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")]
) -> bool:
    """
    Numbers with one blank between them, from a place in a line on; False when the line holds anything else.
    """

def squared_lengths(
    vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")]:
    """Squared lengths of vectors."""

def word_distances(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    a_squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b_squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...

class PanelKind(enum.Enum):
    omr = 0

    keep = 1

    product = 2

def panel_sums(
    panel: Csr,
    pass_over: Csr,
    graph: Csr,
    rest: float,
    kind: PanelKind,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    transposed: bool = False,
    combine: bool = False,
    lower: bool = False,
    threads: int = 1,
    progress: object | None = None,
) -> None: ...
def make_symmetric(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
    from_lower: bool = False,
) -> None: ...
def transposed_max(
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    other: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...
def document_minima(
    documents: Csr,
    costs: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    nearest: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
    column0: int,
    threads: int,
) -> None: ...
def lower_minima(
    documents: Csr,
    first_word: int,
    costs: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    nearest: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
def accumulate(
    pass_over: Csr,
    panel: Csr,
    nearest: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    first_word: int,
    omr: bool,
    add: bool,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...

class Overlap(enum.Enum):
    omr = 0

    keep = 1

    residual = 2

class Side(enum.Enum):
    both = 0

    left = 1

    right = 2

def related_pairs(
    x: Csr,
    y: Csr,
    graph: Csr,
    c_max: float,
    overlap: Overlap,
    side: Side,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
    progress: object | None,
) -> None: ...
def dense_pairs(
    x: Csr,
    y: Csr,
    costs: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    own: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    x_known: int,
    y_known: int,
    far: float,
    overlap: Overlap,
    side: Side,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...
def refine_cosine(
    x: Csr,
    y: Csr,
    limit: float,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...

class Nearest:
    """The k nearest of each row while blocks of values come in."""

    def __init__(self, rows: int, k: int) -> None: ...
    def offer(
        self,
        first_row: int,
        values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        first: int,
        allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        threads: int,
    ) -> None:
        """
        Values of some rows, as candidates from number `first` on, where they are allowed.
        """

    def finish(
        self, threads: int
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
    ]:
        """
        Indices and distances, sorted; places without a candidate are (-1, inf). Nothing can be offered then.
        """

class Joining:
    """New words, compared with all others: the lists and links that change."""

    def __init__(
        self,
        vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        own: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        distances: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        later_own: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        later_distances: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int,
    ) -> None: ...
    @property
    def total(self) -> float:
        """The sum of the distances of all ordered pairs that have a new word."""

    @property
    def largest(self) -> float:
        """The largest squared length of a vector."""

    @property
    def rows(self) -> int:
        """How many lists change."""

    def rank_sums(self, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]) -> None:
        """By how much the sums of the distances at each place of all lists grow."""

    def write_lists(
        self,
        first: int,
        own: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
        distances: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
    ) -> None:
        """The changed lists, and where all lists are."""

    def link(
        self,
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        later_indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        later_data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> int:
        """
        Find the rows of the graph that change; how many entries they have at most.
        """

    def write_links(
        self,
        first: int,
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
    ) -> None:
        """The changed rows, and where all rows are."""

class Points:
    """
    Vectors and their squared norms, checked once; not to be changed after that.
    """

    def __init__(
        self,
        vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Candidates:
    """For each word, what can still be among its r nearest."""

    def __init__(self, words: int, r: int) -> None: ...
    @property
    def r(self) -> int: ...
    @property
    def counts(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def seed(
        self,
        own: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> None:
        """Known lists, nearest first, as the candidates of the first words."""

    def unchanged(
        self,
        own: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        same: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ) -> None:
        """Which of these lists are as they were seeded."""

def select_tile(
    products: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    row_ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    column_ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    mirror: bool,
    overlapping: bool,
    points: Points,
    candidates: Candidates,
) -> float:
    """Select from a tile of inner products; the sum of its distances."""

def rank_candidates(
    points: Points,
    candidates: Candidates,
    words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    Own neighbours of some words by (true distance, id), and these distances; -1 and inf where there are fewer.
    """

def pair_distances(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """
    True distances between a[rows] and b[columns], from differences in float64.
    """

def product_error(dimensions: int) -> float: ...
def nearest_centroids(
    products: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    half_norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    count: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")]:
    """
    The nearest centroids of each row, nearest first, from inner products and half squared norms.
    """

def union_graph(
    own: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    distances: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
]:
    """
    indptr, indices and data of the graph that joins i and j when either lists the other.
    """

def count_lists(
    words: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    bits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    once: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    repeated: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def place_lists(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    words: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    once: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    repeated: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    counters: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    bits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_rows: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
    out_counts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    out_bits: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def place_lists(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    words: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    once: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    repeated: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    counters: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    bits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_rows: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
    out_counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
    out_bits: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def place_lists(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    words: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    once: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    repeated: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    counters: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    bits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_rows: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
    out_counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
    out_bits: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...

class Growth(enum.Enum):
    """How what a repeated word counts grows with its count."""

    counts = 0

    logarithm = 1

    saturation = 2

class Repeats:
    """How much a word counts that a document has more than once."""

    def __init__(
        self,
        growth: Growth,
        room: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class StoredWordLists:
    """Posting lists as they are stored."""

    def __init__(
        self,
        documents: int,
        blocks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        counts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bit_blocks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bit_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bit_sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bits: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class StoredDocuments:
    """Documents as they are stored, by word and by row."""

    def __init__(
        self,
        lists: StoredWordLists,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        words: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        counts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def documents(self) -> int: ...
    def sums(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        squared: bool,
        repeats: Repeats,
        threads: int,
        allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
        """
        What the words of each document count times their weights, summed up in their order, or the squares; 0 for documents that are not allowed.
        """

class WordWeights:
    """What each word weighs; 0 for one that does not count."""

    def __init__(
        self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None: ...

class WeighedDocuments:
    """Stored documents with the sums of what their words weigh."""

    def __init__(
        self,
        stored: StoredDocuments,
        totals: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        exact: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        longest: float,
        repeats: Repeats,
    ) -> None: ...

class WordVectors:
    """Vectors, which of them a word has, and what words weigh."""

    def __init__(
        self,
        vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weights: WordWeights,
        apart: float,
    ) -> None: ...

def centroids_of(
    parts: Sequence[WeighedDocuments],
    vectors: WordVectors,
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """
    The centroids of some rows, and the lengths of what their words without a vector add.
    """

class CentroidCodes:
    """The codes of the centroids of all rows of a part."""

    def __init__(
        self,
        part: WeighedDocuments,
        vectors: WordVectors,
        mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int,
    ) -> None: ...

class CentroidQuery:
    """A query of the word centroid distance against stored documents."""

    def __init__(
        self,
        vectors: WordVectors,
        rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        masses: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        apart: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        apart_masses: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def nearest(
        self,
        parts: Sequence[WeighedDocuments],
        codes: Sequence[CentroidCodes],
        allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        k: int,
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
        int,
    ]:
        """
        A line of the nearest rows and one of their distances; how many documents were compared in full.
        """

    def distances(
        self,
        parts: Sequence[WeighedDocuments],
        rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")]:
        """The distances of some rows."""

def list_bounds(
    lists: StoredWordLists,
    touched: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    near: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gain: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    common: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    totals: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    repeats: Repeats,
    rest: float,
    threads: int,
) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")], int]:
    """
    For each row the rest less what touched words save, and entries visited.
    """

class ListQuery:
    """A query of Rel-RWMD against documents with lists."""

    def __init__(
        self,
        words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        masses: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        positions: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        related: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        costs: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        c_max: float,
        overlap: Overlap,
        vocabulary: int,
    ) -> None: ...

class CosineShare:
    """What the cosine distance adds to a share of Rel-RWMD."""

    def __init__(
        self,
        unit: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        moved: float,
        unshared: float,
        lost: float,
    ) -> None: ...

def nearest_by_lists(
    queries: Sequence[ListQuery],
    parts: Sequence[WeighedDocuments],
    weights: WordWeights,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    cosines: Sequence[CosineShare],
    slack: float,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
    int,
    int,
]:
    """
    The nearest rows to each query of a panel and their distances; how many entries of lists and documents were looked at.
    """

def list_distances(
    query: ListQuery,
    parts: Sequence[WeighedDocuments],
    weights: WordWeights,
    cosines: Sequence[CosineShare],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")]:
    """The distances of some rows to a query."""

class WordDocuments:
    """Stored documents with the tokens of each, for word search."""

    def __init__(
        self,
        stored: StoredDocuments,
        lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def stem_frequencies(
    lists: StoredWordLists,
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]:
    """Document frequency of each stem."""

def merge_keys(
    known: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    int,
]:
    """
    The numbers of keys among known ones, new ones behind them; all keys in order, their numbers, and how many.
    """

class FormQuery:
    """
    The forms of the words of a query, by slot, and what BM25 needs beside them.
    """

    def __init__(
        self,
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        is_exact: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        stem: float,
        floor: float,
        slope: float,
    ) -> None: ...

def best_by_words(
    parts: Sequence[WordDocuments],
    query: FormQuery,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    k: int,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    int,
    int,
]:
    """
    The best rows and their scores, and how many entries of lists and documents were looked at.
    """

def scores_by_words(
    parts: Sequence[WordDocuments],
    query: FormQuery,
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """The scores of some documents, 0 where one has no word of the query."""

def near_rows(
    parts: Sequence[WordDocuments],
    group_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    idf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    wanted: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    m: int,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C")],
]:
    """
    For each of some documents the nearest others (-1: none), their cosines, and whether it has all wanted stems.
    """

def nearest_among(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    stems: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    groups: int,
    m: int,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    For each of a few documents its nearest others (-1: none), and their cosines.
    """

class CodedDocuments:
    """Vectors of documents in codes of one byte, with a scale for each."""

    def __init__(
        self,
        codes: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        scales: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def best_by_meaning(
    parts: Sequence[CodedDocuments],
    levels: Annotated[NDArray[numpy.int16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: float,
    alive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    k: int,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    int,
    int,
    int,
]:
    """
    The documents with the largest cosines, and these; the count, the sum and the sum of squares of the cosines of those that are alive, in parts of 2^18.
    """

class WordCounter:
    def __init__(
        self,
        words: bytes,
        codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        stop: bytes,
        lowercase: bool,
        min_length: int,
    ) -> None: ...
    @property
    def longest_run(self) -> int:
        """As far as a search in the table may go."""

    def add(
        self,
        words: bytes,
        codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def count(
        self,
        bytes: bytes,
        ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        split: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        next: int,
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
        bytes,
    ]:
        """
        Documents as bags of words: indptr, words, counts and the tokens of each document; and the new words.
        """

class TransportKind(enum.Enum):
    """What a pair of documents is compared by, given distances of words."""

    wmd = 0

    act_omr = 1

    act_residual = 2

class TransportRule:
    """A kind of comparison with its parameters."""

    def __init__(
        self,
        kind: TransportKind,
        transfers: int = 0,
        keep: bool = False,
        regularization: float = 1.0,
        tolerance: float = 0.0,
        rounds: int = 0,
    ) -> None: ...

class Proof(enum.Enum):
    """What is known of a solution."""

    failed = 0
    """A cost, or the optimum, is NaN or infinite."""

    bounded = 1
    """The gap to the duals is at most 1e-9 of the cost, rounding included."""

    exact = 2
    """Optimal in exact arithmetic."""

def transport_one(
    supply: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    demand: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[
    Proof,
    float,
    int,
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """
    Solve one problem; returns (proof, total cost, pivots, sources, sinks and masses of the plan, duals of sources and of sinks).
    """

def transport_many(
    supply: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    demand: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
]:
    """
    Solve problems of one shape: total costs, pivots and the numbers of the proofs.
    """

def share_out(
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ones: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    others: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    affinity: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    masses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """
    Share out the mass of rows over ways, those of most affinity first; returns the ways that took something, and how much.
    """

def soft_plan(
    supply: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    demand: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    rule: TransportRule,
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")], float, float, float, int]:
    """
    The plan of Sinkhorn's rounds between masses that sum to 1; returns (plan, cost, lower bound on the optimum, mass that scaling missed, rounds).
    """

def transport_pair(
    vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x_words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    x_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    y_words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    y_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> float:
    """
    wmd of two documents from their words' counts; NaN where a distance of words is not finite.
    """

class TransportDocuments:
    """Two sets of documents, to be compared by transport."""

    @overload
    def __init__(
        self,
        x: WholeCsr,
        y: WholeCsr,
        costs: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        row_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        column_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rule: TransportRule,
        shared: bool,
    ) -> None:
        """
        A word of x costs costs[row_of[word of x], column_of[word of y]] onto a word of y.
        """

    @overload
    def __init__(self, x: WholeCsr, y: WholeCsr, graph: Csr, c_max: float, keep: bool) -> None:
        """Costs of related words, c_max for all others."""

    def all_pairs(
        self,
        symmetric: bool,
        offset: int,
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        threads: int,
    ) -> tuple[int, int]:
        """All values; returns the pair without an optimum, or (-1, -1)."""

    def search(
        self,
        bounds: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)],
        slack: float,
        k: int,
        budget: int,
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")],
        tuple[int, int],
    ]:
        """
        The k nearest of each query, given lower bounds that may be up to `slack` too high: rows, values, what is proved, counts (solved, stopped by the dual bound, looked at, left for lack of budget) of each query, and the pair without an optimum or (-1, -1).
        """
