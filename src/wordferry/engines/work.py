"""What a worker does: one task, from files to one file. The same functions run in this process, on Ray and on Spark."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import blas_threads, optional_import
from wordferry.compare.calls import pairwise, top_k
from wordferry.engines.journal import digest, write_whole
from wordferry.engines.sources import Fields, Part, read_part
from wordferry.errors import FormatError, InputError
from wordferry.judge.voting import vote
from wordferry.texts.bow import Encoded, Unknown, bags
from wordferry.texts.tokenizers import Tokenizer
from wordferry.texts.weights import Weighting
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.parts import Stripe, build_stripes, merge_stripes
from wordferry.words.vocabulary import Vocabulary

Doing = Callable[[Mapping[str, Any], Path, Any], tuple[bytes, dict[str, Any]]]
"""From the arguments of a task, the job's folder and what is shared to the bytes of a file, and facts about it."""
_PARQUET = b"PAR1"
ATTEMPTS = "attempts.log"
"""The file of a job's folder that gets a line whenever a worker begins a task."""
_TILE = 1 << 24
"""Distances held at once when all pairs under a threshold are sought: 64 MB."""


@dataclass(frozen=True)
class Task:
    """One piece of a job; its name says the same on every engine and in every run."""

    name: str
    kind: str | Doing
    """What is to be done: one of the kinds below, or a function of a module."""
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The file a task has written, and what there is to say about it."""

    file: str
    sha256: str
    size: int
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Encoding:
    """What turns texts into counts."""

    vocabulary: Vocabulary
    tokenizer: Tokenizer | None
    fields: Fields
    unknown: Unknown


@dataclass(frozen=True)
class Comparing:
    """What turns counts into distances: the words in play with their vectors, related words and weights."""

    distance: str
    overlap: str | None
    embeddings: Embeddings
    related: RelatedWords | None
    columns: Any
    """The place of each word of the whole vocabulary among those in play."""
    others: int
    """How many words without a vector there are; their columns follow those of the words in play."""
    weighting: Weighting | None
    """The fitted weights of all columns, or None for plain counts."""
    threads: int
    memory: int


def perform(task: Task, folder: str, shared: Any) -> Outcome:
    """Do one task and write its file into the job's folder, whole or not at all."""
    start, cpu = time.perf_counter(), time.process_time()
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with open(Path(folder) / ATTEMPTS, "ab", buffering=0) as stream:
        stream.write(f"{task.name} {os.getpid()}\n".encode())
    work = _KINDS[task.kind] if isinstance(task.kind, str) else task.kind
    data, facts = work(task.arguments, Path(folder), shared)
    file = f"{task.name}.{'parquet' if data.startswith(_PARQUET) else 'npz'}"
    write_whole(Path(folder) / file, data)
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts = {
        **facts,
        "seconds": round(time.perf_counter() - start, 3),
        "cpu": round(time.process_time() - cpu, 3),
        "base": base,
        "peak": used.ru_maxrss * 1024,
        "process": os.getpid(),
    }
    return Outcome(file, digest(data), len(data), facts)


