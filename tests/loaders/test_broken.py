"""A broken file names itself, the line or byte, and what was expected there."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry import load_embeddings
from wordferry.errors import FormatError, InputError, WordferryError

from . import files

WORDS, MATRIX = files.example(20, 4)
BINARY = files.word2vec_binary(WORDS, MATRIX)
HEADER = len(b"20 4\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r"v\.txt: expected word vectors, found nothing"),
        (b"\nthe 1 2\n", r"found a blank line"),
        (b"the\n", r"line 1: expected a word and its numbers, found 'the"),
        (b"the 1 2\ncat 1\n", r"v\.txt, line 2: expected a word and 2 numbers, found 1 \('cat 1'\)"),
        (b"the 1 2\ncat 1 x\n", r"line 2: expected 2 numbers after the word 'cat'; the 2\. is 'x'"),
        (b"the 1 2\ncat 1 2 3x\n", r"line 2: expected a word and 2 numbers, found one number or more too many"),
        (b"the 1 2\ncat nan 1\n", r"line 2: the vector of 'cat' holds NaN"),
        (b"the 1 2\ncat 1 1e99\n", r"line 2: the vector of 'cat' holds NaN or infinity"),
        (b"the 1 2\ncat 1 2\nthe 3 4\n", r"line 3: the word 'the' appears a second time \(first as word 1"),
        (b"the 1 2\n\xff\xfe 1 2\n", r"line 2: expected a word in UTF-8"),
        (b"3 2\nthe 1 2\ncat 3 4\n", r"ends after line 3: expected 3 words as line 1 says, found 2.*truncated"),
        (b"1 2\nthe 1 2\ncat 3 4\n", r"line 3: expected the end after the 1 words"),
        (b"900000 300\nthe 1 2\n", r"line 1 promises 900000 words of 300 dimensions, at least 540900000 bytes"),
    ],
)
def test_text(tmp_path: Path, content: bytes, said: str) -> None:
    path = files.write(tmp_path / "v.txt", content)
    with pytest.raises(FormatError, match=said):
        load_embeddings(path)


def spoiled(change: Callable[[bytearray], None]) -> bytes:
    data = bytearray(BINARY)
    change(data)
    return bytes(data)


def put_nan(data: bytearray) -> None:
    at = data.index(b"don't ") + len(b"don't ")
    data[at : at + 4] = np.array([np.nan], "<f4").tobytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no header\n", r"v\.bin, byte 0: expected a line with the numbers of words and dimensions"),
        (BINARY[:-150], r"byte 0 promises 20 words of 4 dimensions, at least \d+ bytes, but the file has"),
        (
            b"2 2\n" + b"a " + bytes(8) + b"b" * 5000 + b" " + bytes(8),
            r"byte 14: expected word 2 of 2, found 5000 bytes",
        ),
        (b"1 2\n\xff\xfe " + bytes(8), r"byte 4: expected a word in UTF-8, found b'\\xff\\xfe'"),
        (spoiled(put_nan), rf"byte {BINARY.index(b'don')}: the vector of \"don't\" holds NaN"),
        (BINARY.replace(b"word1 ", b"word0 "), r"byte \d+: the word 'word0' appears a second time"),
        (BINARY + b"more", rf"byte {len(BINARY) - 1}: expected the end after the 20 words"),
    ],
)
def test_binary(tmp_path: Path, content: bytes, said: str) -> None:
    path = files.write(tmp_path / "v.bin", content)
    with pytest.raises(FormatError, match=said):
        load_embeddings(path, normalize=False)


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (len(BINARY) - 8, r"byte \d+: expected 16 bytes of numbers for word 20 of 20, found 9: the file is truncated"),
        (BINARY.index(b"word3 ") + 2, r"byte \d+: expected word 10 of 20 and a blank, found the end of the file"),
    ],
)
def test_binary_gzip_that_was_packed_truncated(tmp_path: Path, cut: int, said: str) -> None:
    path = files.write(tmp_path / "v.bin.gz", BINARY[:cut])
    with pytest.raises(FormatError, match=said):
        load_embeddings(path)


def test_a_gzip_that_ends_early(tmp_path: Path) -> None:
    words, matrix = files.example(500, 50)
    for name, data in (
        ("v.bin.gz", files.word2vec_binary(words, matrix)),
        ("v.txt.gz", files.text(words, matrix, header=False)),
    ):
        (tmp_path / name).write_bytes(gzip.compress(data)[:-2000])
        with pytest.raises(FormatError, match=rf"{name}: the gzip data is broken or ends early"):
            load_embeddings(tmp_path / name)


def test_a_huge_promise_reserves_nothing(tmp_path: Path) -> None:
    path = files.write(tmp_path / "v.bin.gz", b"9000000000 300\nthe ")
    with pytest.raises(FormatError, match="truncated"):
        load_embeddings(path)


def test_fasttext_models_are_recognised(tmp_path: Path) -> None:
    files.write(tmp_path / "cc.en.300.bin", (793712314).to_bytes(4, "little") + bytes(100))
    with pytest.raises(FormatError, match=r"fastText model.*\.vec"):
        load_embeddings(tmp_path / "cc.en.300.bin")


def test_zero_vectors_are_refused_by_name(tmp_path: Path) -> None:
    path = files.write(tmp_path / "v.txt", b"the 1 2\ncat 0 0\n")
    with pytest.raises(InputError, match=r"'cat'.*is zero"):
        load_embeddings(path)
    assert len(load_embeddings(path, normalize=False)) == 2


def test_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", vectors=MATRIX)
    with pytest.raises(InputError, match=r"vocabulary=.*a\.vocab\.txt"):
        load_embeddings(tmp_path / "a.npz")
    with pytest.raises(FormatError, match="20 vectors, but its vocabulary has 3 words"):
        load_embeddings(tmp_path / "a.npz", vocabulary=["a", "b", "c"])
    with pytest.raises(FormatError, match=r"row 1: the word 'x' appears a second time"):
        load_embeddings(tmp_path / "a.npz", vocabulary=["x"] * 20)
    np.savez(tmp_path / "b.npz", one=MATRIX, two=MATRIX)
    with pytest.raises(FormatError, match="found one, two"):
        load_embeddings(tmp_path / "b.npz", vocabulary=WORDS)
    np.savez(tmp_path / "c.npz", vectors=MATRIX[0])
    with pytest.raises(FormatError, match=r"words x dimensions, found shape \(4,\)"):
        load_embeddings(tmp_path / "c.npz", vocabulary=WORDS)
    files.write(tmp_path / "d.npz", (tmp_path / "a.npz").read_bytes()[:-50])
    with pytest.raises(FormatError, match=r"d\.npz is not a readable \.npz"):
        load_embeddings(tmp_path / "d.npz", vocabulary=WORDS)
    with_nan = MATRIX.copy()
    with_nan[5, 1] = np.nan
    np.save(tmp_path / "e.npy", with_nan)
    with pytest.raises(FormatError, match=r"e\.npy, row 5: the vector of .* holds NaN"):
        load_embeddings(tmp_path / "e.npy", vocabulary=WORDS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1234", "byte 0: expected the length of the header"),
        ((2**40).to_bytes(8, "little") + b"{}", "byte 0: expected the length of the header"),
        ((2).to_bytes(8, "little") + b"{x", "byte 8: the header of the safetensors file is broken"),
        (
            (64).to_bytes(8, "little") + b'{"vectors":{"dtype":"F32","shape":[9,9],"data_offsets":[0,324]}}',
            "the file has 72 bytes. It is truncated",
        ),
        (
            (62).to_bytes(8, "little") + b'{"vectors":{"dtype":"C64","shape":[0,9],"data_offsets":[0,0]}}',
            "'vectors' holds C64",
        ),
    ],
)
def test_safetensors(tmp_path: Path, content: bytes, said: str) -> None:
    path = files.write(tmp_path / "v.safetensors", content)
    with pytest.raises(FormatError, match=said):
        load_embeddings(path, vocabulary=WORDS)


@given(st.integers(HEADER, len(BINARY) - 2), st.binary(min_size=1, max_size=3))
def test_no_damage_escapes_as_another_error(tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes) -> None:
    folder = tmp_path_factory.mktemp("damage")
    for name, data in (
        ("v.bin", BINARY[:at] + noise + BINARY[at + len(noise) :]),
        ("w.bin", BINARY[:at]),
        ("v.txt", (text := files.text(WORDS, MATRIX, header=True))[: at % len(text)] + noise + text[at % len(text) :]),
    ):
        path = files.write(folder / name, data)
        try:
            found = load_embeddings(path, normalize=False)
        except WordferryError as error:
            said = str(error)
        else:
            said = str(path) if np.isfinite(found.matrix).all() else "a vector with NaN"
        assert str(path) in said
