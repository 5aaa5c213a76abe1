"""Every exception wordferry raises on purpose. Each is also the builtin a caller would expect."""

from __future__ import annotations


class WordferryError(Exception):
    """Root of all errors raised by wordferry."""


class InputError(WordferryError, ValueError):
    """An argument or a file's content is not what is needed; the text says what is and what to do."""


class EmptyDocumentError(InputError):
    """A document has no word with a vector."""


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
