"""Exact search by the costly distances: documents that the posting lists rule out are never compared.

A word that is not related to any word of the query is at least as far from all of them as its own r-th neighbour. The
lists therefore bound from below what moving a document onto the query costs: for rwmd, act and wmd by true distances,
and for rel-wmd by related costs. A word without a vector costs the same onto every other word, and so does every other
word onto it. Only documents whose bound does not exceed the k-th distance are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array, Neighbors
from wordferry.base.runtime import check_cancelled
from wordferry.compare.problem import Distance
from wordferry.index.search import lists, memory
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import Part
from wordferry.kernels.passes import Nearest

TRUE = ("rwmd", "act", "wmd")
RELATED = ("rel-wmd", "rel-rwmd")
_LEAST = 2000
"""With fewer documents than this, the lists are not worth the trouble."""
_SHARE = 4
"""A shortlist of more than one in this many documents is given up: preparing all of them pays off then."""
_DEAR = 40
"""Where better bounds can be had, they are made for shortlists of more than one in this many documents."""
_SMALL = 1 << 15
"""Where problems are solved, having fewer documents than this all prepared costs less than better bounds."""
_WHOLE = 1 << 18
"""In an index of more documents than this they are never prepared all at once, however few are ruled out."""
_BLOCK = 1 << 15
"""Documents that are prepared at a time at most, so that little memory is needed."""
_STEP = 1 << 12
"""First block size; it doubles, because the k-th distance soon rules out the rest."""
_FIRST = 64
"""Documents with the lowest bounds that are compared at least, to learn how near the k-th is."""
_SLACK = 5e-5
"""How far kernels in float32 may be off, relative to the largest cost: more than twice what their tests allow."""
Among = Callable[[Int64Array], Neighbors]
"""The nearest of some rows, ascending."""


def can_find(view: View, distance: Distance) -> bool:
    """Whether lists bound a distance, and are worth the trouble."""
    if distance.family not in (*TRUE, *RELATED) or len(view.snapshot.numbers) < _LEAST:
        return False
    ready = distance.needs_related or view.snapshot.graph is not None
    graph = view.graph if ready else None  # it must hold every word's true nearest
    return graph is not None and graph.record.method == "exact" and not np.isnan(graph.c_max)


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to a query, by comparing with what the lists do not rule out."""
    (words,), costs, overlap, dear = queries, view.costs, request.overlap, False
    if request.distance.family in TRUE:
        values, visited = _by_true_costs(view, words, overlap)
        largest = max(2 * costs.longest_vector, view.far)
        # Bounds from all words of all documents cost less than they save, but not for few problems that are solved.
        dear = not request.distance.transport or len(values) >= _SMALL
    else:
        largest = costs.c_max
        values, visited = lists.bounds(view, lists.touched(view, words, overlap, largest), largest, 1)
    slack = _SLACK * largest * (1 + view.longest / 400)  # relative to the largest cost of moving a word
    among = partial(memory.compared, view, queries, request)
    near = _near(view, values, slack, request, among)
    if dear and np.count_nonzero(near) * _DEAR > len(values):
        values = _walked(view, words, values, near)
        near = _near(view, values, slack, request, among)
    rows = np.flatnonzero(near)
    if len(rows) * _SHARE > len(values) and len(values) <= _WHOLE:
        return memory.scan(view, queries, request)
    rows = rows[np.argsort(values[rows], kind="stable")]
    found, evaluated = _ascending(rows, values, slack, request.k, among)
    return replace(found.resized(request.k), counts={"postings": visited, "evaluated": evaluated})


def _near(view: View, values: Float32Array, slack: float, request: Request, among: Among) -> BoolArray:
    """Which rows may be among the k nearest, by what they are away at least: those with the lowest are compared."""
    allowed = view.snapshot.count(request.mask)
    heap = Nearest(1, min(max(4 * request.k, _FIRST), allowed))
    heap.offer(0, values[None, :], 0, request.mask, 1)
    first = among(np.sort(heap.finish(1)[0][0]))
    near: BoolArray = values <= float(first.distances[0, : min(request.k, allowed)].max()) + slack
    return near if request.mask is None else near & request.mask


def _by_true_costs(view: View, words: QueryWords, overlap: str) -> tuple[Float32Array, int]:
    """Bounds from what related words cost, and from how near the r-th neighbour of any other word is."""

    def made() -> Float32Array:
        reach = np.minimum(view.costs.reach, view.far) if view.weights.keeps else view.costs.reach
        return np.where(view.snapshot.terms.row_of < 0, view.far, reach).astype(np.float32)

    reach = view.kept(None, "reach", made)
    values, visited = lists.bounds(view, lists.touched(view, words, overlap, reach, np.inf), 0.0, 1)

    def mean_reach(part: Part) -> Float32Array:
        return _means(view, part, view.weights.per_word * reach)

    means = [view.kept(part, "reach", partial(mean_reach, part)) for part in view.snapshot.parts]
    return values + np.concatenate(means), visited


def _means(view: View, part: Part, weighed: Float64Array, mask: BoolArray | None = None) -> Float32Array:
    """What the words of each document of a part cost on the average, given the weight of each times its cost."""
    documents = view.documents(part)
    sums = view.weights.sums(part, weighed, mask=mask)
    found: Float64Array = np.divide(sums, documents.sums, out=np.zeros_like(sums), where=documents.sums > 0)
    return found.astype(np.float32)


def _walked(view: View, words: QueryWords, bounds: Float32Array, near: BoolArray) -> Float32Array:
    """Bounds from what every word costs at least, not only the related ones: all documents ``near`` are walked."""
    terms, known = view.snapshot.terms, words.with_vectors
    least = view.costs.least_costs(words.vectors[:known]).astype(np.float64)
    if view.weights.keeps:
        least = np.minimum(least, view.far)
        least[terms.row_of < 0] = view.far
        others = words.numbers[known:]
        least[others[others < terms.size]] = 0
    least *= view.weights.per_word
    values = [_means(view, part, least, near[part.span]) for part in view.snapshot.parts]
    return np.maximum(bounds, np.concatenate(values))


def _ascending(rows: Int64Array, values: Float32Array, slack: float, k: int, among: Among) -> tuple[Neighbors, int]:
    """The nearest of some rows, given in ascending order of their bounds, and how many of them were compared.

    No more than a block of them is prepared at a time, until a bound is above the k-th distance.
    """
    step = min(_STEP, _BLOCK)
    found, start = among(np.sort(rows[:step])), min(step, len(rows))
    while start < len(rows):
        check_cancelled()
        last = found.distances[0, k - 1] if found.distances.shape[1] >= k else np.inf
        if values[rows[start]] > last + slack:
            break
        step = min(2 * step, _BLOCK)
        found = Neighbors.merge([found, among(np.sort(rows[start : start + step]))], k)
        start = min(start + step, len(rows))
    return found, start
