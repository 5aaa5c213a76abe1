"""Jobs over files: documents become shards, which are asked in batches; the answers are those of one index.

The plan does not depend on who does the tasks, and what is done is kept: a stopped job goes on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from wordferry.base.checks import whole_number
from wordferry.base.runtime import device_name
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.engines.journal import Done
from wordferry.engines.location import Location
from wordferry.engines.run import JobRun, JobSummary, empty_output
from wordferry.engines.sources import SUFFIXES, SourceFields, SourcePart, cut, read_part
from wordferry.engines.tasks import Task, TaskFunction, json_array, json_values, load, parquet_bytes, saved
from wordferry.errors import EmptyDocumentError, FormatError, InputError
from wordferry.find.settings import Settings
from wordferry.index import Index
from wordferry.index.config import RECOMMENDED
from wordferry.index.duplicates import Duplicates, Pair, PairWords, checked_threshold
from wordferry.index.search.filters import compile_filter
from wordferry.index.search.requests import Ask
from wordferry.judge.voting import RECOMMENDED_DISTANCE, RECOMMENDED_K, RECOMMENDED_WEIGHTS, check_voting, decide
from wordferry.shards.building import Choices, ShardBuild
from wordferry.shards.shard import FILE, SHARDS, Common
from wordferry.shards.sharded import InProcess, open_shards
from wordferry.texts.stop_marks import query_words
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings

_SHARD = 1_000_000
"""Documents of a shard that is built for a job: every query is asked of every shard, so there are few."""
_CATALOGUE = "catalogue.sqlite"
_HELD = 20_480
"""Hits that are held at once with their texts: as many queries are asked together as have these."""
_FIRST_K = 16
"""Documents that a query for near-duplicates asks for at first; four times as many while all of them are near."""


def knn_graph(
    documents: str, output: str | os.PathLike[str], k: int = 10, choices: Choices | None = None, **run: Any
) -> JobSummary:
    """The k nearest other documents of each document, as Parquet with one row per document.

    Parameters
    ----------
    documents : Parquet or JSON lines (a file, a folder or a bucket), of which shards are built for the job; or a
        folder of shards, or an index, which are asked as they are.
    output : the folder or bucket of the answer: ``part-*.parquet`` with ``id``, ``neighbors`` and ``distances``. A
        document without any word that counts has no neighbours.
    choices : distance, weights, unknown and how documents are read; documents without words are kept.
    run : ``shards`` (how many are built), ``embeddings`` and ``tokenizer`` of shards that are built; and ``engine``,
        ``work`` (the folder of the plan and of what is done), ``progress`` and ``keep`` (keep that folder) of
        :class:`wordferry.engines.run.JobRun`.
    """
    job = ShardJob("knn-graph", documents, output, choices, {"k": whole_number(k, "k")}, **run)
    return job.answer(near, k=k, options=job.how)


def top_k(
    queries: str,
    documents: str,
    output: str | os.PathLike[str],
    k: int = 10,
    choices: Choices | None = None,
    *,
    filter: Mapping[str, Any] | None = None,
    rerank: str | None = None,
    candidates: int | None = None,
    **run: Any,
) -> JobSummary:
    """The k documents nearest to each query, as Parquet with one row per query.

    ``filter``, ``rerank`` and ``candidates`` are those of :meth:`wordferry.Index.similar`, the other arguments those of
    :func:`knn_graph`; queries are files in the forms of documents.
    """
    plan = Ask.check(k, filter, None if rerank is None else Measure(rerank), candidates)
    options = {"filter": filter, "rerank": rerank, "candidates": None if rerank is None else plan.candidates}
    job = ShardJob("top-k", documents, output, choices, {"k": k, **options}, queries=queries, **run)
    return job.answer(near, k=k, options=options | job.how)


def classify(
    train: str,
    test: str,
    output: str | os.PathLike[str],
    k: int = RECOMMENDED_K,
    choices: Choices | None = None,
    *,
    voting: str = "gap",
    **run: Any,
) -> JobSummary:
    """The label that the k nearest training documents vote for, as Parquet (id, predicted, share, label).

    Distance, weights and votes are by default those of :class:`wordferry.neighbors.WordMoverClassifier`. Training
    documents need a label; where test documents have one, the summary says how many were right. The other arguments
    are those of :func:`knn_graph`.
    """
    choices = choices or Choices()
    distance = choices.distance or RECOMMENDED_DISTANCE
    weights = choices.weights
    if weights in (None, "auto"):
        weights = find_distance(distance).own_weights or RECOMMENDED_WEIGHTS
    choices = replace(choices, distance=distance, weights=weights)
    options = {"k": whole_number(k, "k"), "voting": check_voting(voting)}
    job = ShardJob("classify", train, output, choices, options, queries=test, **run)
    return job.answer(votes, k=k, options=job.how, voting=voting)


def duplicates(
    documents: str,
    output: str | os.PathLike[str],
    threshold: float | None = None,
    choices: Choices | None = None,
    **run: Any,
) -> JobSummary:
    """All pairs of documents at a distance of at most ``threshold``, and the groups they form.

    Pairs, groups and the default threshold are those of :meth:`wordferry.Index.duplicates`. The pairs are Parquet files
    ``part-*.parquet`` (first, second, distance, exact, opposite), the groups ``groups.parquet`` (id, group: the first
    document of the group; only documents that have a duplicate). The other arguments are those of :func:`knn_graph`.
    """
    if threshold is not None or (choices is not None and choices.distance is not None):
        checked_threshold(threshold, find_distance((choices and choices.distance) or RECOMMENDED).name)
    job = ShardJob("duplicates", documents, output, choices, {"threshold": threshold}, **run)
    limit = checked_threshold(threshold, find_distance(job.choices.distance or job.target.distance).name)
    found: list[Pair] = []
    order: dict[str, int] = {}
    for number, name in enumerate(job.ask(close, options=job.how, threshold=limit)):
        rows = json_values(load(job.run.folder, name), "pairs")
        pairs = Duplicates(Pair(*values) for _, _, *values in rows)
        for first, second, *values in rows:
            order |= {values[0]: first, values[1]: second}
        job.output.write(f"part-{number:05d}.parquet", parquet_bytes(pairs.to_columns()))
        found += pairs
    every = Duplicates(sorted(found, key=lambda pair: pair.distance), order=order)
    group = {id: one.representative for one in every.groups for id in (one.representative, *one.others)}
    ids = sorted(group, key=order.__getitem__)
    job.output.write("groups.parquet", parquet_bytes({"id": ids, "group": [group[id] for id in ids]}))
    return job.finish({"threshold": limit, "pairs_found": len(every), "documents_in_groups": len(ids)})


def search(
    folder: str,
    queries: str,
    output: str | os.PathLike[str],
    k: int = 10,
    choices: Choices | None = None,
    *,
    filter: Mapping[str, Any] | None = None,
    constants: Mapping[str, Any] | None = None,
    **run: Any,
) -> JobSummary:
    """The k documents of a folder of shards that the words of each query find best, as Parquet with their scores.

    ``constants`` are those of :meth:`wordferry.Index.search` (``candidates`` among them), the other arguments those of
    :func:`top_k`.
    """
    Settings().changed(**Common(folder).config.settings).changed(**(constants or {}))
    whole_number(k, "k")
    compile_filter(filter)
    given = {"k": k, "filter": filter, "constants": dict(constants or {})}
    job = ShardJob("search", folder, output, choices or Choices(block=200), given, queries=queries, **run)
    return job.answer(best, k=k, options={"filter": filter, **(constants or {})})


class ShardJob:
    """One job: an index or shards, given or built, asked in batches of queries or of their own documents.

    Making one reads the queries once, and builds the shards where they are not given.
    """

    def __init__(
        self,
        kind: str,
        documents: str,
        output: str | os.PathLike[str],
        choices: Choices | None,
        options: Mapping[str, Any],
        *,
        queries: str | None = None,
        shards: int | None = None,
        embeddings: Embeddings | None = None,
        tokenizer: Tokenizer | str | None = None,
        **run: Any,
    ) -> None:
        self.output = empty_output(output)
        self.choices = replace(choices or Choices(), on_empty="keep")
        self.how = {name: getattr(self.choices, name) for name in ("distance", "weights", "unknown")}
        """Options of :meth:`wordferry.Index.similar`."""
        whole_number(self.choices.block, "block", of="documents")
        build: ShardBuild | None = None
        held = [] if documents.endswith(SUFFIXES) else Location(documents).names()
        if FILE in held or _CATALOGUE in held:
            if shards is not None or embeddings is not None or tokenizer is not None:
                raise InputError(f"{documents} is an index already: shards, vectors and tokenizer are those it has.")
            self.target = Target.of(documents)
            self.documents, self.shards = self.target.documents, self.target.shards or 1
            own: Mapping[str, Any] = {"index": self.target.state, "choices": asdict(self.choices)}
        else:
            build = ShardBuild(documents, self.choices, embeddings, tokenizer, labelled=kind == "classify")
            self.documents = build.documents
            count = math.ceil(self.documents / _SHARD) if shards is None else whole_number(shards, "shards")
            self.shards = min(count, self.documents)
            own = {**build.plan, "shards": self.shards}
        self._parts = None if queries is None else self._cut(queries)
        asked = None if self._parts is None else [part.to_json() for part in self._parts]
        plan = {"format": 1, "job": kind, "options": dict(options), "queries": asked, **own}
        self.run = JobRun(self.output, plan, **run)
        if self._parts is not None:
            self._perform(check_queries, self.choices.fields)
        if build is not None:
            place = Location(self.run.folder / SHARDS)
            build.run(self.run, place, self.shards)
            self.target = Target.of(place.address)

    def _cut(self, queries: str) -> list[SourcePart]:
        """Queries in batches, of which there are as many as shards at least: so many workers find something to do."""
        parts = cut(queries, self.choices.block, self.choices.fields)
        fewer = math.ceil(sum(part.rows for part in parts) / self.shards)
        return parts if fewer >= self.choices.block else cut(queries, fewer, self.choices.fields)

    def _perform(self, function: TaskFunction, shared: Any) -> dict[str, Done]:
        """A task for every batch of queries, or of the documents themselves."""
        if self._parts is not None:
            batches: list[dict[str, Any]] = [{"part": part} for part in self._parts]
        else:
            step = max(1, min(self.choices.block, math.ceil(self.documents / self.shards)))
            starts = range(0, self.documents, step)
            batches = [{"start": start, "stop": min(self.documents, start + step)} for start in starts]
        tasks = [Task(f"{function.__name__}-{n:06d}", function, batch) for n, batch in enumerate(batches)]
        return self.run.run(tasks, shared)

    def ask(self, function: TaskFunction, **asked: Any) -> dict[str, Done]:
        """Ask an index, by a task for every batch."""
        return self._perform(function, AskInputs(self.target, self.choices.fields, device_name(), **asked))

    def answer(self, function: TaskFunction, **asked: Any) -> JobSummary:
        """Ask, each task for one part of the answer; write the parts, and sum up."""
        done = self.ask(function, **asked)
        self.run.write(done)
        facts = [one.facts for one in done.values()]
        voted = {name: sum(one[name] for one in facts) for name in ("labelled", "right") if name in facts[0]}
        return self.finish(voted)

    def finish(self, facts: Mapping[str, Any]) -> JobSummary:
        """Let go of the index, and sum up."""
        close_opened()
        queries = self.documents if self._parts is None else sum(part.rows for part in self._parts)
        own = {"queries": queries, "pairs": queries * self.documents, "shards": self.target.shards or 1}
        return self.run.finish(self.documents, {**own, **facts})


# -- what workers do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The index that is asked, in one of its states."""

    address: str
    state: str
    documents: int
    shards: int | None
    """None for an undivided index."""
    distance: str
    """The name of its own."""

    @classmethod
    def of(cls, address: str) -> Target:
        """A folder of shards, or an undivided index, as it is now."""
        if FILE in Location(address).names():
            common = Common(address)
            manifest, distance = common.manifest, common.config.distance
            return cls(address, manifest.identity, manifest.documents, len(manifest.shards), distance)
        with Index.open(address) as index:
            return cls(address, f"{index.identity} {index.generation}", len(index), None, index.config.distance)


