"""Building an index in shards: words are counted in parts, the counts merged, then every shard is built on its own.

All shards get the same words in the same order, the same related words and the same totals, so that a distance or a
score does not depend on the shard that a document is in. Shards are runs of documents in the order of their files.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
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
from wordferry.engines.sources import SourceFields, SourcePart, SourceRow, cut, read_part
from wordferry.engines.tasks import Task, json_array, json_values, load, saved
from wordferry.errors import FormatError, InputError, VocabularyMismatch
from wordferry.find.stems import stem_keys
from wordferry.index import Index
from wordferry.index.config import RECOMMENDED
from wordferry.index.search.words import CollectionStatistics
from wordferry.index.storage.terms import TermDictionary
from wordferry.index.write.counting import Counting
from wordferry.index.write.entries import entries
from wordferry.shards.shard import (
    EMBEDDINGS,
    FILE,
    RELATED,
    SHARDS,
    STATISTICS,
    WORD_FACTS,
    Manifest,
    ShardRecord,
    file_digests,
    on_this_machine,
)
from wordferry.texts.bow import check_on_empty, unknown_word_error
from wordferry.texts.datasets import default_embeddings
from wordferry.texts.records import Record
from wordferry.texts.stop_marks import is_marked
from wordferry.texts.tokenizers import Tokenizer, tokenizer_config, tokenizer_from_config
from wordferry.texts.weights import check_scheme
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords
from wordferry.words.vocabulary import Vocabulary


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
        words, frequencies = self._count()
        dimension = self._dimension()
        vectors = sum(word in self.embeddings.vocabulary for word in words)
        self._share(EMBEDDINGS, lambda: self.embeddings)
        related = None
        if vectors:
            known = self.embeddings.restrict(words[:vectors])
            folder = self._share(RELATED, lambda: RelatedWords.build(known, self.choices.r, progress=run.progress))
            related = RelatedWords.load(folder)
        return self._finish(frequencies, self._build(words, related, shards, dimension))

    def _count(self) -> tuple[list[str], Int64Array]:
        """All words in the order of their numbers, and the document frequency of each: those with a vector come first,
        each kind in the order of the documents. Ids that come twice and documents without words are refused here.
        """
        shared = CountInputs(self.embeddings.vocabulary, self.tokenizer, self.choices, self.labelled)
        tasks = [Task(_counts(part), count_words, {"part": part}) for part in self.parts]
        self._run.run(tasks, shared)
        files = [load(self._run.folder, _counts(part)) for part in self.parts]
        self._check_ids(files)
        df = Counter[str]()
        for data in files:
            df.update(dict(zip(json_values(data, "words"), data["frequencies"].tolist(), strict=True)))
        words = sorted(df, key=lambda word: word not in self.embeddings.vocabulary)
        return words, np.array([df[word] for word in words], dtype=np.int64)

    def _dimension(self) -> int:
        """The dimension of the documents' own vectors; parts that do not agree are refused."""
        done, found = self._run.journal.done, dict[int, str]()
        for part in self.parts:
            found.setdefault(int(done[_counts(part)].facts["dimension"]), part.path)
        found.pop(0, None)  # parts in which no document has a vector
        if len(found) > 1:
            (size, one), (another, other) = sorted(found.items())[:2]
            raise FormatError(f"{one} has vectors of {size} dimensions, and {other} of {another}.")
        if self.choices.fields.vector is not None and not found:
            raise FormatError(f"No document has a vector in {self.choices.fields.vector!r}.")
        return next(iter(found), 0)

    def _check_ids(self, files: Sequence[Any]) -> None:
        """Refuse an id that two documents have; only where hashes agree the ids are looked at."""
        hashes = np.concatenate([data["hashes"] for data in files])
        order = np.argsort(hashes, kind="stable")
        for place in np.flatnonzero(hashes[order][1:] == hashes[order][:-1]).tolist():
            pair = [self._at(row) for row in order[place : place + 2].tolist()]
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

    def _share(self, name: str, made: Callable[[], Any]) -> Path:
        """The folder of what all shards share: made once, and put where they are."""
        folder = self._run.folder / name
        if not folder.exists():
            made().save(folder)
        if name not in self.place.names():
            self.place.upload(folder, name)
        return folder

    def _build(self, words: list[str], related: RelatedWords | None, shards: int, dimension: int) -> dict[str, Done]:
        """Every shard by a task of its own; one whose files are gone is built again."""
        place, vectors = self.place.address, self.embeddings.fingerprint
        shared = BuildInputs(self.choices, self.tokenizer, related, words, place, vectors, dimension)
        if related is None or np.isnan(related.c_max):  # each shard would find a c_max of its own
            shards = 1
        tasks = []
        for number, pieces in enumerate(_pieces(self.parts, shards)):
            name = f"shard-{number:05d}"
            known = self._run.journal.done.get(name)
            if known is not None and known.facts["shard"] not in self.place.names(SHARDS):
                del self._run.journal.done[name]
            tasks.append(Task(name, build_shard, {"number": number, "parts": pieces}))
        return self._run.run(tasks, shared)

    def _finish(self, frequencies: Int64Array, done: Mapping[str, Done]) -> Manifest:
        """Add up what the shards say, and write the manifest last: with it the folder is complete."""
        files = [load(self._run.folder, name) for name in sorted(done)]
        every = [json_values(data, "facts") for data in files]
        words = every[0]["words"]
        for facts in every:
            if facts["words"] != words:
                raise VocabularyMismatch(f"{facts['name']} numbers its words otherwise than the shards before it.")
        *firsts, documents = accumulate((facts["documents"] for facts in every), initial=0)
        own = ("name", "documents", "identity", "generation", "files")
        records = [
            ShardRecord(first=first, **{name: facts[name] for name in own})
            for first, facts in zip(firsts, every, strict=True)
        ]
        keys, places = np.unique(np.concatenate([data["stem_keys"] for data in files]), return_inverse=True)
        df = np.zeros(len(keys), dtype=np.int64)
        np.add.at(df, places, np.concatenate([data["stems"] for data in files]))
        tokens, known = (sum(facts[name] for facts in every) for name in ("tokens", "known_tokens"))
        fields = frozenset[str]().union(*(facts["fields"] for facts in every))
        statistics = CollectionStatistics(documents, tokens, df, known, frequencies, keys, fields)
        self._share(STATISTICS, lambda: statistics)
        for name in set(self.place.names(SHARDS)) - {record.name for record in records}:
            self.place.remove(f"{SHARDS}/{name}")  # a worker had built it before it died
        folders = [self._run.folder / name for name in (EMBEDDINGS, RELATED, STATISTICS)]
        common = {one.name: storage.file_digest(one / storage.MANIFEST) for one in folders if one.exists()}
        manifest = Manifest(documents, self.embeddings.fingerprint, tuple(words), common, tuple(records))
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


