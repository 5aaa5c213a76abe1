"""The command line's reference page is what its help says."""

from __future__ import annotations

import sys
from typing import Any

import click
import pytest

from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_cli_reference

ALL = list(make_cli_reference.commands())
LEAVES = [(name, command) for name, command in ALL if not isinstance(command, click.Group)]


def test_page_is_up_to_date() -> None:
    assert make_cli_reference.PAGE.read_text(encoding="utf-8") == make_cli_reference.page(), (
        "run: python tools/make_cli_reference.py"
    )


def test_there_are_at_most_16_commands_to_choose_from() -> None:
    assert len([name for name, _ in ALL if name.count(" ") == 1]) <= 16


@pytest.mark.parametrize(("name", "command"), LEAVES, ids=[name for name, _ in LEAVES])
def test_help(name: str, command: Any) -> None:
    """A command says what it does, shows an example of itself, and explains each option."""
    assert command.help, f"{name} has no help text"
    assert any(name in example for example in command.examples), f"{name}: add examples=['{name} ...']"
    silent = [p.name for p in command.params if not getattr(p, "help", None)]
    assert silent == [], f"{name}: parameters without help: {silent}"


def test_one_thing_has_one_option() -> None:
    """What several commands ask for has the same names and the same wording in all of them."""
    names: dict[str, set[tuple[str, ...]]] = {}
    for _, command in LEAVES:
        for param in command.params:
            if isinstance(param, click.Option):
                for flag in param.opts:
                    names.setdefault(flag, set()).add(tuple(sorted(param.opts)))
    shared = ("-k", "-d", "--weights", "--unknown", "--filter", "--threads", "--csv", "--embeddings", "--seed", "-r")
    for flag in shared:
        # reproduce takes several distances and calls the option so
        assert len(names[flag] - {("--distance", "--distances", "-d")}) == 1, names[flag]
    assert not {"-n", "--count", "--neighbors", "--neighbours"} & set(names)


def test_no_command_is_cut_in_the_list_of_80_columns() -> None:
    for name, command in ALL:
        if isinstance(command, click.Group):
            shown = command.get_help(click.Context(command, info_name=name, terminal_width=80))
            assert "..." not in shown.partition("Commands:")[2], shown
