"""Why two documents are as far apart as they are: which word went where, how much of it, and what that cost."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

from wordferry.base.checks import whole_number
from wordferry.base.frames import Tabular, columns_of
from wordferry.compare.moves import row_of
from wordferry.compare.problem import Problem
from wordferry.errors import InputError
from wordferry.explanations.marked import MarkedText, SentenceExplanation, SplitText, by_sentence
from wordferry.explanations.rows import Row, rows_of

_BAR, _LEAST_BAR = 20, 4
_NUMBERS = 47
"""Columns of a table beside words and bars."""
_COLUMNS = ("from", "to", "mass", "distance", "cost", "share", "kind")


@dataclass(frozen=True)
class Explanation(Tabular):
    """A distance taken apart: the costs of the rows sum to it. Rows are sorted by cost, the largest first."""

    name: str
    """The distance's name, e.g. "wmd"."""
    overlap: str
    """What happened to words in both documents; empty for distances without such an option."""
    side: str
    """The direction the rows show: "left" moves a's words onto b's, "right" b's onto a's, "both" has no direction."""
    distance: float
    rows: Sequence[Row]
    a: dict[str, float]
    """Words of the first document with their masses, in the order of the vocabulary."""
    b: dict[str, float]
    c_max: float
    """The cost of unrelated words (NaN for distances without related words)."""
    facts: dict[str, float] = field(default_factory=dict)
    """Figures that belong to the distance, by name: of sinkhorn a lower bound on wmd, the mass that scaling missed, and
    the rounds."""
    texts: tuple[Any, Any, Any] | None = field(default=None, compare=False, repr=False)
    """Both texts and the tokenizer that split them, for pages and sentences; None where matrices were compared."""

    def with_texts(self, a: Any, b: Any, tokenizer: Any = None) -> Explanation:
        """This explanation with the texts that were compared; ``tokenizer`` is the one that split them."""
        return replace(self, texts=(a, b, tokenizer))

    @cached_property
    def marked(self) -> tuple[MarkedText, MarkedText] | None:
        """Both texts and where their words stand; None where matrices were compared."""
        if self.texts is None:
            return None
        a, b, tokenizer = self.texts
        return MarkedText.of(a, tokenizer), MarkedText.of(b, tokenizer)

    @overload
    def told_by(self, by: Literal["word"]) -> Explanation: ...
    @overload
    def told_by(self, by: Literal["sentence"]) -> SentenceExplanation: ...
    def told_by(self, by: Literal["word", "sentence"]) -> Explanation | SentenceExplanation:
        """This explanation, or :meth:`by_sentence` of it."""
        if by not in ("word", "sentence"):
            raise InputError(f"by must be 'word' or 'sentence', got {by!r}.")
        return self if by == "word" else self.by_sentence()

    def by_sentence(self, split: tuple[SplitText, SplitText] | None = None) -> SentenceExplanation:
        """Which sentence of the first text went to which of the second, and with which words.

        ``split`` are the texts, where they were split into sentences before.

        >>> import wordferry
        >>> texts = "The cat sleeps. Prices fell.", "Costs dropped sharply. A kitten rests."
        >>> found = wordferry.explain(*texts).by_sentence()
        >>> [(pair.a, pair.b) for pair in found.pairs if pair.mass > 0.2]
        [('The cat sleeps.', 'A kitten rests.'), ('Prices fell.', 'Costs dropped sharply.')]
        """
        if self.texts is None:
            raise InputError("Sentences need texts, and matrices have none: explanation.with_texts(a, b) adds them.")
        a, b, tokenizer = self.texts
        return by_sentence(self, split or (SplitText.of(a, tokenizer), SplitText.of(b, tokenizer)))

    def to_rows(self) -> list[dict[str, Any]]:
        """One plain dict per row, with the keys from, to, mass, distance, cost, share and kind."""
        return [row.to_dict() for row in self.rows]

    def to_columns(self) -> dict[str, Any]:
        """The rows as columns; :meth:`to_pandas`, :meth:`to_polars` and :meth:`to_arrow` make tables of them."""
        return columns_of(self.to_rows(), _COLUMNS)

    def to_json(self, *, indent: int | None = None) -> str:
        """Everything as JSON."""
        data = {
            "name": self.name,
            "overlap": self.overlap,
            "side": self.side,
            "distance": self.distance,
            "c_max": None if math.isnan(self.c_max) else self.c_max,
            "a": self.a,
            "b": self.b,
            **({"facts": self.facts} if self.facts else {}),
            "rows": self.to_rows(),
        }
        return json.dumps(data, ensure_ascii=False, indent=indent)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, limit: int | None = 200) -> str:
        """A page that needs nothing beside itself: the texts, a flow diagram, the rows. Written to ``path`` if given.

        Of more than ``limit`` rows it shows those that cost most; None shows all.
        """
        from wordferry.explanations.html import page

        text = page(self, None if limit is None else whole_number(limit, "limit"))
        if path is not None:
            Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")  # half a pair of surrogates
        return text

    def __repr__(self) -> str:
        return f"Explanation({self.name} = {self.distance:.6f}, {len(self.rows)} rows)"

    def _repr_html_(self) -> str:
        """The page, as notebooks show it: in a frame of its own, so that neither's style touches the other."""
        from html import escape

        height = 320 + 30 * min(len(self.rows), 20)
        return f'<iframe srcdoc="{escape(self.to_html())}" style="width:100%;height:{height}px;border:0"></iframe>'

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None, limit: int | None = 60) -> Any:
        """A matplotlib figure with the flows and a heat map of the costs; saved to ``path`` if given.

        With ``ax`` the flows alone are drawn on these axes, and the axes come back. Of more than ``limit`` rows it
        shows those that cost most; None shows all.
        """
        from wordferry.explanations.plot import figure, flows_on

        shown = self if limit is None else replace(self, rows=self.rows[: whole_number(limit, "limit")])
        if ax is not None:
            if path is not None:
                raise InputError("With ax= the figure is yours: save it yourself, and leave path out.")
            return flows_on(shown, ax)
        drawn = figure(shown)
        if path is not None:
            drawn.savefig(path, dpi=150)
        return drawn

    def to_text(self, *, limit: int | None = None, width: int | None = None) -> str:
        """A table with bars, in plain characters; within ``width`` columns the bars are shorter."""
        return table(self, limit, width)

    def __str__(self) -> str:
        return self.to_text()


