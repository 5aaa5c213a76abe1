"""The jobs: what they compute, cut into tasks by a plan that does not depend on who does them."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from wordferry.base.checks import real_number, whole_number
from wordferry.base.runtime import ShowProgress
from wordferry.compare.distances import find_distance, find_overlap
from wordferry.engines.components import Components
from wordferry.engines.course import Course, counts_name
from wordferry.engines.engine import Engine
from wordferry.engines.journal import Done
from wordferry.engines.places import Place
from wordferry.engines.sources import Fields, cut
from wordferry.engines.work import (
    Comparing,
    Encoding,
    Names,
    Relating,
    Task,
    load,
    merged_stripes,
    numbers_file,
    parquet_bytes,
    words_of,
)
from wordferry.errors import FormatError, InputError
from wordferry.texts.bow import check_unknown
from wordferry.texts.datasets import default_embeddings
from wordferry.texts.tokenizers import Tokenizer
from wordferry.texts.weights import WEIGHTS, Weighting, weights_of_counts
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords
from wordferry.words.related.parts import stripe_count

_TASKS = 256
"""About how many tasks a job is cut into at most, beside one per part: so much that little is lost with a worker."""


@dataclass(frozen=True)
class Settings:
    """What changes the answer of a job, or the pieces it is cut into; all of it is in the plan on disk."""

    distance: str = "rel-rwmd"
    overlap: str | None = None
    weights: str = "idf"
    """What words count for, fitted on all documents that are searched: see :func:`wordferry.pairwise`."""
    unknown: str = "match"
    """Words without a vector: "match" (they count, onto themselves), "drop" or "error"."""
    r: int = DEFAULT_R
    block: int = 20_000
    """Documents in a part."""
    fields: Fields = field(default_factory=Fields)

    def checked(self) -> Settings:
        """The same, or an error that says which value is wrong."""
        record = find_distance(self.distance)
        find_overlap(record, self.overlap)
        if self.weights not in WEIGHTS:
            raise InputError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}; got {self.weights!r}.")
        check_unknown(self.unknown)
        whole_number(self.block, "block", of="documents")
        return self


@dataclass(frozen=True)
class Summary:
    """What a job did."""

    output: str
    documents: int
    pairs: int
    tasks: int
    resumed: int
    """Tasks that an earlier run had done."""
    repeated: int
    """Tasks that had to be begun again, because a worker, a node or a driver had died."""
    peak: int
    """The most memory that a task's process has held, in bytes."""
    engine: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class Job(Course):
    """A job that compares: what its tasks share, and where its answer goes."""

    def __init__(
        self,
        kind: str,
        sources: Mapping[str, str],
        output: str | os.PathLike[str],
        settings: Settings,
        options: Mapping[str, Any],
        *,
        embeddings: Embeddings | None = None,
        tokenizer: Tokenizer | None = None,
        engine: Engine | None = None,
        work: str | os.PathLike[str] | None = None,
        memory: int = 256 << 20,
        progress: ShowProgress = None,
    ) -> None:
        self.settings = settings.checked()
        self.output = Place(output)
        self.embeddings = embeddings or default_embeddings()
        self.tokenizer = tokenizer
        self.memory = memory
        if self.output.names():
            raise InputError(f"{self.output.address} exists and is not empty. Give the job another output folder.")
        plan = {
            "format": 1,
            "job": kind,
            "settings": asdict(settings),
            "options": dict(options),
            "vectors": self.embeddings.fingerprint,
        }
        folder = self.output.work_folder(work)
        parts = {side: cut(source, settings.block, settings.fields) for side, source in sources.items()}
        super().__init__(plan, parts, folder, engine, progress)

    def encode(self) -> None:
        """All texts to counts; ids that occur twice are refused here, before any distance is computed."""
        unknown: Any = self.settings.unknown
        shared = Encoding(self.embeddings.vocabulary, self.tokenizer, self.settings.fields, unknown)
        tasks = [
            Task(counts_name(side, part), "encode", {"part": part.to_json()})
            for side, parts in self.parts.items()
            for part in parts
        ]
        self.run(tasks, shared)
        for side in self.parts:
            self.check_ids(side)

    def comparing(self, searched: str) -> Comparing:
        """Words in play, their related words and weights: from partial counts, the same however they were cut."""
        folder = self.journal.folder
        closed = len(self.embeddings)
        numbers: dict[str, int] = {}
        df = np.zeros(closed, dtype=np.int64)
        used = np.zeros(closed, dtype=bool)
        for side in self.parts:
            for column in self.columns(side):
                data = load(folder, column["name"])
                own = [numbers.setdefault(word, len(numbers)) for word in words_of(data, "others")]
                np.save(folder / numbers_file(column["name"]), np.array(own, dtype=np.int64))
                df = np.pad(df, (0, closed + len(numbers) - len(df)))
                known = data["words"] < closed
                used[data["words"][known]] = True
                if side == searched:
                    places = np.array([*range(closed), *(closed + number for number in own)])[data["words"]]
                    df[places] += data["frequencies"]
        words = np.flatnonzero(used).astype(np.int64)
        if not len(words):
            raise InputError("No document has a word with a vector. Load larger embeddings.")
        vectors = self.embeddings.restrict(words)
        columns = np.full(closed, -1, dtype=np.int32)
        columns[words] = np.arange(len(words), dtype=np.int32)
        weighting = self._weighting(searched, df, np.concatenate([words, np.arange(closed, len(df))]))
        related = self._related(vectors) if find_distance(self.settings.distance).needs_related else None
        how = (self.settings.distance, self.settings.overlap)
        return Comparing(*how, vectors, related, columns, len(numbers), weighting, threads=1, memory=self.memory)

    def _weighting(self, searched: str, df: Any, columns: Any) -> Weighting | None:
        """The weights of some columns, from counts over all documents that are searched."""
        done = [self.journal.done[column["name"]].facts for column in self.columns(searched)]
        tokens = sum(int(facts["known" if self.settings.unknown == "drop" else "tokens"]) for facts in done)
        documents = sum(part.rows for part in self.parts[searched])
        fitted = weights_of_counts(self.settings.weights, documents, df, tokens, self.embeddings)
        return None if fitted is None else replace(fitted, per_word=fitted.of(columns))

    def _related(self, vectors: Embeddings) -> RelatedWords:
        """The graph over the words in play: found in stripes, each by a task of its own, and merged."""
        shared = Relating(vectors, self.settings.r)
        names = [f"related-{number:05d}" for number in range(stripe_count(len(vectors)))]
        self.run([Task(name, "stripe", {"stripe": number}) for number, name in enumerate(names)], shared)
        return merged_stripes(self.journal.folder, names, shared)

    def finish(self, done: Mapping[str, Done], facts: Mapping[str, Any], keep: bool) -> Summary:
        """Move the parts of the answer to where they were asked for, and tidy up."""
        for number, task in enumerate(sorted(done.values(), key=lambda one: one.task)):
            self.output.write(f"part-{number:05d}.parquet", (self.journal.folder / task.file).read_bytes())
        every = self.journal.done.values()
        summary = Summary(
            self.output.address,
            sum(part.rows for parts in self.parts.values() for part in parts),
            sum(int(one.facts.get("pairs", 0)) for one in every),
            len(self.seen),
            self.resumed,
            self.repeated,
            max((int(one.facts.get("peak", 0)) for one in every), default=0),
            self.engine.name,
            facts,
        )
        if not keep:
            shutil.rmtree(self.journal.folder)
        return summary


