"""The command line's reference page is what its help says."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_cli_reference

ALL = list(make_cli_reference.commands())
LEAVES: list[tuple[str, Any]] = [(name, command) for name, command in ALL if not getattr(command, "commands", None)]


def test_page_is_up_to_date() -> None:
    assert make_cli_reference.PAGE.read_text(encoding="utf-8") == make_cli_reference.page(), (
        "run: python tools/make_cli_reference.py"
    )


@pytest.mark.parametrize(("name", "command"), LEAVES, ids=[name for name, _ in LEAVES])
def test_help(name: str, command: Any) -> None:
    """A command says what it does, shows an example of itself, and explains each option."""
    if name == "wordferry":
        pytest.skip("no command is registered yet")
    assert command.help, f"{name} has no help text"
    examples = make_cli_reference.examples_of(command)
    assert any(name in example for example in examples), f"{name}: add epilog=examples('{name} ...')"
    silent = [p.name for p in command.params if not getattr(p, "help", None)]
    assert silent == [], f"{name}: parameters without help: {silent}"
