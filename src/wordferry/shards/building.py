"""Building an index in shards: words are counted in parts, the counts merged, then every shard is built on its own.

All shards get the same words in the same order, the same related words and the same totals, so that a distance or a
score does not depend on the shard that a document is in. Shards are runs of documents in the order of their files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int64Array
from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress
from wordferry.compare.distances import find_distance, find_overlap
from wordferry.engines.course import Course, counts_name
from wordferry.engines.engine import Engine
from wordferry.engines.journal import Done
from wordferry.engines.places import Place
from wordferry.engines.sources import Fields, Part, cut
from wordferry.engines.work import Task, load, words_of
from wordferry.errors import InputError, VocabularyMismatch
from wordferry.index.totals import Totals, added
from wordferry.index.weighed_state import Weighing
from wordferry.shards.manifest import EMBEDDINGS, FILE, RELATED, SHARDS, TOTALS, Manifest, ShardRecord
from wordferry.shards.tasks import Building, Counting, build_shard, count_words
from wordferry.texts.bow import check_on_empty
from wordferry.texts.datasets import default_embeddings
from wordferry.texts.tokenizers import Tokenizer, tokenizer_config
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords


@dataclass(frozen=True)
class Choices:
    """What an index is made with, as for :meth:`wordferry.Index.create`, and how its documents are read."""

    distance: str = "rel-rwmd"
    overlap: str | None = None
    r: int = DEFAULT_R
    on_empty: str = "error"
    language: str | None = None
    weights: str = "idf"
    unknown: str = "match"
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Constants of word search that are to differ from the defaults."""
    block: int = 20_000
    """Documents whose words one task counts."""
    fields: Fields = field(default_factory=Fields)

    def checked(self) -> Choices:
        """The same, or an error that says which value is wrong."""
        find_overlap(find_distance(self.distance), self.overlap)
        Weighing(self.weights, self.unknown)
        check_on_empty(self.on_empty)
        whole_number(self.block, "block", of="documents")
        whole_number(self.r, "r", of="related words")
        return replace(self, fields=replace(self.fields, rest=True))


@dataclass(frozen=True)
class Built:
    """What was built."""

    output: str
    documents: int
    shards: int
    words: int
    tasks: int
    resumed: int
    """Tasks that an earlier run had done."""
    peak: int
    """The most memory that a task's process has held, in bytes."""
    engine: str


@dataclass(frozen=True)
class _Counted:
    """The merged counts of all parts."""

    words: Int64Array
    """Words with a vector in the order in which they come, as rows of the embeddings."""
    others: list[str]
    frequencies: Int64Array
    other_frequencies: Int64Array


def build(
    documents: str,
    output: str | os.PathLike[str],
    shards: int,
    choices: Choices | None = None,
    *,
    embeddings: Embeddings | None = None,
    tokenizer: Tokenizer | str | None = None,
    engine: Engine | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: ShowProgress = None,
    keep: bool = False,
) -> Built:
    """Build an index in so many shards from Parquet or JSON lines, into a folder or a bucket.

    ``work`` is the folder of the plan and of what is done (every worker must see it), kept with ``keep=True``; a build
    that was stopped goes on when it is called again. The answers of the shards together are those of one index to
    which the same documents were added at once.
    """
    made = _Build(documents, Place(output), shards, (choices or Choices()).checked(), embeddings, tokenizer, engine)
    return made.run(work, progress, keep)


