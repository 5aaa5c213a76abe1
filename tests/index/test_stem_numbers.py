"""Numbers for the stems of an index, in the order in which segments bring them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry.index.storage.stems import StemNumbers

KEYS = st.sets(st.integers(1, 40) | st.integers(2**63 - 2, 2**64 - 1))


@settings(deadline=None)
@given(first=KEYS, segments=st.lists(KEYS, max_size=4))
def test_keys_are_numbered_as_they_come(first: set[int], segments: list[set[int]]) -> None:
    numbers = StemNumbers(np.array(sorted(first), np.uint64))
    wanted = {key: number for number, key in enumerate(sorted(first))}
    for keys in segments:
        for key in sorted(keys):
            wanted.setdefault(key, len(wanted))
        assert numbers.take(np.array(sorted(keys), np.uint64)).tolist() == [wanted[key] for key in sorted(keys)]
    assert numbers.keys.tolist() == list(wanted)
    assert len(numbers) == len(wanted)
    assert all(numbers.find(key) == number for key, number in wanted.items())
    assert numbers.find(100) == -1


def test_keys_that_do_not_ascend_are_damage() -> None:
    with pytest.raises(ValueError, match="rise"):
        StemNumbers().take(np.array([2, 1], np.uint64))
