"""Segments: what a search needs of many documents, in immutable, checksummed files that are mapped, not read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from wordferry.base import storage
from wordferry.base.arrays import Counts, Float32Array, Int64Array
from wordferry.base.lazy import shutil
from wordferry.encoders.codes import Codes
from wordferry.errors import FormatError, StorageError, WordferryError
from wordferry.index.storage.catalogue import Database
from wordferry.index.storage.columns import Columns
from wordferry.index.storage.lock import write_error
from wordferry.index.storage.stems import STEMS, SegmentStems
from wordferry.kernels.lists import COUNTS, PostingLists, StoredDocuments, build
from wordferry.kernels.words import WordDocuments

_Read = TypeVar("_Read")
SEGMENTS, GRAPH = "segments", "graph"
"""Folders of an index: its segments, and its related words."""
CHECKED_BYTES = 64 << 20
"""Segments of up to this size are compared with their checksums whenever they are opened; larger ones by ``verify``."""
_NUMBERS = np.int32, np.int64
_FORWARD = ("indptr", "words", "counts")
_CODES = ("codes", "code_scales")
_LISTS = [one.name for one in fields(PostingLists) if one.name != "documents"]


@dataclass(frozen=True)
class Bags:
    """Bags of words of some documents: a CSR of counts over the numbers of words, and the number of each document.

    The words of a document that have a vector come first, in the order of the vectors, then the others in the order of
    their numbers: the order in which everything that compares documents sums over their words.
    """

    indptr: Int64Array
    words: npt.NDArray[Any]
    """int32, or uint16 where that holds them."""
    counts: npt.NDArray[Any]
    """int32, or the narrowest unsigned type that holds the largest of a segment."""
    numbers: npt.NDArray[Any]
    """int64, or int32 where that holds them."""
    codes: Codes | None = None
    """The vectors of the documents, where the index has an encoder or was given vectors."""

    @property
    def rows(self) -> Counts:
        """The CSR of counts."""
        return Counts(self.indptr, self.words, self.counts)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def ordered(self, order: npt.NDArray[Any]) -> Bags:
        """The bags with the words of each document in ascending ``order``, which has a number for each word."""
        row = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        places = np.lexsort((order[self.words], row))
        return replace(self, words=self.words[places], counts=self.counts[places])

    def select(self, rows: Int64Array) -> Bags:
        """Some rows, in the order given."""
        codes = None if self.codes is None else self.codes.select(rows)
        return Bags(*self.rows.select(rows), self.numbers[rows], codes)


def join(parts: Sequence[Bags]) -> Bags:
    """The rows of several bags, one after the other."""
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(part.numbers for part in parts)])
    codes = [part.codes for part in parts if part.codes is not None]
    rows = Counts.join([part.rows for part in parts])
    return Bags(*rows, numbers, Codes.join(codes) if parts and len(codes) == len(parts) else None)


class Segment(NamedTuple):
    """A segment as the catalogue lists it."""

    name: str
    first: int
    last: int
    documents: int
    pairs: int
    manifest: str
    """sha256 of the segment's manifest, which holds those of its files."""

    @classmethod
    def of(cls, row: Sequence[Any], connection: Database) -> Segment:
        """From a row of the catalogue."""
        return cls(*connection.unsealed(row, "the entry of segment {!r}"))

    @classmethod
    def listed(cls, connection: Database) -> list[Segment]:
        """Those of a catalogue, in the order of their documents."""
        return [cls.of(row, connection) for row in connection.execute("SELECT * FROM segments ORDER BY first")]

    def read(self, folder: Path, *, verify: bool | None = None) -> SegmentRows:
        """Map the arrays. ``verify`` compares every byte with its checksum first; None does so for small segments."""
        place = folder / SEGMENTS / self.name

        def mapped() -> SegmentRows:
            checks = storage.verifies(place, verify, CHECKED_BYTES)
            stored = storage.read_folder(place, "segment", verify=checks)
            arrays, config = stored.arrays, stored.config
            numbers = arrays.get("numbers")  # stored only where some between the first and the last are left out
            if numbers is None:
                numbers = _in_first(np.arange(self.first, self.last + 1), *_NUMBERS)
            coded = [arrays[name] for name in _CODES if name in arrays]
            indptr, words, counts = (arrays[name] for name in _FORWARD)
            bags = Bags(indptr, words, counts, numbers, Codes(*coded) if coded else None)
            if not len(bags) == len(bags.numbers) == self.documents or len(bags.words) != self.pairs:
                raise FormatError(f"{place} holds {len(bags)} documents, the catalogue says {self.documents}.")
            lists = PostingLists(len(bags), *(arrays[f"list_{name}"] for name in _LISTS))
            columns = Columns.load(len(bags), config["fields"], arrays)
            stems = SegmentStems(config["stems"], *(arrays[f"stem_{name}"] for name in STEMS))
            return SegmentRows(bags, arrays["lengths"], lists, columns, config["longest"], stems)

        return read_listed(place, self.manifest, mapped)


