"""``wordferry search | similar | distance | explain``: what is near a text and why, in an index or of two texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, POSITIVE, Argument, Bundle, command, option
from wordferry.cli.output import ROWS, Output, note, shortened, terminal_width
from wordferry.errors import FormatError, InputError

if TYPE_CHECKING:
    from wordferry.index import Hits

BATCH = 64
Ask = Callable[[list[str]], "list[Hits]"]
Query = tuple[int | None, "str | FormatError"]
"""Where it stands, of several the line, and the text, or what is wrong with it."""


@command(
    "INDEX",
    Argument("query", "The words to search for, @FILE to read them from a file, or - for one query a line from stdin."),
    "-k --filter --explain --set --candidates --encoder --strict",
    ROWS,
    examples=[
        "wordferry search news 'president greets press' -k 5 --filter 'year>=2001' --filter topic=sport",
        "cat queries.txt | wordferry search news - --json",
        "wordferry search news 'tax law' --explain",
        "wordferry search news 'the exact title of an article' --set lift=0",
    ],
)
def search(index: Path, query: str, encoder: str | None, strict: bool, out: Output, **given: Any) -> int:
    """Find the documents of an index by words, and by meaning.

    Those that have the words are found, and those that stand near such documents. In an index with an encoder meaning
    counts too; --set meaning=0 asks for words alone.
    """
    given |= given.pop("settings")
    with wordferry.Index.open(index, encoder=encoder) as opened:
        asking = _Asking(opened, given["filter"], out, strict)
        return asking.all(_batches(query), lambda batch: opened.search(batch, **given))


@command(
    "INDEX",
    Argument("query", "A text, @FILE to read it from a file, or - for one a line from stdin.", required=False),
    option("--id", "A document of the index, in the place of a text."),
    "-k --distance --weights --unknown --filter --explain --rerank --candidates --threads",
    option("--by", "Compare words, or by meaning the vectors of an encoder.", default="words", metavar="HOW"),
    "--encoder --strict",
    ROWS,
    examples=[
        "wordferry similar news 'The president greets the press in Chicago' -k 5",
        "wordferry similar news --id article-17 --distance wmd --explain",
        "wordferry similar news 'Nobody was hurt' --by meaning",
        "cat texts.txt | wordferry similar news - --rerank wmd --json",
    ],
)
def similar(
    index: Path, query: str | None, id: str | None, encoder: str | None, strict: bool, out: Output, **given: Any
) -> int:
    """Find the documents nearest to a text, or to one of them."""
    with wordferry.Index.open(index, encoder=encoder) as opened:
        asking = _Asking(opened, given["filter"], out, strict)
        if query is not None and id is None:
            return asking.all(_batches(query), lambda batch: opened.similar(batch, **given))
        if query is not None or id is None:
            raise InputError("Give a text, or a document of the index with --id.")
        return asking.all([[(None, id)]], lambda _: [opened.similar(id=id, **given)])


@dataclass(frozen=True)
class _Asking:
    """Asks an index, and prints the hits or why there are none."""

    opened: wordferry.Index
    filter: dict[str, Any] | None
    out: Output
    strict: bool

    def all(self, batches: Iterable[list[Query]], ask: Ask) -> int:
        """Ask for one query, or for each line of the standard input; one without an answer does not stop the others.

        Returns the exit code: 1 when a query could not be answered, or has no hit where ``strict`` demands one.
        """
        number = missed = wrong = 0
        for batch in batches:
            found = iter(ask([text for _, text in batch if isinstance(text, str)]))
            for line, text in batch:
                hits = next(found) if isinstance(text, str) else None
                error = text if hits is None else hits.error
                number += 1
                if isinstance(error, Exception) and line is None:
                    raise error
                if hits is None or error is not None:
                    wrong += 1
                    note(f"wordferry: line {line}: {error}")
                    continue
                if not hits:
                    missed += 1
                    self._say_why(line, str(text))
                self._show(hits, line, str(text))
                if number == 1 and not hits.exact:
                    note(hits.method)
        if missed and self.filter and not self.opened.count(self.filter):
            note(f"wordferry: no document passes the filter {json.dumps(self.filter, ensure_ascii=False)}.")
        if self.strict and missed:
            note(f"wordferry: {missed} of {number} queries have no hit.")
        if wrong:
            note(f"wordferry: {wrong} of {number} queries could not be answered.")
        return int(bool(wrong or (self.strict and missed)))

    def _say_why(self, line: int | None, text: str) -> None:
        from wordferry.texts.reasons import no_word
        from wordferry.texts.stop_marks import all_words

        reason = "nothing was found." if all_words(text, self.opened.tokenizer) else no_word(text, "The query")
        note(f"wordferry: {reason}" if line is None else f"wordferry: line {line}: {reason}")

    def _show(self, hits: Hits, line: int | None, query: str) -> None:
        """Print the hits of a query, which of several is that of a line."""
        value = "score" if hits.method.startswith("words") else "distance"
        titled, rows = any(hit.metadata.get("title") for hit in hits), []
        for rank, hit in enumerate(hits, start=1):
            row: dict[str, Any] = {"rank": rank, "id": hit.id, value: getattr(hit, value), "label": hit.label}
            if self.out.table:
                row |= {"title": hit.metadata.get("title")} if titled else {}
                row["text"] = shortened(hit.text, 200)
            else:
                row = ({} if line is None else {"query": line}) | row
                row |= {"metadata": dict(hit.metadata), "text": hit.text}
                told: Any = hit.explanation
                if told is not None:
                    row["explanation"] = told.to_json() if value == "score" else told.to_rows()
            rows.append(row)
        self.out.write(rows, title=None if line is None else query)
        for hit in hits if self.out.table else ():
            if hit.explanation is not None:
                click.echo(f"\n{hit.id}\n{hit.explanation.to_text(limit=10, width=terminal_width())}")


def _batches(query: str) -> Iterator[list[Query]]:
    """The query, or those of the standard input by the numbers of their lines, some at a time."""
    if query != "-":
        yield [(None, options.read_text(query))]
        return
    numbered = enumerate(map(_decoded, getattr(sys.stdin, "buffer", sys.stdin)), start=1)
    asked: Iterator[Query] = ((number, line) for number, line in numbered if line)
    while batch := list(islice(asked, BATCH)):
        yield batch


def _decoded(line: str | bytes) -> str | FormatError:
    """A line of the standard input; in the place of one that is not UTF-8, what is wrong with it."""
    try:
        return (line.decode("utf-8") if isinstance(line, bytes) else line).strip()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return FormatError(f"expected UTF-8 text, found byte 0x{byte:02x} at position {error.start}.")


TEXTS = (
    Argument("a", "A text; @FILE reads one from a file, @- from the standard input."),
    Argument("b", "The text to compare it with, or @FILE or @-."),
    "--distance=wmd",
)
BY = click.Choice(["word", "sentence"])
HOW = Bundle(
    "how",
    "--embeddings",
    option("--related", "A folder of related words (default: those of all words that have a vector).", type=PATH),
    "--overlap --weights=counts --unknown=match",
)


@command(
    *TEXTS,
    option("--all", "Compute every distance.", is_flag=True),
    HOW,
    ROWS,
    examples=[
        "wordferry distance 'Obama speaks to the media' 'The president greets the press'",
        "wordferry distance @first.txt @second.txt --all",
    ],
)
def distance(a: str, b: str, distance: str, all: bool, how: dict[str, Any], out: Output) -> None:
    """The distance of two texts."""
    if all and how["overlap"] is not None:
        raise InputError("--overlap belongs to one distance; leave out --all or --overlap.")
    texts = options.read_text(a), options.read_text(b)
    measures = _measures(list(wordferry.DISTANCES) if all else [distance], how)
    named = ((one.distance, one.pair(*texts)) for one in measures)
    out.write({"distance": record.name, "value": value, "title": record.title} for record, value in named)


@command(
    *TEXTS,
    option("--by", "What is shown: which word moved where, or sentence.", type=BY, default="word"),
    HOW,
    option("--limit", "Show only the NUMBER most expensive rows, or first pairs of sentences.", type=POSITIVE),
    option("--html", "Write a page with a flow diagram.", type=PATH),
    option("--png", "Write a picture (any format that matplotlib knows).", type=PATH),
    ROWS,
    examples=[
        "wordferry explain 'Obama speaks to the media' 'The president greets the press'",
        "wordferry explain @first.txt @second.txt --by sentence",
        "wordferry explain @first.txt @second.txt -d rel-wmd --html flow.html --png flow.png",
    ],
)
def explain(
    a: str, b: str, distance: str, by: Literal["word", "sentence"], how: dict[str, Any], out: Output, **given: Any
) -> None:
    """Take the distance of two texts apart, by words or sentences."""
    (measure,) = _measures([distance], how)
    explanation, limit = measure.explain(options.read_text(a), options.read_text(b)), given["limit"]
    for name, write in (("html", explanation.to_html), ("png", explanation.plot)):
        if given[name] is not None:
            write(given[name])
            note(f"wrote {given[name]}")
    told = explanation.told_by(by)
    if out.table:
        click.echo(told.to_text(limit=limit, width=terminal_width()))
    else:
        out.write(told.to_rows()[:limit])


def _measures(distances: list[str], how: dict[str, Any]) -> list[wordferry.Measure]:
    """How to compare by each of some distances, with vectors and related words that are loaded once."""
    related = None if how["related"] is None else wordferry.RelatedWords.load(how["related"])
    given = {**how, "embeddings": options.load_vectors(how["embeddings"]), "related": related}
    return [wordferry.Measure(one, **given) for one in distances]