def saved(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def load(folder: Path, name: str) -> Any:
    """The arrays of a task's file."""
    return np.load(folder / f"{name}.npz", allow_pickle=False)


def words_of(data: Any, name: str) -> list[Any]:
    """A list of strings that was saved as JSON."""
    return list(json.loads(data[name].tobytes()))


def text_array(values: list[Any]) -> Any:
    return np.frombuffer(json.dumps(values, ensure_ascii=False).encode(), dtype=np.uint8)


def encode(arguments: Mapping[str, Any], folder: Path, shared: Encoding) -> tuple[bytes, dict[str, Any]]:
    """Texts of one part to counts, with in how many documents each word stands."""
    part = Part(**arguments["part"])
    rows = list(read_part(part, shared.fields))
    ids = [row.id for row in rows]
    check_ids(part, ids)
    try:
        found = bags(
            [row.text for row in rows],
            shared.vocabulary,
            tokenizer=shared.tokenizer,
            on_empty="keep",
            unknown=shared.unknown,
        )
    except InputError as error:
        raise FormatError(f"{part.path}, rows {part.start + 1} to {part.start + part.rows}: {error}") from None
    matrix, vocabulary = found.matrix, found.vocabulary
    others = [] if isinstance(vocabulary, Vocabulary) else list(vocabulary.extra)
    words, frequencies = np.unique(matrix.indices, return_counts=True)
    data = saved(
        indptr=matrix.indptr,
        indices=matrix.indices,
        data=matrix.data,
        ids=text_array(ids),
        labels=text_array([row.label for row in rows]),
        hashes=hashes_of(ids),
        words=words.astype(np.int64),
        frequencies=frequencies.astype(np.int64),
        others=text_array(others),
    )
    tokens, known = int(found.tokens.sum()), int(found.known.sum())
    return data, {"documents": len(ids), "tokens": tokens, "known": known}


def check_ids(part: Part, ids: Sequence[str]) -> None:
    """Refuse an id that two rows of a part have."""
    if len(set(ids)) == len(ids):
        return
    seen: dict[str, int] = {}
    for number, one in enumerate(ids):
        if one in seen:
            first, second = part.start + seen[one] + 1, part.start + number + 1
            raise FormatError(f"{part.path}: rows {first} and {second} have the same id {one!r}.")
        seen[one] = number


def hashes_of(ids: Sequence[str]) -> Any:
    """64 bits of each id: where two agree, the ids are looked at."""
    found = (int.from_bytes(hashlib.blake2b(one.encode(), digest_size=8).digest(), "little") for one in ids)
    return np.fromiter(found, dtype=np.uint64, count=len(ids))


@dataclass(frozen=True)
class Relating:
    """What finds related words: the words in play with their vectors, and how many each gets."""

    embeddings: Embeddings
    r: int


def stripe(arguments: Mapping[str, Any], folder: Path, shared: Relating) -> tuple[bytes, dict[str, Any]]:
    """The related words of one stripe of the words in play, and its part of c_max."""
    with blas_threads(1):
        (found,) = build_stripes(shared.embeddings, shared.r, [arguments["stripe"]])
    return saved(**{name: np.asarray(value) for name, value in vars(found).items()}), {"words": len(found.own)}


def merged_stripes(folder: Path, names: Sequence[str], shared: Relating) -> RelatedWords:
    """The related words of all stripes together."""
    found = []
    for name in names:
        data = load(folder, name)
        lists = (data["own"], data["distances"], data["rank_sums"])
        found.append(Stripe(int(data["number"]), *lists, float(data["total"])))
    return merge_stripes(shared.embeddings, shared.r, found)


def bags_of(folder: Path, name: str, shared: Comparing) -> sp.csr_array:
    """The weights of one part over the words in play."""
    data = load(folder, name)
    indptr, indices, values = data["indptr"], data["indices"], data["data"]
    known = indices < len(shared.columns)
    columns = np.empty(len(indices), dtype=np.int64)
    columns[known] = shared.columns[indices[known]]
    if not known.all():
        numbers = np.load(folder / numbers_file(name), allow_pickle=False)
        columns[~known] = len(shared.embeddings) + numbers[indices[~known] - len(shared.columns)]
    if shared.weighting is not None:
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        values = shared.weighting.apply(values.astype(np.float64), columns, rows, len(indptr) - 1)
    matrix = sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, len(shared.embeddings) + shared.others))
    matrix.sort_indices()
    return matrix


def numbers_file(name: str) -> str:
    """The file that says which number each word without a vector of a part has in the whole collection."""
    return f"{name}.numbers.npy"


def sides(shared: Comparing, *matrices: sp.csr_array) -> list[Any]:
    """Weights of parts as comparisons take them: words without a vector that none of the parts has have no column."""
    closed = len(shared.embeddings)
    if not shared.others:
        return list(matrices)
    used = np.unique(np.concatenate([matrix.indices[matrix.indices >= closed] for matrix in matrices]))
    vocabulary = OpenVocabulary(shared.embeddings.vocabulary, (f"\0{number}" for number in used.tolist()))
    columns = np.concatenate([np.arange(closed), used])
    return [Encoded.of(sp.csr_array(matrix[:, columns]), vocabulary) for matrix in matrices]


def near(arguments: Mapping[str, Any], folder: Path, shared: Comparing) -> tuple[bytes, dict[str, Any]]:
    """The k nearest documents in some parts of each document of one part."""
    X = bags_of(folder, arguments["rows"]["name"], shared)
    k, same = arguments["k"], arguments["same"]
    found = []
    pairs = 0
    for column in arguments["columns"]:
        own = same and column["name"] == arguments["rows"]["name"]
        Y = X if own else bags_of(folder, column["name"], shared)
        one, other = sides(shared, X, Y)
        part = top_k(one, other, k + own, shared.distance, on_empty="keep", memory=shared.memory, **_options(shared))
        found.append((part.without_self(0) if own else part).shifted(column["first"]))
        found = [Neighbors.merge(found, k)]
        pairs += X.shape[0] * Y.shape[0]
    return saved(indices=found[0].indices, distances=found[0].distances), {"pairs": pairs}


def _options(shared: Comparing) -> dict[str, Any]:
    return {
        "embeddings": shared.embeddings,
        "related": shared.related,
        "overlap": shared.overlap,
        "unknown": "match" if shared.others else "drop",
        "threads": shared.threads,
    }


