"""Saved vectors and graphs: a flipped bit anywhere is noticed on loading, and nothing out of range reaches a kernel."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from tests.transport.helpers import random_embeddings
from wordferry import Embeddings, RelatedWords
from wordferry.base import storage
from wordferry.errors import FormatError, InputError, WordferryError

EMBEDDINGS = random_embeddings(30, 5)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    place = tmp_path_factory.mktemp("saved")
    EMBEDDINGS.save(place / "vectors")
    RelatedWords.build(EMBEDDINGS.restrict(np.arange(25)), 4).save(place / "related")
    return place


def _flip(file, bit):
    data = bytearray(file.read_bytes())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    file.write_bytes(data)


@pytest.mark.parametrize("kind", ["vectors", "related"])
def test_every_flipped_bit_of_a_sample_is_noticed(saved, tmp_path, kind):
    load = Embeddings.load if kind == "vectors" else RelatedWords.load
    rng = np.random.default_rng(0)
    for file in sorted(saved.joinpath(kind).iterdir()):
        for bit in rng.integers(0, 8 * file.stat().st_size, 12):
            copy = tmp_path / f"{file.name}-{bit}"
            shutil.copytree(saved / kind, copy)
            _flip(copy / file.name, int(bit))
            with pytest.raises(FormatError):
                load(copy)


BROKEN = [
    ("own", (0, 0), 25),
    ("own", (3, 1), -1),
    ("own", (0, 0), 0),
    ("own_distances", (2, 2), np.nan),
    ("own_distances", (2, 2), -1.0),
    ("rank_sums", (1,), np.inf),
    ("graph_indptr", (5,), 10_000),
    ("graph_indptr", (5,), -1),
    ("graph_indices", (0,), 25),
    ("graph_indices", (1,), -7),
    ("graph_data", (4,), np.nan),
    ("graph_data", (4,), -0.5),
]


@pytest.mark.parametrize("verify", [None, False])
@pytest.mark.parametrize(("name", "place", "value"), BROKEN)
def test_graphs_out_of_range_are_refused_whatever_their_checksums(saved, tmp_path, name, place, value, verify):
    folder = storage.read_folder(saved / "related", "related")
    arrays = {key: np.array(array) for key, array in folder.arrays.items()}
    arrays[name][place] = value
    storage.write_folder(tmp_path / "g", "related", folder.config, arrays, folder.words)
    with pytest.raises(FormatError, match="Build it again"):
        RelatedWords.load(tmp_path / "g", verify=verify)


def test_graphs_of_another_shape_or_type_are_refused(saved, tmp_path):
    folder = storage.read_folder(saved / "related", "related")
    whole = {key: np.array(array) for key, array in folder.arrays.items()}
    changes = [
        {"own": whole["own"][:, :-1]},
        {"own": whole["own"].astype(np.int64)},
        {"own_distances": whole["own_distances"][:-1]},
        {"rank_sums": whole["rank_sums"][:1]},
        {"graph_indptr": whole["graph_indptr"][:-1]},
        {"graph_data": whole["graph_data"][:-1]},
        {"graph_indices": whole["graph_indices"].astype(np.float64)},
    ]
    for number, change in enumerate(changes):
        storage.write_folder(tmp_path / str(number), "related", folder.config, {**whole, **change}, folder.words)
        with pytest.raises(FormatError, match="Build it again"):
            RelatedWords.load(tmp_path / str(number))


def test_a_total_that_does_not_give_the_c_max_beside_it_is_refused(saved, tmp_path):
    folder = storage.read_folder(saved / "related", "related")
    for number, total in enumerate((folder.config["total"] * 2, float("nan"), "many", None)):
        place = tmp_path / str(number)
        storage.write_folder(place, "related", {**folder.config, "total": total}, folder.arrays, folder.words)
        with pytest.raises(FormatError, match="Build it again"):
            RelatedWords.load(place)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e20])
def test_vectors_that_cannot_be_computed_with_are_refused(saved, tmp_path, value):
    folder = storage.read_folder(saved / "vectors", "embeddings")
    matrix = np.array(folder.arrays["vectors"])
    matrix[7, 2] = value
    storage.write_folder(tmp_path / "v", "embeddings", folder.config, {"vectors": matrix}, folder.words)
    with pytest.raises(FormatError, match="'w7'"):
        Embeddings.load(tmp_path / "v")


def test_vectors_said_to_be_of_length_one_must_be(saved, tmp_path):
    folder = storage.read_folder(saved / "vectors", "embeddings")
    matrix = np.array(folder.arrays["vectors"])
    matrix[3] *= 2
    storage.write_folder(tmp_path / "v", "embeddings", folder.config, {"vectors": matrix}, folder.words)
    with pytest.raises(FormatError, match="'w3'"):
        Embeddings.load(tmp_path / "v")


def test_a_folder_written_before_manifests_had_a_checksum_is_read(saved, tmp_path):
    shutil.copytree(saved / "vectors", tmp_path / "old")
    file = tmp_path / "old" / storage.MANIFEST
    manifest = json.loads(file.read_text())
    assert manifest.pop("sha256")
    file.write_text(json.dumps(manifest))
    assert Embeddings.load(tmp_path / "old").fingerprint == EMBEDDINGS.fingerprint


def test_manifests_that_are_no_manifests(saved, tmp_path):
    texts = [
        "[" * 100_000,
        '{"format": 1, "kind": "embeddings", "config": [], "files": []}',
        '{"format": 1, "kind": "embeddings", "config": {}, "files": {"vectors.npy": 3}}',
        '{"format": 1, "kind": "embeddings", "config": {}, "files": {"vectors.npy": {"sha256": 1}}}',
        '{"format": 1, "kind": "embeddings", "config": {}, "files": {"/etc/passwd": {}}}',
        '{"format": true, "kind": "embeddings", "config": {}, "files": {"x.npy": {}}}',
    ]
    for number, text in enumerate(texts):
        place = tmp_path / str(number)
        shutil.copytree(saved / "vectors", place)
        (place / storage.MANIFEST).write_text(text)
        with pytest.raises(FormatError):
            Embeddings.load(place)


def test_large_folders_are_verified_when_asked(saved, tmp_path, monkeypatch):
    shutil.copytree(saved / "vectors", tmp_path / "v")
    _flip(tmp_path / "v" / "vectors.npy", 8 * 200)
    monkeypatch.setattr(storage, "VERIFIED_BYTES", 10)
    assert len(Embeddings.load(tmp_path / "v")) == 30
    with pytest.raises(FormatError, match="checksum"):
        Embeddings.load(tmp_path / "v", verify=True)


SIZES = [(1e20, False), (3e38, False), (1e-23, False), (1e-40, True), (1e-40, False), (1e19, False)]


@pytest.mark.parametrize(("size", "normalize"), SIZES)
def test_sizes_that_cannot_be_computed_with_are_refused_where_vectors_enter(size, normalize):
    matrix = np.eye(3)
    matrix[1] *= size
    with pytest.raises(InputError, match=r"'b'.*length"):
        Embeddings(["a", "b", "c"], matrix, normalize=normalize)
    with pytest.raises(InputError, match=r"'b'.*length"):
        Embeddings.adopt(Embeddings(["a", "b", "c"], np.eye(3)).vocabulary, matrix.astype(np.float32), normalize=False)


@pytest.mark.parametrize("size", [1e-29, 1e-20, 1e20, 3e38])
def test_any_size_that_float32_holds_can_be_scaled_to_one(size):
    found = Embeddings(["a", "b"], np.array([[3.0, 4.0], [0.0, 1.0]]) * (size / 4), normalize=True)
    np.testing.assert_allclose(found.matrix, [[0.6, 0.8], [0.0, 1.0]], rtol=1e-6)


def test_a_zero_vector_is_allowed_when_it_need_not_be_scaled():
    assert not Embeddings(["a", "b"], [[0.0, 0.0], [0.0, 1.0]], normalize=False).matrix[0].any()
    with pytest.raises(WordferryError, match="zero"):
        Embeddings(["a", "b"], [[0.0, 0.0], [0.0, 1.0]])
