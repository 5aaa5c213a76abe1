"""New words joined to many known ones: only lists and rows of the graph that change are written, behind the others.

What a graph of many words is made of is never copied for the sake of a few: the lists and rows that change are put into
memory of their own, and for each word it is noted where they are. The next words go on in the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.kernels.native import Joining
from wordferry.words.related.exact import OwnLists, in_range, mean_of_others

MOST = 512
"""More new words than this are found by products of matrices, and all lists written anew."""
_ROOM = 1 << 20
"""Numbers that there is room for at first, behind the others: memory that is not used until it is written."""


class Tail:
    """Numbers and distances behind others. Each place is written once, so that all who know of it can read it."""

    def __init__(self, room: int) -> None:
        self.numbers = np.empty(room, dtype=np.int32)
        self.distances = np.empty(room, dtype=np.float32)
        self._used = 0
        self._lock = Lock()

    def claim(self, used: int, count: int) -> bool:
        """Whether the places after ``used`` are the caller's: nobody else goes on from there, and there is room."""
        with self._lock:
            if self._used != used or used + count > len(self.numbers):
                return False
            self._used += count
            return True

    def copied(self, used: int, count: int) -> Tail:
        """A copy of the first ``used`` places, followed by ``count`` new ones for the caller to fill."""
        tail = Tail(max(_ROOM, 2 * (used + count)))
        tail.numbers[:used], tail.distances[:used] = self.numbers[:used], self.distances[:used]
        tail._used = used + count
        return tail


@dataclass(frozen=True)
class Stretch:
    """What was there at first, and as much of a tail as was written when this was made."""

    numbers: Int32Array
    distances: Float32Array
    tail: Tail
    used: int

    @classmethod
    def of(cls, numbers: Any, distances: Any) -> Stretch:
        """With an empty tail."""
        first, values = _plain(numbers), _plain(distances)
        return cls(first, values, Tail(max(_ROOM, len(first))), 0)

    def grown(self, count: int) -> tuple[Stretch, slice]:
        """This stretch with ``count`` more places, and where these are in the tail."""
        tail = self.tail if self.tail.claim(self.used, count) else self.tail.copied(self.used, count)
        places = slice(self.used, self.used + count)
        return Stretch(self.numbers, self.distances, tail, places.stop), places

    @property
    def later(self) -> tuple[Int32Array, Float32Array]:
        """The tail."""
        return self.tail.numbers[: self.used], self.tail.distances[: self.used]

    @property
    def scattered(self) -> bool:
        """Whether more has been written later than there was at first."""
        return self.used > len(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers) + self.used


@dataclass(frozen=True)
class Links:
    """The graph of related words by rows, wherever they are."""

    edges: Stretch
    starts: Int32Array
    ends: Int32Array

    @classmethod
    def of(cls, graph: Csr) -> Links:
        """Those of a graph that is whole."""
        ends = _plain(short(graph.indptr))
        return cls(Stretch.of(graph.indices, graph.data), ends[:-1], ends[1:])

    def rows(self, words: Int32Array) -> tuple[list[int], Int32Array, Float32Array]:
        """The degrees of some words, and their rows one after another."""
        edges, first = self.edges, len(self.edges.numbers)
        numbers, distances = [edges.numbers[:0]], [edges.distances[:0]]
        starts, ends = self.starts.take(words).tolist(), self.ends.take(words).tolist()
        for start, end in zip(starts, ends, strict=True):
            if start < first:
                numbers.append(edges.numbers[start:end])
                distances.append(edges.distances[start:end])
            else:
                numbers.append(edges.tail.numbers[start - first : end - first])
                distances.append(edges.tail.distances[start - first : end - first])
        degrees = [end - start for start, end in zip(starts, ends, strict=True)]
        return degrees, np.concatenate(numbers), np.concatenate(distances)