# -- what workers do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountInputs:
    """Shared data of the tasks that count words."""

    vocabulary: Vocabulary
    tokenizer: dict[str, Any]
    choices: Choices
    labelled: bool
    """Whether every document needs a label."""


@dataclass(frozen=True)
class BuildInputs:
    """Shared data of the tasks that build shards."""

    choices: Choices
    tokenizer: dict[str, Any]
    related: RelatedWords | None
    words: list[str]
    """All words, in the order of their numbers."""
    output: str
    vectors: str
    """The fingerprint of the word vectors."""
    dimension: int
    """Of the documents' own vectors; 0 where no column has them."""


def count_words(arguments: Mapping[str, Any], shared: CountInputs) -> tuple[bytes, dict[str, Any]]:
    """The words of one part in the order in which they come, with their document frequencies."""
    part: SourcePart = arguments["part"]
    rows, dimension = _checked_rows(part, shared)
    ids = [row.id for row in rows]
    terms = TermDictionary.of_no_index(shared.vocabulary)
    found = Counting(terms, tokenizer_from_config(shared.tokenizer)).count([row.text for row in rows])
    empty = np.flatnonzero(found.empty)
    if shared.choices.on_empty == "error" and len(empty):
        raise FormatError(
            f"{part.path}, row {part.start + int(empty[0]) + 1}: the document has no words. Leave it out, or choose "
            "--on-empty drop (such documents are left out) or keep (they are stored and never found)."
        )
    words = terms.words(range(terms.next))
    strange = next((word for word in words if word not in shared.vocabulary and not is_marked(word)), None)
    if shared.choices.unknown == "error" and strange is not None:
        where = f"{part.path}, rows {part.start + 1} to {part.start + part.rows}"
        raise FormatError(f"{where}: {unknown_word_error('A document', strange)}")
    data = saved(
        words=json_array(words),
        frequencies=np.bincount(found.bags.words, minlength=terms.next),
        ids=json_array(ids),
        hashes=stem_keys(ids),  # where two agree, the ids are looked at
    )
    return data, {"documents": len(rows), "tokens": int(found.tokens.sum()), "dimension": dimension}


