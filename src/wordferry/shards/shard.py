"""A folder of shards: what it says of itself, what its shards share, and one shard, opened.

Questions to a shard and its answers are plain values, so that it may stand in another process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Counts, Float64Array, Int64Array
from wordferry.engines.location import Location
from wordferry.errors import FormatError, NotFound, VocabularyMismatch, WordferryError
from wordferry.explanations.explain import Explanation
from wordferry.find.explaining import ScoreExplanation
from wordferry.find.ranking import Ranking
from wordferry.find.settings import Settings
from wordferry.index import Index
from wordferry.index.config import Config
from wordferry.index.local import LocalIndex
from wordferry.index.results import Document, Hit
from wordferry.index.search.filters import Condition
from wordferry.index.search.requests import Ask
from wordferry.index.search.words import CollectionStatistics
from wordferry.index.storage.snapshot import reading_parts
from wordferry.index.storage.verify import Verification
from wordferry.texts.bow import looked_up
from wordferry.texts.tokenizers import words_of
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

FILE = "shards.json"
EMBEDDINGS, RELATED, STATISTICS, SHARDS = "embeddings", "related", "statistics", "shards"
_FORMAT = 2
_NAME = re.compile(r"[0-9]{5,}-[0-9a-f]{8}")
"""What a build calls a shard: nothing else is ever joined to a path."""
WORD_FACTS = ("words", "vectors", "vectors_checksum")
"""What the state of an index says of its dictionary: all shards must say the same."""
Names = tuple[str, str, str]
"""A measure as another process can be told of it: distance, weights, and what becomes of words without a vector."""


@dataclass(frozen=True)
class ShardRecord:
    """One shard: where it is, which documents it holds, and how its files can be told from others."""

    name: str
    first: int
    """The number in the whole collection of its first document."""
    documents: int
    identity: str
    generation: int
    """Which state of the index it is: one that was changed since has another."""
    files: Mapping[str, str]
    """The checksum of every file."""


@dataclass(frozen=True)
class Manifest:
    """The file ``shards.json``."""

    documents: int
    vectors: str
    """The fingerprint of the word vectors."""
    words: tuple[int, ...]
    """How many words there are, how many have a vector, and a checksum of those: every shard has the same."""
    common: Mapping[str, str]
    """The checksum of the manifest of each folder that all shards share."""
    shards: tuple[ShardRecord, ...]
    format: int = _FORMAT

    def write(self, place: Location) -> None:
        """Put it into its folder, which is complete with it."""
        values = asdict(self)
        text = {**values, "sha256": storage.json_digest(values)}
        place.write(FILE, json.dumps(text, indent=1, ensure_ascii=False).encode())

    @classmethod
    def read(cls, place: Location) -> Manifest:
        """Read it from its folder; FormatError when it is damaged."""
        try:
            values = json.loads(place.read(FILE))
        except NotFound:
            raise NotFound(
                f"{place.address} is no folder of shards: it has no {FILE}. 'wordferry cluster index' makes one; "
                "one that was stopped goes on when it is started again."
            ) from None
        except ValueError as error:
            raise FormatError(f"{place.address}/{FILE} is damaged: {error}.") from None
        if not isinstance(values, dict) or values.get("format") != _FORMAT:
            raise FormatError(f"{place.address}/{FILE} is of another version than this one reads ({_FORMAT}).")
        if values.pop("sha256", None) != storage.json_digest(values):
            raise FormatError(f"{place.address}/{FILE} is damaged: it does not match its checksum.")
        shards = tuple(ShardRecord(**one) for one in values.pop("shards"))
        found = cls(**values | {"words": tuple(values["words"])}, shards=shards)
        wrong = [one.name for one in shards if not _NAME.fullmatch(one.name)]
        wrong += [name for name in found.common if name not in (EMBEDDINGS, RELATED, STATISTICS)]
        if wrong:
            raise FormatError(f"{place.address}/{FILE} names {wrong[0]!r}, which is no name of a shard.")
        return found

    @property
    def identity(self) -> str:
        """A name for exactly these shards."""
        return storage.json_digest(asdict(self))[:32]


def file_digests(folder: Path) -> dict[str, str]:
    """The checksum of every file below a folder, by its path there; what SQLite keeps beside its file is left out."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(("-wal", "-shm")))
    return {file.relative_to(folder).as_posix(): storage.file_digest(file) for file in files}


