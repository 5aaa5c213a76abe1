"""The best rows by words, from stored lists and bags, against plain sums: bit by bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry.kernels import lists
from wordferry.kernels import words as kernels
from wordferry.kernels.words import FormQuery, WordDocuments

WORDS = 38
DAMAGED = 600
"""Rows of a damaged part: enough for words with bits."""
Bags = tuple[Any, Any, Any]


def bags(rng: np.random.Generator, rows: int, most: int) -> Bags:
    """Rows of distinct words with counts, most of them 1 and a few large; words and counts of any width of files."""
    has = rng.random((rows, WORDS)) < rng.random(WORDS) ** 3
    counts = np.where(rng.random((rows, WORDS)) < 0.9, 1, rng.integers(1, most + 1, (rows, WORDS)))
    indptr = np.concatenate(([0], np.cumsum(has.sum(axis=1)))).astype(np.int64)
    width = np.uint8 if most < 256 else np.uint16 if most < 65_536 else np.int32
    return indptr, np.nonzero(has)[1].astype(rng.choice([np.uint16, np.int32])), counts[has].astype(width)


def dense(some: Bags) -> Any:
    indptr, ids, counts = some
    out = np.zeros((len(indptr) - 1, WORDS), dtype=np.int64)
    out[np.repeat(np.arange(len(out)), np.diff(indptr)), ids] = counts
    return out


def part_of(some: Bags) -> WordDocuments:
    lengths = dense(some).sum(axis=1).astype(np.float32)
    return WordDocuments(lists.StoredDocuments(lists.build(*some).view, *some), lengths)


class QueryForms(NamedTuple):
    """What a query is made of, beside its constants."""

    slots: Any
    words: Any
    is_exact: Any
    factors: Any


def query(rng: np.random.Generator, slots: int, forms: int) -> QueryForms:
    """Words of a query with some forms each; one word may be a form of several."""
    slot = np.sort(rng.integers(0, slots, forms)).astype(np.int32)
    words = rng.integers(0, WORDS, forms).astype(np.int32)
    _, keep = np.unique(np.stack([slot, words], axis=1), axis=0, return_index=True)  # a form of a word once
    keep = np.sort(keep)
    exact = (rng.random(len(keep)) < 0.5).astype(np.uint8)
    factors = rng.random(slots) * rng.choice([0.01, 1.0, 7.0], slots)
    return QueryForms(slot[keep], words[keep], exact, factors)


def plain(parts: list[Bags], asked: QueryForms, saturation: tuple[float, float, float]) -> Any:
    """The scores of all rows: the words of the query one after the other, in double precision."""
    counts = np.concatenate([dense(one) for one in parts])
    stem, floor, slope = saturation
    rest = floor + slope * counts.sum(axis=1).astype(np.float64)
    scores = np.zeros(len(counts))
    for slot, factor in enumerate(asked.factors):
        sums = {0: np.zeros(len(counts), np.int64), 1: np.zeros(len(counts), np.int64)}
        for i in np.flatnonzero(asked.slots == slot):
            sums[int(asked.is_exact[i])] += counts[:, asked.words[i]]
        tf = sums[1].astype(np.float64) + stem * sums[0].astype(np.float64)
        with np.errstate(invalid="ignore"):
            scores += np.where(tf > 0, factor * (tf / (tf + rest)), 0.0)
    return scores


def ranked(scores: Any, k: int, allowed: Any) -> list[tuple[int, float]]:
    some = np.flatnonzero((scores > 0) & (True if allowed is None else allowed))
    order = some[np.lexsort((some, -scores[some]))][:k]
    return list(zip(order.tolist(), scores[order].tolist(), strict=True))


def check(seed: int, sizes: list[int], slots: int, forms: int, most: int, k: int, constants: Any, mask: bool) -> None:
    rng = np.random.default_rng(seed)
    made = [bags(rng, rows, most) for rows in sizes]
    asked = query(rng, slots, forms)
    allowed = rng.random(sum(sizes)) < rng.choice([0.02, 0.9]) if mask else None
    rows, scores, *_ = kernels.best([part_of(one) for one in made], FormQuery(*asked, *constants), allowed, k)
    assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == ranked(plain(made, asked, constants), k, allowed)


constants = st.tuples(st.sampled_from([0.0, 0.3, 0.6, 1.0]), st.floats(0, 3), st.floats(0, 0.3))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.sampled_from([1, 5, 60, 700]), min_size=1, max_size=4),
    slots=st.integers(1, 12),
    forms=st.integers(0, 40),
    most=st.sampled_from([1, 3, 20, 300, 70_000]),
    k=st.sampled_from([1, 7, 100, 5000]),
    constants=constants,
    mask=st.booleans(),
)
def test_the_best_rows_are_those_of_plain_sums(**arguments: Any) -> None:
    check(**arguments)


@pytest.mark.parametrize(("seed", "forms"), [(0, 20), (1, 20), (1, 2000)])
def test_rows_in_several_blocks(seed: int, forms: int) -> None:
    """Blocks have 65,536 rows; a query of more than a thousand forms is bounded in wider numbers."""
    slots = 8 if forms < 1000 else 1900
    check(seed, [66_000, 300, 70_000], slots, forms, 20, 50, (0.6, 0.4, 0.02), seed == 1)


def test_bounds_far_from_the_scores_lose_nothing() -> None:
    """Words that come more often than bounds can tell apart, in the first block; better rows in a later one."""
    rows = 65_536 + 500
    counts = np.full(rows, 14, dtype=np.uint8)
    counts[:400] = 15
    own = (np.arange(rows + 1, dtype=np.int64), np.zeros(rows, np.uint16), counts)
    asked = QueryForms(np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.uint8), np.ones(1))
    for k in (10, 390, 410, 2000):
        rows, scores, *_ = kernels.best([part_of(own)], FormQuery(*asked, 0.5, 20.0, 0.0), None, k)
        every = plain([own], asked, (0.5, 20.0, 0.0))
        assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == ranked(every, k, None)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 30), m=st.integers(0, 6))
def test_near_rows_are_those_of_stems_put_together(seed: int, count: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    made = [bags(rng, rows, 5) for rows in (20, 1, 40)]
    group_of = rng.integers(0, 12, WORDS).astype(np.int32)
    idf = rng.random(12) + 0.1
    rows = rng.permutation(61)[:count]
    wanted = np.unique(rng.integers(0, 12, 2)).astype(np.int32)
    found = kernels.near([part_of(one) for one in made], group_of, idf, rows, wanted, m)
    both = np.concatenate([dense(one) for one in made])[rows]
    indptr = np.concatenate(([0], np.cumsum((both > 0).sum(axis=1)))).astype(np.int64)
    stems, counts = group_of[np.nonzero(both)[1]], both[both > 0].astype(np.int32)
    near, cosines = kernels.nearest_among(indptr, stems, counts, idf[stems], 12, m)
    assert np.array_equal(found[0], near)
    assert np.array_equal(found[1], cosines)
    assert found[2].tolist() == [set(wanted) <= set(group_of[np.flatnonzero(row)]) for row in both]


def test_frequencies_of_stems() -> None:
    rng = np.random.default_rng(0)
    own = bags(rng, 70_000, 3)
    starts, words = np.array([0, 2, 3, 6, 7]), np.array([1, 4, 5, 0, 30, 33, 9], dtype=np.int32)
    both = dense(own) > 0
    wanted = [both[:, words[a:b]].any(axis=1).sum() for a, b in pairwise(starts.tolist())]
    assert kernels.stem_frequencies(lists.build(*own).view, starts, words).tolist() == wanted


def broken(where: str) -> WordDocuments:
    """Arrays that lead outside, as damage leaves them."""
    own = bags(np.random.default_rng(1), DAMAGED, 3)
    made = lists.build(*own)
    arrays = {name: np.array(array) for name, array in made.arrays.items()}
    indptr = own[0].copy()
    if where in ("blocks", "bit_blocks"):
        arrays[where][1] = 10**9
    if where == "starts":
        arrays["starts"][1:] += 10**9
    if where == "rows":
        arrays["rows"][:] = 60_000
    if where == "bits":
        arrays["bits"][-1] = 1 << 15  # behind the last row
    if where == "bags":
        indptr[1:] += 10**9
    if where == "one bag":
        indptr[3] = -5
    wrong = lists.PostingLists(made.documents, **arrays)
    return WordDocuments(lists.StoredDocuments(wrong.view, indptr, *own[1:]), np.ones(DAMAGED, np.float32))


@pytest.mark.parametrize("where", ["blocks", "bit_blocks", "starts", "rows", "bits", "bags", "one bag"])
def test_arrays_that_lead_outside_are_refused(where: str) -> None:
    every, ones = np.arange(WORDS, dtype=np.int32), np.ones(WORDS, np.uint8)
    asked = FormQuery(0 * every, every, ones, np.ones(1), 0.5, 1.0, 0.1)
    with pytest.raises(ValueError, match="outside"):
        kernels.best([broken(where)], asked, None, DAMAGED)


@pytest.mark.parametrize("where", ["blocks", "starts", "bit_blocks"])
def test_lists_that_lead_outside_have_no_frequencies(where: str) -> None:
    made = lists.build(*bags(np.random.default_rng(1), DAMAGED, 3))
    wrong = lists.PostingLists(**{**vars(made), where: getattr(made, where) + 10**9})
    with pytest.raises(ValueError, match="outside"):
        kernels.stem_frequencies(wrong.view, np.array([0, WORDS]), np.arange(WORDS, dtype=np.int32))


def test_near_rows_without_stems_are_refused() -> None:
    part, group_of, idf = broken("nothing"), np.zeros(WORDS, np.int32), np.ones(1)
    rows, none = np.arange(DAMAGED), np.zeros(0, np.int32)
    kernels.near([part], group_of, idf, rows, none, 2)
    for wrong in (group_of - 1, group_of + 1, group_of[:3]):
        with pytest.raises(ValueError, match="outside"):
            kernels.near([part], wrong, idf, rows, none, 2)
    with pytest.raises(ValueError, match="rows must lie"):
        kernels.near([part], group_of, idf, rows + 1, none, 2)
