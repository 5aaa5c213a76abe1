"""Numbers of documents by row, held to one array of all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordferry.index.storage.snapshot import DocumentNumbers, Span

gaps = st.lists(st.integers(1, 3), min_size=1, max_size=6)


@given(st.lists(gaps, max_size=4), st.lists(st.integers(-2, 60), max_size=8))
def test_numbers_are_those_of_one_array(parts: list[list[int]], asked: list[int]) -> None:
    spans, last, every = [], 0, np.zeros(0, np.int64)
    for part in parts:
        own = last + np.cumsum(part)
        spans.append(Span(own.astype(np.int32), int(own[0]), int(own[-1])))
        every, last = np.concatenate([every, own]), int(own[-1])
    numbers = DocumentNumbers(spans)
    assert len(numbers) == len(every)
    assert numbers.total == every.sum()
    assert numbers.of(range(len(every))) == every.tolist()
    for number in asked:
        assert numbers.after(number) == np.searchsorted(every, number, side="right")
        row = numbers.row(number)
        assert (row is not None) == (number in every)
        assert row is None or every[row] == number
    wanted = np.unique(np.array(asked, dtype=np.int64))
    rows, total = numbers.rows(wanted)
    there = np.intersect1d(every, wanted)
    assert every[rows].tolist() == there.tolist()
    assert total == there.sum()
