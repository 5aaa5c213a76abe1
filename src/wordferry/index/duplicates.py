"""Near-duplicates: pairs and groups, why each pair is close, and a list that a person can review before deleting."""

from __future__ import annotations

import csv
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from wordferry.base.checks import real_number
from wordferry.base.frames import COLOUR, TableRows, columns_of, drawn_on
from wordferry.base.runtime import ShowProgress
from wordferry.errors import FormatError, InputError, NotFound
from wordferry.index.config import RECOMMENDED
from wordferry.index.results import Document
from wordferry.texts.bow import OnEmpty
from wordferry.texts.stop_marks import is_marked, marked_words, negations_of, unmarked

Text = str | Sequence[str]
REVIEW = ("group", "action", "id", "distance", "kind", "reason", "checksum", "text")
"""Columns of a list for review."""
_SHOWN = 6
LEAST = 0.001
"""Documents that differ in any word, a stop word or not, are at least this far apart."""
THRESHOLD = 0.6
"""The largest distance of near-copies by the default distance: ``benchmarks/near_copies.py`` says what it finds."""
_FEW, _SHARE = 3, 0.1
"""The most words in which opposites differ, the negation included: a number, or a share of the longer text."""


@dataclass(frozen=True)
class Pair:
    """Two documents that are close to each other; ``first`` was added before ``second``."""

    first: str
    second: str
    distance: float
    exact: bool = False
    """True when the texts are the same, letter by letter."""
    opposite: bool = False
    """True when a negation is the difference and hardly anything else: such a pair joins no group."""


@dataclass(frozen=True)
class Reason:
    """What two close documents do not share."""

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    common: int
    """How many words both have."""
    stop: tuple[str, ...] = ()
    """Stop words that only one of them has, which weigh nothing in the distance."""
    reordered: bool = False
    """True when the words are the same in another order."""

    @classmethod
    def of(cls, first: Sequence[str], second: Sequence[str]) -> Reason:
        """From the words of both, where stop words are marked."""
        one, other = Counter(first), Counter(second)
        apart = list(one - other), list(other - one)
        only = [tuple(word for word in words if not is_marked(word)) for words in apart]
        stop = tuple(unmarked(word for words in apart for word in words if is_marked(word)))
        return cls(only[0], only[1], sum((one & other).values()), stop, one == other and list(first) != list(second))

    def __str__(self) -> str:
        named = {
            "only in the first": self.only_first,
            "only in the second": self.only_second,
            "also differs in" if self.only_first or self.only_second else "differs in": self.stop,
        }
        if not any(named.values()):
            return f"the same {self.common} words{' in another order' if self.reordered else ''}"
        parts = [
            f"{name}: {', '.join(words[:_SHOWN])}" + (f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else "")
            for name, words in named.items()
            if words
        ]
        return f"{'; '.join(parts)} ({self.common} words in common)"


@dataclass(frozen=True)
class Group:
    """Documents that hang together through close pairs."""

    representative: str
    """The document that was added first: the one to keep."""
    others: tuple[str, ...]
    copies: frozenset[str]
    """Those of the others whose text is that of the representative, letter by letter."""

    def __len__(self) -> int:
        return 1 + len(self.others)


