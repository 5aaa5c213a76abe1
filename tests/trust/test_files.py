"""Files from anywhere: marks at their head, bombs, broken headers. Each is read right or refused by our errors."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile

import numpy as np
import pytest
import scipy.io

from wordferry import load_embeddings, read_documents
from wordferry.base.streams import unpack_limit
from wordferry.errors import FormatError, InputError
from wordferry.texts.datasets import read_collection, read_triplet_list, read_triplets
from wordferry.words.loaders import describe, read_words

MARK = b"\xef\xbb\xbf"
VECTORS = {
    "glove": b"cat 1 0\ndog 0 1\n",
    "word2vec": b"2 2\ncat 1 0\ndog 0 1\n",
    "binary": b"2 2\ncat " + struct.pack("<2f", 1, 0) + b"\ndog " + struct.pack("<2f", 0, 1) + b"\n",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", list(VECTORS))
def test_a_byte_order_mark_before_vectors_is_no_data(tmp_path, kind, packed):
    data = MARK + VECTORS[kind]
    file = tmp_path / ("v.txt.gz" if packed else "v.txt")
    file.write_bytes(gzip.compress(data) if packed else data)
    found = load_embeddings(file)
    assert list(found.vocabulary) == ["cat", "dog"]
    assert found.matrix.tolist() == [[1, 0], [0, 1]]
    assert describe(file)["dimensions"] == 2


def test_a_byte_order_mark_before_words_documents_and_published_sets_is_no_data(tmp_path):
    def put(name, text):
        (tmp_path / name).write_bytes(MARK + text.encode())
        return tmp_path / name

    assert read_words(put("words.txt", "cat\ndog\n")) == ["cat", "dog"]
    assert next(read_documents(put("d.jsonl", '{"text": "a"}\n'))).text == "a"
    assert next(read_documents(put("d.csv", "text,id\na,1\n"))).id == "1"
    assert next(read_documents(put("d.tsv", "text\tid\na\t1\n"))).id == "1"
    assert next(read_documents(put("d.txt", "a\n"))).text == "a"
    rows = [{"text": "a", "label": 1, "split": "train"}, {"text": "b", "label": 2, "split": "test"}]
    assert len(read_collection(put("c.jsonl", "\n".join(map(json.dumps, rows)))).records) == 2
    assert len(read_triplets(put("t.jsonl", '{"a": "x", "b": "y", "c": "z"}\n')).triples) == 1
    assert read_triplet_list(put("t.txt", "x y z\n"), {"x": "1", "y": "2", "z": "3"}).missing == 0
    (tmp_path / "folder").mkdir()
    put("folder/one.txt", "hello")
    assert next(read_documents(tmp_path / "folder")).text == "hello"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_other_unicode_is_refused_by_name(tmp_path, codec):
    (tmp_path / "d.txt").write_bytes("\ufeffhello\n".encode(codec))
    with pytest.raises(FormatError, match="UTF-16"):
        list(read_documents(tmp_path / "d.txt"))
    with pytest.raises(FormatError, match="UTF-16"):
        load_embeddings(tmp_path / "d.txt")


# --- what a packed file may become


def _gzipped_zeros(path, head, megabytes):
    with gzip.open(path, "wb") as stream:
        stream.write(head)
        for _ in range(megabytes):
            stream.write(b" " * ((1 << 20) - 1) + b"\n")
    return path


def test_the_bound_of_a_packed_file():
    assert unpack_limit(1000) == (64 << 20) + 64_000
    assert unpack_limit(1000, 7) == 7
    for wrong in (0, -1, True, "7", 1.5):
        with pytest.raises(InputError, match="unpack"):
            unpack_limit(1000, wrong)


def test_gzip_bombs_are_refused_and_the_bound_can_be_raised(tmp_path, monkeypatch):
    vectors = _gzipped_zeros(tmp_path / "v.txt.gz", b"cat 1 0\n", 80)
    for read in (load_embeddings, read_words, lambda path, **o: list(read_documents(path, format="text", **o))):
        with pytest.raises(FormatError, match="unpack="):
            read(vectors)
    assert [r.text for r in read_documents(vectors, format="text", unpack=1 << 30)] == ["cat 1 0"]
    monkeypatch.setenv("WORDFERRY_UNPACK", str(1 << 30))
    assert [r.text for r in read_documents(vectors, format="text")] == ["cat 1 0"]
    monkeypatch.setenv("WORDFERRY_UNPACK", "much")
    with pytest.raises(InputError, match="WORDFERRY_UNPACK"):
        list(read_documents(vectors, format="text"))


def test_zip_bombs_are_refused_and_the_bound_can_be_raised(tmp_path):
    file = tmp_path / "v.npz"
    words = np.array([f"w{i}" for i in range(40_000)])
    matrix = np.zeros((40_000, 1500), np.float32)
    matrix[:, 0] = 1
    np.savez_compressed(file, vectors=matrix, words=words)
    assert file.stat().st_size < 1 << 20
    with pytest.raises(FormatError, match="unpack="):
        load_embeddings(file)
    assert len(load_embeddings(file, limit=5, unpack=1 << 30)) == 5


def test_matlab_bombs_are_refused(tmp_path):
    scipy.io.savemat(tmp_path / "x-emd_tr_te.mat", {"X": np.zeros((1 << 20, 10))}, do_compression=True)
    with pytest.raises(FormatError, match="unpack"):
        read_collection(tmp_path / "x-emd_tr_te.mat")


def test_parquet_bombs_are_refused_and_the_bound_can_be_raised(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    once = arrow.table({"text": ["word " * 20_000] * 1000, "id": [str(i) for i in range(1000)]})
    parquet.write_table(once, tmp_path / "d.parquet")
    assert (tmp_path / "d.parquet").stat().st_size < 1 << 18
    with pytest.raises(FormatError, match="unpack="):
        list(read_documents(tmp_path / "d.parquet"))
    assert len(next(read_documents(tmp_path / "d.parquet", unpack=1 << 30)).text) == 100_000
    lists = arrow.table({"text": [["word" * 5000] * 20] * 1000})
    parquet.write_table(lists, tmp_path / "l.parquet")
    with pytest.raises(FormatError, match="unpack="):
        list(read_documents(tmp_path / "l.parquet"))
    many = arrow.table({"text": [f"text {i % 7}" for i in range(3000)], "n": range(3000)})
    parquet.write_table(many, tmp_path / "m.parquet")
    found = list(read_documents(tmp_path / "m.parquet"))
    assert [r.text for r in found] == [f"text {i % 7}" for i in range(3000)]
    assert found[-1].metadata == {"n": 2999}


# --- headers


def _npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def _header(text, body=b""):
    data = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + body


BROKEN_NPY = {
    "complex": _npy(np.ones((2, 2), complex)),
    "texts": _npy(np.array([["a", "b"], ["c", "d"]])),
    "bytes": _npy(np.array([[b"a", b"b"], [b"c", b"d"]])),
    "dates": _npy(np.array([["2020", "2021"], ["2022", "2023"]], dtype="datetime64[Y]")),
    "spans": _npy(np.ones((2, 2), "timedelta64[s]")),
    "objects": _npy(np.array([[1, "a"], [2, "b"]], object)),
    "records": _npy(np.zeros((2, 2), [("a", "f4")])),
    "booleans": _npy(np.ones((2, 2), bool)),
    "empty": b"",
    "magic only": b"\x93NUMPY\x01\x00",
    "no header": b"\x93NUMPY\x01\x00\xff\xff",
    "not Python": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)"),
    "nested": _header("(" * 5000),
    "no dict": _header("[1, 2]"),
    "negative": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 2), }", bytes(16)),
    "huge": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1000000000000000), }", bytes(16)),
    "huger": _header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': (2, {10**40}), }}", bytes(16)),
    "no such type": _header("{'descr': 'xyz', 'fortran_order': False, 'shape': (2, 2), }", bytes(16)),
    "columns first": _npy(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    "a zip": b"PK\x03\x04" + bytes(50),
    "version": b"\x93NUMPY\x09\x00" + bytes(20),
}


@pytest.mark.parametrize("name", list(BROKEN_NPY))
def test_arrays_that_are_no_vectors(tmp_path, name):
    (tmp_path / "v.npy").write_bytes(BROKEN_NPY[name])
    with pytest.raises(FormatError, match=r"v\.npy"):
        load_embeddings(tmp_path / "v.npy", vocabulary=["a", "b"])
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("vectors.npy", BROKEN_NPY[name])
    with pytest.raises(FormatError, match=r"v\.npz"):
        load_embeddings(tmp_path / "v.npz", vocabulary=["a", "b"])


@pytest.mark.parametrize("name", [n for n in BROKEN_NPY if n != "texts"])
def test_lists_of_words_that_are_none(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("vectors.npy", _npy(np.eye(2)))
        archive.writestr("words.npy", BROKEN_NPY[name])
    with pytest.raises(FormatError, match=r"v\.npz"):
        load_embeddings(tmp_path / "v.npz")


@pytest.mark.parametrize(
    "scale", [np.ones(1), np.ones((2, 2)), np.ones(0), np.array([1, np.nan]), np.array(["a", "b"])]
)
def test_scales_that_do_not_fit(tmp_path, scale):
    np.savez(tmp_path / "v.npz", vectors_q=np.eye(2, dtype=np.int8), scale=scale)
    with pytest.raises(FormatError, match="scale"):
        load_embeddings(tmp_path / "v.npz", vocabulary=["a", "b"])


def test_encrypted_archives(tmp_path):
    np.savez(tmp_path / "v.npz", vectors=np.eye(2))
    data = bytearray((tmp_path / "v.npz").read_bytes())
    for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flag] |= 1
    (tmp_path / "v.npz").write_bytes(data)
    with pytest.raises(FormatError, match="encrypted"):
        load_embeddings(tmp_path / "v.npz", vocabulary=["a", "b"])


def _safetensors(header, body=bytes(16)):
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(data)) + data + body


def _tensor(shape=(2, 2), dtype="F32", offsets=(0, 16)):
    return {"vectors": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


BROKEN_SAFETENSORS = {
    "negative offsets": _safetensors(_tensor(offsets=(-16, 0))),
    "turned round": _safetensors(_tensor(offsets=(16, 0))),
    "negative shape": _safetensors(_tensor(shape=(-2, -2))),
    "huge shape": _safetensors(_tensor(shape=(2, 10**30), offsets=(0, 8 * 10**30))),
    "fractions": _safetensors(_tensor(shape=(2.0, 2.0))),
    "words for numbers": _safetensors(_tensor(shape=("2", "2"))),
    "truths": _safetensors(_tensor(shape=(True, 4))),
    "no object": _safetensors([1, 2]),
    "no tensor": _safetensors({"vectors": 7}),
    "three offsets": _safetensors(_tensor(offsets=(0, 8, 16))),
    "type of lists": _safetensors(_tensor(dtype=["F32"])),
    "deep": _safetensors(b"[" * 100_000),
    "no JSON": _safetensors(b"{"),
    "no UTF-8": _safetensors(b"\xff\xfe"),
    "nothing": b"",
}


@pytest.mark.parametrize("name", list(BROKEN_SAFETENSORS))
def test_safetensors_that_are_none(tmp_path, name):
    (tmp_path / "v.safetensors").write_bytes(BROKEN_SAFETENSORS[name])
    with pytest.raises(FormatError, match=r"v\.safetensors"):
        load_embeddings(tmp_path / "v.safetensors", vocabulary=["a", "b"])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("head", [b"1 99999999999999", b"99999999999999 2", b"1 " + b"9" * 60])
@pytest.mark.parametrize("name", ["v.bin", "v.txt"])
def test_sizes_that_no_file_holds(tmp_path, name, head, packed):
    data = head + b"\ncat 1 2\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(FormatError, match="promises"):
        load_embeddings(tmp_path / name)


@pytest.mark.parametrize("row", ["cat 1 2 3", "cat 0.5 1 2", "cat -1e-3 .5 2.", "cat 7 7 7 7"])
def test_a_row_with_a_number_too_many(tmp_path, row):
    (tmp_path / "v.txt").write_text(f"dog 1 2\n{row}\n")
    with pytest.raises(FormatError, match=r"line 2.*too many"):
        load_embeddings(tmp_path / "v.txt")


def test_words_with_blanks_are_words(tmp_path):
    (tmp_path / "v.txt").write_text("dog 1 2\n. . . 2 1\nat name@domain.com 1 1\n")
    assert list(load_embeddings(tmp_path / "v.txt").vocabulary) == ["dog", ". . .", "at name@domain.com"]


@pytest.mark.parametrize("read", [read_documents, read_triplets])
def test_json_that_is_too_deep(tmp_path, read):
    (tmp_path / "d.jsonl").write_text('{"text": ' + "[" * 200_000 + "\n")
    with pytest.raises(FormatError, match=r"line 1.*deep"):
        list(read(tmp_path / "d.jsonl"))
