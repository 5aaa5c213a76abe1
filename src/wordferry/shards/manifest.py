"""What a folder of shards says of itself: its shards with their identities and checksums, and what they all share."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from wordferry.base import storage
from wordferry.engines.location import Location
from wordferry.errors import FormatError, NotFound

FILE = "shards.json"
EMBEDDINGS, RELATED, STATISTICS, SHARDS = "embeddings", "related", "statistics", "shards"
_FORMAT = 2
_NAME = re.compile(r"[0-9]{5,}-[0-9a-f]{8}")
"""What a build calls a shard: nothing else is ever joined to a path."""


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
