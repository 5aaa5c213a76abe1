"""Checks of single values that callers pass."""

from __future__ import annotations

from typing import Any

from wordferry.errors import InputError


def whole_number(
    value: Any, name: str, least: int = 1, *, most: int | None = None, of: str = "", advice: str = ""
) -> int:
    """A whole number from ``least`` to ``most``: an int of Python or of NumPy, but no bool and no float.

    ``of`` says what it counts, ``advice`` what to do instead; both are for the error.

    >>> whole_number(3, "k")
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        counted = f" of {of}" if of else ""
        raise InputError(f"{name} must be a whole number{counted}, at least {least}; got {value!r}.")
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value}.{advice and ' ' + advice}")
    if most is not None and value > most:
        raise InputError(f"{name} must be at most {most}, got {value}.{advice and ' ' + advice}")
    return int(value)
