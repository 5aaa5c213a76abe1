"""Command lines in their plainest form, read in no time.

To check what a command was given, typer loads a library that takes longer to load than a search takes. A line of plain
words, numbers and paths needs none of that: it is read here by the same definitions of options and arguments. Whatever
is not plain - a wrong option, a value that does not fit, a call for help - is left to typer, with its messages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

_WHOLE = re.compile(r"\d{1,15}")
_DECIMAL = re.compile(r"\d{1,15}(\.\d{1,15})?")
_NOT_PLAIN = ("callback", "click_type", "default_factory", "envvar", "parser", "is_eager", "case_sensitive")


class _NotPlain(Exception):
    """Typer shall read this line."""


def plain_call(app: typer.Typer, arguments: Sequence[str]) -> Callable[[], None] | None:
    """The call that a plain line for the only command of ``app`` stands for; None where typer must look at it."""
    if app.registered_groups or len(app.registered_commands) != 1:
        return None
    command = app.registered_commands[0].callback
    try:
        return None if command is None else partial(command, **_values(command, arguments))
    except _NotPlain:
        return None


def _values(command: Callable[..., Any], arguments: Sequence[str]) -> dict[str, Any]:
    kinds = get_type_hints(command)
    infos = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    values = {name: _default(info, kinds[name]) for name, info in infos.items()}
    switches = {text: use for name, info in infos.items() for text, use in _spellings(name, info, kinds[name])}
    waiting = [name for name, info in infos.items() if isinstance(info, ArgumentInfo)]
    rest = iter(arguments)
    for text in rest:
        option, equals, value = text.partition("=")
        if not text.startswith("-") or text == "-":
            if not waiting:
                raise _NotPlain
            name = waiting.pop(0)
            values[name] = _value(text, kinds[name], infos[name])
            continue
        if option not in switches or (equals and not option.startswith("--")):
            raise _NotPlain
        name, meaning = switches[option]
        if meaning is not None:
            if equals:
                raise _NotPlain
            values[name] = meaning
            continue
        given = value if equals else next(rest, "-?")
        if given.startswith("-") and given != "-":  # perhaps a value, perhaps the next option
            raise _NotPlain
        one = _value(given, kinds[name], infos[name])
        values[name] = [*values[name], one] if kinds[name] == list[str] else one
    if ... in values.values():
        raise _NotPlain
    return values


def _default(info: Any, kind: Any) -> Any:
    """What is passed where nothing is given; ... where something must be."""
    if not isinstance(info, ParameterInfo) or callable(info.default) or kind not in _KINDS:
        raise _NotPlain
    usual = OptionInfo() if isinstance(info, OptionInfo) else ArgumentInfo()
    if any(getattr(info, name, None) != getattr(usual, name, None) for name in _NOT_PLAIN):
        raise _NotPlain
    if kind == list[str]:
        if isinstance(info, ArgumentInfo) or not isinstance(info.default, list):
            raise _NotPlain
        return list(info.default)
    return info.default


def _spellings(name: str, info: Any, kind: Any) -> Iterator[tuple[str, tuple[str, bool | None]]]:
    """How an option is written, and what it then says: a truth, or None where a value follows."""
    if not isinstance(info, OptionInfo):
        return
    dashed = f"--{name.replace('_', '-')}"
    flag = kind in (bool, bool | None)
    for text in info.param_decls or ((f"{dashed}/--no-{dashed[2:]}",) if flag else (dashed,)):
        yes, both, no = text.partition("/")
        if not yes.startswith("-"):  # a name for the parameter, not an option
            raise _NotPlain
        yield yes, (name, True if flag else None)
        if both:
            yield no, (name, False)


def _value(text: str, kind: Any, info: ParameterInfo) -> Any:
    inner = next((one for one in get_args(kind) if one is not type(None)), kind) if kind is not list[str] else str
    if inner is str:
        return text
    if inner is Path and not (info.exists or info.resolve_path or info.writable or info.path_type or info.allow_dash):
        if text and info.file_okay and info.dir_okay and info.readable:
            return Path(text)
        raise _NotPlain
    if (inner is int and _WHOLE.fullmatch(text)) or (inner is float and _DECIMAL.fullmatch(text)):
        number = inner(text)
        low, high = info.min, info.max
        if (low is None or number >= low) and (high is None or number <= high):
            return number
    raise _NotPlain


_KINDS = (str, str | None, int, int | None, float, float | None, bool, bool | None, Path, Path | None, list[str])
