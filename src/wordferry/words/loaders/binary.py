"""word2vec's binary format: a line of sizes, then for each word its bytes, a blank, and the numbers as float32."""

from __future__ import annotations

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Progress
from wordferry.base.streams import ByteReader
from wordferry.errors import FormatError
from wordferry.words.loaders.rows import Rows, Selection
from wordferry.words.loaders.text import parse_header

_CHUNK = 1 << 20
_LONGEST_WORD = 4096


def read_binary(reader: ByteReader, selection: Selection, progress: Progress) -> tuple[list[str], Float32Array]:
    """Read a whole file in chunks of a megabyte."""
    return _BinaryReader(reader, selection, progress).run()


class _BinaryReader:
    def __init__(self, reader: ByteReader, selection: Selection, progress: Progress) -> None:
        self.reader, self.selection, self.progress = reader, selection, progress
        self.data = b""
        self.at = 0  # where in data the next word begins
        self.start = 0  # the file offset of data[0]

    def place(self, offset: int) -> str:
        return f"{self.reader.name}, byte {offset}"

    def more(self) -> bool:
        """Drop what was read and append the next chunk; False at the end of the file."""
        chunk = self.reader.read(_CHUNK)
        self.start += self.at
        self.data = self.data[self.at :] + chunk
        self.at = 0
        self.progress(self.reader.position, self.reader.size)
        return bool(chunk)

    def run(self) -> tuple[list[str], Float32Array]:
        first = self.reader.readline(256)
        header = parse_header(first)
        if header is None or header[1] < 1:
            raise FormatError(
                f"{self.place(0)}: expected a line with the numbers of words and dimensions, found {first[:40]!r}."
            )
        count, dimensions = header
        self.start = len(first)
        self.check_size(count, dimensions)
        room = self.reader.most_bytes // (4 * dimensions + 1)
        rows = Rows(dimensions, self.selection, self.place, min(count, room))
        stop = count if self.selection.limit is None else min(count, self.selection.limit)
        for number in range(stop):
            if rows.complete:
                return rows.finish()
            self.take(number, count, dimensions, rows)
        if stop == count:
            self.check_end(count)
        self.progress(self.reader.size, self.reader.size)
        return rows.finish()

    def check_size(self, count: int, dimensions: int) -> None:
        """Refuse a first line that promises more than the file holds, before memory is reserved for it."""
        least = self.start + count * (4 * dimensions + 1)  # a word may be empty, its blank may not
        if least > self.reader.most_bytes:
            raise FormatError(
                f"{self.place(0)} promises {count} words of {dimensions} dimensions, at least {least} bytes, but "
                f"the file has {'at most ' * self.reader.packed}{self.reader.most_bytes}. It is truncated, or no "
                "word2vec binary."
            )

    def take(self, number: int, count: int, dimensions: int, rows: Rows) -> None:
        end = self.data.find(b" ", self.at)
        while end < 0:
            searched = len(self.data) - self.at
            if searched > _LONGEST_WORD or not self.more():
                raise FormatError(
                    f"{self.place(self.start + self.at)}: expected word {number + 1} of {count} and a blank, found "
                    + (
                        "none within 4096 bytes."
                        if searched > _LONGEST_WORD
                        else "the end of the file: it is truncated."
                    )
                )
            end = self.data.find(b" ", searched)
        if end - self.at > _LONGEST_WORD:
            raise FormatError(
                f"{self.place(self.start + self.at)}: expected word {number + 1} of {count}, found {end - self.at} "
                "bytes without a blank."
            )
        need = 4 * dimensions
        while len(self.data) - end - 1 < need:
            shift = self.at
            if not self.more():
                raise FormatError(
                    f"{self.place(self.start + end - shift + 1)}: expected {need} bytes of numbers for word "
                    f"{number + 1} of {count}, found {len(self.data) - (end - shift) - 1}: the file is truncated."
                )
            end -= shift
        raw = self.data[self.at : end].lstrip(b"\n")
        offset = self.start + end - len(raw)
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise FormatError(f"{self.place(offset)}: expected a word in UTF-8, found {raw[:40]!r}.") from None
        if rows.wants(word, offset):
            rows.add(word, np.frombuffer(self.data, dtype="<f4", count=dimensions, offset=end + 1), offset)
        self.at = end + 1 + need

    def check_end(self, count: int) -> None:
        while self.data[self.at :].strip() == b"":
            self.at = len(self.data)
            if not self.more():
                return
        raise FormatError(
            f"{self.place(self.start + self.at)}: expected the end after the {count} words of the first line."
        )
