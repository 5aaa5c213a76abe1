"""``wordferry cluster index | search``: an index in shards, built and searched by many workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.cluster import (
    ADDRESS,
    FILES,
    ID,
    KEEP,
    LABEL,
    OUTPUT,
    RELATED,
    TEXT,
    VECTORS,
    WORK,
    WORKERS,
    Running,
    show,
)
from wordferry.cli.common import JSON_OPTION, complete_distance, examples
from wordferry.cli.hits import FILTER_OPTION, parse_filters, parse_settings

FOLDER = typer.Argument(..., help="The folder or bucket of the shards (wordferry cluster index).")


def register(group: Any) -> None:
    """Add the commands to ``wordferry cluster``."""
    group.command("index", epilog=examples("wordferry cluster index articles/ --shards 8 --workers 4 -o shards"))(index)
    group.command(
        "search",
        epilog=examples(
            "wordferry cluster search shards queries.jsonl -k 10 -o found",
            "wordferry cluster search shards queries.jsonl --filter year>=2001 --workers 4 -o recent",
        ),
    )(search)


def index(
    documents: str = FILES,
    shards: int = typer.Option(..., "--shards", min=1, help="How many shards to build."),
    output: str = typer.Option(..., "-o", "--output", help="The folder or bucket address for the shards."),
    workers: int | None = WORKERS,
    address: str | None = ADDRESS,
    distance: str = typer.Option(
        "rel-rwmd", "--distance", "-d", autocompletion=complete_distance, help="The distance that 'similar' uses."
    ),
    weights: str = typer.Option("idf", "--weights", help="What words count for in 'similar': counts, idf and others."),
    unknown: str = typer.Option("match", "--unknown", help="Words without a vector in 'similar': match or drop."),
    r: int = RELATED,
    on_empty: str = typer.Option("error", "--on-empty", help="Documents without any word: error, drop or keep."),
    tokenizer: str | None = typer.Option(None, "--tokenizer", help="A language: its stop words and word boundaries."),
    language: str | None = typer.Option(None, "--language", help="Whose word stems 'search' knows, or none."),
    settings: list[str] = typer.Option([], "--set", help="A constant of word search, e.g. lift=0; kept."),
    block: int = typer.Option(20_000, "--block", min=1, help="How many documents' words one task counts."),
    text: str = TEXT,
    id: str = ID,
    label: str = LABEL,
    embeddings: str | None = VECTORS,
    work: Path | None = WORK,
    keep: bool = KEEP,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Build an index in shards, which together answer as one undivided index does.

    Every other column of the documents becomes metadata to filter by. A build that was stopped goes on.
    """
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices, build

    constants, fields = parse_settings(settings), SourceFields(text, id, label)
    choices = Choices(distance, None, r, on_empty, language, weights, unknown, constants, block, fields)
    with Running(workers, address, embeddings, work, keep) as run:
        show(build(documents, output, shards, choices, tokenizer=tokenizer, **run), as_json)


def search(
    folder: str = FOLDER,
    queries: str = typer.Argument(..., help="Queries, in the same forms as documents."),
    k: int = typer.Option(10, "-k", min=1, help="How many documents to find for each query."),
    output: str = OUTPUT,
    candidates: int | None = typer.Option(
        None, "--candidates", min=1, help="How many documents the first stage finds."
    ),
    filter: list[str] = FILTER_OPTION,
    settings: list[str] = typer.Option([], "--set", help="A constant of word search, e.g. lift=0."),
    workers: int | None = WORKERS,
    address: str | None = ADDRESS,
    block: int = typer.Option(200, "--block", min=1, help="How many queries one task answers from one shard."),
    text: str = TEXT,
    id: str = ID,
    work: Path | None = WORK,
    keep: bool = KEEP,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Answer many queries by words from all shards, as the undivided index would; 'cluster top-k' compares texts."""
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices, jobs

    asked = {"filter": parse_filters(filter), "constants": {**parse_settings(settings), "candidates": candidates}}
    choices = Choices(block=block, fields=SourceFields(text, id))
    with Running(workers, address, None, work, keep) as run:
        show(jobs.search(folder, queries, output, k, choices, **asked, **run), as_json)
