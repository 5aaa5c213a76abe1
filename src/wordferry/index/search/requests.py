"""What is asked of an index, checked: how many hits among which documents, and the words of queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from wordferry.base.checks import whole_number
from wordferry.base.frames import plain_value
from wordferry.base.runtime import ShowProgress
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.index.results import shown
from wordferry.index.search.filters import Condition, compile_filter
from wordferry.texts.bow import LookedUp, looked_up, unknown_word_error
from wordferry.texts.reasons import no_known_word, no_word
from wordferry.texts.records import undecoded
from wordferry.texts.tables import as_documents
from wordferry.texts.tokenizers import Tokenizer, words_of
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.compare.measure import Measure
    from wordferry.encoders.codes import CodedQuery
LEAST_CANDIDATES = 100


class SearchOptions(TypedDict, total=False):
    """What :meth:`Index.search <wordferry.Index.search>` can be told, for type checkers."""

    filter: Mapping[str, Any] | None
    explain: bool
    rerank: str | None
    candidates: int | None
    vector: Any
    progress: ShowProgress
    k1: float
    b: float
    stem: float
    lift: float
    neighbours: int
    meaning: float
    power: float


class HowOptions(TypedDict, total=False):
    """How an index is told to compare, for type checkers."""

    distance: str | None
    weights: str | None
    unknown: str | None


class SimilarOptions(HowOptions, total=False):
    """What :meth:`Index.similar <wordferry.Index.similar>` can be told, for type checkers."""

    id: str | int | None
    filter: Mapping[str, Any] | None
    explain: bool
    rerank: str | None
    candidates: int | None
    by: str
    vector: Any
    threads: int | None
    progress: ShowProgress


@dataclass(frozen=True)
class Ask:
    """What is asked: how many hits, among which documents, and how to tell of it."""

    k: int
    condition: Condition | None = None
    explain: bool = False
    rerank: Measure | None = None
    """How candidates are ordered, where a second distance does it."""
    candidates: int = 0
    without: str | None = None
    """The id of a document that is not to be found: the one that is asked about."""
    threads: int | None = None
    progress: ShowProgress = None
    vectors: Sequence[CodedQuery] | None = None
    """One for each query, where meaning counts."""

    @classmethod
    def check(
        cls, k: int, filter: Mapping[str, Any] | None, rerank: Measure | None, candidates: int | None, **rest: Any
    ) -> Ask:
        """What a caller passes, or a message for what makes no sense."""
        k = k if type(k) is int and k > 0 else whole_number(k, "k")
        if candidates is not None:
            if rerank is None:
                raise InputError("candidates= is the size of the first stage of a search with rerank=; pass both.")
            if whole_number(candidates, "k") < k:
                raise InputError(f"candidates must be at least k ({k}), got {candidates}.")
        if rerank is not None and rerank.distance.own_weights:
            raise InputError(
                f"rerank={rerank.distance.name!r} has no meaning: it has weights of its own, and both stages share one "
                "weighting."
            )
        first = candidates or max(10 * k, LEAST_CANDIDATES)
        condition = None if filter is None else compile_filter(filter)
        return cls(k, condition, rerank=rerank, candidates=first, **rest)


def method_of(measure: Measure, ask: Ask) -> str:
    """What was done, in words."""
    kept = "" if measure.unknown == "drop" else ", words without vectors kept"
    method = f"{measure.distance.name}, weights {measure.weights}{kept}"
    if ask.rerank is None:
        return method
    return f"{ask.candidates} candidates by {method}, ordered by {ask.rerank.distance.name}: not exact"


def queries_of(query: Any) -> tuple[Sequence[Any], bool]:
    """The queries of a call, and whether it was a single one: a text, or a tuple of tokens."""
    if isinstance(query, str):
        return [query], True
    query = as_documents(query, "query")
    if not isinstance(query, Sequence) and (hasattr(query, "to_list") or hasattr(query, "tolist")):
        query = list(query)  # a column of a table, or an array
    if isinstance(query, tuple) and query and all(isinstance(token, str) for token in query):
        return [query], True
    if isinstance(query, Sequence) and not isinstance(query, bytes):
        return query, False
    raise InputError(
        f"A query is a text, a tuple of tokens, or a list of texts or of token lists; got {type(query).__name__}"
        f"{undecoded(query)}."
    )


def query_tokens(
    query: Any, number: int, tokenizer: Tokenizer, split: Callable[[str, Tokenizer], list[str]] = words_of
) -> list[str]:
    """The words of one of several queries, as ``split`` finds them in texts, or an error that names it."""
    if isinstance(query, str):
        return split(query, tokenizer)
    if isinstance(query, Sequence) and all(isinstance(token, str) for token in query):
        return query if isinstance(query, LookedUp) else list(query)
    if not isinstance(query, Sequence | Mapping) and plain_value(query) is None:
        return []  # None, NaN and pandas' NA are texts without words
    raise InputError(f"Query {number} must be a text or a list of tokens, got {shown(query)}{undecoded(query)}.")


def compared_tokens(
    asked: Sequence[Any], tokenizer: Tokenizer, vocabulary: Vocabulary, measure: Measure, name: str | None = None
) -> list[LookedUp | EmptyDocumentError]:
    """The words of queries that are to be compared, each looked up once; or why one has none.

    ``name`` is the id of the document that is asked about, where it is one.
    """
    found: list[LookedUp | EmptyDocumentError] = []
    for number, query in enumerate(asked):
        words = looked_up(query_tokens(query, number, tokenizer), vocabulary)
        what = "The query" if name is None else f"The document {name!r}"
        if measure.unknown == "error" and words.others:
            raise unknown_word_error(what if len(asked) == 1 else f"Query {number}", next(iter(words.others)))
        if not words or (measure.unknown == "drop" and not words.bag):
            found.append(no_known_word(words, what) if words else no_word(query, what))
            continue
        words.text = query
        found.append(words)
    return found


def answerable(found: Sequence[LookedUp | EmptyDocumentError]) -> list[LookedUp]:
    """The queries that have words; for calls in which every one must have some."""
    for one in found:
        if isinstance(one, EmptyDocumentError):
            raise one
    return [one for one in found if isinstance(one, LookedUp)]
