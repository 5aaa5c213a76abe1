"""``wordferry reproduce``: the experiments of the paper on data the user brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordferry.cli import options
from wordferry.cli.options import PATH, command, option
from wordferry.cli.output import SUMMARY, Output, note


@command(
    option("--data", "The folder of the data sets (default: WORDFERRY_DATA).", type=PATH),
    option("-s --datasets --dataset", "Sets to run, several with commas (default: all).", multiple=True),
    option("-d --distances --distance", "Distances to run (default: all).", multiple=True, **options.DISTANCE),
    option("--protocol", "paper (Werner & Laber 2020), fair (Sato et al. 2022) or learned.", default="paper"),
    option("-o --output", "The folder of the report.", type=PATH, default=Path("report")),
    option("-e --embeddings", "Word vectors (default: the Google News vectors of the folder, if any).", type=PATH),
    "--threads",
    SUMMARY,
    examples=["wordferry reproduce --data sets --datasets r8,twitter --distances rwmd,rel-rwmd -o report"],
)
def reproduce(data: Path | None, protocol: str, output: Path, out: Output, **given: Any) -> None:
    """Run the experiments of the paper and write a report.

    The report has tables, charts and the published numbers beside ours.
    A run that was stopped goes on where it was: finished results are kept in the report's folder. Nothing is
    downloaded.
    """
    from wordferry.reproduce import Plan, Source, data_folder
    from wordferry.reproduce import reproduce as run
    from wordferry.reproduce.summary import error_rows

    source, sets = Source(data_folder(data), given["embeddings"]), _listed(given["datasets"])
    plan = Plan(source, protocol, sets, _listed(given["distances"]), given["threads"])
    try:
        results = run(plan, output, note)
    except KeyboardInterrupt:
        note(f"wordferry: finished results stay in {output}; the same command goes on after them.")
        raise
    out.write(error_rows(results.cells, protocol), title="test error %")
    note(f"report: {output / 'index.html'}")


def _listed(values: tuple[str, ...]) -> tuple[str, ...]:
    """Names that were given one by one or with commas between them."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())
