"""An index in shards: the questions that an index takes, answered by all shards together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.runtime import ShowProgress, progress_for
from wordferry.compare.problem import Distance
from wordferry.errors import InputError, NotFound
from wordferry.find.explaining import neighbour_rows
from wordferry.find.ranking import Ranking
from wordferry.index import searching
from wordferry.index.config import Config
from wordferry.index.fields import Field
from wordferry.index.finding import Question
from wordferry.index.model import Document, Hit, Hits, checked_id
from wordferry.index.passages import best_passages
from wordferry.shards.backends import Backend, InProcess, ShardAnswers
from wordferry.shards.merging import joined, nearest, ranking_of
from wordferry.shards.shard import Common, Comparison, Near, StemBags
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_MOST_VALUES = 10_000


class ShardedIndex:
    """All shards of a folder as one index for reading.

    Distances, scores and the order of ties are those of the undivided index. :meth:`search` and :meth:`similar` take
    what :class:`wordferry.Index` takes. Nothing can be added: build the shards again.
    """

    def __init__(self, common: Common, backend: Backend) -> None:
        self.common, self.backend = common, backend
        self.path = common.place.address
        self.embeddings: Embeddings = common.embeddings
        self.config: Config = backend.config
        self.tokenizer: Tokenizer = self.config.make_tokenizer(self.embeddings.vocabulary)
        self.engine = _Words(common, self.config.overlap)
        self.weighed = _Explaining(backend)
        self._firsts = np.array([record.first for record in common.manifest.shards], dtype=np.int64)

    @classmethod
    def open(cls, path: str) -> ShardedIndex:
        """Open all shards of a folder, or of a bucket, in this process."""
        common = Common(path)
        return cls(common, InProcess(common))

    @property
    def identity(self) -> str:
        """A name for exactly these shards."""
        return self.common.manifest.identity

    def __len__(self) -> int:
        return self.common.manifest.documents

    def __repr__(self) -> str:
        return f"ShardedIndex({self.path!r}, {len(self)} documents in {len(self._firsts)} shards)"

    # -- by words ---------------------------------------------------------------------------------------------------

    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        distance: str | None = None,
        filter: Mapping[str, Any] | None = None,
        explain: bool = False,
        rerank: str | None = None,
        candidates: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        **constants: Any,
    ) -> Any:
        """The k documents that the words of a query find best; see :meth:`wordferry.Index.search`."""
        if distance is not None or rerank is not None:
            if constants:
                raise InputError(f"{min(constants)}= is a constant of word search; it has no meaning for a distance.")
            options = {"distance": distance, "filter": filter, "threads": threads}
            return self._compared(query, k, False, options, rerank, candidates, explain, None)
        Question.check(self.config, k, filter, explain, {"candidates": candidates, **constants})
        queries, single = searching.queries(query)
        tokens = [self._tokens(one, number) for number, one in enumerate(queries)]
        tell = progress_for(progress, "searching")
        hits = []
        found = self.backend.every("best", tokens, k, filter, {"candidates": candidates, **constants})
        for number, some in enumerate(tokens):
            mine = [answers[number] for answers in found.answers]
            hits.append(self._ranked(mine, k, some, explain, found))
            if tell is not None:
                tell(number + 1, len(tokens))
        return hits[0] if single else hits

    def _ranked(self, found: Sequence[Any], k: int, tokens: list[str], explain: bool, lost: ShardAnswers) -> Hits:
        groups = len(self.common.totals.stems)
        ranking = ranking_of(found, k, groups, self._stems)
        documents = self._at(ranking.rows, "documents")
        hits = []
        for place, (one, score) in enumerate(zip(documents, ranking.scores.tolist(), strict=True)):
            why = partial(self._why, ranking, place)
            where = partial(best_passages, self, None, tokens, one.text)  # type: ignore[arg-type]  # as an index does
            own = (one.id, one.text, one.metadata, one.label)
            hits.append(Hit(*own, score=score, explanation=why() if explain else None, why=why, where=where))
        return Hits(hits, method="words", missing=lost.missing)

    def _why(self, ranking: Ranking, place: int) -> Any:
        """What one score is made of, asked of the shard that has the document."""
        one = _single(ranking, place)
        near = np.array(neighbour_rows(one, 0), dtype=np.int64)
        names = self._at(near, "ids") if len(near) else []
        owner = int(np.searchsorted(self._firsts, ranking.rows[place], side="right")) - 1
        return self.backend.one(owner, "explain_score", one, names)

    def _stems(self, rows: Int64Array) -> StemBags:
        order, parts = self._asked(rows, "stems")
        return joined(parts, order)

    def _at(self, rows: Int64Array, method: str) -> list[Any]:
        """What the shards say of some rows, in their order."""
        order, parts = self._asked(rows, method)
        every = [one for part in parts for one in part]
        return [every[place] for place in order.tolist()]

    def _asked(self, rows: Int64Array, method: str) -> tuple[Int64Array, list[Any]]:
        """The answers of the shards that hold some rows, and where each row is in them one after the other."""
        owners = np.searchsorted(self._firsts, rows, side="right") - 1
        groups = np.unique(owners).tolist()
        parts = self.backend.some({number: (rows[owners == number],) for number in groups}, method)
        order = np.argsort(np.argsort(owners, kind="stable"), kind="stable")
        return order, parts

    # -- by distance ------------------------------------------------------------------------------------------------

    def similar(
        self,
        query: Any = None,
        k: int = 10,
        *,
        id: str | int | None = None,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        filter: Mapping[str, Any] | None = None,
        explain: bool = False,
        rerank: str | None = None,
        candidates: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Any:
        """The k documents nearest to a text, or to a document of the shards; see :meth:`wordferry.Index.similar`."""
        if (query is None) == (id is None):
            raise InputError("similar takes either a query (a text, tokens or an id) or id=.")
        if id is None and isinstance(query, str) and query in self:
            id = query
        without = None
        if id is not None:
            found = self.get(id)
            query, without = found.text, found.id
        options = {"distance": distance, "weights": weights, "unknown": unknown, "filter": filter, "threads": threads}
        return self._compared(query, k, True, options, rerank, candidates, explain, without)

    def _compared(
        self,
        query: Any,
        k: int,
        similar: bool,
        options: dict[str, Any],
        rerank: str | None,
        candidates: int | None,
        explain: bool,
        without: str | None,
    ) -> Any:
        """The nearest documents of all shards; a shard that holds the document asked about leaves it out."""
        plan = searching.Plan.check(
            self.config, k, options["distance"], options["filter"], explain, rerank, candidates, without
        )
        queries, single = searching.queries(query)
        tokens = [self._tokens(one, number) for number, one in enumerate(queries)]
        first = plan.k if plan.rerank is None else plan.candidates
        options = options | {"distance": plan.record.label}
        how = Comparison(first, similar, options, rerank, explain, None)
        found = self.backend.near(tokens, how, without)
        method = plan.record.name if plan.rerank is None else f"{first} candidates by {plan.record.name}, ordered by "
        method += "" if plan.rerank is None else f"{plan.rerank.name}: not exact"
        plain = {"weights": "counts", "unknown": "drop"}
        weighing = {name: options[name] for name in plain} if similar else plain
        hits = []
        for number, some in enumerate(tokens):
            near = nearest([answers[number] for answers in found.answers], plan.k, first if plan.rerank else None)
            made = (self._hit(one, some, plan.rerank or plan.record, weighing) for one in near)
            hits.append(Hits(made, method=method, exact=plan.rerank is None, missing=found.missing))
        return hits[0] if single else hits

    def _hit(self, near: Near, tokens: list[str], record: Distance, weighing: Mapping[str, Any]) -> Hit:
        """A found document, explained by the distance and the weights that found it."""
        one = near.document
        value = near.distance if near.second is None else near.second
        why = partial(self.weighed.explained, None, None, (tokens, self._tokens(one.text, 0)), record, **weighing)
        where = partial(best_passages, self, None, tokens, one.text)  # type: ignore[arg-type]
        own = (one.id, one.text, one.metadata, one.label)
        return Hit(*own, value, explanation=near.explanation, why=why, where=where)

    def _tokens(self, query: Any, number: int) -> list[str]:
        """The words of a query, as every shard can be asked: nothing that was looked up goes with them."""
        return list(searching.query_tokens(self, query, number))  # type: ignore[arg-type]  # it needs a tokenizer

    # -- documents --------------------------------------------------------------------------------------------------

    def get(self, id: str | int) -> Document:
        """One document by its id; NotFound when there is none."""
        id = checked_id(id, "get")
        found = self.backend.every("find", id)
        for one in found.answers:
            if one is not None:
                document: Document = one
                return document
        raise NotFound(f"{self.path} has no document {id!r}{found.but}.")

    def __contains__(self, id: object) -> bool:
        try:
            self.get(id)  # type: ignore[arg-type]  # which checks it
        except (InputError, NotFound):
            return False
        return True

    def page(self, limit: int = 100, after: str | int | None = None) -> list[Document]:
        """Some documents in their order, from the one after the id ``after`` on."""
        after = None if after is None else checked_id(after, "page")
        start = 0
        if after is not None:
            found = self.backend.every("find", after)
            places = [number for number, one in zip(found.numbers, found.answers, strict=True) if one is not None]
            if not places:
                raise NotFound(f"{self.path} has no document {after!r} to go on after.")
            start = places[0]
        documents: list[Document] = []
        for number in range(start, len(self._firsts)):
            documents += self.backend.one(number, "page", limit - len(documents), after if number == start else None)
            if len(documents) >= limit:
                break
        return documents

    def __iter__(self) -> Iterator[Document]:
        after = None
        while some := self.page(1000, after):
            yield from some
            after = some[-1].id

    def fields(self, most: int = 20) -> list[Field]:
        """What documents can be filtered by: each field of their metadata with the ``most`` frequent values."""
        every: dict[str, list[Field]] = {}
        answers = self.backend.every("fields", _MOST_VALUES).answers
        for fields in answers:
            for field in fields:
                every.setdefault(field.name, []).append(field)
        found = [_joined_field(name, some, most) for name, some in every.items()]
        return sorted(found, key=lambda one: (-one.documents, one.name))

    # -- what the service and explanations ask for --------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[tuple[None, None]]:
        """One state of the index: shards do not change."""
        yield None, None

    def verify(self) -> None:
        """Compare every file with its checksum; FormatError names the shard that is damaged."""
        for number in range(len(self._firsts)):
            self.backend.one(number, "verify")

    def close(self) -> None:
        """Close all shards."""
        self.backend.close()

    def __enter__(self) -> ShardedIndex:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class _Words:
    """The related words that all shards share."""

    def __init__(self, common: Common, overlap: str | None) -> None:
        self._common, self._overlap = common, overlap

    def graph(self, snapshot: Any) -> RelatedWords | None:
        return self._common.related

    def overlap(self, record: Distance) -> str | None:
        return self._overlap if self._overlap in record.overlaps else None


class _Explaining:
    """Two texts explained with the weights of the index, by any of its shards."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def explained(
        self,
        connection: Any,
        snapshot: Any,
        texts: tuple[list[str], list[str]],
        record: Distance,
        *,
        weights: str | None = None,
        unknown: str | None = None,
    ) -> Any:
        return self._backend.any("explained", texts, record.label, weights, unknown)


def _single(ranking: Ranking, place: int) -> Ranking:
    """A ranking of one row only."""
    arrays = ("rows", "scores", "own", "lifted", "neighbours", "shares", "neighbour_scores")
    return Ranking(**{**vars(ranking), **{name: getattr(ranking, name)[place : place + 1] for name in arrays}})


def _joined_field(name: str, fields: Sequence[Field], most: int) -> Field:
    counts: Counter[tuple[str, Any]] = Counter()
    for field in fields:
        for value, count in field.values:
            counts[type(value).__name__, value] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], str(item[0][1])))
    bounds: list[Callable[..., Any]] = [min, max]
    least, largest = (
        pick((getattr(f, side) for f in fields if getattr(f, side) is not None), default=None)
        for pick, side in zip(bounds, ("least", "most"), strict=True)
    )
    whole = all(field.values for field in fields)
    values = tuple((value, count) for (_, value), count in ordered[:most]) if whole else ()
    return Field(name, sum(field.documents for field in fields), values, least, largest)
