"""An index as format 1 had it: segments of bags alone, no identity, no sum over the ids."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np

from wordferry.base import storage
from wordferry.index.catalogue import checksum
from wordferry.index.packs import Unpacker


def to_format_one(place: Path) -> None:
    """Turn a closed index of the present format back."""
    database = sqlite3.connect(place / "catalogue.sqlite")
    for row in database.execute("SELECT * FROM segments").fetchall():
        folder = place / "segments" / row[0]
        stored = storage.read_folder(folder, "segment", mapped=False)
        arrays = {name: stored.arrays[name] for name in ("indptr", "words", "counts")}
        arrays["numbers"] = stored.arrays.get("numbers", np.arange(row[1], row[2] + 1))
        arrays["counts"] = arrays["counts"].astype(np.int32)
        config = {"vocabulary": stored.config["vocabulary"]}
        storage.write_folder(folder, "segment", config, arrays, overwrite=True)
        values = (*row[:5], storage.file_digest(folder / storage.MANIFEST))
        database.execute("DELETE FROM segments WHERE name = ?", (row[0],))
        database.execute("INSERT INTO segments VALUES(?, ?, ?, ?, ?, ?, ?)", (*values, checksum(*values)))
    state = json.loads(database.execute("SELECT value FROM meta WHERE key = 'state'").fetchone()[0])
    for key in ("id_sum", "others", "others_checksum"):
        del state[key]
    database.execute("ALTER TABLE buffer RENAME TO old")
    database.execute(
        "CREATE TABLE buffer(number INTEGER PRIMARY KEY, words BLOB NOT NULL, counts BLOB NOT NULL, "
        "checksum INTEGER NOT NULL)"
    )
    for number, words, counts in database.execute("SELECT number, words, counts FROM old").fetchall():
        row = (number, words, counts, checksum(number, words, counts))
        database.execute("INSERT INTO buffer VALUES(?, ?, ?, ?)", row)
    whole = Unpacker(database, place)
    rows = [whole.checked(row) for row in database.execute("SELECT * FROM documents").fetchall()]
    database.execute("ALTER TABLE documents RENAME TO packed")
    database.execute(
        "CREATE TABLE documents(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, "
        "tokenized INTEGER NOT NULL, label TEXT, metadata TEXT NOT NULL, tokens INTEGER NOT NULL, "
        "known INTEGER NOT NULL, checksum INTEGER NOT NULL)"
    )
    database.executemany("INSERT INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    for table in ("old", "others", "packed", "packs", "dictionaries"):
        database.execute(f"DROP TABLE {table}")
    text = json.dumps(state)
    database.execute("UPDATE meta SET value = ?, checksum = ? WHERE key = 'state'", (text, checksum("state", text)))
    database.execute("DELETE FROM meta WHERE key = 'identity'")
    database.execute("PRAGMA user_version = 1")
    database.commit()
    database.close()
