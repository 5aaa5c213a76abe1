"""What workers do for a build: count the words of one part, and build one shard."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.engines.places import Place
from wordferry.engines.sources import Fields, Part, Row, read_part
from wordferry.engines.work import check_ids, hashes_of, saved, text_array
from wordferry.errors import FormatError, InputError
from wordferry.index import Index
from wordferry.index.counting import Counting as WordCounting
from wordferry.index.model import entries
from wordferry.index.others import OtherWords
from wordferry.index.totals import stem_counts
from wordferry.shards.manifest import EMBEDDINGS, SHARDS, file_digests
from wordferry.shards.nearby import on_this_machine
from wordferry.texts.tokenizers import tokenizer_from_config
from wordferry.words.related.graph import RelatedWords
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.shards.building import Choices


@dataclass(frozen=True)
class Counting:
    """What the counting of words shares."""

    vocabulary: Vocabulary
    tokenizer: dict[str, Any]
    fields: Fields
    refuse_empty: bool


@dataclass(frozen=True)
class Building:
    """What the building of shards shares."""

    choices: Choices
    tokenizer: dict[str, Any]
    related: RelatedWords | None
    others: list[str]
    """All words without vectors, in the order of their numbers."""
    output: str
    vectors: str
    """The fingerprint of the word vectors."""


def count_words(arguments: Mapping[str, Any], folder: Path, shared: Counting) -> tuple[bytes, dict[str, Any]]:
    """The words of one part in the order in which they come, and in how many documents each stands."""
    part = Part(**arguments["part"])
    rows = list(read_part(part, shared.fields))
    ids = [row.id for row in rows]
    check_ids(part, ids)
    _check_rows(part, rows)
    others = OtherWords.none()
    counting = WordCounting(shared.vocabulary, tokenizer_from_config(shared.tokenizer), others)
    found = counting.encode([row.text for row in rows])
    empty = np.flatnonzero(found.tokens == 0)
    if shared.refuse_empty and len(empty):
        raise FormatError(
            f"{part.path}, row {part.start + int(empty[0]) + 1}: the document has no words. Leave it out, or choose "
            "--on-empty drop (such documents are left out) or keep (they are stored and never found)."
        )
    words = np.fromiter(dict.fromkeys(found.known.words.tolist()), dtype=np.int64)
    data = saved(
        words=words,
        frequencies=np.bincount(found.known.words, minlength=len(shared.vocabulary))[words],
        others=text_array(list(others.numbers)),
        other_frequencies=np.bincount(found.others.words, minlength=others.next),
        ids=text_array(ids),
        hashes=hashes_of(ids),
    )
    return data, {"documents": len(rows), "tokens": int(found.tokens.sum())}


def _check_rows(part: Part, rows: list[Row]) -> None:
    """Refuse now what an index would refuse later."""
    checked = entries(_documents(rows))
    for number in range(len(rows)):
        try:
            next(checked)
        except InputError as error:
            raise FormatError(f"{part.path}, row {part.start + number + 1}: {error}") from None


def _documents(rows: Any) -> Iterator[dict[str, Any]]:
    for row in rows:
        text = {"text": row.text} if isinstance(row.text, str) else {"tokens": row.text}
        yield {"id": row.id, **text, "label": row.label, "metadata": row.metadata}


def build_shard(arguments: Mapping[str, Any], folder: Path, shared: Building) -> tuple[bytes, dict[str, Any]]:
    """Build one shard on this machine, and put it where it belongs under a name that no other attempt has."""
    place = Place(shared.output)
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
    return saved(stem_keys=keys, stems=df, facts=text_array([facts])), about


def _build(arguments: Mapping[str, Any], shared: Building, vectors: Path, target: Path) -> tuple[dict[str, Any], Any]:
    choices = shared.choices
    index = Index.create(
        target,
        embeddings=vectors,
        keep="path",
        related=choices.r if shared.related is None else shared.related,
        distance=choices.distance,
        overlap=choices.overlap,
        tokenizer=tokenizer_from_config(shared.tokenizer),
        on_empty=choices.on_empty,  # type: ignore[arg-type]  # checked before
        language=choices.language,
        settings=choices.constants,
        weights=choices.weights,
        unknown=choices.unknown,
    )
    with index:
        index.number_others(shared.others)
        parts = [Part(**part) for part in arguments["parts"]]
        rows = (row for part in parts for row in read_part(part, choices.fields))
        index.add(_documents(rows), threads=1)
        with index.view() as (connection, snapshot):
            collection = index.words.collection(connection, snapshot)
            state = snapshot.state
            facts = {
                "documents": snapshot.documents,
                "identity": index.identity,
                "generation": snapshot.generation,
                "tokens": collection.tokens,
                "known_tokens": int(sum(part.bags.counts.sum(dtype=np.int64) for part in snapshot.parts)),
                "fields": sorted({name for part in snapshot.parts for name in part.rows.columns.names}),
                "state": [state[key] for key in ("words", "words_checksum", "others", "others_checksum")],
            }
            return facts, stem_counts(collection)
