"""Words and vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.mapped import is_mapped

from wordferry import Embeddings, Vocabulary
from wordferry.errors import FormatError, InputError, NotFound

WORDS = [f"w{i}" for i in range(5000)]
MATRIX = np.random.default_rng(3).normal(size=(5000, 6))


def test_ids_in_any_sequence_restrict():
    emb = Embeddings(["a", "b", "c"], np.eye(3))
    for ids in (range(1, 3), [1, 2], (1, 2), np.array([1, 2])):
        assert list(emb.restrict(ids).vocabulary) == ["b", "c"]
    assert len(emb.restrict([])) == 0
    with pytest.raises(InputError, match=r"0 \.\. 2"):
        emb.restrict([1, 3])


@given(
    arrays.arrays(np.float64, (4, 3), elements=st.floats(-1e30, 1e30, allow_nan=False).filter(lambda v: abs(v) > 1e-30))
)
def test_unit_length_whatever_the_scale(matrix: np.ndarray) -> None:
    e = Embeddings(["a", "b", "c", "d"], matrix)
    np.testing.assert_allclose(np.linalg.norm(e.matrix.astype(float), axis=1), 1, rtol=1e-6)
    scaled = matrix / np.linalg.norm(matrix.astype(np.float32).astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(e.matrix, scaled, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_numbers_become_a_copy_in_float32(dtype: type, order: str) -> None:
    given_matrix = np.array([[3, 4], [0, 2]], dtype=dtype, order=order)  # type: ignore[call-overload]
    for normalize, expected in ((False, [[3, 4], [0, 2]]), (True, [[0.6, 0.8], [0, 1]])):
        e = Embeddings(["a", "b"], given_matrix, normalize=normalize)
        assert e.matrix.dtype == np.float32
        assert e.matrix.flags.c_contiguous
        np.testing.assert_allclose(e.matrix, expected, rtol=1e-6)
        assert not np.shares_memory(e.matrix, given_matrix)
    assert given_matrix.tolist() == [[3, 4], [0, 2]]


def test_immutable() -> None:
    e = Embeddings(["a"], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="read-only"):
        e.matrix[0, 0] = 5
    with pytest.raises(ValueError, match="read-only"):
        e.restrict(["a"]).matrix[0, 0] = 5


def test_adopting_makes_no_copy() -> None:
    matrix = np.array([[3.0, 4.0]], dtype=np.float32)
    e = Embeddings.adopt(Vocabulary(["a"]), matrix)
    assert e.matrix is matrix
    np.testing.assert_allclose(matrix, [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "matrix", "said"),
    [
        (["a"], [[1.0], [2.0]], "1 words but 2 vectors"),
        (["a"], [1.0], r"got shape \(1,\)"),
        (["a"], [["x"]], "real numbers"),
        (["a"], [[1j]], "real numbers"),
        (["a"], np.empty((1, 0)), "at least one dimension"),
        (["a", "a"], [[1.0], [2.0]], "appears twice"),
        (["a", "b"], [[1.0], [np.nan]], r"'b' \(row 1\) holds NaN"),
        (["a", "b"], [[1.0], [1e300]], r"'b' \(row 1\) holds NaN or infinite"),
        (["a", "b"], [[1.0], [0.0]], r"'b' \(row 1\) is zero"),
    ],
)
def test_refused(words: list[str], matrix: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Embeddings(words, matrix)


def test_a_bad_row_beyond_the_first_block_is_named() -> None:
    for value, said in ((np.nan, "NaN"), (0.0, "zero")):
        matrix = MATRIX.copy()
        matrix[4321] = value
        with pytest.raises(InputError, match=rf"'w4321' \(row 4321\).*{said}"):
            Embeddings(WORDS, matrix)


def test_restrict() -> None:
    e = Embeddings(WORDS, MATRIX)
    some = e.restrict(["w9", "nowhere", "w2", "w9"])
    assert list(some.vocabulary) == ["w9", "w2"]
    np.testing.assert_array_equal(some.matrix, e.matrix[[9, 2]])
    by_id = e.restrict(np.array([9, 2]))
    assert by_id.fingerprint == some.fingerprint
    assert len(e.restrict([])) == 0
    with pytest.raises(InputError, match=r"0 \.\. 4999, got 3 \.\. 5000"):
        e.restrict(np.array([3, 5000]))
    with pytest.raises(InputError, match="one string"):
        e.restrict("w9")


def test_vector_and_normalize() -> None:
    e = Embeddings(["a", "b"], [[3.0, 4.0], [0.0, 2.0]], normalize=False)
    assert e.vector("a").tolist() == [3, 4]
    with pytest.raises(NotFound, match="'c'"):
        e.vector("c")
    unit = e.normalize()
    np.testing.assert_allclose(unit.vector("a"), [0.6, 0.8], rtol=1e-6)
    assert unit.normalize() is unit
    assert e.fingerprint != unit.fingerprint
    assert repr(unit) == "Embeddings(2 words, 2 dimensions, unit length)"


def test_save_and_load(tmp_path: Path) -> None:
    e = Embeddings([*WORDS[:-1], "naïve\u2028東京"], MATRIX)
    e.save(tmp_path / "e")
    back = Embeddings.load(tmp_path / "e", verify=True)
    assert list(back.vocabulary) == list(e.vocabulary)
    np.testing.assert_array_equal(back.matrix, e.matrix)
    assert is_mapped(back.matrix)
    assert back.normalized
    assert back.fingerprint == e.fingerprint
    assert back.restrict(list(back.vocabulary)).fingerprint == e.fingerprint  # computed again from the file
    with pytest.raises(InputError, match="exists already"):
        e.save(tmp_path / "e")


def test_words_that_cannot_be_stored(tmp_path: Path) -> None:
    for word, said in (("two\nlines", "line break"), ("\ud800", "UTF-8")):
        with pytest.raises(InputError, match=said):
            Embeddings([word], [[1.0]]).save(tmp_path / "e")
    assert list(tmp_path.iterdir()) == []


def test_another_folder_is_refused(tmp_path: Path) -> None:
    from wordferry.base import storage

    storage.write_folder(tmp_path / "a", "related-words", {}, {})
    with pytest.raises(FormatError, match="holds 'related-words', not 'embeddings'"):
        Embeddings.load(tmp_path / "a")
    storage.write_folder(tmp_path / "b", "embeddings", {"normalized": True}, {"vectors": np.zeros((1, 2))}, {})
    with pytest.raises(FormatError, match="'vocabulary' is missing"):
        Embeddings.load(tmp_path / "b")
    config = {"normalized": True, "fingerprint": "x"}
    storage.write_folder(tmp_path / "c", "embeddings", config, {"vectors": np.zeros((2, 2))}, {"vocabulary": ["a"]})
    with pytest.raises(FormatError, match=r"expected 1 float32 vectors, found float64 of shape \(2, 2\)"):
        Embeddings.load(tmp_path / "c")
