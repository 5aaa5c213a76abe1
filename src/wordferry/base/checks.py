"""Checks of single values that callers pass."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from wordferry.errors import InputError


def nearest_name(given: Any, names: Iterable[str]) -> str:
    """ " Did you mean ...?" for a name that is spelled almost like a known one; "" where none is near.

    >>> nearest_name("Rel_RWMD", ["wmd", "rel-rwmd"])
    " Did you mean 'rel-rwmd'?"
    """
    from difflib import get_close_matches

    plain = str(given).strip().casefold().replace("_", "-").replace(" ", "-")
    known = {name.casefold(): name for name in names}
    near = [plain] if plain in known else get_close_matches(plain, known, n=1, cutoff=0.75)
    return f" Did you mean {known[near[0]]!r}?" if near else ""


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


def real_number(
    value: Any, name: str, least: float = 0, most: float = math.inf, *, what: str = "a number", open_ends: bool = False
) -> float:
    """A number from ``least`` to ``most`` (between them with ``open_ends``), of Python or of NumPy, but no bool.

    ``what`` says what it is, for the error.

    >>> real_number(0.5, "threshold", what="a distance")
    0.5
    """
    allowed = f"from {least:g} to {most:g}" if most < math.inf else f"of at least {least:g}"
    if open_ends:
        allowed = f"between {least:g} and {most:g}" if most < math.inf else f"greater than {least:g}"
    fits = isinstance(value, Real) and not isinstance(value, bool)
    if not fits or not (least < value < most if open_ends else least <= value <= most):
        raise InputError(f"{name} must be {what} {allowed}, got {value!r}.")
    return float(value)
