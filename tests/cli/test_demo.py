"""wordferry demo and info."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import wordferry
from wordferry.cli import main


@cache
def demo(*options: str) -> str:
    command = [sys.executable, "-m", "wordferry", "demo", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(os.sep)).stdout


def test_data() -> None:
    rows = [json.loads(line) for line in demo("--json").splitlines()]
    steps = [row["step"] for row in rows]
    assert sorted(set(steps)) == ["classify", "collection", "explain", "related", "search"]
    best = [row for row in rows if row["step"] == "search" and row["rank"] == 1]
    assert [row["topic"] for row in best] == ["economy", "space", "cooking"]
    moves = [row for row in rows if row["step"] == "explain"]
    assert sum(row["cost"] for row in moves) == pytest.approx(best[0]["distance"], rel=1e-5)
    errors = {row["distance"]: row["error_percent"] for row in rows if row["step"] == "classify"}
    assert list(errors) == list(wordferry.DISTANCES)
    assert all(errors[name] < errors["cosine"] for name in ("wcd", "rwmd", "rel-rwmd", "wmd", "rel-wmd"))


def test_piped_it_is_plain_text() -> None:
    text = demo()
    assert "\x1b" not in text
    for part in ("637 articles in 17 topics", "c_max = ", "Central bank raises interest rate", "error %", "rel-wmd"):
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
    with pytest.raises(SystemExit):
        main(["info"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["wordferry"] == wordferry.__version__
    assert facts["distances"] == list(wordferry.DISTANCES)
    assert facts["threads"] >= 1
    with pytest.raises(SystemExit):
        main(["info", "--table"])
    text = capsys.readouterr().out
    assert f"kernels    {facts['kernels']}\n" in text
    assert text.splitlines()[0] == f"wordferry  {wordferry.__version__}"
