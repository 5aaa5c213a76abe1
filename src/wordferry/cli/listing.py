"""``wordferry index list | get | export``: the documents of an index as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import JSON_OPTION, examples, note, progress_bar
from wordferry.cli.hits import FILTER_OPTION, parse_filters, shortened
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output

if TYPE_CHECKING:
    from wordferry.index.model import Document

INDEX = typer.Argument(..., help="The folder of the index.")


def register(commands: Any) -> None:
    """Add the commands to ``wordferry index``."""
    commands.command(
        "list", epilog=examples("wordferry index list news --filter topic=sport", "wordferry index list news --csv")
    )(show)
    commands.command(epilog=examples("wordferry index get news article-17"))(get)
    commands.command(
        epilog=examples(
            "wordferry index export news -o news.jsonl",
            "wordferry index export news -o sport.parquet --filter topic=sport",
            "wordferry index export news | wordferry index create copy -",
        )
    )(export)


def show(
    path: Path = INDEX,
    filter: list[str] = FILTER_OPTION,
    limit: int = typer.Option(100, "--limit", "-n", min=1, help="How many documents to list."),
    offset: int = typer.Option(0, "--offset", min=0, help="How many documents to pass over first."),
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """List documents in the order in which they were added: id, label, metadata and the head of the text."""
    from wordferry.index import Index

    wanted = parse_filters(filter)
    with Index.open(path) as index, output(as_json, as_csv, output_file) as out:
        found = index.page(limit, offset=offset, filter=wanted)
        total = index.count(wanted)
        out.write(_listed(document, out.table) for document in found)
    end = offset + len(found)
    what = "documents that pass the filter" if wanted else "documents"
    if found and total > len(found):
        more = f"; --offset {end} shows the next" if end < total else ""
        note(f"{offset + 1} to {end} of {total} {what}{more}")
    elif not found:
        note(f"wordferry: {total} {what} in {path}" + (f", none after {offset}." if total else "."))


def get(
    path: Path = INDEX,
    ids: list[str] = typer.Argument(..., help="The ids of documents."),
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Show documents by id, with their whole text and their metadata; one that is missing does not stop the others."""
    from wordferry.errors import NotFound
    from wordferry.index import Index

    missing = 0
    with Index.open(path) as index, output(as_json, as_csv, output_file) as out:
        for id in ids:
            try:
                document = index.get(id)
            except NotFound as error:
                missing += 1
                note(f"wordferry: {error}")
                continue
            if out.table:
                _print(document)
            else:
                out.write([_row(document, document.text)])
    raise typer.Exit(int(missing > 0))


def export(
    path: Path = INDEX,
    output_file: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        help="The file: .jsonl, .json, .csv or .parquet by its ending (default: JSON lines on the standard output).",
    ),
    as_csv: bool = CSV_OPTION,
    filter: list[str] = FILTER_OPTION,
    text: str = typer.Option("text", "--text", help="The name of the field for the text."),
    id: str = typer.Option("id", "--id", help="The name of the field for the id."),
    label: str = typer.Option("label", "--label", help="The name of the field for the label."),
) -> None:
    """Write all documents into a file that 'index create' and 'index add' read.

    JSON brings back the same documents; in Parquet and CSV a missing field comes back as null, and CSV makes text of
    whatever is no number.
    """
    from wordferry.errors import InputError
    from wordferry.index import Index

    if as_csv and output_file is not None:
        raise InputError(f"The ending of -o {output_file} says what is written; leave out --csv.")
    format = None if output_file is not None else "csv" if as_csv else "jsonl"
    with Index.open(path) as index, progress_bar("writing documents") as progress:
        names = {"text": text, "id": id, "label": label}
        count = index.export(output_file, format=format, filter=parse_filters(filter), **names, progress=progress)
    note(f"{output_file or path}: {count} documents")


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
            typer.echo(f"{name}: {value}")
    typer.echo(f"\n{document.text if isinstance(document.text, str) else ' '.join(document.text)}\n")
