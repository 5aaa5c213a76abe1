"""What workers do for a build: count the words of one part, and build one shard."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.engines.location import Location
from wordferry.engines.sources import SourcePart, SourceRow, read_part
from wordferry.engines.tasks import json_array, saved
from wordferry.errors import FormatError, InputError
from wordferry.find.stems import stem_keys
from wordferry.index import Index
from wordferry.index.local import LocalIndex
from wordferry.index.search.statistics import stem_counts
from wordferry.index.storage.terms import TermDictionary
from wordferry.index.write.counting import Counting
from wordferry.index.write.entries import entries
from wordferry.shards.manifest import EMBEDDINGS, SHARDS, file_digests, on_this_machine
from wordferry.shards.shard import WORD_FACTS
from wordferry.texts.bow import unknown_word_error
from wordferry.texts.records import Record
from wordferry.texts.stop_marks import is_marked
from wordferry.texts.tokenizers import tokenizer_from_config
from wordferry.words.related.graph import RelatedWords
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.shards.building import Choices


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
    dimension: int = 0
    """Of the documents' own vectors; 0 where no column has them."""


def count_words(arguments: Mapping[str, Any], folder: Path, shared: CountInputs) -> tuple[bytes, dict[str, Any]]:
    """The words of one part in the order in which they come, with their document frequencies."""
    part = SourcePart(**arguments["part"])
    rows = list(read_part(part, shared.choices.fields))
    ids = [row.id for row in rows]
    _check_rows(part, rows)
    dimension = _dimension(part, rows)
    unlabelled = [number for number, row in enumerate(rows) if row.label is None] if shared.labelled else []
    if unlabelled:
        where, field = f"{part.path}, row {part.start + unlabelled[0] + 1}", shared.choices.fields.label
        raise FormatError(f"{where}: a training document needs a label ({field!r}).")
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


def _dimension(part: SourcePart, rows: Sequence[SourceRow]) -> int:
    """The dimension of the vectors of a part's documents; 0 where none has one."""
    found = 0
    for number, row in enumerate(rows):
        if row.vector is not None and len(row.vector) != (found := found or len(row.vector)):
            where = f"{part.path}, row {part.start + number + 1}"
            raise FormatError(f"{where}: the vector has {len(row.vector)} dimensions, those before it have {found}.")
    return found


def _check_rows(part: SourcePart, rows: list[SourceRow]) -> None:
    """Refuse now what an index would refuse later."""
    checked = entries(_documents(rows))
    for number in range(len(rows)):
        try:
            next(checked)
        except InputError as error:
            raise FormatError(f"{part.path}, row {part.start + number + 1}: {error}") from None


def _documents(rows: Any, dimension: int = 0) -> Iterator[Record]:
    """Documents as an index takes them; with a dimension, with their vectors, zeros where one has none."""
    for row in rows:
        text = row.text if isinstance(row.text, str) else tuple(row.text)
        vector = (row.vector or [0.0] * dimension) if dimension else None
        yield Record(text, row.id, row.label, metadata=row.metadata, vector=vector)


def build_shard(arguments: Mapping[str, Any], folder: Path, shared: BuildInputs) -> tuple[bytes, dict[str, Any]]:
    """Build one shard on this machine, and put it where it belongs under a name that no other attempt has."""
    place = Location(shared.output)
    name = f"{arguments['number']:05d}-{secrets.token_hex(4)}"
    beside = Path(tempfile.mkdtemp(prefix="wordferry-shard-"))
    try:
        facts, (keys, df) = _build(
            arguments, shared, on_this_machine(place, EMBEDDINGS, shared.vectors), beside / "index"
        )
        facts |= {"name": name, "files": file_digests(beside / "index")}
        place.upload(beside / "index", f"{SHARDS}/{name}")
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    about = {"documents": facts["documents"], "shard": name}
    return saved(stem_keys=keys, stems=df, facts=json_array(facts)), about


def _build(
    arguments: Mapping[str, Any], shared: BuildInputs, vectors: Path, target: Path
) -> tuple[dict[str, Any], Any]:
    choices = shared.choices
    made = Index.create(
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
    )
    encoder = made.backend.encoder()
    made.close()
    local = LocalIndex(target, encoder=encoder)
    with Index(local) as index:
        with local.writing() as writer:
            writer.number_words(shared.words)
        parts = [SourcePart(**part) for part in arguments["parts"]]
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
            return facts, stem_counts(forms.stem_keys, ranker.df)
