"""Bringing an index of an earlier format up to date, in its place."""

from __future__ import annotations

import os
from pathlib import Path

from wordferry.index.catalogue import FORMAT, Catalogue
from wordferry.index.config import open_embeddings, read_config
from wordferry.index.lock import WriterLock, refuse_network
from wordferry.index.segments import FOLDER, remove_orphans
from wordferry.index.writer import Writer


def upgrade(path: str | os.PathLike[str]) -> bool:
    """Write an index in the present format; False when it is in that format already.

    It is one transaction, as every change: an upgrade that is stopped leaves the index as it was.
    """
    folder = Path(path)
    refuse_network(folder)
    catalogue = Catalogue(folder, any_format=True)
    lock = WriterLock(folder)
    try:
        with catalogue.reading() as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
                return False
            config = read_config(connection, catalogue.file)
        lock.acquire()
        catalogue.check_use()
        Writer(catalogue, config, open_embeddings(folder, config)).upgrade()
        with catalogue.reading() as connection:
            names = {row[0] for row in connection.execute("SELECT name FROM segments")}
        remove_orphans(folder / FOLDER, names)
    finally:
        catalogue.close()
        lock.release()
    return True
