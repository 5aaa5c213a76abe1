"""Word search over texts in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Counts, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress, check_cancelled, progress_for
from wordferry.encoders.codes import Codes
from wordferry.encoders.encoder import Encoder, find_encoder, text_of
from wordferry.encoders.given import query_vectors, rows_of
from wordferry.errors import InputError
from wordferry.find.explaining import ScoreExplanation, explain_score
from wordferry.find.ranking import DocumentsPart, FormPlace, Ranker, Ranking, stems_among
from wordferry.find.settings import Settings
from wordferry.find.stems import Stemmer, stemmer
from wordferry.kernels.lists import StoredDocuments, build
from wordferry.kernels.native import WordCounter
from wordferry.kernels.words import WordDocuments
from wordferry.texts.records import document_text
from wordferry.texts.stop_marks import is_marked, marked_words, query_words
from wordferry.texts.tables import as_documents
from wordferry.texts.tokenizers import Tokenizer, as_tokenizer

Text = str | Sequence[str]
_CHUNK = 1024


@dataclass(frozen=True)
class WordHits:
    """What a query found, best first: iterate over (row, score), or take ``rows`` and ``scores``."""

    ranking: Ranking
    collection: Ranker

    @property
    def rows(self) -> Int64Array:
        """The places of the documents in what was indexed."""
        return self.ranking.rows

    @property
    def scores(self) -> Float64Array:
        """Their scores, falling."""
        return self.ranking.scores

    def __len__(self) -> int:
        return len(self.ranking)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self.rows.tolist(), self.scores.tolist(), strict=True))

    def explain(self, place: int = 0) -> ScoreExplanation:
        """What the score of the hit at a place (0 is the best) is made of."""
        if not 0 <= place < len(self):
            raise InputError(f"There are {len(self)} hits, numbered from 0; got place {place!r}.")
        return explain_score(self.collection, self.ranking, place)


class WordSearch:
    """Texts that can be searched by words: BM25 with stems, lifted by neighbours.

    >>> texts = ["the engine is heated", "heating an oven, heat for bread", "a cat sleeps"]
    >>> found = WordSearch(texts).search("heat the oven", k=2)
    >>> [row for row, score in found]
    [1, 0]

    Parameters
    ----------
    documents : texts, token lists that are taken as they are, records or mappings with a ``text``; or a table (a
        DataFrame, an Arrow table, a dict of columns) whose column ``text``, or only column, holds the texts. One
        without a text (None, NaN) is never found.
    language : whose stems; "none" lets a word match only itself. :func:`wordferry.find.languages` lists them.
    tokenizer : text -> tokens, for documents and queries; None is that of the package, with English stop words.
    stop : stop words instead of the tokenizer's own: a language, words of your own, or None for none. They count only
        in a query that has no other words, or has them in capitals ("US").
    settings : the constants; see :class:`Settings`.
    encoder : makes the search one by words and meaning: a name (:data:`wordferry.encoders.encoder.NAMES`), or a
        function from a list of texts to an array with a vector for each.
    vectors : those of the documents, where you have them already; without an encoder, :meth:`search` needs one too.
    progress : True for a bar, or a callable that is told how many texts of how many are encoded.
    """

    def __init__(
        self,
        documents: Any,
        *,
        language: str = "english",
        tokenizer: Tokenizer | None = None,
        stop: Iterable[str] | str | None = "",
        settings: Settings | None = None,
        encoder: Any = None,
        vectors: Any = None,
        progress: ShowProgress = None,
    ) -> None:
        documents = as_documents(documents)
        if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
            raise InputError(
                f"Expected a list of documents, got one {type(documents).__name__}. Put it in a list: [text]."
            )
        self.tokenizer = as_tokenizer(tokenizer, stop)
        self.settings = settings or Settings()
        self.encoder: Encoder | None = None if encoder is None else find_encoder(encoder)
        stems = stemmer(language)
        texts: Iterable[Text] = (document_text(one, f"Document {n}") for n, one in enumerate(documents))
        if vectors is not None:
            texts = list(texts)
            vectors = rows_of(vectors, len(texts), None if self.encoder is None else self.encoder.dimension)
        elif self.encoder is not None:
            texts = list(texts)
            vectors = self.encoder.encode([text_of(one) for one in texts], progress_for(progress, "encoding"))
        rows, forms = counted((marked_words(text, self.tokenizer) for text in texts), stems)
        self.collection = Ranker([part_of(rows, forms, vectors)], forms, forms.groups)

    def __len__(self) -> int:
        return len(self.collection)

    def search(
        self, query: Text, k: int = 10, *, allowed: BoolArray | None = None, vector: Any = None, **constants: Any
    ) -> WordHits:
        """The k best documents for a query: a text or a sequence of tokens. None of its words in any: no hit.

        With an encoder, texts that share no word with the query are found by their meaning. ``allowed`` is True for
        each document that may be found; ``vector`` is the query's, in the place of the encoder's; ``constants`` replace
        those of :class:`Settings` for this call, e.g. ``lift=0``, or ``meaning=0`` for words alone.
        """
        k = whole_number(k, "k")
        if allowed is not None:
            allowed = np.asarray(allowed, dtype=bool)
            if allowed.shape != (len(self),):
                raise InputError(f"allowed must have one value per document ({len(self)}), got {allowed.shape}.")
        settings = self.settings.changed(**constants)
        text = document_text(query, "The query")
        dimension = 0
        if codes := self.collection.codes:
            settings = settings.weighing(None if self.encoder is None else self.encoder.to_json())
            dimension = codes[0].dimension
        asked = query_vectors([text], vector, dimension, settings.meaning, lambda: self.encoder)
        tokens = query_words(text, self.tokenizer)
        found = self.collection.search(tokens, k, settings, allowed=allowed, vector=None if asked is None else asked[0])
        return WordHits(found, self.collection)


class Forms:
    """Words, their numbers, and the stem that each belongs to.

    >>> forms = Forms(stemmer("english"), ["heat", "heating", "cat"])
    >>> forms.place("heated"), forms.place("cat"), forms.place("dog")
    (FormPlace(group=0, form=-1), FormPlace(group=1, form=2), None)
    """

    def __init__(self, stems: Stemmer, words: Sequence[str]) -> None:
        self._words, self._numbers = words, {word: number for number, word in enumerate(words)}
        self._stems, self._mutex = stems, Lock()
        made = stems(words)
        self._groups = {stem: group for group, stem in enumerate(dict.fromkeys(made))}
        self.groups = len(self._groups)
        """How many stems there are."""
        self.group_of: Int32Array = np.array([self._groups[stem] for stem in made], dtype=np.int32)
        """The stem of every word, by its number."""
        self.stop: Int64Array = np.flatnonzero([is_marked(word) for word in words]).astype(np.int64)
        """The stop words."""
        self._order = np.argsort(self.group_of, kind="stable").astype(np.int32)
        self._ends = np.cumsum(np.bincount(self.group_of, minlength=self.groups))

    def place(self, word: str) -> FormPlace | None:
        """The stem and the form of a word of a query; None when no document has any form of it."""
        number = self._numbers.get(word)
        if number is not None:
            return FormPlace(int(self.group_of[number]), number)
        with self._mutex:  # compiled stemmers are not made for several threads
            group = self._groups.get(self._stems([word])[0])
        return None if group is None else FormPlace(group, -1)

    def word(self, number: int) -> str:
        """A word by its number."""
        return self._words[number]

    def words_of(self, group: int) -> Int32Array:
        """The words of a stem, ascending."""
        return self._order[self._ends[group - 1] if group else 0 : self._ends[group]]


def counted(documents: Iterable[Sequence[str]], stems: Stemmer) -> tuple[Counts, Forms]:
    """Documents, given by their words, as bags; and their words, numbered in the order in which they come."""
    source, words, bags = iter(documents), list[str](), list[Counts]()
    counter = WordCounter({}, (), lowercase=False, min_length=1)
    while chunk := list(islice(source, _CHUNK)):
        check_cancelled()
        found = counter.count(chunk, len(words), 1)
        counter.add({word: number for number, word in enumerate(found.new_words, len(words))})
        words += found.new_words
        bags.append(Counts(found.indptr, found.codes, found.counts))
    return Counts.join(bags), Forms(stems, words)


def part_of(rows: Counts, forms: Forms, vectors: Float32Array | None = None) -> DocumentsPart:
    """Documents in memory, given as bags."""
    lengths = rows._replace(counts=np.where(np.isin(rows.words, forms.stop), 0, rows.counts)).totals.astype(np.float32)
    df = stems_among(rows, forms.group_of, forms.groups)
    stored = StoredDocuments(build(*rows).view, *rows)
    groups = np.arange(forms.groups, dtype=np.int32)
    codes = None if vectors is None else Codes.of(vectors)
    return DocumentsPart(rows, lengths, WordDocuments(stored, lengths), groups, df.astype(np.int32), codes)
