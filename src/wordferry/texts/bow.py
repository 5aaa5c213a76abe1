"""From texts to bags of words: CSR counts over a vocabulary, weights, coverage, and what to do with empty rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array, canonical_csr, row_sums
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import check_cancelled
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.texts.coverage import warn_of_coverage
from wordferry.texts.records import document_text
from wordferry.texts.tables import as_documents
from wordferry.texts.tokenizers import Tokenizer, as_tokenizer, words_of
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.vocabulary import Vocabulary

OnEmpty = Literal["error", "drop", "keep"]
ON_EMPTY = ("error", "drop", "keep")
Unknown = Literal["match", "drop", "error"]
UNKNOWN = ("match", "drop", "error")
Document = str | Sequence[str]
_CHECK_EVERY = 64
"""Documents between two looks at whether the work was cancelled."""


@dataclass(frozen=True)
class Encoded:
    """Encoded documents and what was left out on the way. Every function takes it in place of texts."""

    matrix: sp.csr_array
    """Counts: one row per document, one column per word of the vocabulary."""
    rows: Int64Array
    """For each row of ``matrix`` the number of its document in the input (they differ after ``on_empty="drop"``)."""
    tokens: Int64Array
    """Tokens of each row, known or not."""
    known: Int64Array
    """Tokens of each row that have a vector."""
    unknown: Counter[str]
    """Tokens without a vector, with how often they came."""
    documents: int
    """Documents of the input, kept or not."""
    vocabulary: Vocabulary | OpenVocabulary
    """The words of the columns; an open vocabulary when words without a vector were kept."""

    @classmethod
    def of(cls, matrix: sp.csr_array, vocabulary: Vocabulary | OpenVocabulary) -> Encoded:
        """Documents that were counted before, e.g. stored ones; tokens are the counts themselves."""
        closed = len(vocabulary if isinstance(vocabulary, Vocabulary) else vocabulary.closed)
        if matrix.shape[1] != len(vocabulary):
            raise InputError(f"The matrix has {matrix.shape[1]} columns, the vocabulary {len(vocabulary)} words.")
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        known = matrix.indices < closed
        tokens, with_vector = (
            np.bincount(rows[some], weights=matrix.data[some], minlength=matrix.shape[0]).astype(np.int64)
            for some in (slice(None), known)
        )
        every = np.bincount(matrix.indices, weights=matrix.data, minlength=matrix.shape[1])
        unknown = Counter({vocabulary[i]: int(every[i]) for i in range(closed, len(vocabulary)) if every[i]})
        numbers = np.arange(matrix.shape[0], dtype=np.int64)
        return cls(matrix, numbers, tokens, with_vector, unknown, matrix.shape[0], vocabulary)

    def take(self, chosen: Int64Array) -> Encoded:
        """Some rows, in the order given."""
        return Encoded(
            self.matrix[chosen],
            np.arange(len(chosen), dtype=np.int64),
            self.tokens[chosen],
            self.known[chosen],
            self.unknown,
            len(chosen),
            self.vocabulary,
        )

    @property
    def vocabulary_below(self) -> Vocabulary:
        """The words that have vectors."""
        return self.vocabulary if isinstance(self.vocabulary, Vocabulary) else self.vocabulary.closed

    @property
    def coverage(self) -> Float64Array:
        """The share of each row's tokens that are known (0 for a row without tokens)."""
        return self.known / np.maximum(self.tokens, 1)

    @property
    def dropped(self) -> Int64Array:
        """The numbers of the documents that ``on_empty="drop"`` left out."""
        return np.setdiff1d(np.arange(self.documents), self.rows, assume_unique=True)

    def __repr__(self) -> str:
        total, known = int(self.tokens.sum()), int(self.known.sum())
        share = known / total if total else 1.0
        return f"Encoded(documents={self.matrix.shape[0]}, words={self.matrix.shape[1]}, coverage={share:.1%})"