def _near_tasks(job: Job, rows: str, columns: str, k: int) -> dict[int, list[Task]]:
    """Tasks by part of the rows: each against some parts of the columns, so many that no task is large."""
    every = job.columns(columns)
    step = max(1, math.ceil(len(job.parts[rows]) * len(every) / _TASKS))
    found: dict[int, list[Task]] = {}
    for part, row in zip(job.parts[rows], job.columns(rows), strict=True):
        found[part.number] = [
            Task(
                f"near-{part.number:06d}-{start:06d}",
                "near",
                {"rows": row, "columns": every[start : start + step], "k": k, "same": rows == columns},
            )
            for start in range(0, len(every), step)
        ]
    return found


def _nearest(
    job: Job, rows: str, columns: str, k: int, kind: str, options: Mapping[str, Any], keep: bool
) -> tuple[dict[str, Done], Summary]:
    """The shared course of all jobs that look for nearest documents."""
    job.encode()
    tasks = _near_tasks(job, rows, columns, k)
    job.run((task for some in tasks.values() for task in some), job.comparing(columns))
    every = job.columns(columns)
    final = [
        Task(
            f"{kind}-{number:06d}",
            kind,
            {"rows": row, "columns": every, "parts": [task.name for task in tasks[number]], "k": k, **options},
        )
        for number, row in enumerate(job.columns(rows))
    ]
    done = job.run(final, None)
    facts: dict[str, Any] = {}
    if kind == "votes":
        labelled = sum(int(one.facts["labelled"]) for one in done.values())
        right = sum(int(one.facts["right"]) for one in done.values())
        facts = {"labelled": labelled, "right": right}
    return done, job.finish(done, facts, keep)


