"""wordferry embeddings convert and info."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.loaders import files

from wordferry import Embeddings
from wordferry.cli import main

WORDS, MATRIX = files.example(20, 4)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[dict[str, object]], str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    code = stop.value.code
    return (0 if code is None else int(code)), [json.loads(line) for line in out.splitlines()], err


def test_convert_then_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = files.write(tmp_path / "v.vec.gz", files.text(WORDS, MATRIX, header=True))
    code, rows, _ = run(capsys, "embeddings", "convert", source, tmp_path / "v")
    assert code == 0
    np.testing.assert_array_equal(Embeddings.load(tmp_path / "v").matrix, Embeddings(WORDS, MATRIX).matrix)
    code, again, _ = run(capsys, "embeddings", "info", tmp_path / "v", "--verify")
    assert code == 0
    assert again == rows
    assert (rows[0]["words"], rows[0]["dimensions"], rows[0]["normalized"]) == (20, 4, True)


def test_convert_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = files.write(tmp_path / "v.bin", files.word2vec_binary(WORDS, MATRIX))
    (tmp_path / "words.txt").write_text("word1\n東京\nword9\n", encoding="utf-8")
    options = ["--words", tmp_path / "words.txt", "--limit", 10, "--no-normalize"]
    code, rows, _ = run(capsys, "embeddings", "convert", source, tmp_path / "v", *options)
    assert code == 0
    assert rows[0]["first_words"] == ["東京", "word1"]
    assert rows[0]["normalized"] is False


def test_an_existing_folder_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = files.write(tmp_path / "v.txt", files.text(WORDS, MATRIX, header=False))
    Embeddings(["a"], [[1.0]]).save(tmp_path / "v")
    code, rows, err = run(capsys, "embeddings", "convert", source, tmp_path / "v")
    assert (code, rows) == (2, [])
    assert "--overwrite" in err
    assert len(Embeddings.load(tmp_path / "v")) == 1
    assert run(capsys, "embeddings", "convert", source, tmp_path / "v", "--overwrite")[0] == 0
    assert len(Embeddings.load(tmp_path / "v")) == 20


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = files.write(tmp_path / "v.txt", b"the 1 2\nthe 1 2\n")
    code, _, err = run(capsys, "embeddings", "convert", source, tmp_path / "v")
    assert code == 2
    assert err.splitlines() == [line for line in err.splitlines() if line.startswith("wordferry: ")]
    assert "line 2" in err
    assert not (tmp_path / "v").exists()
    assert run(capsys, "embeddings", "convert", source, tmp_path / "v", "--keep-first")[0] == 0
    assert run(capsys, "embeddings", "info", tmp_path / "nowhere")[0] == 1


def test_info_of_a_file_reads_its_first_line_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = files.write(tmp_path / "v.vec", b"2000000 300\nbroken")
    code, rows, _ = run(capsys, "embeddings", "info", source)
    assert code == 0
    assert (rows[0]["format"], rows[0]["words"], rows[0]["dimensions"]) == ("text", 2000000, 300)
    with pytest.raises(SystemExit):
        main(["embeddings", "info", str(source), "--table"])
    assert ["dimensions", "300"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    with_damage = tmp_path / "v"
    Embeddings(WORDS, MATRIX).save(with_damage)
    data = bytearray((with_damage / "vectors.npy").read_bytes())
    data[-1] ^= 1
    (with_damage / "vectors.npy").write_bytes(data)
    assert run(capsys, "embeddings", "info", with_damage)[0] == 0
    code, _, err = run(capsys, "embeddings", "info", with_damage, "--verify")
    assert code == 2
    assert "vectors.npy is damaged" in err
