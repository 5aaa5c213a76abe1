"""Search by words and meaning on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wordferry.cli import main

pytest.importorskip("wordllama", reason="wordllama is not installed")
TEXTS = {"a": "the cat sleeps on a chair", "b": "stocks fell sharply today", "c": "the cat fell from a chair"}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[dict[str, Any]], str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, error = capsys.readouterr()
    return int(stopped.value.code or 0), [json.loads(line) for line in out.splitlines()], error


@pytest.fixture
def index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    assert run(capsys, "index", "create", tmp_path / "index", file, "--encoder", "wordllama")[0] == 0
    return tmp_path / "index"


def test_search_and_its_parts(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows, _ = run(capsys, "search", index, "a kitten naps", "-k", 1, "--explain")
    assert rows[0]["id"] in {"a", "c"}
    told = rows[0]["explanation"]
    assert sum(one["part"] for one in told["words"]) + told["meaning"]["part"] == pytest.approx(rows[0]["score"])
    assert run(capsys, "search", index, "kitten naps", "--set", "meaning=0")[1] == []
    with pytest.raises(SystemExit):
        main(["search", str(index), "a kitten naps", "--explain", "--table"])
    assert "meaning: cosine" in capsys.readouterr().out


def test_similar_duplicates_info_and_export(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows, _ = run(capsys, "similar", index, "share prices dropped", "--by", "meaning", "-k", 1)
    assert rows[0]["id"] == "b"
    assert 0 < rows[0]["distance"] < 1
    _, (facts,), _ = run(capsys, "index", "info", index)
    assert (facts["encoder"], facts["dimension"]) == ("wordllama", 256)
    near, both = (
        run(capsys, "duplicates", index, "--threshold", 5, "--pairs", *more)[1] for more in ((), ("--meaning", 0.5))
    )
    assert len(near) == 3
    assert [(row["first"], row["second"]) for row in both] == [("a", "c")]
    file = tmp_path / "out.jsonl"
    assert run(capsys, "index", "export", index, "-o", file, "--vectors", "v")[0] == 0
    assert all(len(json.loads(line)["v"]) == 256 for line in file.read_text().splitlines())
    again = tmp_path / "again"
    assert run(capsys, "index", "create", again, file, "--vectors", "v")[0] == 0
    _, rows, _ = run(capsys, "search", again, "a kitten naps", "-k", 1, "--encoder", "wordllama")
    assert rows[0]["id"] in {"a", "c"}


def test_an_encoder_that_is_not_there(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "index", "create", tmp_path / "other", "--encoder", "wordlama")
    assert code == 2
    assert "Did you mean 'wordllama'" in error
    code, _, error = run(capsys, "search", index, "cat", "--encoder", "model2vec:/nowhere")
    assert code == 2
    assert "needs the path of a model" in error


def test_brought_vectors_in_shards_and_what_is_said_without_an_encoder(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, shards = tmp_path / "out.jsonl", tmp_path / "shards"
    run(capsys, "index", "export", index, "-o", file, "--vectors", "v")
    assert run(capsys, "cluster", "index", file, "--shards", 1, "-o", shards, "--vectors", "v")[0] == 0
    _, rows, _ = run(capsys, "search", shards, "a kitten naps", "-k", 1, "--encoder", "wordllama")
    assert rows[0]["id"] in {"a", "c"}
    code, _, said = run(capsys, "search", shards, "a kitten naps")
    assert code == 2
    assert "Pass an --encoder, or search by words alone with --set meaning=0." in said


def test_leakage_by_words_and_meaning(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": "a", "text": "a cat sleeps on the chair"}\n')
    _, rows, _ = run(capsys, "duplicates", index, "--threshold", 5, "--against", file, "--meaning", 0.3)
    assert [(row["first"], row["second"]) for row in rows] == [("a", "a")]
    assert len(run(capsys, "duplicates", index, "--threshold", 5, "--against", file)[1]) > 1
