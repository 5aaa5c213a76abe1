"""The paper's findings, checked on the results at hand and said plainly, also where a data set disagrees."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from wordferry.reproduce.summary import Cells, Errors

CLOSE = 1.0
"""Points of error that count as no difference."""


@dataclass(frozen=True)
class Finding:
    """One claim, whether it holds on average, and where it does not."""

    claim: str
    holds: bool
    detail: str
    disagree: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def findings(cells: Cells, protocol: str) -> list[Finding]:
    """What can be said of the results; claims whose distances were not run are left out."""
    if protocol == "fair":
        return _fair(Errors(cells, "fair"))
    if protocol == "learned":
        learned = Errors(cells, "learned")
        said = [
            _behind(learned, "wmd", "learned wmd", "wmd is behind supervised wmd"),
            _behind(learned, "rel-rwmd", "learned rel-rwmd", "rel-rwmd is behind rel-rwmd with learned vectors"),
            _behind(learned, "learned wmd", "wme + svm", "supervised wmd is behind Word Mover's Embedding with an SVM"),
            _within(
                learned,
                "learned wme + svm",
                "learned wmd",
                "Word Mover's Embedding with learned vectors and an SVM is as good as supervised wmd",
            ),
            _behind(learned, "learned wmd", "tf-idf + svm", "supervised wmd is behind tf-idf with a linear SVM"),
        ]
        return [finding for finding in said if finding is not None]
    errors = Errors(cells, "paper")
    made = [
        _within(errors, "rel-rwmd cv", "rwmd", "rel-rwmd with r by cross-validation is as good as rwmd"),
        _within(errors, "rel-rwmd r=16", "rel-rwmd cv", "r = 16 without choosing is as good as cross-validation"),
        _behind(errors, "wcd", "rel-rwmd cv", "wcd is behind rel-rwmd"),
        _behind(errors, "cosine", "rel-rwmd cv", "cosine is behind rel-rwmd"),
        _within(errors, "rwmd", "wmd", "rwmd is as good as exact wmd"),
    ]
    return [finding for finding in [*made, *_triplets(cells)] if finding is not None]


def _triplets(cells: Cells) -> list[Finding]:
    """On each triplet set, whether the cheap distances fail more often than rel-rwmd, as in the paper."""
    errors: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell["protocol"] == "triplets":
            errors.setdefault(cell["dataset"], {})[cell["distance"]] = cell["closer"]["error"]
    made = []
    for dataset, found in errors.items():
        cheap = [name for name in ("cosine", "wcd") if name in found]
        if "rel-rwmd" in found and cheap:
            ahead = tuple(f"{name} {found[name]:.2f} %" for name in cheap if found[name] <= found["rel-rwmd"])
            detail = ", ".join(f"{name} {error:.2f} %" for name, error in found.items())
            claim = f"on the triplets of {dataset}, {' and '.join(cheap)} are behind rel-rwmd"
            made.append(Finding(claim, not ahead, detail, ahead))
    return made


def _fair(errors: Errors) -> list[Finding]:
    made = [
        _behind(errors, "bow-l1", "wmd", "plain counts with L1 are behind wmd"),
        _within(errors, "wmd", "tfidf-l1", "wmd without weights is as good as tf-idf with L1"),
        _behind(errors, "tfidf-l1", "wmd+tfidf", "tf-idf with L1 is behind wmd with tf-idf weights"),
        _within(errors, "rel-rwmd+tfidf", "wmd+tfidf", "rel-rwmd with tf-idf weights is as good as wmd with them"),
    ]
    return [finding for finding in made if finding is not None]


def _pairs(errors: Errors, first: str, second: str) -> dict[str, tuple[float, float]]:
    """Errors of both, on the sets that have both."""
    found = {}
    for dataset in errors.datasets:
        a, b = errors.mean(dataset, first), errors.mean(dataset, second)
        if a is not None and b is not None:
            found[dataset] = (a, b)
    return found


def _within(errors: Errors, first: str, second: str, claim: str) -> Finding | None:
    """On average, ``first`` is at most one point worse than ``second``."""
    pairs = _pairs(errors, first, second)
    if not pairs:
        return None
    gap = _mean([a - b for a, b in pairs.values()])
    worse = tuple(f"{d}: {a:.2f} against {b:.2f}" for d, (a, b) in pairs.items() if a - b > CLOSE)
    detail = (
        f"{first} {_mean([a for a, _ in pairs.values()]):.2f} %, {second} {_mean([b for _, b in pairs.values()]):.2f} %"
    )
    detail += f" over {len(pairs)} sets: {gap:+.2f} points (at most {CLOSE:+.1f} is asked)"
    return Finding(claim, gap <= CLOSE, detail, worse)


def _behind(errors: Errors, first: str, second: str, claim: str) -> Finding | None:
    """On average, ``first`` has the larger error."""
    pairs = _pairs(errors, first, second)
    if not pairs:
        return None
    gap = _mean([a - b for a, b in pairs.values()])
    ahead = tuple(f"{d}: {a:.2f} against {b:.2f}" for d, (a, b) in pairs.items() if a <= b)
    detail = (
        f"{first} {_mean([a for a, _ in pairs.values()]):.2f} %, {second} {_mean([b for _, b in pairs.values()]):.2f} %"
    )
    return Finding(claim, gap > 0, f"{detail} over {len(pairs)} sets: {gap:+.2f} points", ahead)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