class _Build:
    """One build, from the parts of the documents to the manifest."""

    def __init__(
        self,
        documents: str,
        place: Place,
        shards: int,
        choices: Choices,
        embeddings: Embeddings | None,
        tokenizer: Tokenizer | str | None,
        engine: Engine | None,
    ) -> None:
        self.documents, self.place, self.choices, self.engine = documents, place, choices, engine
        self.shards = whole_number(shards, "shards")
        self.embeddings = embeddings or default_embeddings()
        self.tokenizer = tokenizer_config(tokenizer)
        if FILE in place.names():
            raise InputError(f"{place.address} holds a sharded index already. Give the new one another folder.")

    def run(self, work: str | os.PathLike[str] | None, progress: ShowProgress, keep: bool) -> Built:
        folder = self.place.work_folder(work)
        parts = cut(self.documents, self.choices.block, self.choices.fields)
        total = sum(part.rows for part in parts)
        if self.shards > total:
            raise InputError(f"{self.shards} shards of {total} documents: every shard needs a document.")
        plan = {
            "format": 1,
            "job": "index",
            "shards": self.shards,
            "output": self.place.address,
            "settings": asdict(self.choices),
            "tokenizer": self.tokenizer,
            "vectors": self.embeddings.fingerprint,
        }
        self.course = Course(plan, {"documents": parts}, folder, self.engine, progress)
        counted = self._count()
        self._share(counted)
        done = self._build(counted)
        manifest = self._finish(counted, done)
        every = self.course.journal.done.values()
        built = Built(
            self.place.address,
            manifest.documents,
            self.shards,
            manifest.words,
            len(self.course.seen),
            self.course.resumed,
            max((int(one.facts.get("peak", 0)) for one in every), default=0),
            self.course.engine.name,
        )
        if not keep:
            shutil.rmtree(folder)
        return built

    def _count(self) -> _Counted:
        """Words and documents, part by part; ids that come twice and documents without words are refused here."""
        shared = Counting(
            self.embeddings.vocabulary, self.tokenizer, self.choices.fields, self.choices.on_empty == "error"
        )
        parts = self.course.parts["documents"]
        self.course.run(
            [Task(counts_name("documents", part), count_words, {"part": part.to_json()}) for part in parts], shared
        )
        self.course.check_ids("documents")
        words: dict[int, None] = {}
        others: dict[str, int] = {}
        frequencies = np.zeros(len(self.embeddings), dtype=np.int64)
        for part in parts:
            data = load(self.course.journal.folder, counts_name("documents", part))
            words |= dict.fromkeys(data["words"].tolist())
            frequencies[data["words"]] += data["frequencies"]
            for word, count in zip(words_of(data, "others"), data["other_frequencies"].tolist(), strict=True):
                others[word] = others.get(word, 0) + count
        order = np.fromiter(words, dtype=np.int64, count=len(words))
        return _Counted(order, list(others), frequencies, np.fromiter(others.values(), np.int64, len(others)))

    def _share(self, counted: _Counted) -> None:
        """Put what all shards share beside them: vectors and related words."""
        folder = self.course.journal.folder
        present = self.place.names()
        for name in (EMBEDDINGS, RELATED):
            if not (folder / name).exists():
                if name == EMBEDDINGS:
                    self.embeddings.save(folder / name)
                elif len(counted.words):
                    words = self.embeddings.restrict(counted.words)
                    RelatedWords.build(words, self.choices.r, progress=self.course.progress).save(folder / name)
            if name not in present and (folder / name).exists():
                self.place.upload(folder / name, name)

    def _build(self, counted: _Counted) -> dict[str, Done]:
        """Every shard by a task of its own; one whose files are gone is built again."""
        folder = self.course.journal.folder
        related = RelatedWords.load(folder / RELATED) if (folder / RELATED).exists() else None
        own = (self.place.address, self.embeddings.fingerprint)
        shared = Building(self.choices, self.tokenizer, related, counted.others, *own)
        tasks = []
        for number, pieces in enumerate(_pieces(self.course.parts["documents"], self.shards)):
            name = f"shard-{number:05d}"
            known = self.course.journal.done.get(name)
            if known is not None and known.facts["shard"] not in self.place.names(SHARDS):
                del self.course.journal.done[name]
            tasks.append(Task(name, build_shard, {"number": number, "parts": [part.to_json() for part in pieces]}))
        return self.course.run(tasks, shared)

    def _finish(self, counted: _Counted, done: Mapping[str, Done]) -> Manifest:
        """Add up what the shards say, and write the manifest last: with it the folder is complete."""
        records, stems, fields = [], (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)), set[str]()
        first = tokens = known = 0
        states: set[tuple[int, ...]] = set()
        for name in sorted(done):
            data = load(self.course.journal.folder, name)
            (facts,) = words_of(data, "facts")
            stems = added(stems, (data["stem_keys"], data["stems"]))
            fields |= set(facts["fields"])
            tokens, known = tokens + facts["tokens"], known + facts["known_tokens"]
            states.add(tuple(facts["state"]))
            if len(states) > 1:
                raise VocabularyMismatch(f"{facts['name']} numbers its words otherwise than the shards before it.")
            count = int(facts["documents"])
            own = (facts["identity"], facts["generation"], facts["files"])
            records.append(ShardRecord(facts["name"], first, count, *own))
            first += count
        words = (counted.frequencies, counted.other_frequencies)
        totals = Totals(first, tokens, known, *words, stems[1], stems[0], frozenset(fields))
        folder = self.course.journal.folder
        if TOTALS not in self.place.names():
            if not (folder / TOTALS).exists():
                totals.save(folder / TOTALS)
            self.place.upload(folder / TOTALS, TOTALS)
        self._remove_others({record.name for record in records})
        manifest = self._manifest(records, states.pop())
        manifest.write(self.place)
        return manifest

    def _manifest(self, records: list[ShardRecord], state: tuple[int, ...]) -> Manifest:
        folder = self.course.journal.folder
        names = [name for name in (EMBEDDINGS, RELATED, TOTALS) if (folder / name).exists()]
        related = RelatedWords.load(folder / RELATED) if RELATED in names else None
        c_max = None if related is None or np.isnan(related.c_max) else float(related.c_max)
        return Manifest(
            sum(record.documents for record in records),
            self.embeddings.fingerprint,
            words=state[0],
            words_checksum=state[1],
            others=state[2],
            others_checksum=state[3],
            r=self.choices.r,
            c_max=c_max,
            common={name: storage.file_digest(folder / name / storage.MANIFEST) for name in names},
            shards=tuple(records),
        )

    def _remove_others(self, wanted: set[str]) -> None:
        """Remove shards that a worker had built before it died."""
        for name in self.place.names(SHARDS):
            if name not in wanted:
                self.place.remove(f"{SHARDS}/{name}")


def _pieces(parts: list[Part], shards: int) -> Iterator[list[Part]]:
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
