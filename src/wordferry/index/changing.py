"""What changes an index: adding, replacing and deleting documents, and putting its files in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordferry.base.checks import whole_number
from wordferry.base.runtime import Progress, ShowProgress, logger, no_progress, progress_for, thread_count
from wordferry.compare.distances import find_distance
from wordferry.errors import StorageError
from wordferry.index import publish
from wordferry.index.catalogue import Catalogue, get_meta, set_meta
from wordferry.index.graph import FOLDER as GRAPH
from wordferry.index.graph import Graphs
from wordferry.index.lock import WriterLock, read_only_error
from wordferry.index.model import checked_id, entries
from wordferry.index.segments import FOLDER as SEGMENTS
from wordferry.index.segments import remove_orphans
from wordferry.index.writer import Writer
from wordferry.texts.records import Fields

if TYPE_CHECKING:
    import sqlite3
    from contextlib import AbstractContextManager
    from threading import RLock

    from wordferry.index.config import Config
    from wordferry.index.snapshot import Snapshot


_MANY = 32
"""New words that are worth comparing with all others at once where documents are searched as well as added: the next
search would wait for that. Fewer are left to it."""


class Changing:
    """The part of :class:`Index` that writes; it has no state of its own."""

    path: Path
    config: Config
    _catalogue: Catalogue
    _graphs: Graphs
    _lock: WriterLock
    _mutex: RLock
    _writer: Writer

    if TYPE_CHECKING:

        def view(self) -> AbstractContextManager[tuple[sqlite3.Connection, Snapshot]]: ...

    def add(
        self,
        documents: Any,
        *,
        text: str = "text",
        id: str = "id",
        label: str = "label",
        skip: Iterable[str] = (),
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> list[str]:
        """Add documents, all or none; their ids, given or generated.

        A document is a text, a list of tokens, a :class:`~wordferry.texts.documents.Record`, or a mapping with
        ``text`` (or ``tokens``) and optionally ``id``, ``label`` and ``metadata``; other keys of a mapping are
        metadata too. Or ``documents`` is a table: a DataFrame of any library, an Arrow table, a Hugging Face dataset, a
        dict of columns. ``text``, ``id`` and ``label`` name the columns (or keys) that hold them, ``skip`` those to
        leave out; the rest is metadata. An id that exists is an error. Texts are split on ``threads`` threads, and the
        index is the same whatever their number. ``progress`` is told of documents; ``graph_progress`` of the related
        words, which are extended when many new words have come; ``progress=True`` shows bars for both.
        """
        fields = Fields.of(text, id, label, skip=skip)
        return self._store(documents, fields, False, threads, progress, graph_progress)

    def fill(
        self,
        documents: Any,
        *,
        text: str = "text",
        id: str = "id",
        label: str = "label",
        skip: Iterable[str] = (),
        resume: bool = False,
        step: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> int:
        """Add a large collection in steps, each on the disk before the next begins; how many documents it has.

        Other than with :meth:`add`, what was stored stays when the call fails or is stopped. ``resume=True`` goes on
        after it: pass the same documents again, which is checked; those that are stored are passed over. The index is
        then the same as if nothing had happened. ``step`` is the number of documents of a step (262,144): fewer need
        less memory. Everything else is as in :meth:`add`.
        """
        step = whole_number(publish.SEGMENT if step is None else step, "step")
        if progress is True and graph_progress is None:
            graph_progress = True
        report = _reporter(documents, progress)
        fields, count = Fields.of(text, id, label, skip=skip), thread_count(threads)
        with self._writing() as writer:
            stored = writer.fill(entries(documents, fields), resume=resume, step=step, report=report, threads=count)
            self._keep_graph(least=1000, progress=progress_for(graph_progress, "relating words"))
        return stored

    def upsert(self, documents: Any, **options: Any) -> list[str]:
        """Add documents, all or none; one whose id exists replaces that document. Options are those of :meth:`add`."""
        fields = {key: options.pop(key) for key in ("text", "id", "label", "skip") if key in options}
        return self._store(documents, Fields.of(**fields), True, **options)

    def _store(
        self,
        documents: Any,
        fields: Fields,
        replace: bool,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> list[str]:
        if progress is True and graph_progress is None:
            graph_progress = True
        count = thread_count(threads)
        with self._writing() as writer:
            ids = writer.add(
                entries(documents, fields),
                replace=replace,
                report=_reporter(documents, progress),
                threads=count,
            )
            self._keep_graph(least=1000, progress=progress_for(graph_progress, "relating words"))
        return ids

    def number_others(self, words: Iterable[str]) -> None:
        """Number words without vectors before documents bring them, so that all shards of a collection do it alike."""
        with self._writing() as writer:
            writer.number_others(words)

    def delete(self, ids: Iterable[str | int] | str | int, *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; how many were deleted. An unknown id is NotFound unless allowed."""
        wanted = [checked_id(id, "delete") for id in ([ids] if isinstance(ids, str | int) else ids)]
        with self._writing() as writer:
            return writer.delete(wanted, missing_ok=missing_ok)

    def compact(self, *, rebuild: bool = False) -> None:
        """Write the live documents into as few files as possible, and forget words that none of them has.

        ``rebuild=True`` makes bags of words and related words again from the texts, e.g. after damage to their files.
        """
        with self._writing() as writer:
            writer.compact(rebuild=rebuild)
            self._keep_graph()
            self._clean()

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        with self._mutex:
            if self._catalogue.read_only:
                raise read_only_error(self.path, PermissionError(30, "the folder is read-only"))
            self._catalogue.check_use()
            if self._lock.acquire():
                try:
                    self._catalogue.check_use()  # the lock may be that of an index which has taken this one's place
                    self._clean()
                except BaseException:
                    self._lock.release()
                    raise
            yield self._writer

    def _clean(self) -> None:
        """Remove files that the catalogue does not list: left by a killed writer, or replaced."""
        with self._catalogue.reading() as connection:
            names = {row[0] for row in connection.execute("SELECT name FROM segments")}
            graphs = [self.config.base, get_meta(connection, "graph", self._catalogue.file)]
        remove_orphans(self.path / SEGMENTS, names)
        remove_orphans(self.path / GRAPH, {record["name"] for record in graphs if record})

    def _keep_graph(self, least: int = 1, progress: Progress | None = None) -> None:
        """Put the related words on the disk when the stored ones lack at least so many words (or a tenth).

        Those in memory, if there are any, are brought up to date when they lack many.
        """
        if not find_distance(self.config.distance).needs_related:
            return
        with self._catalogue.reading() as connection:
            state = get_meta(connection, "state", self._catalogue.file)
            stored = get_meta(connection, "graph", self._catalogue.file)
        covered = stored["words"] if stored and stored["epoch"] == state["epoch"] else 0
        behind = state["words"] - covered
        if behind == 0 or (least > 1 and behind < least and behind * 10 < state["words"]):
            if self._graphs.lacking(state["words"], state["epoch"]) >= _MANY:
                with self.view() as (_, snapshot):
                    self._graphs.get(snapshot.words, snapshot.epoch, snapshot.graph, progress)
            return
        with self.view() as (_, snapshot):
            related = self._graphs.get(snapshot.words, snapshot.epoch, snapshot.graph, progress)
        try:
            record = self._graphs.save(related, snapshot.epoch)
            with self._catalogue.writing() as connection:
                state = get_meta(connection, "state", self._catalogue.file)
                state["generation"] += 1
                set_meta(connection, "graph", record)
                set_meta(connection, "state", state)
        except StorageError as error:  # the documents are stored; who opens the index builds its graph again
            logger.warning("The related words of %s are in memory only: %s", self.path, str(error))
        self._clean()


def _reporter(documents: Any, progress: ShowProgress) -> Callable[[int], object]:
    """Tells a progress how many documents of how many are done, as far as that is known."""
    tell = progress_for(progress, "adding documents") or no_progress
    total = len(documents) if isinstance(documents, Sized) else 0
    return lambda done: tell(done, max(total, done))
