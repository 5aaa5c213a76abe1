"""Numbers in text files: the fast reader and Python's float agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry import load_embeddings
from wordferry.kernels.native import parse_numbers


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=9), st.data())
def test_numbers_are_those_of_float(numbers, data):
    styles = ["{!r}", "{:.5f}", "{:e}", "{:.17g}", "{:.1f}"]
    fields = [data.draw(st.sampled_from(styles)).format(number) for number in numbers]
    found = np.empty(len(numbers), np.float32)
    assert parse_numbers(("word " + " ".join(fields)).encode(), 5, found)
    np.testing.assert_array_equal(found, np.array([float(field) for field in fields], dtype=np.float32))


def test_a_file_may_mix_both(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("plain 1.5 -2e-3\nodd +1.5 1_0\n")
    found = load_embeddings(path, normalize=False)
    np.testing.assert_array_equal(found.matrix, np.array([[1.5, -2e-3], [1.5, 10]], dtype=np.float32))


@pytest.mark.parametrize("field", ["+1.5", "1_000", "1e400", "0x10", "1,5", "1.5.", "-", ""])
def test_what_is_no_plain_number_is_left_to_float(field):
    out = np.empty(2, np.float32)
    assert not parse_numbers(f"word 1 {field}".encode(), 5, out)


@pytest.mark.parametrize(("text", "begin"), [("1 2 3", 0), ("1", 0), ("1  2", 0), ("1 2 ", 0), (" 1 2", 0), ("1 2", 9)])
def test_the_count_and_the_blanks_must_be_right(text, begin):
    assert not parse_numbers(text.encode(), begin, np.empty(2, np.float32))
