"""Vectors as text, one word per line: word2vec text and fastText ``.vec`` (with a line of sizes), GloVe (without)."""

from __future__ import annotations

import re
import warnings

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Progress
from wordferry.base.streams import ByteReader
from wordferry.errors import FormatError
from wordferry.kernels.native import parse_numbers
from wordferry.words.loaders.rows import Rows, Selection

LONGEST_LINE = 1 << 22
_TELL_EVERY = 2048
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEADER = re.compile(rb"(\d+)[ \t](\d+)\s*")


def parse_header(line: bytes) -> tuple[int, int] | None:
    """(words, dimensions) when the line is the first one of word2vec and fastText files."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def read_text(reader: ByteReader, selection: Selection, progress: Progress) -> tuple[list[str], Float32Array]:
    """Read a whole file, line by line."""
    return _TextReader(reader, selection, progress).run()


class _TextReader:
    def __init__(self, reader: ByteReader, selection: Selection, progress: Progress) -> None:
        self.reader, self.selection, self.progress = reader, selection, progress
        self.line = 0

    def place(self, line: int) -> str:
        return f"{self.reader.name}, line {line}"

    def error(self, message: str) -> FormatError:
        return FormatError(f"{self.place(self.line)}: {message}")

    def next_line(self) -> bytes:
        line = self.reader.readline(LONGEST_LINE)
        if line:
            self.line += 1
            if len(line) == LONGEST_LINE:
                raise self.error(f"the line is longer than {LONGEST_LINE} bytes. Is this a text file of vectors?")
        return line

    def run(self) -> tuple[list[str], Float32Array]:
        first = self.next_line()
        if not first.strip():
            raise FormatError(
                f"{self.reader.name}: expected word vectors, found {'a blank line' if first else 'nothing'}."
            )
        header = parse_header(first)
        if header is None:
            expected, dimensions = None, len(first.split()) - 1
            line = first
        else:
            (expected, dimensions), line = header, self.next_line()
        if dimensions < 1:
            raise self.error(f"expected a word and its numbers, found {_shown(first)}.")
        self.check_size(expected, dimensions)
        self.numbers = np.empty(dimensions, np.float32)
        rows = Rows(dimensions, self.selection, self.place, self.capacity(expected, len(line), dimensions))
        limit = self.selection.limit
        seen, ended = 0, True
        while line:
            if line.strip():
                if seen == limit or rows.complete:
                    break
                if seen == expected:
                    raise self.error(f"expected the end after the {expected} words that line 1 promises.")
                seen += 1
                self.take(line, dimensions, rows)
                ended = line.endswith((b"\n", b"\r"))
            if self.line % _TELL_EVERY == 0:
                self.progress(self.reader.position, self.reader.size)
            line = self.next_line()
        else:
            if not ended:
                warnings.warn(
                    f"{self.place(self.line)}: the file does not end with a line break, so its last number may be cut "
                    "off. Compare its size with that of the source, or add the line break if nothing is missing.",
                    stacklevel=2,
                )
            if expected is not None and seen < expected:
                raise FormatError(
                    f"{self.reader.name} ends after line {self.line}: expected {expected} words as line 1 says, found "
                    f"{seen}. The file is truncated."
                )
        self.progress(self.reader.size, self.reader.size)
        return rows.finish()

    def check_size(self, expected: int | None, dimensions: int) -> None:
        """Refuse a first line that promises more than the file can hold, before memory is reserved for it."""
        if expected is None:
            return
        least = expected * (2 * dimensions + 1)
        if least > self.reader.most_bytes:
            raise FormatError(
                f"{self.place(1)} promises {expected} words of {dimensions} dimensions, at least {least} bytes, but "
                f"the file has {'at most ' * self.reader.packed}{self.reader.most_bytes}. It is truncated, or no file "
                "of vectors."
            )

    def capacity(self, expected: int | None, line: int, dimensions: int) -> int | None:
        """How many words to make room for: as promised, if the file can hold them, else by the first line's length."""
        if expected is not None:
            return min(expected, self.reader.most_bytes // (2 * dimensions + 1))
        return None if self.reader.packed else self.reader.size // line + 1

    def take(self, line: bytes, dimensions: int, rows: Rows) -> None:
        body = line.rstrip(b" \t\r\n").lstrip(b" ") if line[:1] == b" " else line.rstrip(b" \t\r\n")
        if body.count(b" ") == dimensions:
            end = body.find(b" ")
        else:  # a word with blanks in it, or a wrong line
            body = b" ".join(body.split()) if b"\t" in body or b"  " in body else body
            parts = body.rsplit(b" ", dimensions)
            if len(parts) <= dimensions:
                raise self.error(f"expected a word and {dimensions} numbers, found {len(parts) - 1} ({_shown(body)}).")
            end = len(parts[0])
            if _NUMBER.fullmatch(parts[0].rpartition(b" ")[2]) and b" " in parts[0]:
                raise self.error(
                    f"expected a word and {dimensions} numbers, found one number or more too many ({_shown(body)}). If "
                    "the words of this file have blanks and end in numbers, join them with underscores."
                )
        try:
            word = body[:end].decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"expected a word in UTF-8, found {_shown(body[:end])}.") from None
        if not rows.wants(word, self.line):
            return
        if parse_numbers(body, end + 1, self.numbers):
            rows.add(word, self.numbers, self.line)
            return
        fields = body[end + 1 :].split(b" ")
        try:
            rows.add(word, [float(field) for field in fields], self.line)
        except ValueError:
            bad = next(i for i, field in enumerate(fields) if not _is_number(field))
            raise self.error(
                f"expected {dimensions} numbers after the word {word[:40]!r}; the {bad + 1}. is {_shown(fields[bad])}."
            ) from None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(data: bytes) -> str:
    text = data[:40].decode("utf-8", "backslashreplace")
    return repr(text + ("..." if len(data) > 40 else ""))