@dataclass(frozen=True)
class AskInputs:
    """Shared data of the tasks that ask."""

    target: Target
    fields: SourceFields
    device: str
    """Where workers compare, whatever their own environment says."""
    k: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of :meth:`wordferry.Index.similar`, or of :meth:`wordferry.Index.search`."""
    threshold: float = 0.0
    voting: str = "gap"


_opened: dict[Target, Index] = {}
"""The index that this process has asked last."""


def close_opened() -> None:
    """Let go of the index that this process has asked last."""
    while _opened:
        _opened.popitem()[1].close()


def _index(shared: AskInputs) -> Index:
    """The index that is asked; its shards one after the other, because a task has one core."""
    os.environ["WORDFERRY_DEVICE"] = shared.device
    target, address = shared.target, shared.target.address
    if target not in _opened:
        close_opened()
        if Target.of(address) != target:
            raise FormatError(f"{address} has changed since the job was planned. Start the job again elsewhere.")
        _opened[target] = Index.open(address) if target.shards is None else Index(open_shards(address, threads=1))
    return _opened[target]


def check_queries(arguments: Mapping[str, Any], shared: SourceFields) -> tuple[bytes, dict[str, Any]]:
    """Read the queries of a part, so that a broken row is named before any work is done."""
    return saved(rows=np.array(sum(1 for _ in read_part(arguments["part"], shared)))), {}


def _queries(batch: Mapping[str, Any], shared: AskInputs) -> list[Any]:
    """The queries of a batch, with id, label and text: rows of a file, or documents of the index."""
    if "part" in batch:
        return list(read_part(batch["part"], shared.fields))
    return _index(shared).page(batch["stop"] - batch["start"], offset=batch["start"])


# -- by distance ----------------------------------------------------------------------------------------------------


def _similar(index: Index, texts: Sequence[Any], k: int, options: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The k documents nearest to each text; a text without a word that counts has none."""
    some = _in_steps(partial(index.similar, k=k, threads=1, **options), texts, options.get("candidates") or k)
    return ([hit for hit in hits if np.isfinite(hit.distance)] for hits in some)