def bags(
    documents: Iterable[Document],
    vocabulary: Vocabulary | OpenVocabulary,
    *,
    tokenizer: Tokenizer | None = None,
    stop: Iterable[str] | str | None = "",
    on_empty: OnEmpty = "error",
    unknown: Unknown = "drop",
) -> Encoded:
    """Count the words of each document.

    A document is a text (split by ``tokenizer``, without the words in ``stop``: a language, words of your own, or None
    to keep all; by default what the tokenizer leaves out) or a sequence of tokens (taken as it is). Words without a
    vector are counted in any case; ``unknown`` says whether they are left out ("drop"), get columns of their own behind
    those of the vocabulary ("match"), or are refused ("error"). ``on_empty`` says what happens to a document of which
    nothing is left.
    """
    check_on_empty(on_empty)
    check_unknown(unknown)
    tokenizer = as_tokenizer(tokenizer, stop)
    if isinstance(documents, str):
        raise InputError("Expected a list of documents, got one string. Put it in a list: [text].")
    documents = as_documents(documents)
    closed = vocabulary if isinstance(vocabulary, Vocabulary) else vocabulary.closed
    words: Vocabulary | OpenVocabulary = closed
    if unknown == "match":
        words = OpenVocabulary(closed) if isinstance(vocabulary, Vocabulary) else vocabulary
    counted = _Counts(closed, words if isinstance(words, OpenVocabulary) else None)
    number = -1
    for number, document in enumerate(documents):
        if number % _CHECK_EVERY == 0:
            check_cancelled()
        tokens = _tokens(document, tokenizer, number)
        bag, known = counted.read(tokens, number, refuse=unknown == "error")
        if not bag and on_empty != "keep":
            if on_empty == "drop":
                continue
            raise empty_document_error(number, tokens)
        counted.append(bag, number, len(tokens), known)
    matrix = counted.matrix(len(words))
    warn_of_coverage(sum(counted.tokens), sum(counted.known), counted.unknown)
    rows, tokens_of, known_of = (_int64(values) for values in (counted.rows, counted.tokens, counted.known))
    return Encoded(matrix, rows, tokens_of, known_of, counted.unknown, number + 1, words)


class _Counts:
    """Rows of counts as they come in."""

    def __init__(self, closed: Vocabulary, open_words: OpenVocabulary | None) -> None:
        self.closed, self.open = closed, open_words
        self.indptr: list[int] = [0]
        self.indices: list[int] = []
        self.counts: list[int] = []
        self.rows: list[int] = []
        self.tokens: list[int] = []
        self.known: list[int] = []
        self.unknown: Counter[str] = Counter()

    def read(self, tokens: Sequence[str], number: int, *, refuse: bool) -> tuple[dict[int, int], int]:
        """The counts of one document by column, and how many of its tokens have a vector."""
        bag, others = _counts(tokens, self.closed)
        known = sum(bag.values())
        if others:
            if refuse:
                raise unknown_word_error(number, next(iter(others)))
            self.unknown.update(others)
            if self.open is not None:
                bag = bag | {self.open.add_other(word): count for word, count in others.items()}
        return bag, known

    def append(self, bag: dict[int, int], number: int, tokens: int, known: int) -> None:
        ids = sorted(bag)
        self.indices += ids
        self.counts += map(bag.__getitem__, ids)
        self.indptr.append(len(self.indices))
        self.rows.append(number)
        self.tokens.append(tokens)
        self.known.append(known)

    def matrix(self, columns: int) -> sp.csr_array:
        data, indices = np.array(self.counts, dtype=np.int32), np.array(self.indices, dtype=np.int32)
        shape = (len(self.rows), columns)
        return sp.csr_array((data, indices, np.array(self.indptr, dtype=np.int64)), shape=shape)


def bag(document: Document, vocabulary: Vocabulary, tokenizer: Tokenizer | None = None) -> dict[int, int]:
    """The known words of one document, by their ids, and how often each comes."""
    return known_counts(document, vocabulary, tokenizer)[0]


def known_counts(
    document: Document, vocabulary: Vocabulary, tokenizer: Tokenizer | None = None
) -> tuple[dict[int, int], bool]:
    """The known words of one document, how often each comes, and whether these are all its words."""
    tokens = _tokens(document, as_tokenizer(tokenizer), 0)
    bag, others = _counts(tokens, vocabulary)
    if others:
        warn_of_coverage(len(tokens), sum(bag.values()), others)
    return bag, not others


