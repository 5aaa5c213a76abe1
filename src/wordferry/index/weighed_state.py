"""What words weigh in one state of an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.errors import InputError
from wordferry.index import baselines
from wordferry.index.scale import Asked, Scale
from wordferry.index.segments import Bags
from wordferry.index.snapshot import Part
from wordferry.index.sums import Sums
from wordferry.index.weighed_centroids import WeighedCentroids
from wordferry.index.weighed_short import Weighed
from wordferry.texts.bow import Encoded, LookedUp, check_unknown
from wordferry.texts.weights import WEIGHTS, Weighting
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.typical import typical_distance


@dataclass(frozen=True)
class Weighing:
    """What words count for, and whether those without a vector count."""

    weights: str
    unknown: str

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise InputError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}; got {self.weights!r}.")
        check_unknown(self.unknown)

    @property
    def plain(self) -> bool:
        """Whether documents can be compared as their files hold them."""
        return self.weights == "counts" and self.unknown == "drop"

    @property
    def keeps(self) -> bool:
        """Whether words without a vector count."""
        return self.unknown != "drop"


@dataclass(frozen=True, eq=False)
class State:
    """What words weigh in one state of an index."""

    weighing: Weighing
    weighting: Weighting | None
    """None for plain counts."""
    scale: Scale
    numbers: dict[str, int]
    """The index's numbers of words without a vector; words that came later have numbers beyond those of the scale."""
    embeddings: Embeddings
    earlier: dict[Any, Sums] = field(default_factory=dict)
    """The sums of parts in an earlier state, of which those of this one can be made."""
    _sums: dict[Any, Sums] = field(default_factory=dict)

    @property
    def bases(self) -> dict[Any, Sums]:
        """The same for a later state."""
        return self.earlier | {key: sums.base for key, sums in self._sums.items()}

    def sums(self, part: Part) -> Sums:
        """The sums of the documents of a part, made when they are first asked for."""
        found = self._sums.get(part.key)
        if found is None:
            earlier = self.earlier.pop(part.key, None)
            found = self._sums[part.key] = Sums(part, self.scale, others=self.weighing.keeps, earlier=earlier)
        return found

    @property
    def listed(self) -> bool:
        """Whether stored lists serve as they are: no word weighs 0."""
        return self.scale.positive

    @cached_property
    def weighed(self) -> Weighed:
        """The same for bounds of the costly distances."""
        return Weighed(self.scale, self.sums, self.weighing.keeps, {})

    @cached_property
    def centroids(self) -> WeighedCentroids:
        """The same for the distance of centroids."""
        far = typical_distance(self.embeddings) if self.weighing.keeps else 0.0
        return WeighedCentroids(self.embeddings, self.scale, self.sums, far)

    @cached_property
    def shared(self) -> baselines.Weights:
        """The same for the distances that shared words decide."""
        return baselines.Weights(self.weighting, self.scale, others=self.weighing.keeps)

    def number(self, word: str) -> int:
        """The number of a word without a vector; -1 for one that this state does not know."""
        found = self.numbers.get(word, -1)
        return found if found < len(self.scale.others) else -1

    def asked(self, tokens: LookedUp) -> Asked:
        """The words of a query that count."""
        ids = sorted(tokens.bag)
        numbered = {word: self.number(word) for word in tokens.others} if self.weighing.keeps else {}
        inside = sorted((number, tokens.others[word]) for word, number in numbered.items() if number >= 0)
        new = [tokens.others[word] for word, number in numbered.items() if number < 0]
        return Asked(
            np.array(ids, dtype=np.int64),
            np.array([tokens.bag[i] for i in ids], dtype=np.float64),
            np.array([number for number, _ in inside], dtype=np.int64),
            np.array([count for _, count in inside], dtype=np.float64),
            np.array(new, dtype=np.float64),
        )

    def weights_for(self, extra: Sequence[str]) -> Any:
        """The weights as a searcher takes them whose words without a vector are these, in this order."""
        return self.weights_at([self.number(word) for word in extra])

    def weights_at(self, numbers: Sequence[int]) -> Any:
        """The same where the words without a vector have these numbers; -1 stands for a new word."""
        if self.weighting is None:
            return "counts"
        others = [self.scale.others[number] if number >= 0 else self.scale.unseen for number in numbers]
        per_word = np.concatenate([self.scale.known, np.array(others, dtype=np.float64)])
        given = self.weighting
        return Weighting(given.scheme, per_word, given.unseen, given.documents, given.mean_length)


def encoded_bags(bags: Bags, embeddings: Embeddings, words: dict[int, str], *, every: bool = False) -> Encoded:
    """Documents with columns for words without vectors behind those of the others.

    ``every`` word has a column, where the weights are those of a larger collection; else only the documents' own.
    """
    used = np.unique(bags.others.words) if words and not every else np.array(sorted(words), dtype=np.int32)
    vocabulary = OpenVocabulary(embeddings.vocabulary, (words[number] for number in used.tolist()))
    shape = (len(bags), len(embeddings))
    known = sp.csr_array((bags.counts.astype(np.int32), bags.words, bags.indptr), shape=shape)
    tokens = known_tokens = np.asarray(known.sum(axis=1)).astype(np.int64)
    matrix, unknown = known, Counter[str]()
    if len(used):
        places = np.searchsorted(used, bags.others.words).astype(np.int32)
        values = (bags.others.counts.astype(np.int32), places, bags.others.indptr)
        others = sp.csr_array(values, shape=(len(bags), len(used)))
        matrix = sp.csr_array(sp.hstack([known, others], format="csr"))
        tokens = known_tokens + np.asarray(others.sum(axis=1)).astype(np.int64)
        totals = np.bincount(places, weights=bags.others.counts, minlength=len(used))
        unknown.update({words[n]: int(total) for n, total in zip(used.tolist(), totals.tolist(), strict=True)})
    rows: Int64Array = np.arange(len(bags))
    return Encoded(matrix, rows, tokens, known_tokens, unknown, len(bags), vocabulary)
