"""``wordferry index list | get | export | export-sparse``: the documents of an index as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wordferry.cli import options
from wordferry.cli.options import PATH, argument, bundle, command, option
from wordferry.cli.output import CSV, ROWS, SUMMARY, Output, note, progress_bar, shortened

if TYPE_CHECKING:
    from wordferry.index.results import Document


@command(
    "INDEX --filter",
    "-k=100",
    option("--offset", "How many documents to pass over first.", type=click.IntRange(min=0), default=0),
    ROWS,
    examples=["wordferry index list news --filter topic=sport", "wordferry index list news --csv"],
)
def list_(index: Path, filter: tuple[str, ...], k: int, offset: int, out: Output) -> None:
    """List documents in the order in which they were added.

    Each with its id, label, metadata and the head of the text.
    """
    from wordferry.index import Index

    wanted = options.parse_filters(filter)
    with Index.open(index) as opened:
        found = opened.page(k, offset=offset, filter=wanted)
        total = opened.count(wanted)
    out.write(_listed(document, out.table) for document in found)
    end = offset + len(found)
    what = "documents that pass the filter" if wanted else "documents"
    if found and total > len(found):
        more = f"; --offset {end} shows the next" if end < total else ""
        note(f"{offset + 1} to {end} of {total} {what}{more}")
    elif not found:
        note(f"wordferry: {total} {what} in {index}" + (f", none after {offset}." if total else "."))


@command(
    "INDEX",
    argument("ids", "The ids of documents.", nargs=-1, required=True),
    ROWS,
    examples=["wordferry index get news article-17"],
)
def get(index: Path, ids: tuple[str, ...], out: Output) -> int:
    """Show documents by id, with their whole text and metadata.

    One that is missing does not stop the others.
    """
    from wordferry.errors import NotFound
    from wordferry.index import Index

    missing = 0
    with Index.open(index) as opened:
        for id in ids:
            try:
                document = opened.get(id)
            except NotFound as error:
                missing += 1
                note(f"wordferry: {error}")
                continue
            if out.table:
                _print(document)
            else:
                out.write([_row(document, document.text)])
    return int(missing > 0)


@command(
    "INDEX",
    option("-o --output", "The file: .jsonl, .json, .csv or .parquet (default: JSON lines on stdout).", type=PATH),
    CSV,
    "--filter",
    bundle(
        "names",
        option("--text", "The name of the field for the text.", default="text"),
        option("--id", "The name of the field for the id.", default="id"),
        option("--label", "The name of the field for the label.", default="label"),
        option("--vectors", "Write the vectors of documents too, into this field (not CSV)."),
    ),
    examples=[
        "wordferry index export news -o news.jsonl",
        "wordferry index export news -o sport.parquet --filter topic=sport",
        "wordferry index export news | wordferry index create copy -",
    ],
)
def export(index: Path, output: Path | None, as_csv: bool, filter: tuple[str, ...], names: dict[str, str]) -> None:
    """Write documents into a file that 'create' and 'add' read.

    JSON brings back the same documents; in Parquet and CSV a missing field comes back as null, and CSV makes text of
    whatever is no number.
    """
    from wordferry.errors import InputError
    from wordferry.index import Index

    if as_csv and output is not None:
        raise InputError(f"The ending of -o {output} says what is written; leave out --csv.")
    format = None if output is not None else "csv" if as_csv else "jsonl"
    with Index.open(index) as opened, progress_bar("writing documents") as progress:
        count = opened.export(output, format=format, filter=options.parse_filters(filter), **names, progress=progress)
    note(f"{output or index}: {count} documents")


@command(
    "INDEX",
    option("-o --output", "The folder to write documents, queries and words into.", type=PATH, required=True),
    option("--format", "parquet, jsonl, qdrant, milvus, opensearch or pgvector.", default="parquet"),
    option("--queries", "A file with one query per line, to write as well.", type=PATH),
    option("--error", "Leave out what changes a distance by no more.", type=click.FloatRange(0.0, 2.0), default=0.0),
    SUMMARY,
    examples=["wordferry index export-sparse news -o vectors --format qdrant --queries queries.txt --error 0.1"],
)
def export_sparse(index: Path, output: Path, format: str, queries: Path | None, error: float, out: Output) -> None:
    """Write documents as sparse vectors for other engines.

    Their inner products rank like rel-rwmd; engines that search sparse vectors take them.
    """
    from wordferry.engines.sparse import Sparse, write_vectors, write_words
    from wordferry.index import Index

    ending = "parquet" if format == "parquet" else "jsonl"
    output.mkdir(parents=True, exist_ok=True)
    with Index.open(index) as opened:
        found = list(opened)
        texts = [one.text if isinstance(one.text, str) else list(one.text) for one in found]
        made = Sparse.of(texts, embeddings=opened.embeddings, tokenizer=opened.tokenizer, error=error)
    with progress_bar("documents") as progress:
        vectors, ids = made.documents(progress), [one.id for one in found]
        facts = write_vectors(output / f"documents.{ending}", vectors, ids, format, made.dimensions)
    write_words(output / "words.txt", made)
    row = {"documents": facts["vectors"], "entries": facts["entries"], "dimensions": made.dimensions}
    if queries is not None:
        lines = [line for line in queries.read_text(encoding="utf-8").splitlines() if line.strip()]
        names = [f"query-{number}" for number in range(1, len(lines) + 1)]
        file = output / f"queries.{ending}"
        row["queries"] = write_vectors(file, [made.queries(lines)], names, format, made.dimensions)["vectors"]
    out.facts(row | {"c_max": round(made.c_max, 6), "output": str(output)})


COMMANDS = (list_, get, export, export_sparse)


def _row(document: Document, text: Any) -> dict[str, Any]:
    row = {"id": document.id, "label": document.label, "metadata": dict(document.metadata)}
    return row | {"text": text if isinstance(text, str) else list(text)}


def _listed(document: Document, table: bool) -> dict[str, Any]:
    row = _row(document, shortened(document.text))
    if table:
        row["metadata"] = ", ".join(f"{key}={value}" for key, value in document.metadata.items())
    return row


def _print(document: Document) -> None:
    """One document for people."""
    facts = {"id": document.id, "label": document.label, **document.metadata}
    for name, value in facts.items():
        if value is not None:
            click.echo(f"{name}: {value}")
    click.echo(f"\n{document.text if isinstance(document.text, str) else ' '.join(document.text)}\n")
