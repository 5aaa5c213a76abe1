"""``wordferry search``: the documents of an index nearest to a text, and why."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import (
    JSON_OPTION,
    THREADS_OPTION,
    complete_distance,
    emit_json,
    emit_table,
    examples,
    note,
    wants_json,
)

if TYPE_CHECKING:
    from wordferry.index import Hits

BATCH = 64
_SHORT = {"=": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_RULE = re.compile(r"^(?P<key>[^=!<>]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)$", re.DOTALL)


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=examples(
            "wordferry search news 'the president greets the press' -k 5 --filter 'year>=2001' --filter topic=sport",
            "cat queries.txt | wordferry search news - --json",
            "wordferry search news 'tax law' --rerank wmd --explain",
        )
    )(search)


def search(
    index: Path = typer.Argument(..., help="The folder of the index."),
    query: str = typer.Argument(..., help="The text to search for; - reads one per line from the standard input."),
    k: int = typer.Option(10, "-k", min=1, help="How many documents to find."),
    distance: str | None = typer.Option(
        None, "--distance", "-d", autocompletion=complete_distance, help="The distance (default: the index's own)."
    ),
    filter: list[str] = typer.Option(
        [], "--filter", help="key=value (or != > >= < <=), or a JSON object; every filter must hold."
    ),
    explain: bool = typer.Option(False, "--explain", help="Show which word moved where."),
    rerank: str | None = typer.Option(
        None,
        "--rerank",
        autocompletion=complete_distance,
        help="Order candidates by this second distance: not exact.",
    ),
    candidates: int | None = typer.Option(None, "--candidates", min=1, help="Candidates of the first stage."),
    strict: bool = typer.Option(False, "--strict", help="Exit with 1 when a query has no hit."),
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Find the documents of an index that are nearest to a text."""
    from wordferry.index import Index

    conditions = parse_filters(filter)
    number = missed = 0
    with Index.open(index) as opened:
        for batch in _batches(query):
            found = opened.search(
                batch,
                k,
                distance=distance,
                filter=conditions,
                explain=explain,
                rerank=rerank,
                candidates=candidates,
                threads=threads,
            )
            for text, hits in zip(batch, found, strict=True):
                number += 1
                missed += not hits
                _show(hits, text, number if query == "-" else None, as_json, explain)
            if rerank and number == len(batch):
                note(found[0].method)
    if strict and missed:
        note(f"wordferry: {missed} of {number} queries have no hit.")
        raise typer.Exit(1)


def _batches(query: str) -> Iterator[list[str]]:
    if query != "-":
        yield [query]
        return
    lines = (line.strip() for line in sys.stdin)
    texts = (line for line in lines if line)
    while batch := list(islice(texts, BATCH)):
        yield batch


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


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return text if isinstance(value, list | dict) else value


def _show(hits: Hits, query: str, number: int | None, as_json: bool | None, explain: bool) -> None:
    if wants_json(as_json):
        emit_json(_row(hit, rank, number) for rank, hit in enumerate(hits, start=1))
        return
    rows = [(rank, hit.id, hit.distance, hit.label, _shortened(hit.text)) for rank, hit in enumerate(hits, start=1)]
    emit_table(["rank", "id", "distance", "label", "text"], rows, title=None if number is None else query)
    for hit in hits if explain else ():
        if hit.explanation is not None:
            typer.echo(f"\n{hit.id}\n{hit.explanation.to_text(limit=10)}")


def _row(hit: Any, rank: int, number: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {} if number is None else {"query": number}
    row |= {"rank": rank, "id": hit.id, "distance": round(hit.distance, 6), "label": hit.label}
    row |= {"metadata": dict(hit.metadata), "text": hit.text}
    if hit.explanation is not None:
        row["explanation"] = hit.explanation.to_rows()
    return row


def _shortened(text: Any, width: int = 80) -> str:
    line = " ".join(text.split() if isinstance(text, str) else text)
    return line if len(line) <= width else line[: width - 1] + "…"