@dataclass(frozen=True)
class SegmentRows:
    """Some documents as a search takes them: bags of words, posting lists, and metadata by field."""

    bags: Bags
    lengths: Float32Array
    """The tokens of each document that are no stop words."""
    lists: PostingLists
    columns: Columns
    longest: int
    """The number of different words of the longest document."""
    stems: SegmentStems | None = None
    """The stems of the words; None for documents that are in no segment yet."""

    def __len__(self) -> int:
        return len(self.bags)

    @classmethod
    def of(cls, bags: Bags, columns: Columns, stop: Sequence[int] | Int64Array) -> SegmentRows:
        """What is derived from bags, made in memory; ``stop`` are the numbers of the stop words."""
        bags = narrowed(bags)
        lists = build(bags.indptr, bags.words, bags.counts)
        counted = np.ones(max(int(bags.words.max(initial=0)), *stop, 0) + 1)
        counted[stop] = 0
        lengths = StoredDocuments(lists.view, *bags.rows).sums(counted, False, COUNTS, 1).astype(np.float32)
        return cls(bags, lengths, lists, columns, int(np.diff(bags.indptr).max(initial=0)))

    @cached_property
    def stored(self) -> StoredDocuments:
        """The arrays as the kernels take them."""
        return StoredDocuments(self.lists.view, *self.bags.rows)

    @cached_property
    def worded(self) -> WordDocuments:
        """The arrays as the kernels of word search take them."""
        return WordDocuments(self.stored, self.lengths)


def narrowed(bags: Bags) -> Bags:
    """Bags in the narrowest types that hold their words and counts."""
    words, counts = _in_first(bags.words, np.uint16, np.int32), _in_first(bags.counts, np.uint8, np.uint16, np.int32)
    return replace(bags, words=words, counts=counts, numbers=_in_first(bags.numbers, *_NUMBERS))


def _in_first(values: npt.NDArray[Any], *types: type[np.integer[Any]]) -> npt.NDArray[Any]:
    """Values in the first of some types that holds all of them, or else in the last."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    fits = (one for one in types if np.iinfo(one).min <= least and most <= np.iinfo(one).max)
    return values.astype(next(fits, types[-1]), copy=False)


def read_listed(place: Path, digest: str, read: Callable[[], _Read]) -> _Read:
    """What is read of a folder that the catalogue lists; MissingFile where it was being removed meanwhile."""
    try:
        check_manifest(place, digest)
        return read()
    except storage.MissingFile:
        raise
    except FormatError as error:
        raise with_remedy(error) from None
    except (KeyError, ValueError, TypeError) as error:
        raise with_remedy(FormatError(f"{place} is damaged: {error}.")) from None


def with_remedy(error: FormatError) -> FormatError:
    """An error with what to do about files that can be made again from the catalogue."""
    return FormatError(
        f"{error} The texts are safe in the catalogue: repair it with wordferry index compact --rebuild."
    )


def check_manifest(place: Path, digest: str) -> None:
    """Refuse a folder whose manifest is missing or is not the one that was published."""
    file = place / storage.MANIFEST
    try:
        found = storage.file_digest(file)
    except FileNotFoundError:
        raise storage.MissingFile(f"{file} is missing.") from None
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror}.") from None
    if found != digest:
        raise FormatError(f"{file} is damaged: its checksum differs from the catalogue.")


def write(folder: Path, rows: SegmentRows, config: dict[str, Any]) -> Segment:
    """Put documents on the disk as a new segment; it counts for nothing until the catalogue lists it."""
    bags, stems = rows.bags, rows.stems
    assert stems is not None
    first, last = int(bags.numbers[0]), int(bags.numbers[-1])
    columns, arrays = rows.columns.store()
    arrays |= {name: getattr(bags, name) for name in _FORWARD} | {"lengths": rows.lengths}
    if last - first + 1 != len(bags):
        arrays["numbers"] = bags.numbers
    arrays |= {f"list_{name}": array for name, array in rows.lists.arrays.items()}
    arrays |= {f"stem_{name}": getattr(stems, name) for name in STEMS}
    if bags.codes is not None:
        arrays |= dict(zip(_CODES, (bags.codes.codes, bags.codes.scales), strict=True))
    config = {**config, "fields": columns, "longest": rows.longest, "stems": stems.edition}
    save = partial(storage.write_folder, kind="segment", config=config, arrays=arrays)
    name, digest = write_listed(folder / SEGMENTS, f"{first:010d}", save)
    return Segment(name, first, last, len(bags), len(bags.words), digest)


def write_listed(folder: Path, prefix: str, save: Callable[[Path], object]) -> tuple[str, str]:
    """Write a folder under a new name, for the catalogue to list; the name, and the digest of its manifest."""
    name = f"{prefix}-{os.urandom(4).hex()}"
    place = folder / name
    try:
        save(place)
        return name, storage.file_digest(place / storage.MANIFEST)
    except WordferryError:
        raise
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise StorageError(f"{write_error(place, error)} Nothing of this call was stored.") from error


def remove_orphans(folder: Path, kept: set[str], prefix: str = "") -> None:
    """Remove what a killed writer left: folders that the catalogue does not list, whose names begin with ``prefix``.

    Only for the holder of the lock.
    """
    for entry in folder.glob(f"{prefix}*"):
        if entry.is_dir() and entry.name not in kept:
            shutil.rmtree(entry, ignore_errors=True)
