"""From documents to bags of words: in Python where there are few, by the kernels where there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import BoolArray, Counts, Int32Array, Int64Array
from wordferry.index.storage.terms import NO_VECTOR, NewVectors, TermDictionary
from wordferry.kernels.native import WordCounter
from wordferry.texts.stop_marks import is_marked, marked_words
from wordferry.texts.tokenizers import KeptText, Tokenizer, WordTokenizer, is_simple

MANY = 256
"""With fewer documents at a time it never pays to copy the words into a table of the kernels."""
_WORDS = 64
"""Words whose copying takes about as long as counting a document in Python: it has to be worth it."""
Words = str | Sequence[str]


@dataclass(frozen=True)
class CountedDocuments:
    """Documents as an index keeps them."""

    bags: Counts
    """By the numbers of words, in the order of :class:`~wordferry.index.storage.segments.Bags`."""
    tokens: Int64Array
    """Tokens of each document that are no stop words."""
    known: Int64Array
    """Tokens of each document that have a vector."""
    empty: BoolArray
    """Whether a document has no word at all."""


class Counting:
    """Counts the words of documents and numbers those that are new.

    While it counts, a word has a code that orders the words of a document: the row of its vector, or, for a word
    without one, its own number behind ``NO_VECTOR``. With ``vectors`` new words get vectors first.
    """

    def __init__(self, terms: TermDictionary, tokenizer: Tokenizer, vectors: NewVectors | None = None) -> None:
        self.terms = terms
        self.vectors = vectors
        self._tokenizer = tokenizer
        plain = isinstance(tokenizer, WordTokenizer) and tokenizer.boundaries == "plain"
        self._splits = plain and not getattr(tokenizer, "keep_compounds", False)
        self._counter: WordCounter | None = None
        self._seen = 0
        """Documents that were counted."""
        self._told = 0
        """The number of the first word that the table of the kernels may lack."""

    def count(self, documents: Sequence[Words], threads: int = 1) -> CountedDocuments:
        """Bags of words of documents: texts, or lists of tokens; the same whatever the number of threads."""
        if self.vectors is not None:
            documents = [marked_words(document, self._tokenizer) for document in documents]
            new = self.terms.look_up(word for words in documents for word in words if not is_marked(word))
            if new and (rows := self.vectors.make(new)) and self._counter is not None:
                self._counter.add(rows)
        self._seen += len(documents)
        if self._counter is None and (len(documents) < MANY or self._seen < self.terms.next // _WORDS):
            return self._by_python(documents)
        counter, next_code = self._kernel(), NO_VECTOR + self.terms.next
        found = counter.count([self._prepared(text) for text in documents], next_code, threads)
        add = self.terms.add if self.vectors is None else self.terms.number  # which looks words up later
        for word in found.new_words:
            add(word)
        counted = self._numbered(Counts(found.indptr, found.codes, found.counts))
        self._told = self.terms.next
        return counted

    def _kernel(self) -> WordCounter:
        """The table of the kernels with every word that has a number."""
        terms = self.terms
        if self._counter is None:
            words = self._tokenizer
            split, codes = words if isinstance(words, WordTokenizer) else WordTokenizer(), terms.vocabulary.spellings
            self._counter = WordCounter(codes, split.stop, lowercase=split.lowercase, min_length=split.min_length)
        if self._told < terms.next:  # words that were stored before, or numbered without being counted
            new = terms.without_vectors().items()
            self._counter.add({word: NO_VECTOR + number for word, number in new if number >= self._told})
        return self._counter

    def _prepared(self, document: Words) -> Words:
        """A text that the kernel can split, or tokens."""
        if self._splits and isinstance(document, str) and not isinstance(document, KeptText) and is_simple(document):
            return document
        return marked_words(document, self._tokenizer)

    def _by_python(self, documents: Sequence[Words]) -> CountedDocuments:
        find, terms = self.terms.vocabulary.finder, self.terms
        seen = [Counter(marked_words(document, self._tokenizer)) for document in documents]
        terms.look_up(word for bag in seen for word in bag)
        indptr, codes, counts = [0], [], []
        for bag in seen:
            coded: Counter[int] = Counter()
            for word, count in bag.items():  # two spellings of one word add up
                vector = find(word, -1)
                coded[vector if vector >= 0 else NO_VECTOR + terms.number(word)] += count
            codes += sorted(coded)
            counts += [coded[code] for code in codes[indptr[-1] :]]
            indptr.append(len(codes))
        rows = Counts(np.array(indptr, np.int64), np.array(codes, np.int32), np.array(counts, np.int32))
        return self._numbered(rows)

    def _numbered(self, rows: Counts) -> CountedDocuments:
        """Bags by the numbers of words, from bags by their codes."""
        has_vector = rows.words < NO_VECTOR
        words: Int32Array = rows.words - np.int32(NO_VECTOR)
        words[has_vector] = self.terms.numbers_of_vectors(rows.words[has_vector])
        is_stop = np.zeros(self.terms.next, dtype=bool)
        is_stop[self.terms.stop] = True
        bags = Counts(rows.indptr, words, rows.counts)
        tokens, known = (
            bags._replace(counts=np.where(some, rows.counts, 0)).totals for some in (~is_stop[words], has_vector)
        )
        return CountedDocuments(bags, tokens, known, np.diff(bags.indptr) == 0)
