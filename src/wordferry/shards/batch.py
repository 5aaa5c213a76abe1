"""Many queries against all shards: tasks of one shard and some queries each, merged into Parquet files.

The answer is that of the undivided index, whoever did the tasks. What is done is kept: a stopped search goes on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress
from wordferry.engines.course import Course
from wordferry.engines.engine import Engine
from wordferry.engines.places import Place
from wordferry.engines.sources import Fields, Part, cut, read_part
from wordferry.engines.work import Task, load, parquet_bytes, saved, text_array, words_of
from wordferry.errors import EmptyDocumentError, FormatError, InputError
from wordferry.find.ranking import QueryWord
from wordferry.find.settings import Settings
from wordferry.index.finding import Question
from wordferry.index.model import Document
from wordferry.index.searching import Plan
from wordferry.shards.merging import best_rows, joined, nearest, ranking_of
from wordferry.shards.shard import Best, Common, Comparison, Near, Shard, Stems


@dataclass(frozen=True)
class Questions:
    """How queries are answered: by words, or by a distance when one is named (or ``similar`` is wanted)."""

    k: int = 10
    similar: bool = False
    """Compare as :meth:`wordferry.Index.similar` does, with the index's weights."""
    distance: str | None = None
    weights: str | None = None
    unknown: str | None = None
    rerank: str | None = None
    candidates: int | None = None
    filter: Mapping[str, Any] | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    block: int = 200
    """Queries of one task."""
    fields: Fields = field(default_factory=Fields)

    @property
    def by_words(self) -> bool:
        """Whether words are searched for, and nothing compared."""
        return not self.similar and self.distance is None and self.rerank is None

    @property
    def options(self) -> dict[str, Any]:
        """What a search by a distance is called with."""
        plain = {"distance": self.distance, "filter": self.filter, "threads": 1}
        return plain | ({"weights": self.weights, "unknown": self.unknown} if self.similar else {})


@dataclass(frozen=True)
class Found:
    """What a search in a batch did."""

    output: str
    queries: int
    documents: int
    shards: int
    tasks: int
    resumed: int
    peak: int
    engine: str


def search(
    folder: str,
    queries: str,
    output: str | os.PathLike[str],
    questions: Questions | None = None,
    *,
    engine: Engine | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: ShowProgress = None,
    keep: bool = False,
) -> Found:
    """Answer every query of Parquet or JSON lines files from all shards of a folder, as Parquet with one row per query.

    Columns are ``id``, ``neighbors`` (ids of documents, best first) and ``scores`` or ``distances``.
    """
    asked = questions or Questions()
    common = Common(folder)
    asked = _checked(asked, common)
    place = Place(output)
    if place.names():
        raise InputError(f"{place.address} exists and is not empty. Give the search another output folder.")
    target = place.work_folder(work)
    parts = cut(queries, whole_number(asked.block, "block", of="queries"), asked.fields)
    plan = {"format": 1, "job": "search", "shards": common.manifest.identity, "questions": asdict(asked)}
    course = Course(plan, {"queries": parts}, target, engine, progress)
    shared = _Asking(common.place.address, common.manifest.identity, asked)
    last = _by_words if asked.by_words else _by_distance
    done = course.run(last(course, parts, shared), shared)
    for number, name in enumerate(sorted(done)):
        place.write(f"part-{number:05d}.parquet", (target / done[name].file).read_bytes())
    found = Found(
        place.address,
        sum(part.rows for part in parts),
        common.manifest.documents,
        len(common.manifest.shards),
        len(course.seen),
        course.resumed,
        max((int(one.facts.get("peak", 0)) for one in course.journal.done.values()), default=0),
        course.engine.name,
    )
    if not keep:
        shutil.rmtree(target)
    return found


