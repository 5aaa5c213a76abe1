"""Plain command lines are read without typer, to the same values; all others are left to it."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from wordferry.cli import COMMANDS, commands
from wordferry.cli.plain import plain_call
from wordferry.texts.datasets import sample

WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
OPTIONS = {
    "search": [
        ("-k", "3"),
        ("--distance", "wmd"),
        ("-d", "rel-rwmd"),
        ("--filter", "year>=2001"),
        ("--filter=topic=sport",),
        ("--explain",),
        ("--set", "lift=0"),
        ("--candidates=40",),
        ("--strict",),
        ("--threads", "1"),
        ("--json",),
        ("--table",),
        ("--csv",),
        ("-o", "found.jsonl"),
    ],
    "similar": [
        ("-k", "7"),
        ("--weights", "idf"),
        ("--unknown=drop",),
        ("--rerank", "wmd"),
        ("--explain",),
        ("--json",),
    ],
    "distance": [("-d", "wmd"), ("--overlap", "omr"), ("--weights=idf",), ("--json",)],
}


def passed_by_typer(name: str, line: list[str]) -> dict[str, Any] | None:
    """What the function of a command is called with; None when it is not called."""
    app, found = commands.__wrapped__(name), []
    command = app.registered_commands[0]
    own = command.callback

    @functools.wraps(own)
    def noted(**values: Any) -> None:
        found.append(values)

    command.callback = noted
    with pytest.raises(SystemExit):
        app(args=[name, *line], prog_name="wordferry")
    return found[0] if found else None


def passed_plainly(name: str, line: list[str]) -> dict[str, Any] | None:
    call = plain_call(commands(name), line)
    return None if call is None else call.keywords  # type: ignore[attr-defined]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_what_is_read_plainly_is_what_typer_reads(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(OPTIONS)))
    texts = data.draw(st.lists(WORD, min_size=1, max_size=3))
    given_options = data.draw(st.lists(st.sampled_from(OPTIONS[name]), max_size=4))
    pieces = data.draw(st.permutations([(text,) for text in texts] + given_options))
    line = [one for piece in pieces for one in piece]
    plainly = passed_plainly(name, line)
    if plainly is not None:
        assert plainly == passed_by_typer(name, line)


def test_the_usual_line_is_plain() -> None:
    assert passed_plainly("search", ["news", "tax law", "-k", "5", "--filter", "a=1", "--filter", "b=2", "--json"]) == (
        passed_by_typer("search", ["news", "tax law", "-k", "5", "--filter", "a=1", "--filter", "b=2", "--json"])
    )


@pytest.mark.parametrize(
    "line",
    [
        ["news"],
        ["news", "text", "more"],
        ["news", "text", "-k", "0"],
        ["news", "text", "-k", "five"],
        ["news", "text", "-k5"],
        ["news", "text", "-k"],
        ["news", "text", "--k"],
        ["news", "text", "--distance", "--json"],
        ["news", "text", "--json=1"],
        ["news", "text", "--dist", "wmd"],
        ["news", "-5"],
        ["news", "--", "text"],
        ["news", "text", "--help"],
        ["", "text"],
    ],
)
def test_what_is_not_plain_is_left_to_typer(line: list[str]) -> None:
    assert passed_plainly("search", line) is None


def test_groups_of_commands_are_left_to_typer() -> None:
    assert plain_call(commands("index"), ["create", "news", "texts.txt"]) is None


def test_every_command_is_still_there() -> None:
    names = [command.name or command.callback.__name__ for command in commands().registered_commands]
    groups = [group.name for group in commands().registered_groups]
    assert sorted(names + groups) == sorted(COMMANDS)


def test_a_search_loads_little(tmp_path: Path) -> None:
    """What takes longer to load than a search takes is not loaded for it."""
    with wordferry.Index.create(tmp_path / "index") as index:
        index.add([article.text for article in sample().articles])
    script = (
        "import sys\n"
        "from wordferry.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "finally:\n"
        "    late = {'scipy', 'pydantic', 'importlib.metadata', 'rich', 'threadpoolctl'} & set(sys.modules)\n"
        "    print(sorted(late), file=sys.stderr)\n"
    )
    for command in ("search", "similar"):
        line = [sys.executable, "-c", script, command, str(tmp_path / "index"), "bread and butter", "--json"]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        assert '"rank": 1' in done.stdout
        assert done.stderr.strip() == "[]"
