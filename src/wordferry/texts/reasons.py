"""Why a text has no word that can be searched for or compared, in the words of whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wordferry.errors import EmptyDocumentError

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_SHOWN = 8


def no_word(text: str | Sequence[str], what: str) -> EmptyDocumentError:
    """Why a text gave no token at all; ``what`` is how its sender knows it."""
    spoken = WORD.findall(text) if isinstance(text, str) else list(text)
    if not spoken:
        return EmptyDocumentError(f"{what} has no words.")
    return EmptyDocumentError(
        f"{what} has only words that are left out because nearly every text has them ({_listed(spoken)}). "
        "Add a word that says what it is about."
    )


def no_known_word(unknown: Sequence[str], what: str) -> EmptyDocumentError:
    """The error for a text whose words have no vectors."""
    return EmptyDocumentError(
        f"{what} has no known word: this index has no vector for {_listed(unknown)}. Use other words."
    )


def _listed(words: Sequence[str]) -> str:
    different = list(dict.fromkeys(words))
    return ", ".join(different[:_SHOWN]) + (", ..." if len(different) > _SHOWN else "")