class LookedUp(list[str]):
    """Tokens with what a vocabulary says of them; passed on in their place, they are not looked up again."""

    def __init__(self, tokens: Sequence[str], vocabulary: Vocabulary, before: Mapping[str, int]) -> None:
        super().__init__(tokens)
        seen, find = Counter(tokens), vocabulary.finder
        vocabulary.meet(seen)
        self.vocabulary = vocabulary
        self.text: str | Sequence[str] | None = None
        """The text that was split into these tokens, where it is known."""
        self.ids = {word: before[word] if word in before else find(word, -1) for word in seen}
        """The id of each different token, -1 for those without a vector."""
        self.bag, self.others = _split(seen, self.ids.get)
        """How often each known word comes, by its id, and each token without a vector."""


def looked_up(tokens: Sequence[str], vocabulary: Vocabulary, before: Mapping[str, int] | None = None) -> LookedUp:
    """Tokens and their ids; each different one is looked up once, unless it was ``before``."""
    if isinstance(tokens, LookedUp) and tokens.vocabulary is vocabulary:
        return tokens
    return LookedUp(tokens, vocabulary, before or {})


def _counts(tokens: Sequence[str], vocabulary: Vocabulary) -> tuple[dict[int, int], dict[str, int]]:
    """How often each known word comes, by its id, and each token without a vector."""
    if isinstance(tokens, LookedUp) and tokens.vocabulary is vocabulary:
        return tokens.bag, tokens.others
    seen = Counter(tokens)
    vocabulary.meet(seen)
    return _split(seen, vocabulary.finder)


def _split(seen: Counter[str], find: Callable[[str, int], int]) -> tuple[dict[int, int], dict[str, int]]:
    bag = {i: count for word, count in seen.items() if (i := find(word, -1)) >= 0}
    if len(bag) == len(seen):
        return bag, {}
    others = {word: count for word, count in seen.items() if find(word, -1) < 0}
    if len(bag) + len(others) < len(seen):  # two spellings of one word
        bag = dict.fromkeys(bag, 0)
        for word, count in seen.items():
            if word not in others:
                bag[find(word, -1)] += count
    return bag, others


def _int64(values: list[int]) -> Int64Array:
    return np.array(values, dtype=np.int64)


def _tokens(document: Any, tokenizer: Tokenizer, number: int) -> Sequence[str]:
    if isinstance(document, LookedUp):
        return document
    return words_of(document_text(document, f"Document {number}"), tokenizer)


def empty_document_error(number: int, tokens: Sequence[str]) -> EmptyDocumentError:
    """The error for a document without any known word."""
    shown = ", ".join(map(repr, tokens[:8])) + (", ..." if len(tokens) > 8 else "")
    what = f"0 of {len(tokens)} tokens: {shown}" if tokens else "it has no tokens"
    more = "load larger embeddings" if tokens else ""
    return EmptyDocumentError(f"Document {number} has no known word ({what}).", ("drop", "keep"), more)


@contextmanager
def ways_out(*ways: str) -> Iterator[None]:
    """Inside, an error about an empty document advises what the call at hand can do, and nothing else."""
    try:
        yield
    except EmptyDocumentError as error:
        raise error.with_ways(*ways) from None


def unknown_word_error(document: int | str, word: str) -> InputError:
    """The error for a word without a vector, where such words are refused, in a document by its number or name."""
    what = document if isinstance(document, str) else f"Document {document}"
    return InputError(
        f"{what} holds the word {word!r}, which has no vector. Keep such words with unknown='match', leave "
        "them out with unknown='drop', or load larger embeddings."
    )


def check_unknown(value: str) -> None:
    """Refuse an unknown policy, listing the valid ones."""
    if value not in UNKNOWN:
        raise InputError(f"unknown must be one of {', '.join(map(repr, UNKNOWN))}; got {value!r}.")


def check_on_empty(value: str) -> None:
    """Refuse an unknown policy, listing the valid ones."""
    if value not in ON_EMPTY:
        raise InputError(f"on_empty must be one of {', '.join(map(repr, ON_EMPTY))}; got {value!r}.")


