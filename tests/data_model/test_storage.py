"""The folder format: written whole or not at all, checked when read."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.mapped import is_mapped

from wordferry.base import storage
from wordferry.base.streams import npy_header, plain_npy_header
from wordferry.errors import FormatError, InputError

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "empty": np.empty((0, 4), dtype=np.int32)}
WORDS = {"w": ["x", "", "two words", "ß"]}


def write(path: Path, **options: bool) -> None:
    storage.write_folder(path, "test", {"r": 16, "c_max": float("nan")}, ARRAYS, WORDS, **options)


def test_round_trip(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "f")
    folder = storage.read_folder(tmp_path / "deep" / "f", "test", verify=True)
    assert folder.config["r"] == 16
    assert np.isnan(folder.config["c_max"])
    assert folder.words == WORDS
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(folder.arrays[name], array)
        assert folder.arrays[name].dtype == array.dtype
    assert is_mapped(folder.arrays["a"])
    assert not folder.arrays["a"].flags.writeable
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["f"]


def test_an_existing_folder_is_replaced_only_when_asked(tmp_path: Path) -> None:
    write(tmp_path / "f")
    with pytest.raises(InputError, match="exists already"):
        write(tmp_path / "f")
    mapped = storage.read_folder(tmp_path / "f", "test").arrays["a"]
    storage.write_folder(tmp_path / "f", "test", {}, {"a": np.zeros(3)}, overwrite=True)
    assert storage.read_folder(tmp_path / "f", "test").arrays["a"].tolist() == [0, 0, 0]
    assert mapped.tolist() == ARRAYS["a"].tolist()  # a reader keeps what it opened
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_replacing_where_names_cannot_be_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "exchange", lambda a, b: False)
    write(tmp_path / "f")
    storage.write_folder(tmp_path / "f", "test", {}, {}, overwrite=True)
    assert storage.read_folder(tmp_path / "f", "test").arrays == {}
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not a wordferry folder"):
        write(tmp_path / "f", overwrite=True)
    assert (tmp_path / "f" / "thesis.txt").read_text() == "years of work"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        storage.write_folder(tmp_path / "f", "test", {}, {"a": np.zeros(2), "objects": np.array([object()])})
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys
import numpy as np
from wordferry.base import storage
print("ready", flush=True)
value = 0
while True:
    value += 1
    storage.write_folder(sys.argv[1], "test", {"value": value}, {"a": np.full(50_000, value)}, overwrite=True)
"""


@pytest.mark.disk
def test_killed_while_writing_the_old_or_the_new_folder_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "f"
    storage.write_folder(target, "test", {"value": 0}, {"a": np.full(50_000, 0)})
    values = []
    for delay in (0.003, 0.011, 0.023, 0.031, 0.047, 0.059):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        folder = storage.read_folder(target, "test", verify=True)
        assert (folder.arrays["a"] == folder.config["value"]).all()
        values.append(folder.config["value"])
    assert max(values) > 0  # some write did finish


def spoil(path: Path, name: str) -> None:
    data = bytearray((path / name).read_bytes())
    data[-1] ^= 1
    (path / name).write_bytes(data)


def test_damage_is_found(tmp_path: Path) -> None:
    for name in ("a.npy", "w.txt"):
        path = tmp_path / name
        write(path)
        spoil(path, name)
        with pytest.raises(FormatError, match=rf"{name} is damaged: its checksum differs"):
            storage.verify_folder(path)
        os.remove(path / name)
        with pytest.raises(FormatError, match=f"{name} is missing"):
            storage.verify_folder(path)
        with pytest.raises(FormatError, match=f"{name} is missing"):
            storage.read_folder(path, "test")
    write(tmp_path / "t")
    os.truncate(tmp_path / "t" / "a.npy", 150)
    with pytest.raises(FormatError, match=r"a\.npy is damaged or truncated"):
        storage.read_folder(tmp_path / "t", "test", verify=False)
    write(tmp_path / "n")
    np.save(tmp_path / "n" / "a.npy", np.zeros(3))
    with pytest.raises(FormatError, match=r"the manifest says float64 \[2, 3\]"):
        storage.read_folder(tmp_path / "n", "test", verify=False)
    write(tmp_path / "w")
    (tmp_path / "w" / "w.txt").write_text("x\n")
    with pytest.raises(FormatError, match="has 1 words, the manifest says 4"):
        storage.read_folder(tmp_path / "w", "test", verify=False)


def edited(path: Path, **changes: object) -> Path:
    write(path)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["sha256"]
    (path / "manifest.json").write_text(json.dumps({**manifest, **changes}))
    return path


def test_manifests_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"has no manifest\.json"):
        storage.read_manifest(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match=r"has no manifest\.json"):
        storage.read_manifest(tmp_path / "file")
    with pytest.raises(FormatError, match=r"format 99, written by wordferry .*formats up to 1\. Upgrade with"):
        storage.read_manifest(edited(tmp_path / "a", format=99))
    with pytest.raises(FormatError, match="in format new"):
        storage.read_manifest(edited(tmp_path / "b", format="new"))
    with pytest.raises(FormatError, match=r"'\.\./secret\.npy' is not a file of the folder"):
        storage.read_manifest(edited(tmp_path / "c", files={"../secret.npy": {}}))
    with pytest.raises(FormatError, match="holds 'test', not 'index'"):
        storage.read_folder(edited(tmp_path / "d"), "index")
    (tmp_path / "d" / "manifest.json").write_text("{")
    with pytest.raises(FormatError, match="is damaged"):
        storage.read_manifest(tmp_path / "d")
    (tmp_path / "d" / "manifest.json").write_text("{}")
    with pytest.raises(FormatError, match="is missing"):
        storage.read_manifest(tmp_path / "d")


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i8", "<u2", "|u1", ">i4"])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 5), (0, 4), (2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_headers_are_read_as_numpy_reads_them(tmp_path, dtype, shape, order):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype).copy(order=order)
    np.save(tmp_path / "a.npy", array)
    with (tmp_path / "a.npy").open("rb") as stream:
        found = plain_npy_header(stream)
        assert np.array_equal(np.fromfile(stream, found[2]).reshape(found[0], order="F" if found[1] else "C"), array)
    with (tmp_path / "a.npy").open("rb") as stream:
        assert found == npy_header(stream)


@pytest.mark.parametrize("data", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\x05\x00{bad}", b"PK\x03\x04" * 9])
def test_other_headers_are_left_to_numpy(data):
    assert plain_npy_header(io.BytesIO(data)) is None
