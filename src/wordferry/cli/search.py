"""``wordferry search``: the documents of an index that the words of a text find, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, complete_distance, examples
from wordferry.cli.hits import FILTER_OPTION, STRICT_OPTION, ask_all, parse_filters, parse_settings
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=examples(
            "wordferry search news 'president greets press' -k 5 --filter 'year>=2001' --filter topic=sport",
            "cat queries.txt | wordferry search news - --json",
            "wordferry search news 'tax law' --explain",
            "wordferry search news 'the exact title of an article' --set lift=0",
        )
    )(search)


def search(
    index: Path = typer.Argument(..., help="The folder of the index."),
    query: str = typer.Argument(
        ...,
        help="The words to search for, @FILE to read them from a file, or - for one query a line from standard input.",
    ),
    k: int = typer.Option(10, "-k", min=1, help="How many documents to find."),
    distance: str | None = typer.Option(
        None,
        "--distance",
        "-d",
        autocompletion=complete_distance,
        help="Compare texts by this distance instead of finding by words, as 'wordferry similar' does.",
    ),
    filter: list[str] = FILTER_OPTION,
    explain: bool = typer.Option(False, "--explain", help="Show which words matched and what they give."),
    settings: list[str] = typer.Option(
        [], "--set", help="A constant of word search, e.g. lift=0: k1, b, stem, lift, neighbours, candidates, power."
    ),
    rerank: str | None = typer.Option(
        None,
        "--rerank",
        autocompletion=complete_distance,
        help="Compare texts, and re-order the candidates by this second distance; not exact.",
    ),
    candidates: int | None = typer.Option(
        None, "--candidates", min=1, help="How many candidates the first stage finds."
    ),
    strict: bool = STRICT_OPTION,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Find the documents of an index by words: those that have them, and those that stand near such documents."""
    from wordferry.index import Index

    options: dict[str, Any] = {
        "distance": distance,
        "filter": parse_filters(filter),
        "explain": explain,
        "rerank": rerank,
        "candidates": candidates,
        "threads": threads,
        **parse_settings(settings),
    }
    with Index.open(index) as opened, output(as_json, as_csv, output_file) as out:
        code = ask_all(query, lambda batch: opened.search(batch, k, **options), opened, options, out, strict=strict)
    raise typer.Exit(code)
