"""Where words begin and end in any script: the default word boundaries of Unicode (UAX #29), in one regular expression.

Letters and digits go together, a point or an apostrophe between two letters and a point or a comma between two digits
belong to the word ("example.com", "don't", "1,000.5"), marks belong to the letter before them, katakana go together,
and every Han or hiragana letter is a word of its own. Three things are done otherwise. Scripts whose words only a
dictionary can find (Thai, Lao, Khmer, Burmese) are left in runs instead of single letters; an underscore separates; and
an emoji, with all that is joined to it, is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

_LAST = 0x20000
"""Beyond this there are Han letters only."""
_HAN = ((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
_HAN_BEYOND = ((0x20000, 0x323AF),)
_HIRAGANA = ((0x3041, 0x3096), (0x309D, 0x309F), (0x1B001, 0x1B11F), (0x1B150, 0x1B152))
_KATAKANA = ((0x3031, 0x3035), (0x309B, 0x309C), (0x30A0, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D))
_RUNS = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAD), (0xA9E0, 0xA9FF),
    (0xAA60, 0xAADF),
)  # fmt: skip
"""Thai and Lao, Burmese, Khmer, Tai Le and New Tai Lue, Tai Tham, Tai Viet."""
_EMOJI = (
    (0x231A, 0x231B), (0x23E9, 0x23FA), (0x25FD, 0x25FE), (0x2600, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B55),
    (0x1F000, 0x1F1E5), (0x1F200, 0x1F3FA), (0x1F400, 0x1FAFF),
)  # fmt: skip
_FLAGS = (0x1F1E6, 0x1F1FF)
_SKIN = (0x1F3FB, 0x1F3FF)
_HEBREW = "\u05d0-\u05ea"
_BETWEEN_LETTERS = ".'\u2018\u2019:\u00b7\u0387\u055f\u05f4\u2027\u2024\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_BETWEEN_DIGITS = ".'\u2018\u2019,;\u037e\u0589\u060c\u060d\u066c\u07f8"
_BETWEEN_DIGITS += "\u2024\u2044\ufe10\ufe14\ufe50\ufe52\ufe54\uff07\uff0c\uff0e\uff1b"

Range = tuple[int, int]


_ASCII = re.compile(r"(?:[A-Za-z]+(?:[.':](?=[A-Za-z]))?|[0-9]+(?:[.',;](?=[0-9]))?)+")


def unicode_words(text: str) -> list[str]:
    """The words of a text (without underscores), in order."""
    return _ASCII.findall(text) if text.isascii() else word_pattern().findall(text)


@cache
def word_pattern() -> re.Pattern[str]:
    """The words of a text, none of them empty; what stands between them has neither a letter nor a digit."""
    letters, digits, marks, others = _classes()
    mark = f"[{marks}]*"
    middle_letters, middle_digits = (re.escape(some) for some in (_BETWEEN_LETTERS, _BETWEEN_DIGITS))
    quoted = f'(?<=[{_HEBREW}])"(?=[{_HEBREW}])'
    of_letters = f"[{letters}][{letters}{marks}]*(?:[{middle_letters}]{mark}(?=[{letters}])|{quoted})?"
    of_digits = f"[{digits}][{digits}{marks}]*(?:[{middle_digits}]{mark}(?=[{digits}]))?"
    katakana, runs, single = _written(_KATAKANA), _written(_RUNS), _written(_HAN + _HAN_BEYOND + _HIRAGANA)
    emoji, skin, flag = _written(_EMOJI), _written([_SKIN]), _written([_FLAGS])
    picture = f"[{emoji}][{marks}{skin}]*(?:(?<=\u200d)[{emoji}][{marks}{skin}]*)*"
    return re.compile(
        f"(?:{of_letters}|{of_digits})+"
        f"|[{katakana}][{katakana}{marks}]*"
        f"|[{runs}]+"
        f"|[{single}{others}]{mark}"
        f"|[{flag}]{{2}}"
        f"|{picture}"
    )


def _classes() -> tuple[str, str, str, str]:
    """Letters that go together, digits, marks and other numbers, each as the inside of a class of an expression."""
    apart = [*_HAN, *_HIRAGANA, *_KATAKANA, *_RUNS, *_EMOJI]
    inside = bytearray(_LAST)
    for low, high in apart:
        inside[low : high + 1] = b"\1" * (high + 1 - low)
    letters, digits, marks, others = [], [], [0x200D, 0xFF9E, 0xFF9F], []
    for code in range(0x21, _LAST):
        category = unicodedata.category(chr(code))
        if category[0] == "M" or (category == "Cf" and code not in (0x200B, 0x200D)):
            marks.append(code)
        elif category == "Nd":
            digits.append(code)
        elif category == "No":
            others.append(code)
        elif (category[0] == "L" or category == "Nl" or 0x24B6 <= code <= 0x24E9) and not inside[code]:
            letters.append(code)
    kinds = (letters, digits, sorted(marks), others)
    written = [_written(_ranges(kind)) for kind in kinds]
    return written[0], written[1], written[2], written[3]


def _ranges(codes: Iterable[int]) -> Iterator[Range]:
    low = high = -2
    for code in codes:
        if code != high + 1:
            if low >= 0:
                yield low, high
            low = code
        high = code
    if low >= 0:
        yield low, high


def _written(ranges: Iterable[Range]) -> str:
    return "".join(
        re.escape(chr(low)) if low == high else f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges
    )