def knn_graph(source: str, output: str, k: int = 10, settings: Settings | None = None, **run: Any) -> Summary:
    """The k nearest other documents of each document, as Parquet with one row per document.

    ``run`` takes ``embeddings``, ``tokenizer``, ``engine``, ``work`` (the folder of the plan and of what is done),
    ``memory``, ``progress`` and ``keep`` (keep that folder when the job is done).
    """
    keep = bool(run.pop("keep", False))
    job = Job("knn-graph", {"documents": source}, output, settings or Settings(), {"k": whole_number(k, "k")}, **run)
    return _nearest(job, "documents", "documents", k, "merge", {}, keep)[1]


def top_k(
    queries: str, documents: str, output: str, k: int = 10, settings: Settings | None = None, **run: Any
) -> Summary:
    """The k documents nearest to each query, as Parquet with one row per query; ``run`` as for :func:`knn_graph`."""
    keep = bool(run.pop("keep", False))
    sources = {"queries": queries, "documents": documents}
    job = Job("top-k", sources, output, settings or Settings(), {"k": whole_number(k, "k")}, **run)
    return _nearest(job, "queries", "documents", k, "merge", {}, keep)[1]


def classify(train: str, test: str, output: str, k: int = 19, settings: Settings | None = None, **run: Any) -> Summary:
    """The label that the k nearest training documents vote for; ``run`` as for :func:`knn_graph`.

    Training documents need a label; where test documents have one, the summary says how many were right.
    """
    keep = bool(run.pop("keep", False))
    job = Job(
        "classify", {"test": test, "train": train}, output, settings or Settings(), {"k": whole_number(k, "k")}, **run
    )
    job.encode()
    classes: set[str] = set()
    for column in job.columns("train"):
        labels = words_of(load(job.journal.folder, column["name"]), "labels")
        if None in labels:
            where = job.where("train", column["first"] + labels.index(None))
            raise FormatError(f"{where}: a training document needs a label ({job.settings.fields.label!r}).")
        classes.update(labels)
    return _nearest(job, "test", "train", k, "votes", {"classes": sorted(classes)}, keep)[1]


def duplicates(source: str, output: str, threshold: float, settings: Settings | None = None, **run: Any) -> Summary:
    """All pairs of documents at a distance of at most ``threshold``, and the groups they form.

    The pairs are Parquet files ``part-*.parquet`` (first, second, distance), the groups ``groups.parquet`` (id, group:
    the first document of the group; only documents that have a duplicate). ``run`` as for :func:`knn_graph`.
    """
    keep = bool(run.pop("keep", False))
    options = {"threshold": real_number(threshold, "threshold", what="a distance")}
    job = Job("duplicates", {"documents": source}, output, settings or Settings(), options, **run)
    job.encode()
    columns = job.columns("documents")
    tasks = {
        (i, j): Task(f"close-{i:06d}-{j:06d}", "close", {"rows": columns[i], "column": columns[j], **options})
        for i in range(len(columns))
        for j in range(i, len(columns))
    }
    job.run(tasks.values(), job.comparing("documents"))
    final = [
        Task(
            f"edges-{i:06d}",
            "edges",
            {"columns": columns, "parts": [tasks[i, j].name for j in range(i, len(columns))]},
        )
        for i in range(len(columns))
    ]
    done = job.run(final, None)
    groups, members = _groups(job, [task.name for task in tasks.values()])
    edges = sum(int(one.facts["edges"]) for one in done.values())
    job.output.write("groups.parquet", groups)
    return job.finish(done, {"pairs_found": edges, "documents_in_groups": members}, keep)


def _groups(job: Job, edges: list[str]) -> tuple[bytes, int]:
    """Connected components of all edges, out of core: only documents that have a duplicate."""
    joined = Components(sum(part.rows for part in job.parts["documents"]), job.journal.folder)
    try:
        nodes = np.zeros(0, dtype=np.int64)
        for name in edges:
            data = load(job.journal.folder, name)
            joined.add(data["first"], data["second"])
            nodes = np.unique(np.concatenate([nodes, data["first"], data["second"]]))
        names = Names(job.journal.folder, job.columns("documents"), "ids")
        ids = [names[node] for node in nodes.tolist()]
        firsts = [names[joined.group(node)] for node in nodes.tolist()]
    finally:
        joined.close()
    return parquet_bytes({"id": ids, "group": firsts}), len(ids)