class Duplicates(TableRows[Pair]):
    """Close pairs of documents, nearest first, and the groups that they form."""

    def __init__(
        self,
        pairs: Iterable[Pair] = (),
        *,
        threshold: float = 0.0,
        order: Mapping[str, int] | None = None,
        words: Callable[[Pair], Sequence[Sequence[str]]] | None = None,
        text: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(pairs)
        self.threshold = threshold
        """Pairs at most this far apart were sought."""
        self._order, self._words, self._text = order or {}, words, text

    def __repr__(self) -> str:
        copies = sum(pair.exact for pair in self)
        return f"Duplicates({len(self)} pairs at most {self.threshold:g} apart, {copies} of them exact copies)"

    def plot(self, ax: Any = None) -> Any:
        """How many pairs are how far apart; on ``ax``, or on a figure that a notebook shows."""
        axes, result = drawn_on(ax, 7.0, 3.0)
        axes.hist([pair.distance for pair in self], bins=40, range=(0.0, self.threshold or 1.0), color=COLOUR)
        axes.set_xlabel("distance")
        axes.set_ylabel("pairs")
        axes.yaxis.get_major_locator().set_params(integer=True)
        return result

    def to_columns(self) -> dict[str, Any]:
        """One row per pair: the ids of its documents, their distance, whether they are equal, and whether opposite."""
        rows = [vars(pair) for pair in self]
        return columns_of(rows, ("first", "second", "distance", "exact", "opposite"))

    @classmethod
    def judged(
        cls,
        found: Iterable[tuple[str, str, float]],
        texts: tuple[Mapping[str, Text], Mapping[str, Text]],
        tokenizer: Any,
        threshold: float,
        order: Mapping[str, int] | None = None,
    ) -> Duplicates:
        """Pairs of ids with their distance, judged by the texts of the first and of the second documents.

        ``order`` tells which document was added before which. Pairs at one distance stay in their order.
        """
        words, (first, second) = PairWords(tokenizer), texts
        judged = [words.judged(Pair(*one), first[one[0]], second[one[1]]) for one in found]
        return cls(
            sorted((pair for pair in judged if pair.distance <= threshold), key=lambda pair: pair.distance),
            threshold=threshold,
            order=order,
            words=lambda pair: words.both(first[pair.first], second[pair.second]),
            text=lambda id: written(first[id] if id in first else second[id]),
        )

    def _of(self, pairs: Iterable[Pair], threshold: float) -> Duplicates:
        return Duplicates(pairs, threshold=threshold, order=self._order, words=self._words, text=self._text)

    def rethreshold(self, threshold: float) -> Duplicates:
        """The pairs within a smaller threshold; nothing is computed again."""
        threshold = real_number(threshold, "threshold", what="a distance")
        if threshold > self.threshold:
            raise InputError(
                f"These pairs were sought up to a distance of {self.threshold:g}; for {threshold:g} they must be "
                "sought again."
            )
        return self._of((pair for pair in self if pair.distance <= threshold), threshold)

    @property
    def copies(self) -> Duplicates:
        """The pairs whose texts are the same, letter by letter."""
        return self._of((pair for pair in self if pair.exact), self.threshold)

    @property
    def near(self) -> Duplicates:
        """The pairs whose texts differ."""
        return self._of((pair for pair in self if not pair.exact), self.threshold)

    def review(self, limit: int | None = None) -> list[Pair]:
        """The pairs that are least alike first: where a threshold goes wrong, it goes wrong here."""
        return list(reversed(self.near))[:limit]

    def reason(self, pair: Pair) -> Reason:
        """The words that one document of a pair has and the other has not."""
        if self._words is None:
            raise InputError("These pairs have lost their texts; ask the index for them again.")
        return Reason.of(*self._words(pair))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Documents joined by pairs, nearest first, the largest group first; each document is in at most one.

        No group has two documents that are opposites, whatever joins them.
        """
        members: dict[str, set[str]] = {}
        opposites: dict[str, set[str]] = {}
        for pair in self:
            for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
                if pair.opposite:
                    opposites.setdefault(one, set()).add(other)
                else:
                    members.setdefault(one, {one})
        for pair in self:
            if pair.opposite or members[pair.first] is members[pair.second]:
                continue
            small, large = sorted((members[pair.first], members[pair.second]), key=len)
            if any(opposites.get(one, set()) & large for one in small):
                continue
            large |= small
            members |= dict.fromkeys(small, large)
        place = self._order
        equal = {frozenset((pair.first, pair.second)) for pair in self if pair.exact}
        found = []
        for ids in {id(some): some for some in members.values() if len(some) > 1}.values():
            first, *others = sorted(ids, key=lambda id: place.get(id, 0))
            copies = frozenset(id for id in others if frozenset((first, id)) in equal)
            found.append(Group(first, tuple(others), copies))
        return tuple(sorted(found, key=lambda group: (-len(group), place.get(group.representative, 0))))

    @property
    def extras(self) -> list[str]:
        """All documents but one of each group: what can go."""
        return [id for group in self.groups for id in group.others]

    def rows(self) -> list[dict[str, Any]]:
        """One row per document of each group, for review: what would be done with it, and why."""
        if self._text is None:
            raise InputError("These pairs have lost their texts; ask the index for them again.")
        nearest: dict[str, Pair] = {}
        for pair in self:
            for id in () if pair.opposite else (pair.first, pair.second):
                nearest.setdefault(id, pair)
        rows = []
        for number, group in enumerate(self.groups, start=1):
            for id in (group.representative, *group.others):
                pair, text = nearest[id], self._text(id)
                kept = id == group.representative
                kind = "kept" if kept else "copy" if id in group.copies else "near"
                rows.append(
                    {
                        "group": number,
                        "action": "keep" if kept else "delete",
                        "id": id,
                        "distance": round(pair.distance, 6),
                        "kind": kind,
                        "reason": "" if kept else str(self.reason(pair)),
                        "checksum": checksum(text),
                        "text": text,
                    }
                )
        return rows

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """A list for review; edit its column ``action`` (keep or delete), then hand it to :meth:`Index.prune`."""
        with open(path, "w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, REVIEW)
            writer.writeheader()
            writer.writerows(self.rows())


def checked_threshold(threshold: float | None, distance: str) -> float:
    """The threshold of a call, or the default one, which belongs to the default distance."""
    if threshold is not None:
        return real_number(threshold, "threshold", what="a distance")
    if distance != RECOMMENDED:
        raise InputError(
            f"There is no default threshold for {distance}: give the largest distance of a pair, e.g. 0.3, or compare "
            f"by {RECOMMENDED!r}, whose threshold is {THRESHOLD:g}."
        )
    return THRESHOLD


class PairWords:
    """The words of documents that are near each other, each text split once, and the judgement of their pairs."""

    def __init__(self, tokenizer: Any) -> None:
        self._negations = negations_of(tokenizer)
        self.of = cache(lambda text: marked_words(text, tokenizer))
        """All words of a text, or of a tuple of tokens, where stop words are marked."""

    def judged(self, pair: Pair, first: Text, second: Text) -> Pair:
        """A pair, given both texts: whether they are equal letter by letter.

        Where any word differs, a stop word or not, its distance is above 0; it is an opposite where only one text has a
        negation and they differ in hardly anything else.
        """
        if written(first) == written(second):
            return replace(pair, exact=True)
        one, other = map(Counter, self.both(first, second))
        apart = (one - other) + (other - one)
        most = max(_FEW, _SHARE * max(one.total(), other.total()))
        few = sum(count for word, count in apart.items() if not is_marked(word)) <= most
        turned = sum(one[word] - other[word] for word in apart if word in self._negations) != 0
        return replace(pair, distance=max(pair.distance, LEAST) if apart else pair.distance, opposite=few and turned)

    def both(self, *texts: Text) -> tuple[Sequence[str], ...]:
        """The words of two texts."""
        return tuple(self.of(text if isinstance(text, str) else tuple(text)) for text in texts)


def written(text: Text) -> str:
    """A text as people read it: tokens with a blank between two."""
    return text if isinstance(text, str) else " ".join(text)


def checksum(text: str) -> str:
    """A short digest of a text, so that a document which has changed since the review is noticed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Reviewed:
    """One line of a list that a person has looked at."""

    id: str
    action: str
    checksum: str
    line: int

    def check(self, found: Document | None, review: Any, folder: Path) -> None:
        """Refuse to go on when the document is no longer the one that was looked at."""
        if found is None:
            raise NotFound(f"{review}, line {self.line}: {self.id!r} is no longer in {folder}.")
        if checksum(written(found.text)) != self.checksum:
            raise InputError(f"{review}, line {self.line}: {self.id!r} has changed since the review. Review again.")


def read_review(path: str | os.PathLike[str]) -> list[Reviewed]:
    """The lines of a reviewed list; a group of which nothing is kept is refused."""
    actions: dict[str, set[str]] = {}
    found = []
    with open(path, encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        missing = {"group", "action", "id", "checksum"} - set(reader.fieldnames or ())
        if missing:
            raise FormatError(f"{path}: expected a list made by 'wordferry duplicates'; {min(missing)!r} is missing.")
        for line, row in enumerate(reader, start=2):
            action = (row["action"] or "").strip().lower()
            if action not in ("keep", "delete"):
                raise FormatError(f"{path}, line {line}: the action must be keep or delete, got {row['action']!r}.")
            actions.setdefault(row["group"], set()).add(action)
            found.append(Reviewed(row["id"], action, row["checksum"], line))
    empty = [group for group, own in actions.items() if "keep" not in own]
    if empty:
        raise FormatError(f"{path}: nothing of group {empty[0]} would be kept. Mark one of its documents with keep.")
    return found


def duplicates(
    documents: Any,
    threshold: float | None = None,
    *,
    distance: str | None = None,
    text: str | Iterable[str] = "text",
    id: str = "id",
    on_empty: OnEmpty = "error",
    language: str | None = None,
    embeddings: Any = None,
    threads: int | None = None,
    progress: ShowProgress = None,
) -> Duplicates:
    """Pairs of texts that are nearly the same, nearest first, as :meth:`Index.duplicates` finds them.

    Parameters
    ----------
    documents : what :meth:`Index.add` takes: texts, token lists, mappings, records, or a table of any library.
    threshold : the largest distance of a pair; None is the default of :meth:`Index.duplicates`.
    distance : a name of ``wordferry.DISTANCES``; None is the default of :meth:`Index.duplicates`.
    text, id : the columns (or keys) that hold these; documents without an id are doc-1, doc-2 and so on.
    on_empty : documents without any word, None and NaN among them: "error", or "drop" and "keep", which are no pairs.
    language : the language of the texts; None is English.
    embeddings : word vectors, their path or name; None means the default ones.
    threads : the number of threads; None is all that ``WORDFERRY_THREADS`` allows.
    progress : True for a bar, or a callable that is told how much of how much is done.

    Returns
    -------
    Duplicates
        A table of pairs, with the ``groups`` that they form and the ``reason`` of a pair.

    Examples
    --------
    >>> found = duplicates(["The cat sleeps.", "Stocks fell.", "the cat sleeps"], 0.3)
    >>> [(pair.first, pair.second) for pair in found]
    [('doc-1', 'doc-3')]
    """
    from wordferry.index.index import Index

    with Index.create(language=language, embeddings=embeddings) as index:
        index.add(documents, text=text, id=id, on_empty=on_empty, threads=threads)
        return index.duplicates(threshold, distance=distance, threads=threads, progress=progress)
