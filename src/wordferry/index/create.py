"""Making a new index folder: written beside its place and renamed, so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordferry.base import storage
from wordferry.compare.distances import find_distance, find_overlap
from wordferry.errors import InputError, StorageError, WordferryError
from wordferry.find.settings import Settings
from wordferry.index import config as choices
from wordferry.index.catalogue import FILE, Catalogue
from wordferry.index.config import COPY, Config
from wordferry.index.graph import FOLDER as GRAPH
from wordferry.index.graph import Graphs, check_related
from wordferry.index.lock import WriterLock, read_only_error, refuse_network
from wordferry.index.others import EMPTY
from wordferry.index.segments import FOLDER as SEGMENTS
from wordferry.index.segments import is_full
from wordferry.index.snapshot import words_checksum
from wordferry.index.weighed_state import Weighing
from wordferry.index.words_of_language import choose_words
from wordferry.texts import bow
from wordferry.texts.datasets import default_source
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


def create_folder(
    path: Path,
    *,
    given: Any,
    related: Any,
    distance: str,
    overlap: str | None,
    tokenizer: Any,
    on_empty: str,
    keep: str | None,
    overwrite: bool,
    language: str | None,
    settings: Mapping[str, Any] | None,
    weighing: Weighing,
) -> None:
    """Check everything, then write the folder of an empty index."""
    record = find_distance(distance)
    if overlap is not None:
        find_overlap(record, overlap)
    bow.check_on_empty(on_empty)
    words, stems = choose_words(tokenizer, language)
    Settings().changed(**(settings or {}))
    keep, place = choices.check_keep(keep, given)
    check_target(path, overwrite)
    refuse_network(path.absolute().parent)
    embeddings = choices.read_embeddings(given)
    r, start = check_related(related, embeddings)
    config = Config(
        distance=record.name,
        overlap=overlap,
        r=r,
        on_empty=on_empty,
        tokenizer=words,
        keep=keep,
        path=None if place is None else str(place),
        fingerprint=embeddings.fingerprint,
        normalized=embeddings.normalized,
        vocabulary=embeddings.vocabulary.fingerprint,
        language=stems,
        settings=dict(settings or {}),
        weights=weighing.weights,
        unknown=weighing.unknown,
        package=default_source() if keep == "package" else None,
    )
    _write_or_say_why(path, config, embeddings, start)


def _write_or_say_why(path: Path, config: Config, embeddings: Embeddings, start: RelatedWords | None) -> None:
    try:
        _write(path, config, embeddings, start)
    except OSError as error:
        if isinstance(error, WordferryError):
            raise
        if is_full(error, path.absolute()):
            raise StorageError(f"{path} cannot be made: the disk is full. Nothing is left behind.") from error
        raise read_only_error(path, error) from error


def check_target(path: Path, overwrite: bool) -> None:
    """Refuse to write where something else is."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not (path / FILE).is_file():
        raise InputError(f"{path} exists and is not a wordferry index; it is left alone. Choose another path.")
    if not overwrite:
        raise InputError(f"{path} is an index already. Open it with Index.open, or replace it with overwrite=True.")


def _write(path: Path, config: Config, embeddings: Embeddings, start: RelatedWords | None) -> None:
    parent = path.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=parent))
    try:
        (temporary / SEGMENTS).mkdir()
        (temporary / GRAPH).mkdir()
        values = config.to_json()
        if config.keep == "copy":
            embeddings.save(temporary / COPY)
            values["manifest"] = storage.file_digest(temporary / COPY / storage.MANIFEST)
        meta: dict[str, Any] = {}
        words: list[str] = []
        if start is not None:
            meta["graph"] = values["base"] = Graphs(temporary, embeddings, config.r, None).save(start, 0)
            words = list(start.vocabulary)
        rows = [(number, embeddings.vocabulary.id(word), word) for number, word in enumerate(words)]
        state = {"generation": 1, "next_number": 1, "documents": 0, "number_sum": 0, "id_sum": 0, "epoch": 0}
        state |= EMPTY | {"words": len(rows), "words_checksum": words_checksum([row[1] for row in rows])}
        Catalogue.create(temporary, {"identity": secrets.token_hex(16), "config": values, "state": state, **meta}, rows)
        for folder in (temporary / SEGMENTS, temporary / GRAPH, temporary):
            storage.fsync_path(folder)
        os.chmod(temporary, 0o755)
        swap_in(temporary, path)
        storage.fsync_path(parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def swap_in(temporary: Path, path: Path) -> None:
    """Rename into place; an index that is replaced must not be in use by a writer."""
    if not (path / FILE).is_file():
        if path.is_dir():
            path.rmdir()
        os.rename(temporary, path)
        return
    lock = WriterLock(path)
    lock.acquire()
    try:
        if storage.exchange(temporary, path):  # in one step: there is no moment without an index
            shutil.rmtree(temporary, ignore_errors=True)
            return
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.absolute().parent))
        os.rename(path, old / "index")
        os.rename(temporary, path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        lock.release()