def _checked(asked: Questions, common: Common) -> Questions:
    """The same with the number of candidates decided, or an error that says which option is wrong."""
    shard = Shard(common, 0)
    try:
        config = shard.index.config
    finally:
        shard.close()
    if asked.by_words:
        Question.check(config, asked.k, asked.filter, False, {**asked.constants, "candidates": asked.candidates})
        return asked
    if asked.constants:
        raise InputError(f"{min(asked.constants)} is a constant of word search; it has no meaning for a distance.")
    plan = Plan.check(config, asked.k, asked.distance, asked.filter, False, asked.rerank, asked.candidates)
    candidates = plan.candidates if plan.rerank is not None else None
    return replace(asked, distance=plan.record.name, candidates=candidates)


@dataclass(frozen=True)
class _Asking:
    """What all tasks share."""

    address: str
    identity: str
    questions: Questions


def _names(kind: str, part: Part, common: int) -> list[str]:
    return [f"{kind}-{part.number:06d}-{shard:05d}" for shard in range(common)]


def _pairs(kind: str, work: Any, parts: Sequence[Part], shards: int) -> Iterator[Task]:
    """A task for every shard and part; those of one shard follow each other, so that a worker opens it once."""
    for shard in range(shards):
        for part in parts:
            yield Task(f"{kind}-{part.number:06d}-{shard:05d}", work, {"part": part.to_json(), "shard": shard})


def _final(work: Any, parts: Sequence[Part], shards: int) -> list[Task]:
    return [Task(f"found-{part.number:06d}", work, {"part": part.to_json(), "shards": shards}) for part in parts]


def _by_words(course: Course, parts: Sequence[Part], shared: _Asking) -> list[Task]:
    shards = len(Common(shared.address).manifest.shards)
    course.run(_pairs("best", _best, parts, shards), shared)
    course.run(_pairs("stems", _stems, parts, shards), shared)
    return _final(_rank, parts, shards)


def _by_distance(course: Course, parts: Sequence[Part], shared: _Asking) -> list[Task]:
    shards = len(Common(shared.address).manifest.shards)
    course.run(_pairs("near", _near, parts, shards), shared)
    return _final(_merge, parts, shards)


# -- on a worker ----------------------------------------------------------------------------------------------------

_opened: list[Shard] = []
"""The shard that this process has opened last."""


def _shard(shared: _Asking, number: int) -> Shard:
    key = (shared.identity, number)
    if _opened and (_opened[0].common.manifest.identity, _opened[0].number) == key:
        return _opened[0]
    common = _opened[0].common if _opened and _opened[0].common.manifest.identity == key[0] else Common(shared.address)
    if common.manifest.identity != shared.identity:
        raise FormatError(f"{shared.address} was built anew since the search was planned. Start it again elsewhere.")
    while _opened:
        _opened.pop().close()
    _opened.append(Shard(common, number))
    return _opened[0]


def _tokens(part: Part, shard: Shard, fields: Fields) -> list[list[str]]:
    """The words of the queries of a part; one without any is named."""
    split = shard.index.tokenizer
    found = []
    for number, row in enumerate(read_part(part, fields)):
        words = split(row.text) if isinstance(row.text, str) else list(row.text)
        if not words:
            raise EmptyDocumentError(f"{part.path}, row {part.start + number + 1}: the query has no words.")
        found.append(words)
    return found


def _best(arguments: Mapping[str, Any], folder: Path, shared: _Asking) -> tuple[bytes, dict[str, Any]]:
    """What the queries of a part find in a shard by the documents' own words."""
    shard, asked = _shard(shared, arguments["shard"]), shared.questions
    tokens = _tokens(Part(**arguments["part"]), shard, asked.fields)
    constants = {**asked.constants, "candidates": asked.candidates}
    found = shard.best(tokens, asked.k, asked.filter, constants)
    data = saved(
        indptr=np.cumsum([0, *(len(one.rows) for one in found)]),
        rows=np.concatenate([one.rows for one in found]),
        own=np.concatenate([one.own for one in found]),
        settings=text_array([found[0].settings.to_json()]),
        query=text_array([[list(vars(word).values()) for word in one.query] for one in found]),
    )
    return data, {"queries": len(tokens)}


