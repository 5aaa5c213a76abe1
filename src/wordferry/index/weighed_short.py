"""Bounds from the lists for the costly distances, where words weigh more or less and words without vectors count.

As in ``shortlist``: a word is at least as far from what it is not related to as its own r-th neighbour is. A word
without a vector costs c_max onto every other word, and so does every other word onto it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int64Array
from wordferry.index.bounded import row_means
from wordferry.index.query_words import Words
from wordferry.index.scale import Asked, Scale
from wordferry.index.shortlist import TRUE, Bounds
from wordferry.index.snapshot import Part, Snapshot
from wordferry.index.sums import Sums
from wordferry.index.weighed_lists import WeighedQuery, bounds_of
from wordferry.kernels import related_lists as lists


class Weighed(NamedTuple):
    """What the documents of a state weigh."""

    scale: Scale
    sums: Callable[[Part], Sums]
    others: bool
    """Whether words without vectors count."""
    reaches: dict[tuple[float, object], Float32Array]
    """What is known already of the mean reach of documents: by the cost of words without vectors, and the part."""


def bounds(
    snapshot: Snapshot, words: Words, weighed: Weighed, asked: Asked, name: str, overlap: str, far: float
) -> Bounds:
    """What each document is away from the query at least; ``far`` is what words without a vector cost."""
    kind = "keep" if overlap == "keep" else "omr"
    query = WeighedQuery(words, weighed.scale, asked, kind)
    longest = max(part.rows.longest + part.rows.longest_others for part in snapshot.parts)
    if name not in TRUE:
        values, visited = bounds_of(
            snapshot, query.touched(), words.c_max, weighed.sums, others=weighed.others, threads=1
        )
        return Bounds(values, visited, words.c_max, longest)
    most = far if weighed.others else np.inf
    known = _scaled(words.true_costs(*query.known, kind, most), weighed.scale.known)
    own = _others(*query.others, kind, far, weighed.scale.others)
    values, visited = bounds_of(snapshot, (known, own), 0.0, weighed.sums, others=weighed.others, threads=1)
    values += np.concatenate([_reach_of(part, words, weighed, most, far) for part in snapshot.parts])
    return Bounds(values, visited, max(2 * words.longest_vector, far), longest)


def walked(snapshot: Snapshot, words: Words, weighed: Weighed, asked: Asked, far: float, found: Bounds) -> Bounds:
    """Better bounds by true distances, as in ``shortlist``: all documents are walked for them."""
    least = words.least_costs(asked.ids)
    known = weighed.scale.known * (np.minimum(least, far) if weighed.others else least)
    others = weighed.scale.others * far
    others[asked.others] = 0
    values = [_means(part, weighed, known, others if weighed.others else None) for part in snapshot.parts]
    return found._replace(values=np.maximum(found.values, np.concatenate(values)))


def _means(part: Part, weighed: Weighed, known: Float64Array, others: Float64Array | None) -> Float32Array:
    sums = weighed.sums(part)
    return row_means(part, sums.exact, known, others, sums.repeats)


def _scaled(touched: lists.Touched, scale: Float64Array) -> lists.Touched:
    """Costs of a unit of weight as those of a count."""
    weights = scale[touched.words]
    values = (touched.near * weights, touched.gain * weights, touched.common / weights)
    return lists.Touched(touched.words, *(some.astype(np.float32) for some in values))


def _others(numbers: Int64Array, masses: Float32Array, kind: str, far: float, scale: Float64Array) -> lists.Touched:
    """The query's words without vectors: what both have of one may stay, and all else costs the same."""
    nothing, full = np.zeros(len(numbers), dtype=np.float32), np.full(len(numbers), far, dtype=np.float32)
    near, gain, common = (nothing, full, nothing) if kind == "keep" else (full, nothing, masses)
    return _scaled(lists.Touched(numbers.astype(np.int32), near, gain, common), scale)


def _reach_of(part: Part, words: Words, weighed: Weighed, most: float, far: float) -> Float32Array:
    """What it costs at least to move each document of a part to words that it is not related to."""
    found = weighed.reaches.get((most, part.key))
    if found is None:
        known = weighed.scale.known * np.minimum(words.reach, most)
        others = weighed.scale.others * far if weighed.others else None
        found = _means(part, weighed, known, others)
        weighed.reaches[most, part.key] = found
    return found
