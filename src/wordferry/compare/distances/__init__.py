"""The distances: a file for each family, and their names.

To add one, write its file and put it into ``REGISTERED``; docs/howto/add-a-distance.md walks through it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from wordferry.base.checks import nearest_name
from wordferry.compare.distances.act import Act
from wordferry.compare.distances.baselines import BagL1, Cosine, TfIdfCosine, TfIdfL1
from wordferry.compare.distances.blends import Blend
from wordferry.compare.distances.centroid import CentroidDistance
from wordferry.compare.distances.related import RelatedRelaxed
from wordferry.compare.distances.relaxed import Relaxed
from wordferry.compare.distances.sinkhorn import Sinkhorn
from wordferry.compare.distances.transport import RelatedTransport, WordMoverTransport, WordRotator
from wordferry.compare.problem import Distance
from wordferry.errors import InputError

REGISTERED: tuple[Distance, ...] = (
    Cosine(),
    BagL1(),
    TfIdfL1(),
    TfIdfCosine(),
    CentroidDistance(),
    Relaxed(),
    RelatedRelaxed(),
    Act(),
    WordMoverTransport(),
    RelatedTransport(),
    WordRotator(),
    Sinkhorn(),
)

DISTANCES: dict[str, Distance] = {distance.name: distance for distance in REGISTERED}
SIDES = ("both", "left", "right")


def find_distance(name: str | Distance, **parameters: Any) -> Distance:
    """Look up a distance by its name.

    Parameters
    ----------
    name : a key of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``); a sum of several
        (``"rel-rwmd + 0.5*cosine"``, see :func:`blend`); or a distance object.
    parameters : parameters of the distance by keyword, in place of those in the name.

    Returns
    -------
    Distance
        The record of the distance; its ``name`` is one that this function reads. An unknown name is an
        :class:`~wordferry.errors.InputError` that lists the known ones.

    Examples
    --------
    >>> find_distance("act", transfers=5) == find_distance("act(transfers=5)")
    True
    """
    if isinstance(name, Distance):
        return _with_parameters(name, parameters)
    if isinstance(name, str) and name in DISTANCES:
        return _with_parameters(DISTANCES[name], parameters)
    if isinstance(name, str) and len(terms := _PLUS.split(name)) > 1:
        return blend(*map(_read_share, terms))
    if isinstance(name, str) and name.endswith(")") and "(" in name:
        plain, given = _read_call(name)
        return _with_parameters(find_distance(plain), given | parameters)
    meant = nearest_name(name, DISTANCES)
    raise InputError(f"Unknown distance {name!r}.{meant} Choose one of: {', '.join(DISTANCES)}.")


def blend(*parts: tuple[str | Distance, float]) -> Blend:
    """Make a distance that is a weighted sum of others; by name it is "rel-rwmd + 0.5*cosine".

    Parameters
    ----------
    parts : pairs of a distance (a name or an object) and its share, a number from 1e-6 to 1e6. All parts see the same
        words with the same weights, so the tf-idf distances cannot be among them.

    Returns
    -------
    Blend
        A distance, taken wherever the name of one is.

    Examples
    --------
    >>> blend(("rel-rwmd", 1), ("cosine", 0.5))
    rel-rwmd + 0.5*cosine
    """
    found = [(find_distance(name), share) for name, share in parts]
    if len({distance for distance, _ in found}) < len(found):
        raise InputError("A distance stands twice in a blend. Add up its shares.")
    return Blend.made(dict(found))


_PLUS = re.compile(r"(?<![0-9.][eE])\+")
"""The signs between the parts of a blend, but not that of an exponent: 1e+3*cosine."""


def _read_share(term: str) -> tuple[str, float]:
    """One term of a blend: ``0.5*cosine``, or ``cosine`` for a share of 1."""
    share, star, name = term.rpartition("*")
    try:
        return name.strip(), float(share) if star else 1.0
    except ValueError:
        raise InputError(f"Cannot read {term.strip()!r}. Write a blend as in 'rel-rwmd + 0.5*cosine'.") from None


_ARGUMENT = re.compile(r"""\s*(\w+)\s*=\s*("[^"]*"|'[^']*'|[^\s,()"'=]+)\s*(?:,\s*|$)""")
"""One parameter: its name, and its value in quotes or without; the next, if there is one, comes after a comma."""


def _read_call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of ``name(key=value, ...)``; values are numbers or words, quoted or not.

    Python's own parser is not asked: before 3.11.8 it fails where another thread uses it at the same time.
    """
    name, _, rest = text.partition("(")
    rest, at, given = rest.rpartition(")")[0].rstrip(), 0, {}
    while at < len(rest):
        found = _ARGUMENT.match(rest, at)
        if found is None or found[1] in given:
            raise InputError(f"Cannot read the parameters of {text!r}. Write them as in act(transfers=5).")
        given[found[1]] = _value(found[2])
        at = found.end()
    return name.strip(), given


def _value(text: str) -> Any:
    """What is in quotes, or a whole number, a number, a constant of Python, or a word."""
    if text[0] in "\"'":
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"None": None, "True": True, "False": False}.get(text, text)


def _with_parameters(distance: Distance, parameters: dict[str, Any]) -> Distance:
    wrong = [name for name in parameters if name not in distance.parameters]
    if wrong:
        known = ", ".join(distance.parameters) or "none"
        raise InputError(f"{distance.name} has no parameter {wrong[0]!r}; its parameters: {known}.")
    return replace(distance, **parameters) if parameters else distance


def find_overlap(record: Distance, overlap: str | None) -> str:
    """The overlap mode to use: the distance's default for None, "keep" where the option has no meaning."""
    if overlap is None:
        return record.overlaps[0] if record.overlaps else "keep"
    if not record.overlaps:
        raise InputError(f"overlap={overlap!r} has no meaning for {record.name}. Leave it out.")
    if overlap not in record.overlaps:
        raise InputError(
            f"overlap must be one of {', '.join(map(repr, record.overlaps))} for {record.name}; got {overlap!r}."
        )
    return overlap


def find_side(record: Distance, side: str) -> str:
    """Check ``side``; "left" and "right" belong to the relaxed distances only."""
    if side not in SIDES:
        raise InputError(f"side must be one of {', '.join(map(repr, SIDES))}; got {side!r}.")
    if side not in record.sides:
        sided = ", ".join(d.name for d in DISTANCES.values() if d.sided)
        raise InputError(f"side={side!r} has no meaning for {record.name}; one-sided values exist for {sided}.")
    return side
