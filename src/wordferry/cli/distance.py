"""``wordferry distance | explain``: how far apart two texts are, and which words make it so."""

from __future__ import annotations

from typing import Any, Literal

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, POSITIVE, argument, bundle, command, option
from wordferry.cli.output import ROWS, Output, note, terminal_width
from wordferry.errors import InputError

FIRST = argument("a", "A text; @FILE reads one from a file, @- from the standard input.")
SECOND = argument("b", "The text to compare it with, or @FILE or @-.")
RELATED = option("--related", "A folder of related words (default: those of all words that have a vector).", type=PATH)
HOW = bundle("how", "--embeddings", RELATED, "--overlap --weights=counts --unknown=match")


@command(
    FIRST,
    SECOND,
    "--distance=wmd",
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
    a, b = options.read_text(a), options.read_text(b)
    measures = _measures(list(wordferry.DISTANCES) if all else [distance], how)
    named = ((one.distance, one.pair(a, b)) for one in measures)
    out.write({"distance": record.name, "value": value, "title": record.title} for record, value in named)


@command(
    FIRST,
    SECOND,
    "--distance=wmd",
    option(
        "--by",
        "What is shown: which word moved where, or sentence.",
        type=click.Choice(["word", "sentence"]),
        default="word",
    ),
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
    records = [wordferry.find_distance(one) for one in distances]
    related = None if how["related"] is None else wordferry.RelatedWords.load(how["related"])
    given = {**how, "embeddings": options.load_vectors(how["embeddings"]), "related": related}
    return [wordferry.Measure(record, **given) for record in records]
