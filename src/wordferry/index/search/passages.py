"""The passages of a hit that are nearest to the query, and how the query's words move onto theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wordferry.base.checks import whole_number
from wordferry.compare.calls import explain, pairwise
from wordferry.compare.distances import find_distance
from wordferry.texts.sentences import passages
from wordferry.texts.stop_marks import all_words, is_marked, unmarked
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


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
    spans = [(span, words) for span, words in passages(whole, split) if words]
    if not spans or not tokens or related is None:  # no document has a word with a vector
        return []
    options: dict[str, Any] = {"embeddings": embeddings, "related": related}
    texts = [words for _, words in spans]
    near = pairwise([list(tokens)], texts, "rel-rwmd", side="left", overlap="keep", **options)
    best = np.argsort(near[0], kind="stable")[:count].tolist()
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