def _in_steps(ask: Callable[..., Any], texts: Sequence[Any], held: int) -> Iterator[Any]:
    """The hits of each text, each of which holds some documents: as many are asked together as there is room for."""
    step = max(1, _HELD // held)
    for start in range(0, len(texts), step):
        yield from ask(texts[start : start + step])


def _table(found: Iterable[tuple[Any, Sequence[Any]]], value: str) -> tuple[bytes, dict[str, Any]]:
    """One part of an answer: the id of each query with those of its hits, and their distances or scores."""
    rows = [(query.id, [hit.id for hit in hits], [getattr(hit, value) for hit in hits]) for query, hits in found]
    return parquet_bytes(dict(zip(("id", "neighbors", f"{value}s"), zip(*rows, strict=True), strict=True))), {}


def _nearest(batch: Mapping[str, Any], shared: AskInputs) -> Iterator[tuple[Any, list[Any]]]:
    """Each query of a batch with the documents nearest to it; a document is not near itself."""
    queries = _queries(batch, shared)
    own = "part" not in batch
    found = _similar(_index(shared), [one.text for one in queries], shared.k + own, shared.options)
    for query, hits in zip(queries, found, strict=True):
        yield query, [hit for hit in hits if not own or hit.id != query.id][: shared.k]


def near(batch: Mapping[str, Any], shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents nearest to it."""
    return _table(_nearest(batch, shared), "distance")


def votes(batch: Mapping[str, Any], shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the label that its nearest training documents vote for."""
    found = list(_nearest(batch, shared))
    for hit in (hit for _, hits in found for hit in hits):
        if hit.label is None:
            raise FormatError(f"The document {hit.id!r} has no label, and a training document needs one.")
    names = sorted({hit.label for _, hits in found for hit in hits})
    numbers = {name: number for number, name in enumerate(names)}
    classes, values = np.full((len(found), shared.k), -1, dtype=np.int64), np.full((len(found), shared.k), np.inf)
    for row, (_, hits) in enumerate(found):
        classes[row, : len(hits)] = [numbers[hit.label] for hit in hits]
        values[row, : len(hits)] = [hit.distance for hit in hits]
    voted = decide(classes, values, len(names), shared.k, shared.voting)
    ids, known = [query.id for query, _ in found], [query.label for query, _ in found]
    predicted = [[*names, None][winner] for winner in voted.winner]
    shares = [float(row.max(initial=0.0)) for row in voted.shares]
    right = sum(a == b for a, b in zip(predicted, known, strict=True) if b is not None)
    facts = {"labelled": sum(one is not None for one in known), "right": right}
    return parquet_bytes({"id": ids, "predicted": predicted, "share": shares, "label": known}), facts


def close(batch: Mapping[str, Any], shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """All pairs of a document of a batch and a later one at most the threshold apart, with the rows of both."""
    index, queries, start = _index(shared), _queries(batch, shared), batch["start"]
    texts, words = [one.text for one in queries], PairWords(index.tokenizer)
    pairs = []
    for first, part in _parts(index):
        if first + len(part) <= start:  # its documents come before those of the batch
            continue
        row_of = {id: row for row, id in enumerate(part.ids(), first)}
        for row, (one, hits) in enumerate(zip(queries, _within(part, texts, shared), strict=True), start):
            for hit in hits:
                if row_of[hit.id] > row:
                    pair = words.judged(Pair(one.id, hit.id, hit.distance), one.text, hit.text)
                    if pair.distance <= shared.threshold:
                        pairs.append((row, row_of[hit.id], *vars(pair).values()))
    return saved(pairs=json_array(sorted(pairs))), {}


def _parts(index: Index) -> list[tuple[int, Index]]:
    """Every shard as an index, or the undivided one, with the row of its first document."""
    router = getattr(index.backend, "router", None)
    return [(one.record.first, one.index) for one in router.shards] if isinstance(router, InProcess) else [(0, index)]


def _within(index: Index, texts: Sequence[Any], shared: AskInputs) -> list[list[Any]]:
    """All documents at most the threshold away from each text."""
    found: list[list[Any]] = [[] for _ in texts]
    left, k, most = list(range(len(texts))), _FIRST_K, len(index)
    while left:
        answers = _similar(index, [texts[number] for number in left], k, shared.options)
        for number, hits in zip(left, answers, strict=True):
            found[number] = [hit for hit in hits if hit.distance <= shared.threshold]
        left = [number for number in left if len(found[number]) == k < most]
        k = min(4 * k, most)
    return found


# -- by words -------------------------------------------------------------------------------------------------------


def best(batch: Mapping[str, Any], shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents that its words find best."""
    index, queries = _index(shared), _queries(batch, shared)
    for row, query in enumerate(queries, batch["part"].start + 1):
        if not query_words(query.text, index.tokenizer):
            raise EmptyDocumentError(f"{batch['part'].path}, row {row}: the query has no words.")
    ask = partial(index.search, k=shared.k, **shared.options)
    found = _in_steps(ask, [one.text for one in queries], shared.k)
    return _table(zip(queries, found, strict=True), "score")
