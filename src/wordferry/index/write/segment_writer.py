"""One transaction: its bags become rows of the buffer or new segments, all of them or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from wordferry.base.lazy import shutil
from wordferry.index.storage import segments
from wordferry.index.storage.catalogue import Database, sealed
from wordferry.index.storage.columns import Columns, Gathering
from wordferry.index.storage.segments import Bags, Segment, SegmentRows, join, narrowed
from wordferry.index.storage.snapshot import columns_of, read_buffer
from wordferry.index.storage.stems import WordKeys
from wordferry.index.storage.texts import Packer
from wordferry.index.write.counting import Counting

BUFFER = 1000
"""Fewer new documents than this wait in the catalogue; more become a segment."""
SEGMENT = 262_144
"""Documents of the largest segment that is made: four blocks of its lists."""


class Transaction:
    """One change of an index: nothing of it is there until it is committed, and then all of it.

    It collects the bags of the change; the segments that it has written go when it fails.
    """

    def __init__(
        self, connection: Database, state: dict[str, Any], counting: Counting, config: dict[str, Any], keys: WordKeys
    ) -> None:
        self.connection = connection
        self.state = state
        self.first: int = state["next_number"]
        """The number of the first document that it adds."""
        self._first_word: int = state["words"]
        self.packer = Packer(connection)
        self.counting = counting
        self.terms = counting.terms
        self._config = config
        self._keys = keys
        self._folder = connection.file.parent
        self._parts: list[Bags] = []
        self._fields = Gathering()
        self._written: list[str] = []
        self._replaced: list[str] = []

    def take(self, bags: Bags, fields: Iterable[dict[str, Any]]) -> None:
        """Accept bags whose numbers follow all earlier ones, and their metadata; a full segment is written at once."""
        if sum(map(len, self._parts)) + len(bags) > SEGMENT:
            self._write()
        self._parts.append(narrowed(bags))
        self._fields.put(fields)

    def publish(self) -> None:
        """Put what is left where it belongs by its size."""
        buffered = self.connection.execute("SELECT count(*) FROM buffer").fetchone()[0]
        if sum(map(len, self._parts)) + buffered >= BUFFER:
            self._write()
            return
        for bags in self._parts:
            for i, number in enumerate(bags.numbers.tolist()):
                span = slice(bags.indptr[i], bags.indptr[i + 1])
                codes = None if bags.codes is None else bags.codes.codes[i].tobytes()
                words, counts = (values[span].astype("<i4").tobytes() for values in (bags.words, bags.counts))
                row = sealed(number, words, counts, codes)
                self.connection.execute("INSERT INTO buffer VALUES(?, ?, ?, ?, ?)", row)

    def replace_all(self, parts: Iterable[Bags]) -> None:
        """Let these bags be all there is: compaction. They are taken as they come, so only a segment is held."""
        old = self.connection.execute("SELECT name FROM segments").fetchall()
        for bags in _by_segments(parts):
            self._store(bags)
        self.connection.executemany("DELETE FROM segments WHERE name = ?", old)
        for table in ("buffer", "tombstones"):
            self.connection.execute(f"DELETE FROM {table}")
        self._replaced += [name for (name,) in old]

    def end(self, *, committed: bool) -> None:
        """Remove the segments that it has replaced, or, when it failed, written; who has them mapped keeps them."""
        if not committed:  # the numbers of new words may be given to others now
            self._keys.forget(self._first_word)
        for name in self._replaced if committed else self._written:
            shutil.rmtree(self._folder / segments.SEGMENTS / name, ignore_errors=True)

    def _write(self) -> None:
        parts = [read_buffer(self.connection), *self._parts]
        self.connection.execute("DELETE FROM buffer")
        size = sum(map(len, parts))
        # Smaller segments before it are merged in, so that their number grows like a logarithm.
        for last in reversed(Segment.listed(self.connection)):
            if last.documents > size or size + last.documents > SEGMENT:
                break
            parts.insert(0, live_rows(self.connection, last))
            size += len(parts[0])
            self.connection.execute("DELETE FROM segments WHERE name = ?", (last.name,))
            self.connection.execute("DELETE FROM tombstones WHERE number BETWEEN ? AND ?", (last.first, last.last))
            self._replaced.append(last.name)
        fields, self._fields = self._fields, Gathering()
        columns = fields.columns() if fields.count == size else None
        self._parts = []  # what is joined need not be held twice
        bags = join(parts)
        del parts, fields
        for part in _by_segments([bags]):
            self._store(part, columns)

    def _store(self, bags: Bags, columns: Columns | None = None) -> None:
        """Write a segment and list it; ``columns`` are those of its documents, or of more, where they are at hand."""
        if columns is None or columns.rows != len(bags):
            columns = columns_of(self.connection, bags.numbers)
        rows = SegmentRows.of(bags, columns, self.terms.stop)
        rows = replace(rows, stems=self._keys.stems(rows, self.terms.words))
        made = segments.write(self._folder, rows, self._config)
        self._written.append(made.name)
        self.connection.execute("INSERT INTO segments VALUES(?, ?, ?, ?, ?, ?, ?)", sealed(*made))


def _by_segments(parts: Iterable[Bags]) -> Iterator[Bags]:
    """All rows, as many at a time as the largest segment has."""
    waiting: list[Bags] = []
    for bags in parts:
        waiting.append(bags)
        while sum(map(len, waiting)) > SEGMENT:
            every = join(waiting)
            yield every.select(np.arange(SEGMENT))
            waiting = [every.select(np.arange(SEGMENT, len(every)))]
    if any(map(len, waiting)):
        yield join(waiting)


def live_rows(connection: Database, segment: Segment) -> Bags:
    """The rows of a segment that are not deleted."""
    bags = segment.read(connection.file.parent, verify=True).bags
    span = (segment.first, segment.last)
    rows = connection.execute("SELECT number FROM tombstones WHERE number BETWEEN ? AND ?", span)
    dead = np.array([row[0] for row in rows], dtype=np.int64)
    if not len(dead):
        return bags
    return bags.select(np.flatnonzero(~np.isin(bags.numbers, dead, assume_unique=True)))
