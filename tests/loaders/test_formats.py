"""Every format gives back the words and vectors that were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordferry import Embeddings, load_embeddings
from wordferry.errors import InputError, NotFound
from wordferry.words.loaders import describe

from . import files

WORDS, MATRIX = files.example()


def write_format(folder: Path, name: str) -> Path:
    """One file of each format, named so that nothing but its content tells which it is, where that is possible."""
    match name:
        case "word2vec-binary":
            return files.write(folder / "v.bin", files.word2vec_binary(WORDS, MATRIX))
        case "word2vec-binary without line breaks, any name":
            return files.write(folder / "v.model", files.word2vec_binary(WORDS, MATRIX, newline=False))
        case "word2vec-binary.gz":
            return files.write(folder / "v.bin.gz", files.word2vec_binary(WORDS, MATRIX))
        case "word2vec-text":
            return files.write(folder / "v.txt", files.text(WORDS, MATRIX, header=True))
        case "fasttext":
            return files.write(folder / "v.vec", files.text(WORDS, MATRIX, header=True, trailing_blank=True))
        case "fasttext.gz":
            return files.write(folder / "v.vec.gz", files.text(WORDS, MATRIX, header=True, trailing_blank=True))
        case "glove":
            return files.write(folder / "v.txt", files.text(WORDS, MATRIX, header=False))
        case "glove.gz":
            return files.write(folder / "v.txt.gz", files.text(WORDS, MATRIX, header=False))
        case "npz":
            np.savez(folder / "v.npz", vectors=MATRIX, words=np.array(WORDS))
            return folder / "v.npz"
        case "npz beside a vocabulary":
            np.savez_compressed(folder / "v.npz", anything=MATRIX)
            files.write(folder / "v.vocab.txt.gz", "".join(w + "\n" for w in WORDS).encode())
            return folder / "v.npz"
        case "npy":
            np.save(folder / "v.npy", MATRIX)
            (folder / "vocabulary.txt").write_text("\n".join(WORDS), encoding="utf-8")
            return folder / "v.npy"
        case "safetensors":
            numpy = pytest.importorskip("safetensors.numpy")
            numpy.save_file({"embeddings": MATRIX, "other": np.zeros((3, 2))}, folder / "v.safetensors")
            (folder / "v.vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
            return folder / "v.safetensors"
        case "folder":
            Embeddings(WORDS, MATRIX, normalize=False).save(folder / "v")
            return folder / "v"
    raise AssertionError(name)


FORMATS = [
    "word2vec-binary",
    "word2vec-binary without line breaks, any name",
    "word2vec-binary.gz",
    "word2vec-text",
    "fasttext",
    "fasttext.gz",
    "glove",
    "glove.gz",
    "npz",
    "npz beside a vocabulary",
    "npy",
    "safetensors",
    "folder",
]


@pytest.mark.parametrize("name", FORMATS)
def test_whole(tmp_path: Path, name: str) -> None:
    told: list[tuple[int, int]] = []
    path = write_format(tmp_path, name)
    found = load_embeddings(path, normalize=False, progress=lambda done, total: told.append((done, total)))
    assert list(found.vocabulary) == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    assert not found.normalized
    assert name == "folder" or told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize("name", FORMATS)
def test_normalised_by_default(tmp_path: Path, name: str) -> None:
    found = load_embeddings(write_format(tmp_path, name))
    assert found.normalized
    np.testing.assert_allclose(found.matrix, MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_limit_and_words(tmp_path: Path, name: str) -> None:
    path = write_format(tmp_path, name)
    assert list(load_embeddings(path, limit=3).vocabulary) == WORDS[:3]
    assert list(load_embeddings(path, limit=1000).vocabulary) == WORDS
    some = load_embeddings(path, words=["word9", "東京", "nowhere"], normalize=False)
    assert list(some.vocabulary) == ["東京", "word9"]
    np.testing.assert_array_equal(some.matrix, MATRIX[[2, WORDS.index("word9")]])
    assert list(load_embeddings(path, limit=4, words=["word9", "東京"]).vocabulary) == ["東京"]


@pytest.mark.parametrize("name", FORMATS)
def test_described_without_reading(tmp_path: Path, name: str) -> None:
    facts = describe(write_format(tmp_path, name))
    if "np" not in name and name != "safetensors":
        assert facts["dimensions"] == 7
        assert facts["words"] == (None if name.startswith("glove") else 50)


def test_reading_stops_when_all_words_are_found(tmp_path: Path) -> None:
    data = files.text(WORDS, MATRIX, header=False) + b"this line is broken\n"
    assert len(load_embeddings(files.write(tmp_path / "v.txt", data), words=["the", "word9"])) == 2


def test_glove_words_with_blanks(tmp_path: Path) -> None:
    path = files.write(tmp_path / "v.txt", b"the 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    found = load_embeddings(path, normalize=False)
    assert list(found.vocabulary) == ["the", ". . .", "at name@domain.com"]
    assert found.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_windows_line_ends_and_blank_lines(tmp_path: Path) -> None:
    found = load_embeddings(files.write(tmp_path / "v.txt", b"2 2\r\na 1 2\r\n\r\nb 3 4\r\n"), normalize=False)
    assert found.matrix.tolist() == [[1, 2], [3, 4]]


def test_numbers_survive_chunk_borders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files.write(tmp_path / "v.bin", files.word2vec_binary(WORDS, MATRIX))
    for chunk in (1, 5, 29, 31, 64, 1000):
        monkeypatch.setattr("wordferry.words.loaders.binary._CHUNK", chunk)
        np.testing.assert_array_equal(load_embeddings(path, normalize=False).matrix, MATRIX)


def test_more_words_than_a_first_guess_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.words.loaders.rows._FIRST_ROWS", 2)
    monkeypatch.setattr("wordferry.words.loaders.rows._CHECK_ROWS", 3)
    path = files.write(tmp_path / "v.txt.gz", files.text(WORDS, MATRIX, header=False))
    np.testing.assert_array_equal(load_embeddings(path, normalize=False).matrix, MATRIX)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F64"])
def test_safetensors_types(tmp_path: Path, dtype: str) -> None:
    import json

    exact = np.round(MATRIX * 8) / 8  # in the grid of every type
    raw = {
        "F16": exact.astype("<f2").tobytes(),
        "F64": exact.astype("<f8").tobytes(),
        "BF16": (np.ascontiguousarray(exact, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes(),
    }[dtype]
    header = json.dumps(
        {"vectors": {"dtype": dtype, "shape": list(exact.shape), "data_offsets": [0, len(raw)]}}
    ).encode()
    files.write(tmp_path / "v.safetensors", len(header).to_bytes(8, "little") + header + raw)
    found = load_embeddings(tmp_path / "v.safetensors", vocabulary=WORDS, normalize=False)
    np.testing.assert_array_equal(found.matrix, exact)


def test_quantised_npz(tmp_path: Path) -> None:
    scale = np.abs(MATRIX).max(axis=1) / 127
    q = np.round(MATRIX / scale[:, None]).astype(np.int8)
    np.savez(tmp_path / "v.npz", vectors_q=q, scale=scale)
    found = load_embeddings(tmp_path / "v.npz", vocabulary=WORDS, normalize=False)
    np.testing.assert_allclose(found.matrix, MATRIX, atol=float(scale.max()))


def test_folder_cannot_give_lengths_it_has_not(tmp_path: Path) -> None:
    Embeddings(WORDS, MATRIX).save(tmp_path / "v")
    with pytest.raises(InputError, match="true lengths"):
        load_embeddings(tmp_path / "v", normalize=False)
    assert load_embeddings(tmp_path / "v").fingerprint == Embeddings(WORDS, MATRIX).fingerprint


def test_duplicates_may_be_passed_over(tmp_path: Path) -> None:
    path = files.write(tmp_path / "v.txt", b"3 2\na 1 2\nb 3 4\na 5 6\n")
    found = load_embeddings(path, normalize=False, on_duplicate="first")
    assert list(found.vocabulary) == ["a", "b"]
    assert found.matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "limit must be"),
        ({"limit": True}, "limit must be"),
        ({"words": "cat"}, "list of words"),
        ({"words": [1]}, "list of str"),
        ({"on_duplicate": "last"}, "'error' or 'first'"),
        ({"format": "excel"}, "text, word2vec-binary"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, object], said: str) -> None:
    path = write_format(tmp_path, "glove")
    with pytest.raises(InputError, match=said):
        load_embeddings(path, **options)  # type: ignore[arg-type]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        load_embeddings(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match="got int"):
        load_embeddings(7)
