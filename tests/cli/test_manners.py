"""What all commands have in common: where output goes, exit codes, no tracebacks, completion."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wordferry

SOURCE = {"PYTHONPATH": str(Path(wordferry.__file__).resolve().parents[1])}
COMMAND = [sys.executable, "-m", "wordferry"]


def run(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        env=os.environ | SOURCE | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small index."""
    path = tmp_path_factory.mktemp("cli") / "pets"
    with wordferry.Index.create(path) as index:
        index.add([{"id": "a", "text": "the cat sleeps"}, {"id": "b", "text": "stock prices fell"}])
    return str(path)


def test_piped_output_is_json_lines(pets: str) -> None:
    done = run("search", pets, "-", "-k", "1", stdin="two cats\nprices\n")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "b"]


def test_a_table_when_asked_for(pets: str) -> None:
    done = run("search", pets, "a cat", "--table")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == ["rank", "id", "score", "label", "text"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--help"], 0, ""),
        (["search"], 2, "Missing argument"),
        (["nonsense"], 2, "No such command"),
        (["search", "--nonsense"], 2, "No such option"),
        (["search", "nowhere", "a text"], 1, "wordferry: There is no index at nowhere"),
        (["index", "create", "new", "missing.jsonl"], 1, "wordferry: "),
        (["embeddings", "info", "missing.txt"], 1, "wordferry: "),
        (["serve", "nowhere"], 1, "wordferry: There is no index at nowhere"),
    ],
)
def test_exit_codes(
    arguments: list[str], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2 for bad input, 1 for what is not there; the reason on stderr, nothing on stdout, no traceback."""
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert code == 0 or done.stdout == ""


def test_not_found_is_1(pets: str) -> None:
    done = run("index", "delete", pets, "nobody")
    assert done.returncode == 1
    assert done.stderr.startswith("wordferry: ")
    assert "nobody" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_hits_where_they_were_demanded(pets: str) -> None:
    nothing = ["search", pets, "a cat", "--filter", "label=space"]
    assert run(*nothing).returncode == 0
    done = run(*nothing, "--strict")
    assert done.returncode == 1
    assert "1 of 1 queries have no hit" in done.stderr


def test_bad_input_is_2_and_debug_shows_where(pets: str) -> None:
    done = run("similar", pets, "a cat", "--distance", "nearness")
    assert done.returncode == 2
    assert done.stderr.startswith("wordferry: Unknown distance 'nearness'. Choose one of: ")
    shown = run("--debug", "similar", pets, "a cat", "--distance", "nearness")
    assert shown.returncode != 0
    assert "Traceback" in shown.stderr


def test_interrupt_is_130(pets: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "search", pets, "-"],
        env=os.environ | SOURCE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("a cat\n" * 64)  # a batch
    process.stdin.flush()
    assert process.stdout.readline()  # it works, and will wait for more
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert error == "wordferry: stopped\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["index", "create", "{}/new", "-"], "wordferry: no step was done yet, so nothing is stored."),
        (["index", "add", "{}/old", "-"], "documents are added all together or not at all."),
    ],
)
def test_an_interrupt_says_what_stays(tmp_path: Path, command: list[str], said: str) -> None:
    wordferry.Index.create(tmp_path / "old").close()
    line = [*COMMAND, *(word.format(tmp_path) for word in command), "--format", "jsonl"]
    process = subprocess.Popen(
        line, env=os.environ | SOURCE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    for number in range(3000):  # more than a pipe holds: the last are written when the first have been read
        process.stdin.write(json.dumps({"id": str(number), "text": "a cat sleeps " * 10}) + "\n")
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said in error
    assert error.endswith("wordferry: stopped\n")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    with wordferry.Index.open(tmp_path / "old") as index:
        assert len(index) == 0


def test_a_reader_that_goes_away_is_no_error(pets: str) -> None:
    """``wordferry ... | head`` ends with 0 and says nothing."""
    script = f'"{sys.executable}" -m wordferry search {pets} - | head -n 1; echo "${{PIPESTATUS[0]}}"'
    many = "a cat\n" * 20_000
    done = subprocess.run(
        ["bash", "-c", script], input=many, env=os.environ | SOURCE, capture_output=True, text=True, timeout=120
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert lines[1] == "0"
    assert done.stderr == ""


def test_completion_knows_commands_and_distances() -> None:
    def complete(words: str) -> str:
        options = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return run(_WORDFERRY_COMPLETE="bash_complete", **options).stdout

    assert complete("wordferry sea").split() == ["plain,search"]
    assert complete("wordferry similar x y --distance rel-").split() == ["plain,rel-rwmd", "plain,rel-wmd"]


def test_numbers_that_json_lacks_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    from wordferry.cli.output import output

    with output(True) as out:
        out.write([{"a": float("inf"), "b": [float("nan"), 1.5], "c": {"d": 2}}])
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "c": {"d": 2}}


@pytest.mark.parametrize(
    ("arguments", "said", "unsaid"),
    [
        (["index", "create", "{place}/index", "{place}/texts.txt"], "--on-empty drop", "on_empty="),
        (["distance", "!?", "cat"], "has no known word", "empty="),  # which has no such option
        (["index", "create", "{place}/index", "--on-empty", "x"], "wordferry: --on-empty must be one of", "on_empty"),
        (["distance", "a dog", "a cat", "--weights", "x"], "wordferry: --weights must be one of", " weights"),
    ],
)
def test_errors_name_the_options_of_the_command(tmp_path, arguments, said, unsaid):
    (tmp_path / "texts.txt").write_text("!?\n")
    done = run(*(argument.format(place=tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert said in done.stderr
    assert unsaid not in done.stderr
