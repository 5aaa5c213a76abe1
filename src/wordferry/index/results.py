"""What comes out of an index: documents, and hits of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Literal, overload

from wordferry.base.frames import TableRow, TableRows, bars, columns_of
from wordferry.errors import InputError
from wordferry.texts.tokenizers import KeptText

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation
    from wordferry.explanations.marked import SentenceExplanation
    from wordferry.find.explaining import ScoreExplanation
    from wordferry.index.search.passages import Passage

_SHOWN = 3
"""Hits that a short form of a list names."""
Scalar = str | int | float | bool | None
Why = Callable[[], "Explanation | ScoreExplanation"]
"""Explains a hit when it is asked to."""
_short = Repr()
_short.maxlevel, _short.maxstring, _short.maxother, _short.maxlong = 2, 80, 80, 40


def shown(value: Any) -> str:
    """A value as an error names it: short, however large or deep it is."""
    return _short.repr(value)


@dataclass(frozen=True, repr=False)
class Document:
    """One document of an index."""

    id: str
    text: str | tuple[str, ...]
    """The text, or its tokens when it was given as tokens."""
    metadata: Mapping[str, Scalar | list[Scalar]] = field(default_factory=dict)
    label: str | None = None

    @property
    def tokens(self) -> tuple[str, ...] | None:
        """The tokens that were given, with a text or without; None where the text is split by the index's tokenizer."""
        return (
            self.text.tokens if isinstance(self.text, KeptText) else None if isinstance(self.text, str) else self.text
        )

    def __repr__(self) -> str:
        """Short, however long the text is."""
        extra = "" if self.label is None else f", label={self.label!r}"
        return f"{type(self).__name__}({self.id!r}, {shown(self.text)}{extra}{self._found()})"

    def _found(self) -> str:
        return ""


@dataclass(frozen=True, repr=False)
class Hit(Document, TableRow):
    """A document that was found: by words it has a score, by comparing texts a distance."""

    distance: float | None = None
    """How far the document is from the query; None when it was found by words."""
    score: float | None = None
    """How well the query's words fit; None when it was found by a distance."""
    explanation: Explanation | ScoreExplanation | None = None
    """With ``explain=True``: what :meth:`explain` gives."""
    why: Why | None = field(default=None, repr=False, compare=False)
    where: Callable[[int, str], list[Passage]] | None = field(default=None, repr=False, compare=False)

    def _found(self) -> str:
        name, value = ("distance", self.distance) if self.score is None else ("score", self.score)
        return "" if value is None else f", {name}={value:.4f}"

    def to_row(self) -> dict[str, Any]:
        """Id, distance or score, label, text, and the metadata's fields.

        Of tokens the text has a blank between two. A field called like one of those is ``metadata_`` and its name.
        """
        name, value = ("distance", self.distance) if self.score is None else ("score", self.score)
        text = self.text if isinstance(self.text, str) else " ".join(self.text)
        own = {"id": self.id, name: value, "label": self.label, "text": text}
        return own | {f"metadata_{key}" if key in own or key == "rank" else key: v for key, v in self.metadata.items()}

    @overload
    def explain(self, by: Literal["word"] = "word") -> Explanation | ScoreExplanation | None: ...
    @overload
    def explain(self, by: Literal["sentence"]) -> SentenceExplanation | None: ...
    def explain(
        self, by: Literal["word", "sentence"] = "word"
    ) -> Explanation | ScoreExplanation | SentenceExplanation | None:
        """What the score or the distance is made of: parts that sum to it.

        A score's are the words of the query with the forms found, and the neighbours; a distance's are the moves of
        words, or with ``by="sentence"`` from which sentence of the query to which of the document they went. None for
        a document without a word that has a vector, which no distance reaches.
        """
        told = self.why() if self.explanation is None and self.why is not None else self.explanation
        if by == "word" or told is None:
            return told
        from wordferry.explanations.explain import Explanation

        if not isinstance(told, Explanation):
            raise InputError("A score is made of words. by='sentence' is for hits of similar, which have a distance.")
        return told.told_by(by)

    def passages(self, count: int = 1, distance: str = "rel-rwmd") -> list[Passage]:
        """The passages of the document nearest to the query: their text, and which word of the query moved where.

        They are chosen by what it costs to move the query's words onto theirs; ``distance`` is the one explained.
        """
        return [] if self.where is None else self.where(count, distance)


class Hits(TableRows[Hit]):
    """The hits of one query, best or nearest first; ties go to the document that was added first.

    ``exact`` is False only for a two-stage search (``rerank=``), which may miss a true neighbour that the first stage
    did not find. ``method`` says in words what was done, ``counts`` how much: "pairs" that could have been compared,
    documents "evaluated" in full, entries of inverted lists ("postings") that were visited; of a list of queries, the
    sums over all of them. ``missing`` names shards that gave no answer, where an index is in shards. ``error`` is why
    one of several queries could not be answered: it has no words to compare.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        method: str = "",
        exact: bool = True,
        counts: Mapping[str, int] | None = None,
        missing: Sequence[str] = (),
        error: Exception | None = None,
    ) -> None:
        super().__init__(hits)
        self.error = error
        self.method = method
        self.exact = exact
        self.counts = dict(counts or {})
        self.missing = tuple(missing)

    def __repr__(self) -> str:
        """The best few by id and value; the texts are in the hits themselves."""
        values = [one.distance if one.score is None else one.score for one in self[:_SHOWN]]
        best = ", ".join(f"{one.id} {value:.3f}" for one, value in zip(self, values, strict=False))
        return f"Hits({len(self)}: {best}{', ...' if len(self) > _SHOWN else ''})"

    def plot(self, ax: Any = None) -> Any:
        """A bar for each hit, as long as its score or distance; on ``ax``, or on a figure that a notebook shows."""
        scored = [one.score is not None for one in self]
        values = [(one.score if has else one.distance) or 0.0 for one, has in zip(self, scored, strict=True)]
        return bars([one.id for one in self], values, ax=ax, label="score" if any(scored) else "distance")

    def to_columns(self) -> dict[str, Any]:
        """One row per hit: its rank and the columns of :meth:`Hit.to_row`."""
        value = "score" if self.method.startswith("words") else "distance"
        rows = [{"rank": rank} | hit.to_row() for rank, hit in enumerate(self, start=1)]
        fields = dict.fromkeys(key for row in rows for key in row)
        return columns_of(rows, dict.fromkeys(("rank", "id", value, "label", "text", *fields)))
