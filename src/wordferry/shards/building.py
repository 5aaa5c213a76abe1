"""Building an index in shards: words are counted in parts, the counts merged, then every shard is built on its own.

All shards get the same words in the same order, the same related words and the same totals, so that a distance or a
score does not depend on the shard that a document is in. Shards are runs of documents in the order of their files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int64Array
from wordferry.base.checks import whole_number
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.engines.journal import Done
from wordferry.engines.location import Location
from wordferry.engines.run import JobRun, JobSummary
from wordferry.engines.sources import SourceFields, SourcePart, cut
from wordferry.engines.tasks import Task, json_values, load
from wordferry.errors import FormatError, InputError, VocabularyMismatch
from wordferry.index.config import RECOMMENDED
from wordferry.index.search.statistics import CollectionStatistics, added
from wordferry.shards.build_tasks import BuildInputs, CountInputs, build_shard, count_words
from wordferry.shards.manifest import EMBEDDINGS, FILE, RELATED, SHARDS, STATISTICS, Manifest, ShardRecord
from wordferry.texts.bow import check_on_empty
from wordferry.texts.datasets import default_embeddings
from wordferry.texts.tokenizers import Tokenizer, tokenizer_config
from wordferry.texts.weights import check_scheme
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords


@dataclass(frozen=True)
class Choices:
    """What an index is made with, as for :meth:`wordferry.Index.create`, and how its documents are read."""

    distance: str | None = None
    """None: that of shards which exist already, else "rel-rwmd + 2*cosine". So with weights and unknown."""
    overlap: str | None = None
    r: int = DEFAULT_R
    on_empty: str = "error"
    language: str | None = None
    weights: str | None = None
    unknown: str | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Constants of word search that are to differ from the defaults."""
    block: int = 20_000
    """Documents whose words one task counts, and queries that one task asks of one shard."""
    fields: SourceFields = field(default_factory=SourceFields)
    encoder: str | None = None
    """The name of an encoder that every worker can load, for search by words and meaning."""

    def checked(self) -> Choices:
        """These choices as an index is built with them, or an error that says which value is wrong."""
        distance, weights, unknown = self.distance or RECOMMENDED, self.weights or "idf", self.unknown or "match"
        Measure(find_distance(distance), self.overlap, unknown=unknown)  # type: ignore[arg-type]  # which it checks
        check_scheme(weights)
        check_on_empty(self.on_empty)
        whole_number(self.block, "block", of="documents")
        whole_number(self.r, "r", of="related words")
        fields = replace(self.fields, rest=True)
        return replace(self, distance=distance, weights=weights, unknown=unknown, fields=fields)


@dataclass(frozen=True)
class _Counted:
    """The merged counts of all parts."""

    words: list[str]
    """In the order of their numbers: those with a vector first, each kind in the order in which it comes."""
    vectors: int
    """How many of them have a vector."""
    frequencies: Int64Array
    """Document frequency of each."""


def build(
    documents: str,
    output: str | os.PathLike[str],
    shards: int,
    choices: Choices | None = None,
    *,
    embeddings: Embeddings | None = None,
    tokenizer: Tokenizer | str | None = None,
    **run: Any,
) -> JobSummary:
    """Build an index in ``shards`` shards from Parquet or JSON lines, into a folder or a bucket.

    ``run`` takes ``engine``, ``work``, ``progress`` and ``keep`` of :class:`wordferry.engines.run.JobRun`; a build
    that was stopped goes on when it is called again. The answers of the shards together are those of one index to
    which the same documents were added at once. A collection of so few words that each is related to all others is
    built as one shard.
    """
    made = ShardBuild(documents, choices or Choices(), embeddings, tokenizer)
    place = Location(output)
    if FILE in place.names():
        raise InputError(f"{place.address} holds a sharded index already. Give the new one another folder.")
    if whole_number(shards, "shards") > made.documents:
        raise InputError(f"{shards} shards of {made.documents} documents: every shard needs a document.")
    plan = {"format": 1, "job": "index", "shards": shards, "output": place.address, **made.plan}
    running = JobRun(place, plan, **run)
    manifest = made.run(running, place, shards)
    return running.finish(manifest.documents, {"shards": len(manifest.shards), "words": manifest.words[0]})


