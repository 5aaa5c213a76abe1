"""``wordferry demo``: the main job on the data in the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import emit_json, examples, progress_bar

if TYPE_CHECKING:
    from wordferry.demo import Demo

MOVES = 12


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(epilog=examples("wordferry demo", "wordferry demo --json | jq -c 'select(.step == \"classify\")'"))(
        demo
    )


def demo(
    as_json: bool = typer.Option(False, "--json", help="JSON lines instead of text; 'step' says what a line is about."),
) -> None:
    """Search, explain and classify the sample collection with the default vectors. Needs no network."""
    from wordferry.demo import run

    result = run(progress_bar)
    if as_json:
        emit_json(result.to_rows())
    else:
        _print(result)


def _print(result: Demo) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=110)

    def heading(text: str) -> None:
        console.print()
        console.print(Text(text, style="bold cyan"))

    console.print(Text("wordferry demo", style="bold") + Text(" on the data in the package"))
    heading("Collection")
    console.print(f"{result.articles} articles in {result.topics} topics, {result.words} words with a vector")
    heading("Related words")
    console.print(
        f"{result.related_edges} related pairs, all others at c_max = {result.c_max:.4f}; "
        f"built in {result.graph_seconds:.2f} s"
    )
    _print_hits(console, heading, result)
    heading(f"Why \N{LEFT DOUBLE QUOTATION MARK}{result.hits[0][1][0].title}\N{RIGHT DOUBLE QUOTATION MARK}")
    _print_moves(console, result)
    heading(f"Classification: {result.test} articles held out, k-NN over the other {result.train}")
    best = min(score.error_percent for score in result.scores)
    table = _table(("distance", "left"), ("error %", "right"), ("seconds", "right"))
    for score in result.scores:
        style = "bold green" if score.error_percent == best else ""
        table.add_row(score.distance, f"{score.error_percent:.1f}", f"{score.seconds:.3f}", style=style)
    console.print(table)


def _print_hits(console: Any, heading: Any, result: Demo) -> None:
    from rich.text import Text

    heading("Nearest articles: how far the words of a query must travel (rel-rwmd)")
    for query, hits in result.hits:
        console.print(Text(query, style="italic"))
        table = _table(("distance", "right"), ("topic", "left"), ("title", "left"))
        for hit in hits:
            table.add_row(f"{hit.distance:.4f}", Text(hit.topic), Text(hit.title))
        console.print(table)


def _print_moves(console: Any, result: Demo) -> None:
    """Which word went where, the most expensive first; the costs sum to the distance."""
    rows = result.explanation.rows
    table = _table(("from", "left"), ("to", "left"), ("mass", "right"), ("distance", "right"), ("cost", "right"))
    for row in rows[:MOVES]:
        cells = (row.source or "-", row.target or "-", f"{row.mass:.3f}", f"{row.distance:.3f}", f"{row.cost:.4f}")
        table.add_row(*cells)
    console.print(table)
    rest = len(rows) - MOVES
    if rest > 0:
        console.print(f"and {rest} more, together {sum(row.cost for row in rows[MOVES:]):.4f}")
    console.print(f"sum of the costs: {result.explanation.distance:.4f}")


def _table(*columns: tuple[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in columns:
        table.add_column(name, justify=justify)
    return table