def close(arguments: Mapping[str, Any], folder: Path, shared: Comparing) -> tuple[bytes, dict[str, Any]]:
    """All pairs of documents of two parts at a distance of at most a threshold, each pair once."""
    rows, column = arguments["rows"], arguments["column"]
    own = rows["name"] == column["name"]
    X = bags_of(folder, rows["name"], shared)
    Y = X if own else bags_of(folder, column["name"], shared)
    step = max(1, _TILE // max(1, Y.shape[0]))
    first, second, distances = [], [], []
    for start in range(0, X.shape[0], step):
        one, other = sides(shared, X[start : start + step], Y)
        values = pairwise(one, other, shared.distance, on_empty="keep", **_options(shared))
        i, j = np.nonzero(values <= arguments["threshold"])
        kept = (j > i + start) if own else np.ones(len(i), dtype=bool)
        first.append(i[kept] + start + rows["first"])
        second.append(j[kept] + column["first"])
        distances.append(values[i[kept], j[kept]])
    arrays = {"first": np.concatenate(first), "second": np.concatenate(second), "distances": np.concatenate(distances)}
    return saved(**arrays), {"pairs": X.shape[0] * Y.shape[0], "edges": len(arrays["first"])}


def _merged(arguments: Mapping[str, Any], folder: Path) -> Neighbors:
    parts = [load(folder, name) for name in arguments["parts"]]
    return Neighbors.merge([Neighbors(part["indices"], part["distances"]) for part in parts], arguments["k"])


class Names:
    """Ids or labels of documents by their number in the collection, read part by part as they are asked for."""

    def __init__(self, folder: Path, columns: Sequence[Mapping[str, Any]], what: str) -> None:
        self.folder, self.columns, self.what = folder, columns, what
        self.starts = np.array([column["first"] for column in columns])
        self.read: dict[int, list[Any]] = {}

    def __getitem__(self, number: int) -> Any:
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        if part not in self.read:
            self.read[part] = words_of(load(self.folder, self.columns[part]["name"]), self.what)
        return self.read[part][number - int(self.starts[part])]


def merge(arguments: Mapping[str, Any], folder: Path, shared: Any) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each document with its nearest ones, by id."""
    found = _merged(arguments, folder)
    names = Names(folder, arguments["columns"], "ids")
    ids = words_of(load(folder, arguments["rows"]["name"]), "ids")
    near = [[names[int(i)] for i in row[np.isfinite(d)]] for row, d in found]
    distances = [d[np.isfinite(d)].tolist() for _, d in found]
    return parquet_bytes({"id": ids, "neighbors": near, "distances": distances}), {"documents": len(ids)}


def votes(arguments: Mapping[str, Any], folder: Path, shared: Any) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each document with the label that its nearest training documents vote for."""
    found = _merged(arguments, folder)
    labels = Names(folder, arguments["columns"], "labels")
    numbers: dict[str, int] = {name: number for number, name in enumerate(arguments["classes"])}
    valid = (found.indices >= 0) & np.isfinite(found.distances)
    classes = np.full(found.indices.shape, -1, dtype=np.int64)
    for place in np.argwhere(valid):
        classes[tuple(place)] = numbers[labels[int(found.indices[tuple(place)])]]
    winners = vote(classes, len(numbers), arguments["k"])
    names = [*arguments["classes"], None]
    own = load(folder, arguments["rows"]["name"])
    ids, known = words_of(own, "ids"), words_of(own, "labels")
    predicted = [names[winner] for winner in winners.winner]
    shares = [float(row.max(initial=0.0)) for row in winners.shares]
    right = sum(a == b for a, b in zip(predicted, known, strict=True) if b is not None)
    facts = {"documents": len(ids), "labelled": sum(one is not None for one in known), "right": right}
    return parquet_bytes({"id": ids, "predicted": predicted, "share": shares, "label": known}), facts


def edges(arguments: Mapping[str, Any], folder: Path, shared: Any) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: near-duplicate pairs by id, in the order of their first documents."""
    parts = [load(folder, name) for name in arguments["parts"]]
    first = np.concatenate([part["first"] for part in parts])
    second = np.concatenate([part["second"] for part in parts])
    distances = np.concatenate([part["distances"] for part in parts])
    order = np.lexsort((second, first))
    names = Names(folder, arguments["columns"], "ids")
    columns = {
        "first": [names[int(i)] for i in first[order]],
        "second": [names[int(i)] for i in second[order]],
        "distance": distances[order].astype(np.float32),
    }
    return parquet_bytes(columns), {"edges": len(first)}


def parquet_bytes(columns: Mapping[str, Any]) -> bytes:
    """A table as the bytes of a Parquet file; the same rows give the same bytes."""
    arrow = optional_import("pyarrow", "cluster")
    types = {
        "id": arrow.string(),
        "neighbors": arrow.list_(arrow.string()),
        "distances": arrow.list_(arrow.float32()),
        "scores": arrow.list_(arrow.float64()),
        "predicted": arrow.string(),
        "label": arrow.string(),
        "share": arrow.float64(),
        "first": arrow.string(),
        "second": arrow.string(),
        "distance": arrow.float32(),
        "group": arrow.string(),
    }
    table = arrow.table({name: arrow.array(values, type=types[name]) for name, values in columns.items()})
    stream = io.BytesIO()
    optional_import("pyarrow.parquet", "cluster").write_table(table, stream, compression="zstd")
    return stream.getvalue()


_KINDS: dict[str, Any] = {
    "encode": encode,
    "stripe": stripe,
    "near": near,
    "close": close,
    "merge": merge,
    "votes": votes,
    "edges": edges,
}
