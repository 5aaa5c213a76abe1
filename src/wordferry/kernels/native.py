"""The one typed door to the C++ kernels: same names as there, arrays only, no decisions.

What has no text here is told by the kernels themselves: ``help`` and the stub ``_native.pyi`` show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Float32Array, Int32Array, Int64Array

cpu_variant = _native.cpu_variant
"""The instruction-set variant that the kernels run as on this machine."""
parse_numbers = _native.parse_numbers
"""``parse_numbers(text, begin, out)`` fills ``out`` with the numbers of a line from ``begin`` on, one blank between
them; False when the line holds anything else, or what only ``float`` takes for a number."""
product_error = _native.product_error
"""How far |x|^2 + |y|^2 - 2xy in float32 can be from the squared distance, relative to |x|^2 + |y|^2, by dimensions."""
union_graph = _native.union_graph
rank_candidates = _native.rank_candidates
pair_distances = _native.pair_distances
nearest_centroids = _native.nearest_centroids
Candidates = _native.Candidates
Joining = _native.Joining


class Points:
    """Vectors and their squared norms (float32), checked once: they must be finite."""

    def __init__(self, vectors: Float32Array, norms: Float32Array) -> None:
        self.vectors, self.norms = vectors, norms
        self.native = _native.Points(np.ascontiguousarray(vectors), np.ascontiguousarray(norms))


select_tile = _native.select_tile
"""``select_tile(products, row_ids, column_ids, mirror, overlapping, points.native, candidates)``: select from a tile of
inner products; returns the sum of its distances (0 for ``overlapping`` tiles). With ``mirror`` the columns' words
receive the rows' words too. ``overlapping`` tiles may show a pair that another tile has shown before."""
_END = b"\xff"
"""After every word: a byte that no UTF-8 text holds."""


class CountedTexts(NamedTuple):
    """Documents as bags of words (CSR, the codes of a row ascending), and the words that were new."""

    indptr: Int64Array
    codes: Int32Array
    counts: Int32Array
    tokens: Int64Array
    new_words: list[str]
    """Words that had no code before, in the order of the codes they have now."""


class WordCounter:
    """Counts documents against a table of words with their codes.

    The words in ``stop`` have in texts the code of the word behind the mark of stop words
    (:mod:`wordferry.texts.stop_marks`). Words of texts with fewer than ``min_length`` letters are left out; lists of
    words are taken as they are.
    """

    def __init__(self, codes: dict[str, int], stop: Iterable[str], *, lowercase: bool, min_length: int) -> None:
        own = np.fromiter(codes.values(), np.int32, len(codes))
        self._native = _native.WordCounter(_joined(codes), own, _joined(stop), lowercase, min_length)

    def add(self, codes: dict[str, int]) -> None:
        """Put more words into the table."""
        self._native.add(_joined(codes), np.fromiter(codes.values(), np.int32, len(codes)))

    def count(self, documents: Sequence[str | Sequence[str]], next_code: int, threads: int) -> CountedTexts:
        """Count documents: texts of ASCII letters, which are split, or lists of words.

        Words that are not in the table yet get the codes from ``next_code`` on, in the order in which they come.
        """
        data = [text.encode("ascii") if isinstance(text, str) else _joined(text) for text in documents]
        split = np.fromiter((isinstance(text, str) for text in documents), np.uint8, len(data))
        ends = np.cumsum(np.fromiter(map(len, data), np.int64, len(data)))
        indptr, own, counts, tokens, new = self._native.count(b"".join(data), ends, split, next_code, threads)
        words = [word.decode("utf-8", "surrogatepass") for word in new.split(_END)[:-1]]
        return CountedTexts(indptr, own, counts, tokens, words)


def _joined(words: Iterable[str]) -> bytes:
    return b"".join([word.encode("utf-8", "surrogatepass") + _END for word in words])