def _bests(folder: Path, names: Sequence[str]) -> list[list[Best]]:
    """What each query has found in each shard."""
    shards = [load(folder, name) for name in names]
    settings = Settings(**words_of(shards[0], "settings")[0])
    columns = [(data["indptr"], data["rows"], data["own"]) for data in shards]
    query = [tuple(QueryWord(*word) for word in words) for words in words_of(shards[0], "query")]
    return [
        [Best(rows[p[q] : p[q + 1]], own[p[q] : p[q + 1]], query[q], (), settings) for p, rows, own in columns]
        for q in range(len(columns[0][0]) - 1)
    ]


def _wanted(found: Sequence[Best], k: int) -> Int64Array:
    """The rows that the answer of a query may be made of."""
    return best_rows(found, k)[0]


def _stems(arguments: Mapping[str, Any], folder: Path, shared: _Asking) -> tuple[bytes, dict[str, Any]]:
    """The documents of a shard that are among the best of some query: their ids and bags."""
    shard, part = _shard(shared, arguments["shard"]), Part(**arguments["part"])
    names = _names("best", part, len(shard.common.manifest.shards))
    rows = np.unique(np.concatenate([_wanted(found, shared.questions.k) for found in _bests(folder, names)]))
    own = rows[(rows >= shard.record.first) & (rows < shard.record.first + shard.record.documents)]
    stems = shard.stems(own)
    groups = len(shard.common.totals.stems)
    return saved(rows=own, ids=text_array(shard.ids(own)), groups=np.array(groups), **vars(stems)), {}


def _rank(arguments: Mapping[str, Any], folder: Path, shared: _Asking) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents that its words find best."""
    part, asked = Part(**arguments["part"]), shared.questions
    files = [load(folder, name) for name in _names("stems", part, arguments["shards"])]
    rows = np.concatenate([data["rows"] for data in files])
    names = [one for data in files for one in words_of(data, "ids")]
    stems = [Stems(data["indptr"], data["stems"], data["counts"], data["idf"]) for data in files]
    every = joined(stems, np.arange(len(rows)))
    ids, scores = [], []
    for found in _bests(folder, _names("best", part, arguments["shards"])):
        ranking = ranking_of(
            found, asked.k, int(files[0]["groups"]), lambda some: joined([every], np.searchsorted(rows, some))
        )
        ids.append([names[place] for place in np.searchsorted(rows, ranking.rows).tolist()])
        scores.append(ranking.scores.tolist())
    return _table(part, asked, ids, "scores", scores)


def _near(arguments: Mapping[str, Any], folder: Path, shared: _Asking) -> tuple[bytes, dict[str, Any]]:
    """The documents of a shard nearest to the queries of a part."""
    shard, asked = _shard(shared, arguments["shard"]), shared.questions
    tokens = _tokens(Part(**arguments["part"]), shard, asked.fields)
    how = Comparison(asked.candidates or asked.k, asked.similar, asked.options, asked.rerank)
    found = shard.near(tokens, how)
    rows = [[(one.document.id, one.distance, one.second, one.place) for one in some] for some in found]
    return saved(near=text_array(rows)), {"queries": len(tokens)}


def _merge(arguments: Mapping[str, Any], folder: Path, shared: _Asking) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents nearest to it."""
    part, asked = Part(**arguments["part"]), shared.questions
    shards = [words_of(load(folder, name), "near") for name in _names("near", part, arguments["shards"])]
    ids, distances = [], []
    for query in zip(*shards, strict=True):
        found = [[Near(Document(id, ""), *values) for id, *values in some] for some in query]
        best = nearest(found, asked.k, asked.candidates)
        ids.append([one.document.id for one in best])
        distances.append([one.distance if one.second is None else one.second for one in best])
    return _table(part, asked, ids, "distances", distances)


def _table(part: Part, asked: Questions, ids: Any, name: str, values: Any) -> tuple[bytes, dict[str, Any]]:
    queries = [row.id for row in read_part(part, asked.fields)]
    return parquet_bytes({"id": queries, "neighbors": ids, name: values}), {"queries": len(queries)}
