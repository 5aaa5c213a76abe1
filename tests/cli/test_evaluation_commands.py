"""classify, triplets, agreement and reproduce as people run them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import wordferry
from wordferry.cli import app
from wordferry.errors import InputError

runner = CliRunner()
TRAIN = [
    ("pets", "the cat chased a mouse"),
    ("pets", "my dog loves its bone"),
    ("money", "the bank raised interest rates"),
    ("money", "stock prices fell today"),
]
TEST = [("pets", "a kitten and a puppy"), ("money", "shares and bonds lost value")]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run(*arguments):
    result = runner.invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def test_classify_two_files(tmp_path):
    train = write(tmp_path / "train.jsonl", [{"label": label, "text": text} for label, text in TRAIN])
    test = write(tmp_path / "test.jsonl", [{"id": f"t{i}", "label": a, "text": b} for i, (a, b) in enumerate(TEST)])
    rows, notes = run("classify", train, test, "-k", "1", "--distance", "wmd")
    assert rows == [
        {"id": "t0", "predicted": "pets", "label": "pets"},
        {"id": "t1", "predicted": "money", "label": "money"},
    ]
    assert "0 of 2 wrong: test error 0.00 %" in notes


def test_classify_one_file_with_a_split_and_unknown_classes(tmp_path):
    rows = [{"label": label, "text": text, "split": "train"} for label, text in TRAIN]
    rows += [{"text": text, "split": "test"} for _, text in TEST]
    found, notes = run("classify", write(tmp_path / "all.jsonl", rows), "-k", "1")
    assert [row["predicted"] for row in found] == ["pets", "money"]
    assert "wrong" not in notes


def test_classify_chooses_r(tmp_path):
    rows = [{"topic": label, "text": text} for label, text in TRAIN * 3]
    train = write(tmp_path / "train.jsonl", rows)
    test = write(tmp_path / "test.jsonl", [{"text": "a kitten"}])
    _, notes = run("classify", train, test, "--label", "topic", "--r", "cv", "-k", "3")
    assert "r = 1 chosen" in notes


def test_classify_says_what_is_wrong(tmp_path):
    train = write(tmp_path / "train.jsonl", [{"text": "the cat"}])
    with pytest.raises(InputError, match="Pass the documents"):
        run("classify", train)
    with pytest.raises(InputError, match="needs a class"):
        run("classify", train, train)
    with pytest.raises(InputError, match="or cv"):
        run("classify", write(tmp_path / "l.jsonl", [{"text": "cat", "label": "x"}]), train, "--r", "best")


def test_triplets_of_a_file_and_of_the_sample(tmp_path):
    file = write(tmp_path / "t.jsonl", [{"a": "the cat sleeps", "b": "a kitten rests", "c": "stocks fell"}])
    rows, _ = run("triplets", file, "-d", "wmd", "-d", "cosine", "--rule", "smallest")
    assert [(row["distance"], row["solved"]) for row in rows] == [("wmd", 1), ("cosine", 0)]
    rows, _ = run("triplets", "-d", "wcd")
    assert rows[0]["solved"] + rows[0]["failed"] == len(wordferry.sample().triplets)
    assert rows[0]["error"] < 20


def test_agreement(tmp_path):
    documents = write(
        tmp_path / "d.jsonl", [{"text": "the cat sleeps"}, {"text": "a kitten rests"}, {"text": "stocks fell"}]
    )
    pairs = write(tmp_path / "p.jsonl", [{"i": 0, "j": 1, "score": 5}, {"i": 0, "j": 2, "score": 1}])
    rows, _ = run("agreement", pairs, "--documents", documents, "-d", "wmd")
    assert rows == [{"distance": "wmd", "spearman": 1.0, "pearson": 1.0, "pairs": 2, "empty": 0}]


def test_reproduce_writes_a_report(tmp_path):
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    write(folder / "train.jsonl", [{"label": label, "text": text} for label, text in TRAIN])
    write(folder / "test.jsonl", [{"label": label, "text": text} for label, text in TEST])
    rows, notes = run(
        "reproduce", "--data", str(tmp_path / "data"), "-s", "tiny", "-d", "wcd,cosine", "-o", str(tmp_path / "out")
    )
    assert rows[0]["data set"] == "tiny"
    assert set(rows[0]) == {"data set", "wcd", "cosine"}
    assert "paper/tiny/0/wcd: error" in notes
    assert (tmp_path / "out" / "index.html").is_file()
