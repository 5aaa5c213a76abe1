"""From documents to bags of words: in Python where there are few, by the kernels where there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from wordferry.index.others import Counts, Encoded, OtherWords
from wordferry.kernels.native_texts import WordCounter
from wordferry.texts.records import KeptText, words_of
from wordferry.texts.tokenizers import Tokenizer, WordTokenizer
from wordferry.words.vocabulary import Vocabulary

MANY = 256
"""From so many documents on it pays to copy the vocabulary into a table of the kernels."""
Words = str | Sequence[str]


class Counting:
    """Counts the words of documents, apart by whether they have a vector; those that have none get numbers."""

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer, others: OtherWords) -> None:
        self.others = others
        self._vocabulary = vocabulary
        self._tokenizer = tokenizer
        plain = isinstance(tokenizer, WordTokenizer) and tokenizer.boundaries == "plain"
        self._splits = plain and not getattr(tokenizer, "keep_compounds", False)
        self._counter: WordCounter | None = None
        self._told = 0

    def encode(self, documents: Sequence[Words], threads: int = 1) -> Encoded:
        """Bags of words of documents: texts, or lists of tokens; the same whatever the number of threads."""
        if self._counter is None and len(documents) < MANY:
            return self._by_python(documents)
        if self._counter is None:
            self._counter = self._made()
        elif self._told < self.others.next:  # words that were numbered without being counted
            new = {word: number for word, number in self.others.numbers.items() if number >= self._told}
            self._counter.add(new)
        found = self._counter.count([self._prepared(text) for text in documents], self.others.next, threads)
        for word in found.new_words:
            self.others.number(word)
        self._told = self.others.next
        known, others = Counts(*found[:3]), Counts(*found[3:6])
        return Encoded(known, others, found.tokens)

    def _prepared(self, document: Words) -> Words:
        """A text that the kernel can split, or tokens."""
        if not isinstance(document, str):
            return document
        if self._splits and document.isascii() and not isinstance(document, KeptText):
            return document
        return words_of(document, self._tokenizer)

    def _made(self) -> WordCounter:
        words = self._tokenizer
        split = words if isinstance(words, WordTokenizer) else WordTokenizer()
        return WordCounter(
            self._vocabulary.spellings,
            self.others.numbers,
            split.stop,
            lowercase=split.lowercase,
            min_length=split.min_length,
        )

    def _by_python(self, documents: Sequence[Words]) -> Encoded:
        find, number = self._vocabulary.finder, self.others.number
        known: list[dict[int, int]] = []
        others: list[dict[int, int]] = []
        tokens: list[int] = []
        for document in documents:
            words = words_of(document, self._tokenizer)
            seen = Counter(words)
            row = {i: count for word, count in seen.items() if (i := find(word, -1)) >= 0}
            rest = {} if len(row) == len(seen) else {number(w): count for w, count in seen.items() if find(w, -1) < 0}
            known.append(row)
            others.append(rest)
            tokens.append(len(words))
        return Encoded(Counts.gather(known), Counts.gather(others), np.array(tokens, dtype=np.int64))