def on_this_machine(place: Location, name: str, version: str = "") -> Path:
    """A folder below a place. That of a bucket is copied once, and kept under the place's name and the version."""
    if place.local is not None:
        return place.local / name
    key = hashlib.sha256(f"{place.address}\0{version}".encode()).hexdigest()[:16]
    folder = storage.cache_folder() / "shards" / key / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        place.download(name, folder)
    return folder


class Near(NamedTuple):
    """A document that a distance found."""

    first: float
    """The distance that made it a candidate."""
    place: int
    """Where it stands in the order of the shard's answer."""
    hit: Hit
    """With its distance in that answer, and nothing that only the process of the shard can call."""


class Common:
    """What all shards of a folder share: vectors, related words, statistics."""

    def __init__(self, address: str) -> None:
        self.place = Location(address)
        self.manifest = Manifest.read(self.place)

    def _folder(self, name: str) -> Any:
        """A shared folder on this machine, held to the manifest."""
        digest = self.manifest.common[name]
        folder = on_this_machine(self.place, name, self.manifest.vectors if name == EMBEDDINGS else digest)
        try:
            right = storage.file_digest(folder / storage.MANIFEST) == digest
        except FileNotFoundError:
            raise FormatError(f"{self.place.address} is damaged: the folder {name} is missing.") from None
        if not right:
            raise VocabularyMismatch(f"{folder} is not the one that the shards were built with.")
        return folder

    @cached_property
    def config(self) -> Config:
        """What was chosen when the shards were built, as the first one says it."""
        with closing(Shard(self, 0)) as shard:
            return shard.config

    @cached_property
    def embeddings(self) -> Embeddings:
        """The word vectors, mapped."""
        return Embeddings.load(self._folder(EMBEDDINGS))

    @cached_property
    def statistics(self) -> CollectionStatistics:
        """What was counted over all shards."""
        return CollectionStatistics.load(self._folder(STATISTICS))

    @cached_property
    def related(self) -> RelatedWords | None:
        """The related words of all documents' words; None when no document has a word with a vector."""
        return RelatedWords.load(self._folder(RELATED)) if RELATED in self.manifest.common else None