class ShardBuild:
    """From the parts of some documents to shards with their manifest, as tasks of a job."""

    def __init__(
        self,
        documents: str,
        choices: Choices,
        embeddings: Embeddings | None,
        tokenizer: Tokenizer | str | None,
        *,
        labelled: bool = False,
    ) -> None:
        self.choices, self.labelled = choices.checked(), labelled
        self.parts = cut(documents, self.choices.block, self.choices.fields)
        self.documents = sum(part.rows for part in self.parts)
        self.embeddings = embeddings or default_embeddings()
        self.tokenizer = tokenizer_config(tokenizer)
        self.plan = {
            "choices": asdict(self.choices),
            "documents": [part.to_json() for part in self.parts],
            "tokenizer": self.tokenizer,
            "vectors": self.embeddings.fingerprint,
        }
        """What the shards depend on, for the plan of a job."""

    def run(self, run: JobRun, place: Location, shards: int) -> Manifest:
        """Build ``shards`` shards into a folder or a bucket, by the engine of a job."""
        self._run, self.place = run, place
        counted = self._count()
        self._share(counted)
        return self._finish(counted, self._build(counted, shards))

    def _count(self) -> _Counted:
        """Words and documents, part by part; ids that come twice and documents without words are refused here."""
        shared = CountInputs(self.embeddings.vocabulary, self.tokenizer, self.choices, self.labelled)
        tasks = [Task(_counts(part), count_words, {"part": part.to_json()}) for part in self.parts]
        self._run.run(tasks, shared)
        self._check_ids()
        self._dimension = self._vectors_dimension()
        df: dict[str, int] = {}
        for part in self.parts:
            data = load(self._run.folder, _counts(part))
            for word, count in zip(json_values(data, "words"), data["frequencies"].tolist(), strict=True):
                df[word] = df.get(word, 0) + count
        known = [word for word in df if word in self.embeddings.vocabulary]
        words = [*known, *(word for word in df if word not in self.embeddings.vocabulary)]
        return _Counted(words, len(known), np.array([df[word] for word in words], dtype=np.int64))

    def _vectors_dimension(self) -> int:
        """The dimension of the documents' own vectors; parts that do not agree are refused."""
        found = {part.path: int(self._run.journal.done[_counts(part)].facts["dimension"]) for part in self.parts}
        sizes = sorted({size for size in found.values() if size})
        if len(sizes) > 1:
            one, other = (next(path for path, size in found.items() if size == wanted) for wanted in sizes[:2])
            raise FormatError(f"{one} has vectors of {sizes[0]} dimensions, and {other} of {sizes[1]}.")
        if self.choices.fields.vector is not None and not sizes:
            raise FormatError(f"No document has a vector in {self.choices.fields.vector!r}.")
        return sizes[0] if sizes else 0

    def _check_ids(self) -> None:
        """Refuse an id that two documents have; only where hashes agree the ids are looked at."""
        files = [load(self._run.folder, _counts(part)) for part in self.parts]
        hashes = np.concatenate([data["hashes"] for data in files])
        order = np.argsort(hashes, kind="stable")
        for place in np.flatnonzero(hashes[order][1:] == hashes[order][:-1]).tolist():
            pair = [self._at(row) for row in sorted((int(order[place]), int(order[place + 1])))]
            one, other = (json_values(files[part.number], "ids")[row] for part, row in pair)
            if one == other:
                (file, first), (another, second) = ((part.path, part.start + row + 1) for part, row in pair)
                where = f"{file}, row {first} and {another}, row {second}"
                where = where if file != another else f"{file}: rows {first} and {second}"
                raise FormatError(f"{where} have the same id {one!r}.")

    def _at(self, number: int) -> tuple[SourcePart, int]:
        """The part that holds a document of the collection, and its place there."""
        part = next(part for part in reversed(self.parts) if part.first <= number)
        return part, number - part.first

    def _share(self, counted: _Counted) -> None:
        """Put what all shards share beside them: vectors and related words."""
        folder = self._run.folder
        if not (folder / EMBEDDINGS).exists():
            self.embeddings.save(folder / EMBEDDINGS)
        if counted.vectors and not (folder / RELATED).exists():
            words = self.embeddings.restrict(counted.words[: counted.vectors])
            RelatedWords.build(words, self.choices.r, progress=self._run.progress).save(folder / RELATED)
        for name in (EMBEDDINGS, RELATED):
            self._upload(name)

    def _upload(self, name: str) -> None:
        """Put a folder of the job's own where the shards are, if it has one and they do not."""
        if (self._run.folder / name).exists() and name not in self.place.names():
            self.place.upload(self._run.folder / name, name)

    def _build(self, counted: _Counted, shards: int) -> dict[str, Done]:
        """Every shard by a task of its own; one whose files are gone is built again."""
        folder = self._run.folder
        related = RelatedWords.load(folder / RELATED) if (folder / RELATED).exists() else None
        own = (self.place.address, self.embeddings.fingerprint)
        shared = BuildInputs(self.choices, self.tokenizer, related, counted.words, *own, self._dimension)
        if related is None or np.isnan(related.c_max):  # each shard would find a c_max of its own
            shards = 1
        tasks = []
        for number, pieces in enumerate(_pieces(self.parts, shards)):
            name = f"shard-{number:05d}"
            known = self._run.journal.done.get(name)
            if known is not None and known.facts["shard"] not in self.place.names(SHARDS):
                del self._run.journal.done[name]
            tasks.append(Task(name, build_shard, {"number": number, "parts": [part.to_json() for part in pieces]}))
        return self._run.run(tasks, shared)

    def _finish(self, counted: _Counted, done: Mapping[str, Done]) -> Manifest:
        """Add up what the shards say, and write the manifest last: with it the folder is complete."""
        records, stems, fields = [], (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)), set[str]()
        first = tokens = known = 0
        states: set[tuple[int, ...]] = set()
        for name in sorted(done):
            data = load(self._run.folder, name)
            facts = json_values(data, "facts")
            stems = added(stems, (data["stem_keys"], data["stems"]))
            fields |= set(facts["fields"])
            tokens, known = tokens + facts["tokens"], known + facts["known_tokens"]
            states.add(tuple(facts["words"]))
            if len(states) > 1:
                raise VocabularyMismatch(f"{facts['name']} numbers its words otherwise than the shards before it.")
            count = int(facts["documents"])
            own = (facts["identity"], facts["generation"], facts["files"])
            records.append(ShardRecord(facts["name"], first, count, *own))
            first += count
        folder = self._run.folder
        if not (folder / STATISTICS).exists():
            keys, df = stems
            statistics = CollectionStatistics(first, tokens, df, known, counted.frequencies, keys, frozenset(fields))
            statistics.save(folder / STATISTICS)
        self._upload(STATISTICS)
        for name in set(self.place.names(SHARDS)) - {record.name for record in records}:
            self.place.remove(f"{SHARDS}/{name}")  # a worker had built it before it died
        names = [name for name in (EMBEDDINGS, RELATED, STATISTICS) if (folder / name).exists()]
        common = {name: storage.file_digest(folder / name / storage.MANIFEST) for name in names}
        manifest = Manifest(first, self.embeddings.fingerprint, states.pop(), common, tuple(records))
        manifest.write(self.place)
        return manifest


def _counts(part: SourcePart) -> str:
    """The name of the task that counts the words of a part."""
    return f"counts-{part.number:06d}"


def _pieces(parts: list[SourcePart], shards: int) -> Iterator[list[SourcePart]]:
    """The parts of each shard, cut where a shard ends: all have the same number of documents, or one less."""
    total = sum(part.rows for part in parts)
    for shard in range(shards):
        low, high = total * shard // shards, total * (shard + 1) // shards
        found = []
        for part in parts:
            start, stop = max(low, part.first), min(high, part.first + part.rows)
            if start < stop:
                skipped = start - part.first
                found.append(replace(part, start=part.start + skipped, rows=stop - start, first=start))
        yield found
