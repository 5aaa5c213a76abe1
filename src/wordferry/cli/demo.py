"""``wordferry demo``: the main jobs on the data in the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import emit_json, examples, progress_bar

if TYPE_CHECKING:
    from wordferry.demo import Demo

MOVES = 12


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(epilog=examples("wordferry demo", "wordferry demo --json | jq -c 'select(.step == \"retrieval\")'"))(
        demo
    )


def demo(
    as_json: bool = typer.Option(False, "--json", help="JSON lines instead of text; 'step' says what a line is about."),
) -> None:
    """Find, compare and explain articles of the sample collection, and judge how well that goes. Needs no network."""
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

    sample = result.collection
    console.print(Text("wordferry demo", style="bold") + Text(" on the data in the package"))
    heading("Collection")
    console.print(
        f"{len(sample.articles)} articles in {len(set(sample.labels))} topics; {result.words} words with a vector, "
        f"{result.unknown} without\n"
        f"{result.related_edges} related pairs of words, all others at c_max = {result.c_max:.4f}"
    )
    _print_found(console, heading, result)
    _print_near(console, heading, result)
    _print_retrieval(console, heading, result)
    _print_scores(console, heading, result)
    _print_triplets(console, heading, result)


def _print_found(console: Any, heading: Any, result: Demo) -> None:
    from rich.text import Text

    heading("Find by words: the words that a query and an article share, other forms of them, and near articles")
    for query, hits, why in result.found:
        console.print(Text(query, style="italic"))
        _print_hits(console, "score", hits, 2)
        console.print(Text(f"first: {why}", style="dim"))


def _print_near(console: Any, heading: Any, result: Demo) -> None:
    """The nearest articles, and the words that moved on to others, the heaviest first."""
    heading(f"Compare texts: the articles nearest to {_quoted(result.like)}")
    console.print(f"by {result.explanation.name}, rare words weighing more (idf), as in all tables below")
    _print_hits(console, "distance", result.near, 4)
    console.print()
    console.print(f"Why: where its words go in {_quoted(result.near[0].title)}, the heaviest first")
    rows = sorted(result.explanation.rows, key=lambda row: -row.mass)
    moved = [row for row in rows if row.target and row.target != row.source]
    table = _table(("from", "left"), ("to", "left"), ("mass", "right"), ("distance", "right"), ("cost", "right"))
    for row in moved[:MOVES]:
        table.add_row(row.source, row.target, f"{row.mass:.3f}", f"{row.distance:.3f}", f"{row.cost:.4f}")
    console.print(table)
    apart = [row.cost for row in rows if not row.target]
    rest = [row.cost for row in moved[MOVES:]]
    console.print(
        f"{len(rest)} more words that move cost {sum(rest):.4f}, {len(apart)} words without a related one "
        f"{sum(apart):.4f}; the sum of all is {result.explanation.distance:.4f}"
    )


def _print_retrieval(console: Any, heading: Any, result: Demo) -> None:
    queries = len(result.collection.queries)
    judged = sum(len(grades) for grades in result.collection.judgements.values())
    heading(f"Retrieval: {queries} queries, {judged} judged answers")
    table = _table(("method", "left"), ("nDCG@10", "right"), ("first hit right", "right"), ("seconds", "right"))
    best = max(row.ndcg for row in result.retrieval)
    for row in result.retrieval:
        cells = (row.method, f"{row.ndcg:.3f}", f"{row.first} of {queries}", f"{row.seconds:.3f}")
        table.add_row(*cells, style="bold green" if row.ndcg == best else "")
    console.print(table)
    console.print(
        "A short query is found by its words: BM25, better with the stems of words, and better still when articles\n"
        "near to each other lift each other, which is what search does. Distances are for whole texts."
    )


def _print_scores(console: Any, heading: Any, result: Demo) -> None:
    heading(f"Topics: {result.test} articles, each by the vote of the nearest 19 among the other {result.train}")
    table = _table(("distance", "left"), ("wrong", "right"), ("error %", "right"), ("seconds", "right"))
    best = min(score.wrong for score in result.scores)
    for score in result.scores:
        counts = (f"{score.wrong} of {result.test}", f"{score.error_percent:.1f}", f"{score.seconds:.3f}")
        table.add_row(score.distance, *counts, style="bold green" if score.wrong == best else "")
    console.print(table)
    console.print(
        "The topics overlap, so this is hard. Distances that know which words are near in meaning are wrong less\n"
        "often than one that only counts equal words (tfidf-cosine); a few articles more or less are chance."
    )


def _print_triplets(console: Any, heading: Any, result: Demo) -> None:
    total = len(result.collection.triplets)
    heading(f"Triplets: {total} times three articles, two about one subject and a third of the same topic")
    table = _table(("distance", "left"), ("solved", "right"), ("error %", "right"))
    best = max(row.solved for row in result.triplets)
    for row in result.triplets:
        cells = (row.distance, f"{row.solved} of {total}", f"{row.error_percent:.1f}")
        table.add_row(*cells, style="bold green" if row.solved == best else "")
    console.print(table)
    console.print("Solved where the two are nearer than the third. Many pairs tell the same in different words.")


def _print_hits(console: Any, value: str, hits: Any, digits: int) -> None:
    from rich.text import Text

    table = _table((value, "right"), ("topic", "left"), ("title", "left"))
    for hit in hits:
        table.add_row(f"{hit.value:.{digits}f}", Text(hit.topic), Text(hit.title))
    console.print(table)


def _quoted(title: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{title}\N{RIGHT DOUBLE QUOTATION MARK}"


def _table(*columns: tuple[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in columns:
        table.add_column(name, justify=justify)
    return table
