"""``wordferry export``: an index in the shapes that other engines take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, emit, examples, progress_bar


def register(app: Any) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Write an index in the shapes that other engines take.")
    group.command(
        "sparse",
        epilog=examples("wordferry export sparse news -o vectors --format qdrant --queries queries.txt --error 0.1"),
    )(sparse)
    app.add_typer(group, name="export")


def sparse(
    index: Path = typer.Argument(..., help="The folder of the index."),
    output: Path = typer.Option(..., "-o", "--output", help="The folder to write documents, queries and words into."),
    format: str = typer.Option(
        "parquet", "--format", help="parquet, jsonl, qdrant, milvus, opensearch (and Elasticsearch) or pgvector."
    ),
    queries: Path | None = typer.Option(None, "--queries", help="A file with one query per line, to write as well."),
    error: float = typer.Option(
        0.0, "--error", min=0.0, max=2.0, help="Leave out entries that change no side of a distance by more than this."
    ),
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Write documents as sparse vectors whose inner products rank like rel-rwmd, for engines that search those."""
    from wordferry.engines.sparse import Sparse, write_vectors, write_words
    from wordferry.index import Index

    ending = "parquet" if format == "parquet" else "jsonl"
    output.mkdir(parents=True, exist_ok=True)
    with Index.open(index) as opened:
        found = list(opened)
        texts = [one.text if isinstance(one.text, str) else list(one.text) for one in found]
        made = Sparse.of(texts, embeddings=opened.embeddings, tokenizer=opened.tokenizer, error=error)
    with progress_bar("documents") as progress:
        vectors = made.documents(progress)
        facts = write_vectors(
            output / f"documents.{ending}", vectors, [one.id for one in found], format, made.dimensions
        )
    write_words(output / "words.txt", made)
    row = {"documents": facts["vectors"], "entries": facts["entries"], "dimensions": made.dimensions}
    if queries is not None:
        lines = [line for line in queries.read_text(encoding="utf-8").splitlines() if line.strip()]
        asked = write_vectors(
            output / f"queries.{ending}",
            [made.queries(lines)],
            [f"query-{number}" for number in range(1, len(lines) + 1)],
            format,
            made.dimensions,
        )
        row |= {"queries": asked["vectors"]}
    emit([row | {"c_max": round(made.c_max, 6), "output": str(output)}], as_json)
