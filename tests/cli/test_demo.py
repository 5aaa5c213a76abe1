"""wordferry demo and info."""

from __future__ import annotations

import json
import math
import os
import pty
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import wordferry
from wordferry.cli import main

ROOT = Path(__file__).resolve().parents[2]


@cache
def demo(*options: str) -> str:
    command = [sys.executable, "-m", "wordferry", "demo", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(os.sep)).stdout


def test_data() -> None:
    rows = [json.loads(line) for line in demo("--json").splitlines()]
    steps: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        steps.setdefault(row["step"], []).append(row)
    judged = ["retrieval", "classify", "triplets"]
    assert list(steps) == ["collection", "related", "search", "score", "similar", "explain", *judged]
    best = [row for row in steps["search"] if row["rank"] == 1]
    judgements = {text: wordferry.sample().judgements[number] for number, text in wordferry.sample().queries}
    assert all(judgements[row["query"]][row["id"]] == 2 for row in best)
    nearest = steps["similar"][0]
    assert nearest["id"] == "sport-16"
    assert sum(row["cost"] for row in steps["explain"]) == pytest.approx(nearest["distance"], rel=1e-5)


def test_what_is_said_below_the_tables_is_so() -> None:
    rows = [json.loads(line) for line in demo("--json").splitlines()]
    quality = {row["method"]: row["ndcg"] for row in rows if row["step"] == "retrieval"}
    both = quality.pop("words and wordllama", math.inf)  # there where wordllama is installed
    assert quality["BM25"] < quality["BM25 with stems"] < quality["word search"] == max(quality.values()) < both
    wrong = {row["distance"]: row["wrong"] for row in rows if row["step"] == "classify"}
    assert all(wrong[name] < wrong["tfidf-cosine"] for name in ("wcd", "rel-rwmd", "wmd", "rel-wmd"))
    solved = {row["distance"]: row for row in rows if row["step"] == "triplets"}
    assert all(row["solved"] + row["failed"] == len(wordferry.sample().triplets) for row in solved.values())
    assert all(solved[name]["solved"] > solved["tfidf-cosine"]["solved"] for name in ("rel-rwmd", "wmd", "rel-wmd"))


def test_piped_it_is_plain_text() -> None:
    text = demo()
    assert "\x1b" not in text
    for part in ("637 articles in 17 topics", "c_max = ", "Alpacas guard lambs", "nDCG@10", "error %", "rel-wmd"):
        assert part in text


def test_in_a_terminal_it_is_coloured() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100")
        os.execv(sys.executable, [sys.executable, "-m", "wordferry", "demo"])
    shown = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the terminal is gone
            break
        if not data:
            break
        shown += data
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"\x1b[1;36mCollection" in shown
    assert b"classification" in shown  # the label of the bar


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--info"])
    facts = json.loads(capsys.readouterr().out)
    assert ended.value.code in (0, None)
    assert facts["wordferry"] == wordferry.__version__
    assert facts["distances"] == list(wordferry.DISTANCES)
    assert facts["threads"] >= 1
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(facts["extras"]) >= {"serve", "spark", "languages", "judge", "cluster", "gpu", "dev"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for_users = set(listed) - {"bench", "docs", "dev", "check"}
    assert [extra for extra in for_users if f"`{extra}`" not in readme] == []
