"""Benchmarks share one harness, and what they append becomes the history of the documentation."""

from __future__ import annotations

import argparse
import ast
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "harness.py", FOLDER / "report.py"})


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "harness", raising=False)
    import harness

    return harness


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.stem)
def test_every_benchmark_uses_the_harness(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }
    assert {"harness", "Results"} <= imported
    assert "Results" in names
    calls = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "finish" in calls, "the figures must be offered to the history"
    assert "ArgumentParser" not in calls, "use harness.parser, which has --save"


def test_a_saved_run_is_one_line_with_date_commit_and_machine(harness, tmp_path: Path, capsys) -> None:
    for figure in (2.0, 3.0):
        results = harness.Results("some", argparse.Namespace(save=True, data="/secret", repeats=2), folder=tmp_path)
        results.note("data", "ten documents")
        results.add("pairs: us", figure)
        results.finish()
    lines = [json.loads(line) for line in (tmp_path / "some.jsonl").read_text().splitlines()]
    assert [line["values"] for line in lines] == [{"pairs: us": 2.0}, {"pairs: us": 3.0}]
    assert {"date", "commit", "machine", "settings", "data"} <= set(lines[0])
    assert lines[0]["settings"] == {"repeats": 2}
    assert "pairs: us: 3" in capsys.readouterr().out


def test_nothing_is_kept_unless_asked_for(harness, tmp_path: Path) -> None:
    results = harness.Results("some", argparse.Namespace(save=False), folder=tmp_path)
    results.add("pairs: us", 1.0)
    results.finish()
    assert list(tmp_path.iterdir()) == []


def test_timers_take_the_fastest_run(harness) -> None:
    ticks = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    assert harness.least(lambda: None, 3, lambda: next(ticks)) == 2.0
    took = harness.timed(lambda: "done", 3)
    assert took.value == "done"
    assert 0 <= took.wall < 5


def test_the_history_shows_runs_side_by_side(harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delitem(sys.modules, "report", raising=False)
    import report

    machine = {"processor": "a processor", "kernels": "plain", "python": "3.11"}
    rows = [
        {
            "date": f"2026-01-0{day}",
            "commit": f"c{day}",
            "machine": machine,
            "values": {"pairs: us": day / 3, "new": day},
        }
        for day in (2, 1)
    ]
    del rows[1]["values"]["new"]
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report.write(tmp_path, tmp_path / "page.md", tmp_path / "history.svg")
    text = (tmp_path / "page.md").read_text()
    assert "| figure | 2026-01-01 c1 | 2026-01-02 c2 |" in text
    assert "| pairs: us | 0.333 | 0.667 |" in text
    assert "| new |  | 2 |" in text
    assert "Made on a processor" in text
    assert (tmp_path / "history.svg").read_text().startswith("<?xml")


def test_the_report_begins_with_the_peers_and_says_what_they_ran_on(harness, tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delitem(sys.modules, "report", raising=False)
    import report

    packages = {"POT": "0.9", "bm25s": "0.3"}
    machine = {"processor": "a processor", "kernels": "plain", "python": "3.11", "packages": packages}
    values = {
        "wordferry: nDCG@10": 0.8226,
        "wordferry: index and answer, cpu s": 0.31,
        "wordferry: exact wmd, cpu us per pair": 12.3,
        "bm25s: nDCG@10": 0.802,
        "POT: exact wmd, cpu us per pair": 1234.5,
    }
    older = {"date": "2026-01-01", "commit": "c1", "machine": machine, "values": {"wordferry: nDCG@10": 0.1}}
    newer = {"date": "2026-01-02", "commit": "c2", "machine": machine, "load": 0.5, "values": values}
    (tmp_path / "peers.jsonl").write_text("".join(json.dumps(run) + "\n" for run in (newer, older)))
    report.write(tmp_path, tmp_path / "page.md", tmp_path / "history.svg")
    text = (tmp_path / "page.md").read_text()
    beside = text.split("# History")[0]
    assert "| **wordferry** | 0.823 | 310 ms | 12.3 µs |\n" in beside
    assert "| bm25s, with a stemmer | 0.802 |  |  |\n" in beside
    assert "| POT |  |  | 1,234 µs |\n" in beside
    assert "gensim" not in beside.partition("Made on")[0].partition("|")[2]
    assert "commit c2, load 0.5 at the start. POT 0.9, bm25s 0.3." in beside
    assert "12.3" in (tmp_path / "peers.svg").read_text()
    marked = "a\n<!-- peers: make bench-report -->\nold\n<!-- end of peers -->\nb\n"
    assert report.readme_with(marked, ["| new |"]) == marked.replace("old", "| new |")
    assert report.readme_with("no marks\n", ["| new |"]) == "no marks\n"
