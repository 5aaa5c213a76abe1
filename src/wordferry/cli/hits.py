"""What the commands that find documents share: queries, filters, and how hits are shown."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import emit_table, note
from wordferry.cli.comparing import read_text
from wordferry.cli.output import Output

if TYPE_CHECKING:
    from wordferry.errors import FormatError
    from wordferry.index import Hits, Index

BATCH = 64
FILTER_OPTION = typer.Option(
    [], "--filter", help="key=value (or != > >= < <=), or a JSON object; every filter must hold."
)
STRICT_OPTION = typer.Option(False, "--strict", help="Exit with 1 when a query has no hit.")
_SHORT = {"=": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_RULE = re.compile(r"^(?P<key>[^=!<>]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)$", re.DOTALL)
Ask = Callable[[list[str]], "list[Hits]"]
Query = tuple[int, "str | FormatError"]


def ask_all(query: str, ask: Ask, opened: Index, options: Mapping[str, Any], out: Output, *, strict: bool) -> int:
    """Ask for one query, or for each line of the standard input; a line without an answer does not stop the others.

    Returns the exit code: 1 when a query could not be answered, or has no hit where ``strict`` demands one.
    """
    from wordferry.texts.reasons import no_word

    number = missed = wrong = 0
    several = query == "-"
    for batch in _batches(query):
        for (line, text), hits in zip(batch, _asked(batch, ask, alone=not several), strict=True):
            number += 1
            wrong += hits is None
            if hits is None:
                continue
            missed += not hits
            if not hits and not opened.tokenizer(str(text)):
                note(f"wordferry: {f'line {line}: ' if several else ''}{no_word(str(text), 'The query')}")
            _show(hits, str(text), line if several else None, out, options["explain"])
            if number == 1 and not hits.exact:
                note(hits.method)
    if missed and options["filter"] and not opened.count(options["filter"]):
        note(f"wordferry: no document passes the filter {json.dumps(options['filter'], ensure_ascii=False)}.")
    if strict and missed:
        note(f"wordferry: {missed} of {number} queries have no hit.")
    if wrong:
        note(f"wordferry: {wrong} of {number} queries could not be answered.")
    return int(bool(wrong or (strict and missed)))


def _asked(batch: list[Query], ask: Ask, *, alone: bool) -> Iterator[Hits | None]:
    """The hits of a batch; None for a query that is refused, which is named by its line."""
    from wordferry.errors import EmptyDocumentError, FormatError

    texts = [text for _, text in batch]
    try:
        if not any(isinstance(text, FormatError) for text in texts):
            yield from ask([str(text) for text in texts])
            return
    except EmptyDocumentError:  # anything else is wrong with the options, not with a line
        if alone:
            raise
    for line, text in batch:
        try:
            if isinstance(text, FormatError):
                raise text
            yield ask([text])[0]
        except (EmptyDocumentError, FormatError) as error:
            note(f"wordferry: line {line}: {error}")
            yield None


def _batches(query: str) -> Iterator[list[Query]]:
    if query != "-":
        yield [(1, read_text(query))]
        return
    lines = ((number, line) for number, line in enumerate(_lines(), start=1) if isinstance(line, Exception) or line)
    while batch := list(islice(lines, BATCH)):
        yield batch


def _lines() -> Iterator[str | FormatError]:
    """The lines of the standard input; in the place of one that is not UTF-8, what is wrong with it."""
    from wordferry.errors import FormatError

    for line in getattr(sys.stdin, "buffer", sys.stdin):
        try:
            yield (line.decode("utf-8") if isinstance(line, bytes) else line).strip()
        except UnicodeDecodeError as error:
            yield FormatError(f"expected UTF-8 text, found byte 0x{line[error.start]:02x} at position {error.start}.")


def parse_filters(texts: list[str]) -> dict[str, Any] | None:
    """The filters of the command line as one mapping."""
    from wordferry.errors import InputError

    rules: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            try:
                given = json.loads(text)
            except json.JSONDecodeError as error:
                raise InputError(f"--filter {text}: no valid JSON ({error}).") from None
        else:
            match = _RULE.match(text)
            if match is None:
                raise InputError(f"--filter {text}: expected key=value, key>=value or a JSON object.")
            given = {match["key"].strip(): {_SHORT[match["sign"]]: _value(match["value"].strip())}}
        for key, rule in given.items():
            added = rule if isinstance(rule, dict) else {"eq": rule}
            known = rules.setdefault(key, {})
            if repeated := known.keys() & added.keys():
                raise InputError(f"--filter {text}: {key!r} has a condition {sorted(repeated)[0]!r} already.")
            known.update(added)
    return rules or None


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """Constants of word search as name=value."""
    from wordferry.errors import InputError

    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        number = _value(value.strip())
        if not sign or isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"--set {text}: expected name=number, e.g. --set lift=0.")
        found[name.strip()] = number
    return found


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return text if isinstance(value, list | dict) else value


def _show(hits: Hits, query: str, number: int | None, out: Output, explain: bool) -> None:
    value = "score" if hits.method == "words" else "distance"
    if not out.table:
        out.write(_row(hit, rank, number, value) for rank, hit in enumerate(hits, start=1))
        return
    rows = [
        (rank, hit.id, getattr(hit, value), hit.label, shortened(hit.text)) for rank, hit in enumerate(hits, start=1)
    ]
    emit_table(["rank", "id", value, "label", "text"], rows, title=None if number is None else query)
    for hit in hits if explain else ():
        if hit.explanation is not None:
            text = str(hit.explanation) if value == "score" else hit.explanation.to_text(limit=10)
            typer.echo(f"\n{hit.id}\n{text}")


def _row(hit: Any, rank: int, number: int | None, value: str) -> dict[str, Any]:
    row: dict[str, Any] = {} if number is None else {"query": number}
    row |= {"rank": rank, "id": hit.id, value: getattr(hit, value), "label": hit.label}
    row |= {"metadata": dict(hit.metadata), "text": hit.text}
    if hit.explanation is not None:
        row["explanation"] = hit.explanation.to_json() if value == "score" else hit.explanation.to_rows()
    return row


def shortened(text: Any, width: int = 80) -> str:
    """The head of a text, on one line."""
    line = " ".join(text.split() if isinstance(text, str) else text)
    return line if len(line) <= width else line[: width - 1] + "…"
