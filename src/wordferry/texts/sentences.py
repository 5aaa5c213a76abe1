"""Sentences and passages of a text: the one rule for where they end, whatever script it is written in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_END = re.compile(
    r"""[.!?…。！？।۔\n]                             # one set of letters first, for which a search is fast
    (?:(?<=[.!?…])[.!?…]*["'”’»)\]]*(?=\s|$)   # a stop that white space follows: 3.5 and example.com have none
      |(?<=[。！？।۔])[。！？।۔]*["”’」』）]*        # scripts whose stops need no space behind them
      |(?<=\n))\s*""",
    re.VERBOSE,
)
LEAST_WORDS = 4
"""Words of a passage; a shorter sentence is joined with the next."""


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end; together they are the whole text.

    >>> text = 'It costs 3.50 today. "Really?" she asked.'
    >>> [text[start:end] for start, end in sentences(text)]
    ['It costs 3.50 today. ', '"Really?" ', 'she asked.']
    """
    start = 0
    for match in _END.finditer(text):
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def passages(text: str, split: Callable[[str], list[str]]) -> Iterator[tuple[tuple[int, int], list[str]]]:
    """Sentences, each joined with those before it until there are enough words: where they stand, and their words.

    ``split`` is asked once for each sentence.

    >>> text = "Yes. The cat sat on the mat. No."
    >>> [(text[start:end], len(words)) for (start, end), words in passages(text, str.split)]
    [('Yes. The cat sat on the mat. ', 7), ('No.', 1)]
    """
    begin, words = 0, []
    for start, end in sentences(text):
        words += split(text[start:end])
        if len(words) >= LEAST_WORDS:
            yield (begin, end), words
            begin, words = end, []
    if begin < len(text):
        yield (begin, len(text)), words
