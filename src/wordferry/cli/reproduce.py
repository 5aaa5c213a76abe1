"""``wordferry reproduce``: the experiments of the paper on data the user brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, complete_distance, emit, note


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command()(reproduce)


def reproduce(
    data: Path | None = typer.Option(None, "--data", help="The folder of the data sets (default: WORDFERRY_DATA)."),
    datasets: list[str] = typer.Option(
        [], "--datasets", "--dataset", "-s", help="Sets to run, repeated or with commas between them (default: all)."
    ),
    distances: list[str] = typer.Option(
        [],
        "--distances",
        "--distance",
        "-d",
        autocompletion=complete_distance,
        help="Distances to run, repeated or with commas between them (default: all).",
    ),
    protocol: str = typer.Option(
        "paper", help="Which protocol to follow: paper (Werner & Laber 2020) or fair (Sato et al. 2022)."
    ),
    output: Path = typer.Option(Path("report"), "--output", "-o", help="The folder of the report."),
    embeddings: Path | None = typer.Option(
        None, "--embeddings", "-e", help="Word vectors (default: the Google News vectors of the folder, if any)."
    ),
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Run the experiments of the paper and write a report with tables, charts and the published numbers beside ours.

    A run that was stopped goes on where it was: finished results are kept in the report's folder. Nothing is
    downloaded.

    Example: wordferry reproduce --data sets --datasets r8,twitter --distances rwmd,rel-rwmd -o report
    """
    from wordferry.reproduce import Plan, Source, data_folder
    from wordferry.reproduce import reproduce as run
    from wordferry.reproduce.summary import error_rows

    source = Source(data_folder(data), embeddings)
    plan = Plan(source, protocol, _listed(datasets), _listed(distances), threads)
    results = run(plan, output, note)
    emit(error_rows(results.cells, protocol), as_json, title="test error %")
    note(f"report: {output / 'index.html'}")


def _listed(values: list[str]) -> tuple[str, ...]:
    """Names that were given one by one or with commas between them."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())
