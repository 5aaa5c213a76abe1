"""From what each shard found to what the undivided collection would have found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.find.documents import Surroundings, have_all
from wordferry.find.ranking import Candidates, Ranking, ranked, stems_of
from wordferry.kernels.meaning import CosineSums
from wordferry.kernels.words import nearest_among
from wordferry.shards.shard import Best, Near, StemBags

Bags = Callable[[Int64Array], StemBags]
"""From rows of the collection to their bags, in that order."""


def best_rows(found: Sequence[Best], k: int) -> Candidates:
    """The rows of all shards that the best k may come from: the best by words and those by meaning."""
    parts = [one.found for one in found]
    rows, words = (np.concatenate([getattr(one, name) for one in parts]) for name in ("rows", "words"))
    cosines = [one.cosines for one in parts if one.cosines is not None]
    sums = [one.sums for one in parts if one.sums is not None]
    if not cosines:
        return Candidates(rows, words).kept(found[0].settings.wanted(k))
    total = CosineSums(*(sum(some) for some in zip(*sums, strict=True)))
    return Candidates(rows, words, np.concatenate(cosines), total).kept(found[0].settings.wanted(k, by_meaning=True))


def ranking_of(found: Sequence[Best], k: int, groups: int, bags: Bags) -> Ranking:
    """The ranking of one query over all shards; ``bags`` are asked for those rows only that may be lifted."""

    def near(some: Int64Array, m: int) -> Surroundings:
        stems = bags(some)
        found_near = nearest_among(stems.indptr, stems.stems, stems.counts, stems.idf, groups, m)
        return Surroundings(*found_near, have_all(stems.indptr, stems.stems, stems_of(found[0].query)))

    return ranked(best_rows(found, k), near, k, (found[0].query, found[0].missing, found[0].settings))


def joined(parts: Sequence[StemBags], order: Int64Array) -> StemBags:
    """Bags of several shards one under the other, then in the order given."""
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    starts = np.concatenate(([0], np.cumsum(sizes)))
    lengths = sizes[order]
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    places = np.repeat(starts[order] - indptr[:-1], lengths) + np.arange(indptr[-1])
    stems, counts, idf = (
        np.concatenate([getattr(part, name) for part in parts])[places] for name in ("stems", "counts", "idf")
    )
    return StemBags(indptr, stems, counts, idf)


def nearest(found: Sequence[Sequence[Near]], k: int, candidates: int | None) -> list[Near]:
    """The k nearest of all shards, each of which gives its own in order; ``candidates`` come first by a first distance.

    Shards hold the documents in their order, so a tie goes to the earlier shard, and in it to the earlier place.
    """
    every = [(shard, one) for shard, some in enumerate(found) for one in some]
    best = sorted(every, key=lambda own: own[1].distance)  # which leaves ties as they are
    if candidates is not None:
        best = sorted(best[:candidates], key=lambda own: (own[1].second, own[0], own[1].place))
    return [one for _, one in best[:k]]