@dataclass(frozen=True)
class JoinedLists:
    """Own lists of which some have changed; see :class:`~wordferry.words.related.exact.OwnLists`."""

    lists: Stretch
    places: Int32Array
    """The row of the list of each word: of those that were there at first, and then of those that changed later."""
    rank_sums: Float64Array
    total: float

    @classmethod
    def of(cls, lists: OwnLists) -> JoinedLists:
        """None of them has changed yet."""
        places = np.arange(len(lists.own), dtype=np.int32)
        return cls(Stretch.of(lists.own, lists.distances), places, lists.rank_sums, lists.total)

    @property
    def width(self) -> int:
        """How long the lists are."""
        return len(self.rank_sums)

    def c_max(self, r: int) -> float:
        """As that of all lists."""
        return mean_of_others(len(self.places), r, self.rank_sums, self.total)

    @property
    def reach(self) -> Float32Array:
        """The last distance of each list."""
        last = slice(self.width - 1, None, self.width)
        reach: Float32Array = np.concatenate([self.lists.distances[last], self.lists.later[1][last]])[self.places]
        return reach

    def whole(self) -> OwnLists:
        """These lists, each in its place."""
        shape, (numbers, distances) = (-1, self.width), self.lists.later
        own = np.concatenate([self.lists.numbers.reshape(shape), numbers.reshape(shape)])[self.places]
        far = np.concatenate([self.lists.distances.reshape(shape), distances.reshape(shape)])[self.places]
        return OwnLists(own, far, self.rank_sums, self.total)


def joined(
    matrix: Float32Array, words: Int64Array, lists: JoinedLists, links: Links, threads: int
) -> tuple[JoinedLists, Links] | None:
    """The lists and links of more words: ``matrix[words]`` are the vectors, the first of which have lists.

    None when all should be made anew: too much has changed since that was done, or numbers leave their range.
    """
    if links.starts.dtype != np.int32 or lists.lists.scattered or links.edges.scattered:
        return None
    shape, (own, far) = (-1, lists.width), lists.lists.later
    found = Joining(
        matrix,
        words,
        lists.lists.numbers.reshape(shape),
        lists.lists.distances.reshape(shape),
        own.reshape(shape),
        far.reshape(shape),
        lists.places,
        threads,
    )
    if not in_range(found.largest):
        return None
    edges = links.edges
    entries = found.link(edges.numbers, edges.distances, *edges.later, links.starts, links.ends)
    if len(edges) + entries >= 2**31:
        return None
    more_lists, more_edges = lists.lists.grown(found.rows * lists.width), edges.grown(entries)
    return _lists(found, lists, *more_lists, len(words)), _links(found, edges, *more_edges, len(words))


def short(indptr: Any) -> Any:
    """Row pointers in 32 bits, where that will do."""
    return indptr.astype(np.int32) if indptr.dtype != np.int32 and indptr[-1] < 2**31 else indptr


def _plain(values: Any) -> Any:
    """An array in one row and one piece; one that is mapped from a file is slow to cut up unless it is told so."""
    return np.ravel(np.ascontiguousarray(values)).view(np.ndarray)


def _lists(found: Joining, before: JoinedLists, lists: Stretch, new: slice, words: int) -> JoinedLists:
    places, sums = np.empty(words, dtype=np.int32), np.empty(before.width)
    shape = (-1, before.width)
    first = len(before.lists) // before.width
    found.write_lists(first, lists.tail.numbers[new].reshape(shape), lists.tail.distances[new].reshape(shape), places)
    found.rank_sums(sums)
    return JoinedLists(lists, places, before.rank_sums + sums, before.total + found.total)


def _links(found: Joining, before: Stretch, edges: Stretch, new: slice, words: int) -> Links:
    starts, ends = np.empty(words, dtype=np.int32), np.empty(words, dtype=np.int32)
    found.write_links(len(before), edges.tail.numbers[new], edges.tail.distances[new], starts, ends)
    return Links(edges, starts, ends)
