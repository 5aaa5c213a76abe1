"""Word search over texts in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float64Array, Int64Array
from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress, progress_for
from wordferry.encoders.encoder import Encoder, find_encoder, text_of
from wordferry.encoders.given import query_vectors, rows_of
from wordferry.errors import InputError
from wordferry.find.documents import DocumentsPart, WordCollection
from wordferry.find.explaining import ScoreExplanation, explain_score
from wordferry.find.forms import Forms
from wordferry.find.ranking import Ranker, Ranking
from wordferry.find.settings import Settings
from wordferry.texts.records import document_text
from wordferry.texts.stop_marks import marked_words, query_words
from wordferry.texts.tables import as_documents
from wordferry.texts.tokenizers import Tokenizer, as_tokenizer

Text = str | Sequence[str]


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
        forms = Forms(language)
        texts: Iterable[Text] = (document_text(one, f"Document {n}") for n, one in enumerate(documents))
        if self.encoder is not None or vectors is not None:
            texts = list(texts)
            vectors = self._vectors(texts, vectors, progress)
        part = DocumentsPart.count((marked_words(text, self.tokenizer) for text in texts), forms, vectors)
        self.collection = Ranker(WordCollection([part], forms, forms.groups, _impossible))

    def __len__(self) -> int:
        return len(self.collection.source)

    def _vectors(self, documents: Sequence[Text], given: Any, progress: ShowProgress) -> Any:
        """The vector of each document, given or encoded."""
        if given is not None:
            return rows_of(given, len(documents), None if self.encoder is None else self.encoder.dimension)
        assert self.encoder is not None
        return self.encoder.encode([text_of(one) for one in documents], progress_for(progress, "encoding"))

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
        codes = self.collection.source.codes
        settings = settings.weighing(None if self.encoder is None else self.encoder.to_json()) if codes else settings
        asked = query_vectors(
            [text], vector, codes[0].dimension if codes else 0, settings.meaning, lambda: self.encoder
        )
        tokens = query_words(text, self.tokenizer)
        found = self.collection.search(tokens, k, settings, allowed=allowed, vector=None if asked is None else asked[0])
        return WordHits(found, self.collection)


def _impossible(error: Exception) -> Exception:
    """What is in memory was checked when it was made."""
    return error
