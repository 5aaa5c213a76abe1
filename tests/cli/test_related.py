"""wordferry related."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wordferry import Embeddings, RelatedWords
from wordferry.cli import main


@pytest.fixture
def vectors(tmp_path):
    """A folder of 60 words; w0 to w2 lie together."""
    matrix = np.random.default_rng(0).standard_normal((60, 8))
    matrix[1:3] = matrix[0] + 0.01 * matrix[1:3]
    Embeddings([f"w{i}" for i in range(60)], matrix).save(tmp_path / "vectors")
    return str(tmp_path / "vectors")


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return end.value.code or 0


def test_build_info_show(vectors, tmp_path, capsys):
    target = str(tmp_path / "related")
    assert run("related", "build", target, "--embeddings", vectors, "-r", "4") == 0
    built = json.loads(capsys.readouterr().out)
    assert (built["words"], built["r"], built["method"], built["c_max_from"]) == (60, 4, "exact", "all pairs")
    assert run("related", "info", target, "--verify") == 0
    assert json.loads(capsys.readouterr().out) == built
    assert run("related", "info", target, "--table") == 0
    assert "all pairs" in capsys.readouterr().out

    related = RelatedWords.load(target)
    assert built["c_max"] == pytest.approx(related.c_max, abs=1e-6)
    assert built["pairs"] * 2 == related.graph.nnz
    assert run("related", "show", "w0", "--related", target) == 0
    shown = capsys.readouterr()
    rows = [json.loads(line) for line in shown.out.splitlines()]
    assert [(row["word"], row["distance"]) for row in rows] == [
        (word, pytest.approx(distance, abs=1e-6)) for word, distance in related.neighbors("w0")
    ]
    assert {row["word"] for row in rows[:2]} == {"w1", "w2"}
    assert sum(row["own"] for row in rows) == 4
    assert f"c_max {related.c_max:.4f}" in shown.err
    assert run("related", "show", "w0", "--embeddings", vectors, "-r", "4") == 0
    assert capsys.readouterr().out == shown.out
    assert run("related", "show", "w0", "--related", target, "--table") == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == len(rows) + 1
    bars = [line.count("█") for line in table[1:]]
    assert bars == sorted(bars)
    assert bars[0] >= 1


def test_every_pair_related(tmp_path, capsys):
    Embeddings(["a", "b", "c"], np.eye(3)).save(tmp_path / "three")
    assert run("related", "show", "a", "-e", str(tmp_path / "three"), "--table") == 0
    shown = capsys.readouterr()
    assert shown.out.count("█") == 2 * 24
    assert "every pair of the 3 words is related" in shown.err
    assert run("related", "build", str(tmp_path / "r"), "-e", str(tmp_path / "three")) == 0
    assert json.loads(capsys.readouterr().out)["c_max"] is None


def test_limit(vectors, tmp_path, capsys):
    assert run("related", "build", str(tmp_path / "ten"), "-e", vectors, "--limit", "10", "-r", "2") == 0
    assert json.loads(capsys.readouterr().out)["words"] == 10
    assert run("related", "show", "the", "--limit", "50", "-r", "2") == 0
    assert len(capsys.readouterr().out.splitlines()) >= 2


def test_clusters(vectors, tmp_path, capsys):
    arguments = ["--method", "clusters", "--probes", "2", "--iterations", "3", "--seed", "5", "--threads", "1"]
    assert run("related", "build", str(tmp_path / "c"), "-e", vectors, "-r", "4", *arguments) == 0
    built = json.loads(capsys.readouterr().out)
    assert (built["method"], built["probes"], built["iterations"], built["seed"]) == ("clusters", 2, 3, 5)
    assert built["clusters"] == 4
    assert 0 < built["recall"] <= 1


def test_errors_are_one_line(vectors, tmp_path, capsys):
    for arguments, code, text in [
        (["related", "build", vectors], 2, "--overwrite"),
        (["related", "build", str(tmp_path / "x"), "-e", vectors, "-r", "0"], 2, "0 is not in the range"),
        (["related", "build", str(tmp_path / "x"), "-e", vectors, "--method", "fast"], 2, "auto, exact, clusters"),
        (["related", "info", str(tmp_path / "missing")], 2, "not a wordferry folder"),
        (["related", "show", "unknown", "-e", vectors], 1, "'unknown' is not in the vocabulary"),
        (["related", "plot", "-w", "unknown", "-o", str(tmp_path / "x.png"), "-e", vectors], 1, "'unknown'"),
        (["related", "plot", "-w", "w0", "-o", str(tmp_path / "x.xyz"), "-e", vectors], 2, "cannot be written"),
    ]:
        assert run(*arguments) == code
        error = capsys.readouterr().err
        assert text in error
        assert len(error.splitlines()) == 1


@pytest.mark.parametrize("name", ["plot.png", "plot.svg"])
def test_plot(vectors, tmp_path, capsys, name):
    pytest.importorskip("matplotlib")
    assert run("related", "plot", "-w", "w0", "-w", "w5", "-o", str(tmp_path / name), "-e", vectors) == 0
    start = (tmp_path / name).read_bytes()[:100]
    assert start.startswith(b"\x89PNG") if name.endswith("png") else b"<?xml" in start