def _checked_rows(part: SourcePart, shared: CountInputs) -> tuple[list[SourceRow], int]:
    """The documents of a part and the dimension of their vectors, 0 without; what an index would refuse is refused."""
    rows, dimension = list(read_part(part, shared.choices.fields)), 0
    checked = entries(_documents(rows))
    for number, row in enumerate(rows, part.start + 1):
        where = f"{part.path}, row {number}"
        try:
            next(checked)
        except InputError as error:
            raise FormatError(f"{where}: {error}") from None
        if row.vector is not None and len(row.vector) != (dimension := dimension or len(row.vector)):
            raise FormatError(
                f"{where}: the vector has {len(row.vector)} dimensions, those before it have {dimension}."
            )
        if shared.labelled and row.label is None:
            raise FormatError(f"{where}: a training document needs a label ({shared.choices.fields.label!r}).")
    return rows, dimension


def _documents(rows: Any, dimension: int = 0) -> Iterator[Record]:
    """Documents as an index takes them; with a dimension, with their vectors, zeros where one has none."""
    for row in rows:
        text = row.text if isinstance(row.text, str) else tuple(row.text)
        vector = (row.vector or [0.0] * dimension) if dimension else None
        yield Record(text, row.id, row.label, metadata=row.metadata, vector=vector)


def build_shard(arguments: Mapping[str, Any], shared: BuildInputs) -> tuple[bytes, dict[str, Any]]:
    """Build one shard on this machine, and put it where it belongs under a name that no other attempt has."""
    place = Location(shared.output)
    name = f"{arguments['number']:05d}-{secrets.token_hex(4)}"
    vectors = on_this_machine(place, EMBEDDINGS, shared.vectors)
    beside = Path(tempfile.mkdtemp(prefix="wordferry-shard-"))
    try:
        facts, (keys, df) = _build(arguments["parts"], shared, vectors, beside / "index")
        facts |= {"name": name, "files": file_digests(beside / "index")}
        place.upload(beside / "index", f"{SHARDS}/{name}")
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    about = {"documents": facts["documents"], "shard": name}
    return saved(stem_keys=keys, stems=df, facts=json_array(facts)), about


def _build(parts: list[SourcePart], shared: BuildInputs, vectors: Path, target: Path) -> tuple[dict[str, Any], Any]:
    """One shard on this machine: what it says of itself, and its stems with their document frequencies."""
    choices = shared.choices
    with Index.create(
        target,
        embeddings=vectors,
        keep="path",
        related=choices.r if shared.related is None else shared.related,
        overlap=choices.overlap,
        tokenizer=tokenizer_from_config(shared.tokenizer),
        on_empty=choices.on_empty,  # type: ignore[arg-type]  # checked before
        language=choices.language,
        settings=choices.constants,
        encoder=choices.encoder,
        **{name: getattr(choices, name) for name in ("distance", "weights", "unknown")},
    ) as index:
        local: Any = index.backend
        with local.writing() as writer:
            writer.number_words(shared.words)
        rows = (row for part in parts for row in read_part(part, choices.fields))
        index.add(_documents(rows, shared.dimension), threads=1)
        with local.state() as state:
            connection, snapshot = state
            ranker, forms = local.words.ranker(state)
            known = connection.execute("SELECT total(known) FROM documents").fetchone()[0]
            facts = {
                "documents": snapshot.documents,
                "identity": index.identity,
                "generation": snapshot.generation,
                "tokens": ranker.tokens,
                "known_tokens": int(known),
                "fields": sorted({name for part in snapshot.parts for name in part.rows.columns.names}),
                "words": [snapshot.state[key] for key in WORD_FACTS],
            }
            return facts, (forms.stem_keys, ranker.df)
