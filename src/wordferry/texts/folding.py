"""One spelling for words that look alike: composed letters, plain apostrophes and hyphens, letters of usual width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Typographic apostrophes and hyphens as plain ones; a soft hyphen is not part of a word, a zero-width space ends one.
# The wide forms of ASCII characters, as East Asian keyboards give them, as the characters themselves.
_PLAIN = str.maketrans(
    {"_": " ", "\u2019": "'", "\u2010": "-", "\u2011": "-", "\u00ad": "", "\u200b": " ", "\u3000": " ", "\uff3f": " "}
    | {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F) if wide != 0xFF3F}
)
_NARROW = re.compile("[\uff65-\uff9f]+")  # narrow katakana, whose voice marks stand behind their letters
_JOINS = re.compile("[\u1160-\u11ff\uff9e\uff9f]")  # what composes with a letter before it without being a mark


def fold(text: str) -> str:
    """The text with every word in its one spelling (case is left alone)."""
    if text.isascii():
        return text.replace("_", " ")
    text = _NARROW.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return unicodedata.normalize("NFC", text).translate(_PLAIN)


def folded_with_places(text: str, *, lowercase: bool) -> tuple[str, Sequence[int], Sequence[int]]:
    """The folded text, and where in ``text`` each of its characters begins and ends."""
    if text.isascii():
        return fold(text.lower() if lowercase else text), range(len(text)), range(1, len(text) + 1)
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and (unicodedata.category(text[end])[0] == "M" or _JOINS.match(text[end])):
            end += 1
        cluster = text[start:end]
        piece = fold(cluster.lower() if lowercase else cluster)
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
        start = end
    joined = "".join(pieces)
    whole = fold(text.lower() if lowercase else text)  # differs where a letter depends on its place, as final sigma
    return whole if len(whole) == len(joined) else joined, starts, ends
