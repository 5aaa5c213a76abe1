"""A connection to a catalogue for reading."""

from __future__ import annotations

import sqlite3
from typing import Any


class Reader(sqlite3.Connection):
    """A connection for reading that remembers what it read of the state it sees."""

    version = -1
    """What SQLite calls the version of the data; it changes with every commit of another connection."""
    state: Any = None
    """The entry of that name, read once for each version."""
    dictionaries: dict[int, bytes]
    """Those of texts that were read in this version."""

    def changed(self) -> bool:
        """Whether the transaction that has begun sees another state than the one before it."""
        (version,) = self.execute("PRAGMA data_version").fetchone()
        if version == self.version:
            return False
        self.version, self.state, self.dictionaries = version, None, {}
        return True
