"""Related words in parts that merge: some words against all, anywhere and in any order, then lists and sums together.

The words are cut into stripes of equal size. A part is some stripes; what a stripe gives depends on nothing but the
stripe, so the merged result does not show how the stripes were dealt out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int32Array
from wordferry.base.cancel import check_cancelled
from wordferry.errors import InputError
from wordferry.kernels import native
from wordferry.kernels.native import Candidates
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.build import RelatedRecord
from wordferry.words.related.exact import TILE, OwnLists, ranked_lists, scaled_points
from wordferry.words.related.graph import RelatedWords, checked_r


@dataclass(frozen=True, eq=False)
class Stripe:
    """The own lists of the words of one stripe, and the sums that c_max is made of."""

    number: int
    own: Int32Array
    distances: Float32Array
    rank_sums: Float64Array
    total: float
    """The sum of the distances of its words to all other words."""


def stripe_count(words: int, side: int = TILE) -> int:
    """How many stripes there are."""
    return -(-words // side)


def build_stripes(
    embeddings: Embeddings, r: int, stripes: Iterable[int], *, side: int = TILE, threads: int = 1
) -> list[Stripe]:
    """Compare the words of some stripes with all words."""
    matrix, n = embeddings.matrix, len(embeddings)
    width = min(checked_r(r), n - 1)
    points, unit = scaled_points(matrix)
    ids = np.arange(n, dtype=np.int32)
    found = []
    for number in stripes:
        if not 0 <= number < stripe_count(n, side):
            raise InputError(f"There are {stripe_count(n, side)} stripes of {n} words; got the number {number}.")
        rows = slice(number * side, min(n, (number + 1) * side))
        candidates = Candidates(n, width)
        sums = []
        for start in range(0, n, side):
            check_cancelled()
            columns = slice(start, min(n, start + side))
            products = np.ascontiguousarray(points.vectors[rows] @ points.vectors[columns].T)
            sums.append(native.select_tile(products, ids[rows], ids[columns], points, candidates, mirror=False))
        lists = ranked_lists(points, candidates, ids[rows], threads, unit)
        found.append(Stripe(number, lists.own, lists.distances, lists.rank_sums, math.fsum(sums) * unit))
    return found


def merge_stripes(embeddings: Embeddings, r: int, stripes: Sequence[Stripe]) -> RelatedWords:
    """The related words of all stripes together, given in any order."""
    ordered = sorted(stripes, key=lambda one: one.number)
    n = len(embeddings)
    if [one.number for one in ordered] != list(range(len(ordered))) or sum(len(one.own) for one in ordered) != n:
        raise InputError(f"Every stripe of the {n} words is needed once; got {[one.number for one in ordered]}.")
    lists = OwnLists(
        np.concatenate([one.own for one in ordered]),
        np.concatenate([one.distances for one in ordered]),
        np.array([math.fsum(values) for values in zip(*(one.rank_sums.tolist() for one in ordered), strict=True)]),
        math.fsum(one.total for one in ordered),
    )
    record = RelatedRecord(checked_r(r), "exact", "merged from stripes", "none" if r >= n - 1 else "all pairs")
    return RelatedWords(embeddings.vocabulary, lists, record, embeddings.fingerprint)
