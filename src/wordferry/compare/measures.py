"""The distances as records: what each is called, what it needs, and which options have a meaning for it."""

from __future__ import annotations

from dataclasses import dataclass

from wordferry.errors import InputError

SIDES = ("both", "left", "right")


@dataclass(frozen=True)
class Distance:
    """What is known of one distance."""

    name: str
    title: str
    needs_vectors: bool = False
    needs_related: bool = False
    overlaps: tuple[str, ...] = ()
    """Valid ``overlap=`` values, the default first; empty when the option has no meaning."""
    transport: bool = False
    """True when a value is the optimum of a transport problem."""
    transfers: bool = False
    """True when a value is a sum of constrained transfers (act)."""
    bound_of: str = ""
    """The distance that this one never exceeds, if there is one."""
    tfidf: bool = False
    """True when counts are weighted by inverse document frequencies first."""

    @property
    def sided(self) -> bool:
        """True when the distance is the larger of two one-sided values, so that ``side=`` has a meaning."""
        return bool(self.overlaps) and not self.by_pairs

    @property
    def by_pairs(self) -> bool:
        """True when values are computed pair by pair from word-to-word costs."""
        return self.transport or self.transfers


_RELAXED = ("omr", "keep", "residual")

DISTANCES: dict[str, Distance] = {
    d.name: d
    for d in (
        Distance("cosine", "Cosine of the bags of words"),
        Distance("bow-l1", "L1 distance of the bags of words"),
        Distance("tfidf-l1", "L1 distance of tf-idf weights", tfidf=True),
        Distance("tfidf-cosine", "Cosine of tf-idf weights", tfidf=True),
        Distance("wcd", "Word centroid distance", needs_vectors=True, bound_of="wmd"),
        Distance("rwmd", "Relaxed Word Mover's Distance", needs_vectors=True, overlaps=_RELAXED, bound_of="wmd"),
        Distance(
            "rel-rwmd",
            "Related relaxed Word Mover's Distance",
            needs_vectors=True,
            needs_related=True,
            overlaps=_RELAXED,
            bound_of="rel-wmd",
        ),
        Distance(
            "act",
            "Approximate Word Mover's Distance by constrained transfers",
            needs_vectors=True,
            overlaps=("omr", "residual"),
            transfers=True,
            bound_of="wmd",
        ),
        Distance(
            "wmd",
            "Word Mover's Distance",
            needs_vectors=True,
            overlaps=("residual", "keep", "omr"),
            transport=True,
        ),
        Distance(
            "rel-wmd",
            "Related Word Mover's Distance",
            needs_vectors=True,
            needs_related=True,
            overlaps=("residual", "keep"),
            transport=True,
        ),
    )
}


def find_distance(name: str | Distance) -> Distance:
    """The record of a name; a wrong name lists the right ones."""
    if isinstance(name, Distance):
        return name
    try:
        return DISTANCES[name]
    except (KeyError, TypeError):
        raise InputError(f"Unknown distance {name!r}. Choose one of: {', '.join(DISTANCES)}.") from None


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
    if side != "both" and not record.sided:
        sided = ", ".join(d.name for d in DISTANCES.values() if d.sided)
        raise InputError(f"side={side!r} has no meaning for {record.name}; one-sided values exist for {sided}.")
    return side
