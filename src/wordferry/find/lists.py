"""The lists of some documents - all of a collection, or a segment of it - by stem, and the documents themselves."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wordferry.base.arrays import Int32Array, Int64Array
from wordferry.base.cancel import check_cancelled
from wordferry.find.forms import Forms
from wordferry.kernels.native_lists import Postings, WordBags, WordLists, postings

_CHECK_EVERY = 1024


@dataclass(frozen=True, eq=False)
class Lists:
    """Documents as bags of words (CSR over the numbers of :class:`Forms`), and the same turned round by stem."""

    indptr: Int64Array
    words: Int32Array
    counts: Int32Array
    lengths: Int32Array
    """Tokens of each document."""
    postings: Postings

    @classmethod
    def build(cls, indptr: Int64Array, words: Int32Array, counts: Int32Array, forms: Forms) -> Lists:
        """Lists of documents that are counted already; a document's length is the sum of its counts."""
        sums = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        lengths = np.diff(sums[indptr]).astype(np.int32)
        group_of, form_of = forms.arrays
        groups = int(group_of.max()) + 1 if len(group_of) else 0
        turned = postings(WordBags(indptr, words, counts, group_of, form_of), groups)
        return cls(indptr, words, counts, lengths, turned)

    @classmethod
    def count(cls, documents: Iterable[Sequence[str]], forms: Forms) -> Lists:
        """Lists of token lists; words that are new are added to ``forms``."""
        words, counts, indptr = array("i"), array("i"), array("q", [0])
        for number, tokens in enumerate(documents):
            if number % _CHECK_EVERY == 0:
                check_cancelled()
            seen = Counter(tokens)
            words.extend(forms.numbers(list(seen)))
            counts.extend(seen.values())
            indptr.append(len(words))
        return cls.build(
            np.frombuffer(indptr, dtype=np.int64),
            np.frombuffer(words, dtype=np.int32),
            np.frombuffer(counts, dtype=np.int32),
            forms,
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def groups(self) -> int:
        """How many stems there were when the lists were made; later ones stand in no document here."""
        return len(self.postings.df)

    @cached_property
    def view(self) -> WordLists:
        """The lists as the kernels take them."""
        return WordLists(self.postings, self.lengths)

    def select(self, rows: Int64Array) -> tuple[Int64Array, Int32Array, Int32Array]:
        """The bags of some rows, in the order given: indptr, words, counts."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        places = np.repeat(self.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return indptr, self.words[places], self.counts[places]

    def document_frequencies(self, rows: Int64Array, group_of: Int32Array) -> Int64Array:
        """In how many of some rows each stem stands."""
        indptr, words, _ = self.select(rows)
        row = np.repeat(np.arange(len(rows)), np.diff(indptr))
        distinct = np.unique(row * np.int64(max(self.groups, 1)) + group_of[words])
        return np.bincount(distinct % max(self.groups, 1), minlength=self.groups).astype(np.int64)