def explanation_of(problem: Problem) -> Explanation:
    """The distance of the only two documents of a problem, taken apart by the distance itself."""
    if 0 in problem.shape or len(problem.x.empty) or len(problem.y.empty):
        raise InputError("Both documents need at least one word to be explained.")
    names = problem.frame.names()
    if not "".join(names).isascii():
        names = list(map(_written, names))
    found = problem.distance.moves(problem)
    rows = rows_of(found, names)
    both = (row_of(bags) for bags in (problem.x, problem.y))
    a, b = (dict(zip(map(names.__getitem__, words.tolist()), masses.tolist(), strict=True)) for words, masses in both)
    priced = problem.frame.graph is not None or problem.frame.unknown is not None
    c_max = problem.frame.far if priced else math.nan
    mode = problem.overlap if problem.distance.overlaps else ""
    return Explanation(problem.distance.name, mode, found.side, found.total + 0.0, rows, a, b, c_max, found.facts)


def table(explanation: Explanation, limit: int | None = None, width: int | None = None) -> str:
    """The rows as aligned columns with a bar for each share; bars that have no room are left out."""
    rows = explanation.rows if limit is None else explanation.rows[:limit]
    lines = [f"{explanation.name} = {explanation.distance:.6f}" + _direction(explanation)]
    if explanation.facts:
        lines.append(", ".join(f"{name.replace('_', ' ')} {value:.6g}" for name, value in explanation.facts.items()))
    if not rows:
        return "\n".join(lines)
    words = [[row.source or "-" for row in rows], [row.target or "-" for row in rows]]
    widths = [max(least, *map(len, some)) for some, least in zip(words, (4, 2), strict=True)]
    spare = _BAR if width is None else width - sum(widths) - _NUMBERS
    if spare < 0:  # then long words are cut
        widths = [min(one, max(8, (sum(widths) + spare) // 2)) for one in widths]
    bars = min(spare, _BAR) if spare >= _LEAST_BAR else 0
    left, right = widths
    lines.append(f"{'from':<{left}}  {'to':<{right}}    mass  distance     cost   share")
    for row, source, target in zip(rows, *words, strict=True):
        bar = "#" * round(bars * max(0.0, min(1.0, row.share)))
        cells = f"{_cut(source, left):<{left}}  {_cut(target, right):<{right}}  {row.mass:6.4f}  {row.distance:8.4f}"
        lines.append(f"{cells}  {row.cost:7.4f}  {row.share:6.1%}  {bar:<{bars}} {row.kind}".rstrip())
    if len(rows) < len(explanation.rows):
        rest = explanation.rows[len(rows) :]
        lines.append(f"... {len(rest)} more rows with {math.fsum(row.cost for row in rest):.4f} of the cost")
    return "\n".join(lines)


def _cut(word: str, width: int) -> str:
    return word if len(word) <= width else word[: width - 1] + "…"


def _direction(explanation: Explanation) -> str:
    return {"left": "  (a's words onto b's)", "right": "  (b's words onto a's)"}.get(explanation.side, "")


def _written(word: str) -> str:
    """A word that can be written to any file: half a pair of surrogates, which no file takes, as its number."""
    return word if word.isascii() else word.encode("utf-8", "backslashreplace").decode("utf-8")
