"""The passages of a hit that are nearest to the query, and how the query's words move onto theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wordferry.base.checks import whole_number
from wordferry.compare.calls import explain, pairwise
from wordferry.compare.distances import find_distance
from wordferry.texts.stop_marks import all_words, is_marked, unmarked
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*|[.!?\n]+")
_LEAST_WORDS = 4
"""Words of a passage; a shorter sentence is joined with the next."""


@dataclass(frozen=True)
class Passage:
    """A part of a document, where it stands in the text, and why it is near to the query."""

    text: str
    start: int
    stop: int
    distance: float
    explanation: Any
    """Which word of the query moved to which of the passage."""


def best_passages(
    means: tuple[Tokenizer, Embeddings, RelatedWords | None],
    tokens: Sequence[str],
    text: str | Sequence[str],
    count: int,
    distance: str,
) -> list[Passage]:
    """The passages onto which the query's words move at the least cost, nearest first."""
    tokenizer, embeddings, related = means
    count = whole_number(count, "count")
    record = find_distance(distance)
    whole = text if isinstance(text, str) else " ".join(text)
    split = tokenizer if isinstance(text, str) else str.split
    if any(map(is_marked, tokens)):  # the query means stop words
        tokens, split = unmarked(tokens), partial(all_words, tokenizer=tokenizer) if isinstance(text, str) else split
    spans = [(span, words) for span in _spans(whole, split) if (words := split(whole[slice(*span)]))]
    if not spans or not tokens:
        return []
    if related is None:  # no document has a word with a vector
        return []
    options: dict[str, Any] = {"embeddings": embeddings, "related": related}
    near = pairwise([list(tokens)], [words for _, words in spans], "rel-rwmd", side="left", overlap="keep", **options)[
        0
    ]
    best = np.argsort(near, kind="stable")[:count].tolist()
    if not record.needs_related:
        del options["related"]
    if "left" in record.sides:  # the query's words onto the passage's; not what else the passage says
        options["side"] = "left"
    if "keep" in record.overlaps:  # a word that is there costs nothing, however rarely it comes
        options["overlap"] = "keep"
    found = []
    for place in best:
        (start, stop), words = spans[place]
        reason = explain(list(tokens), words, record, **options)
        found.append(Passage(whole[start:stop].strip(), start, stop, float(reason.distance), reason))
    return found


def _spans(text: str, split: Any) -> Iterator[tuple[int, int]]:
    """Sentences, short ones joined with what follows; each is split once."""
    start = words = 0
    for match in _SENTENCE.finditer(text):
        words += len(split(match.group()))
        if words >= _LEAST_WORDS:
            yield start, match.end()
            start, words = match.end(), 0
    if start < len(text):
        yield start, len(text)