class Shard(LocalIndex):
    """A shard of a folder: an index with the statistics of the whole collection."""

    def __init__(self, common: Common, number: int) -> None:
        self.common, self.record = common, common.manifest.shards[number]
        folder = on_this_machine(common.place, f"{SHARDS}/{self.record.name}")
        try:
            super().__init__(folder, common.embeddings, common.statistics)
        except VocabularyMismatch as error:
            raise VocabularyMismatch(f"Shard {self.record.name}: {error}") from None
        except (WordferryError, OSError) as error:
            raise FormatError(f"Shard {self.record.name} cannot be opened: {error}") from None
        self.index = Index(self)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        """Whether it is the shard that the manifest means, with the words of all the others."""
        manifest, record = self.common.manifest, self.record
        with self.state() as (_, snapshot):
            state, generation = snapshot.state, snapshot.generation
        if [state[key] for key in WORD_FACTS] != list(manifest.words):
            raise VocabularyMismatch(
                f"Shard {record.name} has another vocabulary than the other shards: its {state['words']} words are not "
                f"the {manifest.words[0]} of {self.common.place.address}. Build the shards again together."
            )
        if self.identity != record.identity:
            raise FormatError(
                f"Shard {record.name} is another index than the one that was built: its identity differs."
            )
        if generation != record.generation:
            raise FormatError(f"Shard {record.name} was changed after it was built. Build the shards again together.")

    def facts(self) -> dict[str, Any]:
        """What every shard of a build says alike: its choices, and the dimension of the documents' vectors."""
        return {"config": self.config, "dimension": self.dimension}

    def verify(self) -> Verification:
        """Compare every file with its checksum, and all parts of the index with each other."""
        if file_digests(self.path) != dict(self.record.files):
            raise FormatError(f"Shard {self.record.name}: its files do not match their checksums.")
        return super().verify()

    # -- by words ---------------------------------------------------------------------------------------------------

    def best(self, asked: Sequence[Sequence[str]], ask: Ask, settings: Settings) -> tuple[list[Any], dict[str, int]]:
        """What each query, given as tokens, finds by itself: as many documents as the best k may come from.

        Rows are those of the whole collection; beside them stands what :func:`wordferry.find.ranking.ranked` takes.
        """
        found, visited, evaluated = [], 0, 0
        with self.state() as state:
            allowed = state.snapshot.allowed(ask.condition)
            ranker, _ = self.words.ranker(state, asked)
            for number, tokens in enumerate(asked):
                query, missing = ranker.query(tokens)
                vector = None if ask.vectors is None else ask.vectors[number]
                with reading_parts(*state.snapshot.parts):
                    best = ranker.find(query, ask.k, settings, allowed, vector)
                visited, evaluated = visited + best.visited, evaluated + best.evaluated
                found.append((best._replace(rows=best.rows + self.record.first), (query, missing, settings)))
            pairs = len(asked) * state.snapshot.count(allowed)
        return found, {"pairs": pairs, "postings": visited, "evaluated": evaluated}

    def stems(self, rows: Int64Array) -> tuple[Counts, Float64Array]:
        """The bags by stem of some rows of the collection that are in this shard, in the order given, and their idf."""
        with self.state() as state:
            ranker, _ = self.words.ranker(state)
            bags = ranker.bags(rows - self.record.first)
            stems = ranker.forms.group_of[bags.words]
            return Counts(bags.indptr, stems, bags.counts.astype(np.int32)), ranker.idf[stems]

    def explain_score(self, ranking: Ranking, names: Sequence[str]) -> ScoreExplanation:
        """What the one score of a ranking is made of; its document is in this shard, its neighbours need not be."""
        own = replace(ranking, rows=np.asarray(ranking.rows) - self.record.first)
        with self.state() as state:
            return self.words.explain(state, own, 0, names)

    # -- by distance ------------------------------------------------------------------------------------------------

    def near(
        self, asked: Sequence[Sequence[str]], stages: Sequence[Names], ask: Ask
    ) -> tuple[list[list[Near]], dict[str, int]]:
        """The nearest documents to each query, given as tokens, in the order of the last of one or two stages; without
        stages by meaning."""
        measures = [self.index.measure(*names) for names in stages]
        tokens = [looked_up(some, self.embeddings.vocabulary) for some in asked]
        if measures:
            hits = ordered = self.similar(tokens, measures[0], replace(ask, explain=ask.explain and len(measures) == 1))
        else:
            hits = ordered = self.by_meaning(tokens, ask)
        if len(measures) > 1:
            ordered = self.similar(tokens, measures[0], replace(ask, rerank=measures[1], candidates=ask.k))
        return [_near(*both) for both in zip(hits, ordered, strict=True)], hits[0].counts if hits else {}

    def explain_texts(self, texts: tuple[Any, Any], how: Names) -> Explanation:
        """Why two texts, or lists of tokens, are as far apart as the index says."""
        first, second = (words_of(text, self.tokenizer) for text in texts)
        return self.explain((first, second), self.index.measure(*how))

    # -- documents --------------------------------------------------------------------------------------------------

    def documents_at(self, rows: Int64Array) -> list[Document]:
        """Documents by their rows in the collection."""
        own = (rows - self.record.first).tolist()
        with self.state() as state:
            found = state.read(own)
        return [found[row] for row in own]

    def page_counted(
        self, span: tuple[int, int], after: str | None, condition: Condition | None
    ) -> tuple[list[Document], int]:
        """Some documents in their order, and how many there are behind the one with an id."""
        with self.state() as state:
            first = 0 if after is None else (state.row(after) or 0) + 1
            behind = len(state.snapshot.rows(state.snapshot.allowed(condition), first))
        return self.page(span, after, condition), behind


def _near(candidates: Iterable[Any], ordered: Iterable[Hit]) -> list[Near]:
    """The candidates of one query, and where each stands in the order of the answer."""
    sent = (replace(hit, metadata=dict(hit.metadata), why=None, where=None) for hit in ordered)
    places = {hit.id: (place, hit) for place, hit in enumerate(sent)}
    return [Near(hit.distance, *places[hit.id]) for hit in candidates]
