"""Every exception wordferry raises on purpose. Each is also the builtin a caller would expect."""

from __future__ import annotations


class WordferryError(Exception):
    """Root of all errors raised by wordferry."""


class InputError(WordferryError, ValueError):
    """An argument or a file's content is not what is needed; the text says what is and what to do."""


_WAYS = {
    "drop": "drop such documents with on_empty='drop'",
    "keep": "give such documents the distance inf with on_empty='keep'",
    "leave out": "leave such documents out",
}


class EmptyDocumentError(InputError):
    """A document has no word with a vector.

    ``ways`` are the ways out that the call has which met it: names of ``on_empty=``, or sentences' ends of their own.
    """

    def __init__(self, problem: str, ways: tuple[str, ...] = (), more: str = "") -> None:
        self.problem, self.ways, self.more = problem, ways, more
        parts = [_WAYS.get(way, way) for way in ways] + ([more] if more and ways else [])
        advice = ", or ".join(([", ".join(parts[:-1])] if parts[1:] else []) + parts[-1:])
        super().__init__(f"{problem} {advice[:1].upper()}{advice[1:]}." if advice else problem)

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...], str]]:
        return type(self), (self.problem, self.ways, self.more)

    def with_ways(self, *ways: str) -> EmptyDocumentError:
        """This problem with the ways out of another call; one that names none of its own stays as it is."""
        return EmptyDocumentError(self.problem, ways, self.more) if self.ways else self


class VocabularyMismatch(InputError):
    """Two objects that should share a vocabulary do not."""


class FormatError(InputError):
    """A file is broken, truncated, or in another format than expected."""


class NotFound(WordferryError, KeyError):
    """A word, document or file that was asked for by name does not exist."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class Unsupported(WordferryError, NotImplementedError):
    """A combination of options that has no meaning or no implementation; the text says which."""


class MissingDependency(WordferryError, ImportError):
    """An optional package is needed; the text gives the exact pip line."""


class SolverError(WordferryError, ArithmeticError):
    """A transport problem could not be solved to a proved optimum."""


class Cancelled(WordferryError, RuntimeError):
    """The work was stopped before it was done, because another thread said so or its request had ended."""


class LockedError(WordferryError, OSError):
    """Somebody else is writing; the text names the holder."""


class ReplacedError(WordferryError, OSError):
    """The index that was opened is no longer there: another one has taken its place. Open it again."""


class StorageError(WordferryError, OSError):
    """A disk is full, read-only or failing, or a file system cannot give what is needed; the text names the path."""
