"""Jobs over files: documents become shards, which are asked in batches; the answers are those of one index.

The plan does not depend on who does the tasks, and what is done is kept: a stopped job goes on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from wordferry.base.checks import whole_number
from wordferry.base.runtime import device_name
from wordferry.compare.distances import RECOMMENDED, find_distance
from wordferry.compare.measure import Measure
from wordferry.engines.journal import Done
from wordferry.engines.location import Location
from wordferry.engines.run import JobRun, JobSummary, empty_output
from wordferry.engines.sources import SUFFIXES, cut
from wordferry.engines.tasks import Task, TaskFunction, parquet_bytes
from wordferry.errors import InputError
from wordferry.find.settings import Settings
from wordferry.index.duplicates import Duplicates, checked_threshold
from wordferry.index.search.filters import compile_filter
from wordferry.index.search.requests import Ask
from wordferry.judge.voting import RECOMMENDED_DISTANCE, RECOMMENDED_K, RECOMMENDED_WEIGHTS, check_voting
from wordferry.shards import ask_tasks
from wordferry.shards.ask_tasks import AskInputs, Target
from wordferry.shards.building import Choices, ShardBuild
from wordferry.shards.manifest import FILE, SHARDS
from wordferry.shards.shard import Common, Shard
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings

_SHARD = 1_000_000
"""Documents of a shard that is built for a job: every query is asked of every shard, so there are few."""
_CATALOGUE = "catalogue.sqlite"


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
    return job.nearest(AskInputs(job.start(), k), ask_tasks.merge)


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
    first = plan.candidates if plan.rerank is not None else None
    options = {"k": k, "filter": filter, "rerank": rerank, "candidates": first}
    job = ShardJob("top-k", documents, output, choices, options, queries=queries, **run)
    return job.nearest(AskInputs(job.start(), k, {"filter": filter}, rerank, first), ask_tasks.merge)


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
    return job.nearest(AskInputs(job.start(), k, voting=voting), ask_tasks.votes)


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
    shared = job.asking(AskInputs(job.start()))
    limit = checked_threshold(threshold, ask_tasks.distance_of(shared))
    shared = replace(shared, threshold=limit)
    names = job.ask("close", ask_tasks.close, shared, lambda batch, shard: shard >= batch["shard"])
    done = job.run.run(job.final("pairs", ask_tasks.pairs, {"close": names}), shared)
    groups, members = _groups(job, [name for some in names for name in some])
    job.output.write("groups.parquet", groups)
    found = sum(int(one.facts["pairs"]) for one in done.values())
    return job.finish(done, {"threshold": limit, "pairs_found": found, "documents_in_groups": members})


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
    shard = Shard(Common(folder), 0)
    try:
        Settings().changed(**shard.config.settings).changed(**(constants or {}))
        whole_number(k, "k")
        compile_filter(filter)
    finally:
        shard.close()
    given = {"k": k, "filter": filter, "constants": dict(constants or {})}
    job = ShardJob("search", folder, output, choices or Choices(block=200), given, queries=queries, **run)
    shared = AskInputs(job.start(), k, {"filter": filter, **(constants or {})}, fields=job.choices.fields)
    bests = job.ask("best", ask_tasks.best, shared)
    stems = job.ask("stems", ask_tasks.stems, shared, best=bests)
    done = job.run.run(job.final("found", ask_tasks.rank, {"best": bests, "stems": stems}), shared)
    return job.finish(done, {})


class ShardJob:
    """One job: shards, built or given, which are asked in batches of queries or of their own documents."""

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
        whole_number(self.choices.block, "block", of="documents")
        self.parts = None if queries is None else cut(queries, self.choices.block, self.choices.fields)
        self._build: ShardBuild | None = None
        self._target: Target | None = None
        held = _names(documents)
        if FILE in held or _CATALOGUE in held:
            if shards is not None or embeddings is not None or tokenizer is not None:
                raise InputError(f"{documents} is an index already: shards, vectors and tokenizer are those it has.")
            self._target = Target.of(documents, sharded=FILE in held)
            own: Mapping[str, Any] = {"index": self._target.identity, "choices": asdict(self.choices)}
        else:
            self._build = ShardBuild(documents, self.choices, embeddings, tokenizer, labelled=kind == "classify")
            count = math.ceil(self._build.documents / _SHARD) if shards is None else whole_number(shards, "shards")
            self._shards = min(count, self._build.documents)
            own = {**self._build.plan, "shards": self._shards}
        asked = None if self.parts is None else [part.to_json() for part in self.parts]
        plan = {"format": 1, "job": kind, "options": dict(options), "queries": asked, **own}
        self.run = JobRun(self.output, plan, **run)

    def start(self) -> Target:
        """Read the queries once, build the shards where they are not given, and say what is asked."""
        if self.parts is not None:
            tasks = [
                Task(f"queries-{part.number:06d}", ask_tasks.check_queries, {"part": part.to_json()})
                for part in self.parts
            ]
            self.run.run(tasks, self.choices.fields)
        if self._build is not None:
            place = Location(self.run.folder / SHARDS)
            self._build.run(self.run, place, self._shards)
            self._target = Target.of(place.address, sharded=True)
        assert self._target is not None
        self.target = self._target
        self._batches = list(self._cut())
        return self.target

    def _cut(self) -> Iterator[dict[str, Any]]:
        """Batches of queries, or of the documents themselves."""
        if self.parts is not None:
            yield from ({"part": part.to_json()} for part in self.parts)
            return
        for shard, size in enumerate(self.target.sizes()):
            for start in range(0, size, self.choices.block):
                yield {"shard": shard, "start": start, "stop": min(size, start + self.choices.block)}

    def asking(self, shared: AskInputs) -> AskInputs:
        """A question with the job's own distance, weights and fields."""
        own = {name: getattr(self.choices, name) for name in ("distance", "weights", "unknown")}
        return replace(shared, options={**shared.options, **own}, fields=self.choices.fields, device=device_name())

    def ask(
        self,
        kind: str,
        function: TaskFunction,
        shared: AskInputs,
        wanted: Callable[[Mapping[str, Any], int], bool] = lambda batch, shard: True,
        **more: list[list[str]],
    ) -> list[list[str]]:
        """A task for every shard and batch that is wanted; the names of the tasks by batch.

        Tasks of one shard follow each other, so that a worker opens it once.
        """
        names: list[list[str]] = [[] for _ in self._batches]
        tasks = []
        for shard in range(len(self.target.firsts)):
            for number, batch in enumerate(self._batches):
                if wanted(batch, shard):
                    names[number].append(f"{kind}-{number:06d}-{shard:05d}")
                    given = {name: some[number] for name, some in more.items()}
                    tasks.append(Task(names[number][-1], function, {"batch": batch, "shard": shard, **given}))
        self.run.run(tasks, shared)
        return names

    def final(self, kind: str, function: TaskFunction, names: Mapping[str, list[list[str]]]) -> list[Task]:
        """A task for every batch, given the names of the tasks before it: each makes one part of the answer."""
        return [
            Task(f"{kind}-{number:06d}", function, {name: some[number] for name, some in names.items()})
            for number in range(len(self._batches))
        ]

    def nearest(self, question: AskInputs, last: TaskFunction) -> JobSummary:
        """Ask all shards for near documents, and make the answer with the last kind of task."""
        shared = self.asking(question)
        names = self.ask("near", ask_tasks.near, shared)
        done = self.run.run(self.final("merge", last, {"near": names}), shared)
        facts = [one.facts for one in done.values()]
        voted = {name: sum(int(one[name]) for one in facts) for name in ("labelled", "right") if name in facts[0]}
        return self.finish(done, voted)

    def finish(self, done: Mapping[str, Done], facts: Mapping[str, Any]) -> JobSummary:
        """Write the answer, and sum up."""
        self.run.write(done)
        documents = self.target.documents
        queries = documents if self.parts is None else sum(part.rows for part in self.parts)
        own = {"queries": queries, "pairs": queries * documents, "shards": len(self.target.firsts)}
        return self.run.finish(documents, {**own, **facts})


def _names(documents: str) -> list[str]:
    """The names of what a folder holds; none of a file."""
    return [] if documents.endswith(SUFFIXES) else Location(documents).names()


def _groups(job: ShardJob, tasks: list[str]) -> tuple[bytes, int]:
    """The groups that all pairs form; memory holds the pairs."""
    found = ask_tasks.close_pairs(job.run.folder, tasks)
    order = {pair.first: row for row, _, pair in found} | {pair.second: row for _, row, pair in found}
    pairs = Duplicates(sorted((pair for _, _, pair in found), key=lambda pair: pair.distance), order=order)
    group = {id: one.representative for one in pairs.groups for id in (one.representative, *one.others)}
    ids = sorted(group, key=order.__getitem__)
    return parquet_bytes({"id": ids, "group": [group[id] for id in ids]}), len(ids)