def encode(
    documents: Iterable[Document],
    embeddings: Any = None,
    *,
    tokenizer: Tokenizer | None = None,
    stop: Iterable[str] | str | None = "",
    on_empty: OnEmpty = "error",
    unknown: Unknown = "drop",
) -> sp.csr_array:
    """Texts or token lists to a CSR matrix of word counts over ``embeddings.vocabulary``.

    Parameters
    ----------
    documents : texts, or lists of tokens.
    embeddings : an :class:`~wordferry.Embeddings` or a :class:`~wordferry.Vocabulary`; None means the default vectors.
    tokenizer : what splits texts; None means the default one.
    stop : in place of the stop words of the tokenizer: a language, words of your own, or None to keep all.
    on_empty : documents without a known word: "error", "drop" or "keep".
    unknown : "drop" or "error" for words without a vector, which have no column here. To keep them, pass texts, or what
        :func:`wordferry.texts.bow.bags` makes with ``unknown="match"``; it also tells coverage and what was dropped.

    Returns
    -------
    scipy.sparse.csr_array
        A row for each document, a column for each word of the vocabulary.

    Examples
    --------
    >>> encode(["a dog and a cat", ["cat", "cat"]], Vocabulary(["cat", "dog"])).toarray().tolist()
    [[1, 1], [2, 0]]
    """
    if unknown == "match":
        raise InputError(
            "A matrix over the vocabulary has no columns for words without a vector. Use "
            "wordferry.texts.bow.bags(texts, embeddings.vocabulary, unknown='match'), or pass the texts themselves."
        )
    from wordferry.texts.datasets import given_or_default

    vocabulary = embeddings if isinstance(embeddings, Vocabulary) else given_or_default(embeddings).stored.vocabulary
    return bags(documents, vocabulary, tokenizer=tokenizer, stop=stop, on_empty=on_empty, unknown=unknown).matrix


@dataclass(frozen=True, eq=False)
class TfIdf:
    """Tf-idf weights with the document frequencies of the collection they were fitted on.

    ``idf(w) = ln((1 + N) / (1 + df(w))) + 1``, so that every word keeps some weight.

    >>> X = sp.csr_array(np.array([[1, 1], [1, 0]]))
    >>> TfIdf.fit(X).apply(X).toarray().round(3).tolist()
    [[1.0, 1.405], [1.0, 0.0]]
    """

    idf: Float64Array
    documents: int

    @classmethod
    def fit(cls, X: Any) -> TfIdf:
        """Count in how many rows each word stands."""
        matrix = canonical_csr(X)
        return cls.of_counts(int(matrix.shape[0]), np.bincount(matrix.indices, minlength=matrix.shape[1]))

    @classmethod
    def of_counts(cls, documents: int, df: Any) -> TfIdf:
        """From the number of documents, and in how many of them each word stands."""
        idf = np.log((1 + documents) / (1 + df)) + 1.0
        idf.flags.writeable = False
        return cls(idf, documents)

    def apply(self, X: Any) -> sp.csr_array:
        """Counts times idf."""
        return weighted(X, self.idf)


def weighted(X: Any, weights: Any) -> sp.csr_array:
    """Counts times one non-negative weight per word (e.g. inverse frequencies of your own)."""
    matrix = canonical_csr(X)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (matrix.shape[1],):
        raise InputError(f"weights must have one value per word ({matrix.shape[1]}), got shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("weights must be finite and not negative.")
    with np.errstate(over="ignore"):  # a product that is too large makes its row's sum infinite, which is refused
        products = matrix.data * values[matrix.indices]
    result = sp.csr_array((products, matrix.indices, matrix.indptr), shape=matrix.shape)
    row_sums(result, name="X times weights")
    if not values.all():
        result = result.copy()  # the indices are still the caller's, and the next line works in place
        result.eliminate_zeros()
    return result


def normalized(X: Any) -> sp.csr_array:
    """Rows scaled to sum 1 (float64); empty rows stay empty."""
    matrix = canonical_csr(X)
    sums = row_sums(matrix)
    data = matrix.data / np.repeat(sums, np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
