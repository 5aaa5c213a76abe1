"""What the demo has found, as a page on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordferry.demo import Demo

MOVES = 12


def show(result: Demo) -> None:
    """Print the results of the demo, as wide as the terminal."""
    from rich.console import Console

    page, sample = _Page(Console(highlight=False)), result.collection
    page.text("wordferry demo on the data in the package", "bold")
    page.heading("Collection")
    page.text(
        f"{len(sample.articles)} articles in {len(set(sample.labels))} topics; {result.words} words with a vector, "
        f"{result.unknown} without. {result.related_edges} related pairs of words, all others at c_max = "
        f"{result.c_max:.4f}."
    )
    _show_found(page, result)
    _show_retrieval(page, result)
    _show_distances(page, result)


def _show_found(page: _Page, result: Demo) -> None:
    page.heading("Find by words: those that a query and an article share, other forms, and near articles")
    for query, hits, why in result.found:
        page.text(query, "italic")
        page.table(["score:", "topic", "title"], [(f"{hit.value:.2f}", hit.topic, hit.title) for hit in hits])
        page.text(f"first: {why}", "dim")
    page.heading(f"Compare texts: the articles nearest to “{result.like}”")
    page.text(f"by {result.explanation.name}, rare words weighing more (idf), as in all tables below")
    page.table(["distance:", "topic", "title"], [(f"{hit.value:.4f}", hit.topic, hit.title) for hit in result.near])
    page.text(f"\nWhy: where its words go in “{result.near[0].title}”, the heaviest first")
    _show_moves(page, result)


def _show_retrieval(page: _Page, result: Demo) -> None:
    judged, queries = result.collection.judgements, len(result.collection.queries)
    page.heading(f"Retrieval: {queries} queries, {sum(map(len, judged.values()))} judged answers")
    page.table(
        ["method", "nDCG@10:", "first hit right:", "seconds:"],
        [
            (row.method, f"{row.ndcg:.3f}", f"{row.first} of {queries}", f"{row.seconds:.3f}")
            for row in result.retrieval
        ],
        best=max(range(len(result.retrieval)), key=lambda i: result.retrieval[i].ndcg),
    )
    page.text(
        "A short query is found by its words: BM25, better with the stems of words, and better still when articles "
        "near to each other lift each other, which is what search does. With an encoder (pip install wordllama) "
        "their meaning counts too. Distances are for whole texts."
    )


def _show_distances(page: _Page, result: Demo) -> None:
    total = len(result.collection.triplets)
    page.heading(f"Topics: {result.test} articles, each by the vote of the nearest 19 among the other {result.train}")
    page.table(
        ["distance", "wrong:", "error %:", "seconds:"],
        [
            (row.distance, f"{row.wrong} of {result.test}", f"{row.error_percent:.1f}", f"{row.seconds:.3f}")
            for row in result.scores
        ],
        best=min(range(len(result.scores)), key=lambda i: result.scores[i].wrong),
    )
    page.text(
        "The topics overlap, so this is hard. Distances that know which words are near in meaning are wrong less "
        "often than one that only counts equal words (tfidf-cosine); a few articles more or less are chance."
    )
    page.heading(f"Triplets: {total} times three articles, two about one subject and a third of the same topic")
    page.table(
        ["distance", "solved:", "error %:"],
        [(row.distance, f"{row.solved} of {total}", f"{row.error_percent:.2f}") for row in result.triplets],
        best=max(range(len(result.triplets)), key=lambda i: result.triplets[i].solved),
    )
    page.text(
        "Solved where the two are nearer than the third. Many pairs tell the same in different words. "
        "'wordferry judge triplets' prints the same errors, with intervals."
    )


def _show_moves(page: _Page, result: Demo) -> None:
    """The words of the explanation that moved on to others, the heaviest first."""
    rows = sorted(result.explanation.rows, key=lambda row: -row.mass)
    moved = [row for row in rows if row.target and row.target != row.source]
    shown = [
        (str(row.source), str(row.target), f"{row.mass:.3f}", f"{row.distance:.3f}", f"{row.cost:.4f}") for row in moved
    ]
    page.table(["from", "to", "mass:", "distance:", "cost:"], shown[:MOVES])
    apart, rest = [row.cost for row in rows if not row.target], [row.cost for row in moved[MOVES:]]
    page.text(
        f"{len(rest)} more words that move cost {sum(rest):.4f}, {len(apart)} words without a related one "
        f"{sum(apart):.4f}; the sum of all is {result.explanation.distance:.4f}"
    )


class _Page:
    """Headings, texts and tables one below the other, as wide as the terminal."""

    def __init__(self, console: Any) -> None:
        self.console = console

    def text(self, text: str, style: str = "") -> None:
        """A paragraph."""
        from rich.text import Text

        self.console.print(Text(text, style=style))

    def heading(self, text: str) -> None:
        """A line above a part."""
        self.text("")
        self.text(text, "bold cyan")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], best: int | None = None) -> None:
        """A table; a column whose name ends with a colon is right-aligned, the best row is marked."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in columns:
            table.add_column(name.rstrip(":"), justify="right" if name.endswith(":") else "left")
        for number, row in enumerate(rows):
            table.add_row(*map(Text, row), style="bold green" if number == best else "")
        self.console.print(table)
