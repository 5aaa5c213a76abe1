"""The index: a collection on disk that is built once, searched for ever, added to and deleted from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sized
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress, no_progress, progress_for, thread_count
from wordferry.encoders.encoder import find_encoder
from wordferry.errors import InputError
from wordferry.index.config import RECOMMENDED, Keep
from wordferry.index.local import LocalIndex
from wordferry.index.reader import IndexReader
from wordferry.index.write.entries import checked_id, entries
from wordferry.texts.bow import OnEmpty
from wordferry.texts.coverage import Coverage
from wordferry.texts.records import Fields
from wordferry.texts.tokenizers import Tokenizer

if TYPE_CHECKING:
    from wordferry.index.reader import Backend

_ENCODED_STEP = 16_384


class Index(IndexReader):
    """A collection of documents on disk, opened with :meth:`create` or :meth:`open`.

    Any number of readers may have it open while one writer works; a search sees one state of the index. A call that
    changes it is done when it returns: its documents are on the disk, and nothing of a call that fails is. The first
    such call takes the writer's lock and keeps it until :meth:`close`. All methods may be called from several threads.

    >>> import tempfile, wordferry
    >>> emb = wordferry.Embeddings(["cat", "dog", "car"], [[1.0, 0.1], [0.9, 0.3], [0.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder, Index.create(f"{folder}/pets", embeddings=emb) as index:
    ...     ids = index.add([{"id": "a", "text": "the cat"}, {"id": "b", "text": "a car"}])
    ...     [hit.id for hit in index.search("cats", k=1)], [hit.id for hit in index.similar("dog", k=1)]
    (['a'], ['a'])
    """

    def __init__(self, backend: Backend) -> None:
        self._warned = False
        """Whether it was said that few words have a vector."""
        self._temporary: TemporaryDirectory[str] | None = None
        """The folder that goes when this index is closed."""
        self.given_encoder: Any = None
        """The encoder that it was opened with, for whoever opens it again."""
        super().__init__(backend)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        embeddings: Any = None,
        related: Any = None,
        distance: str = RECOMMENDED,
        overlap: str | None = None,
        weights: str = "idf",
        unknown: str = "match",
        language: str | None = None,
        tokenizer: Tokenizer | str | None = None,
        stop: Iterable[str] | str | None = "",
        on_empty: OnEmpty = "error",
        keep: Keep | None = None,
        overwrite: bool = False,
        settings: Mapping[str, Any] | None = None,
        encoder: Any = None,
    ) -> Index:
        """Make an empty index in a new folder, or in a temporary one that goes when the index is closed.

        Parameters
        ----------
        path : the folder; it must not exist, or be an index that ``overwrite=True`` allows to be replaced. None is a
            temporary one.
        embeddings : word vectors, their path, or None for the default ones. Or what makes a vector of any word:
            "multilingual", "wordllama", a model2vec model or its folder, a FastText model of gensim. The index then
            makes a vector when a word first comes and keeps it; those of words that only queries have are in memory.
            Who opens it without the model finds by the words that it has, and cannot add others.
        related : r, the number of related words; or related words to start from, which may cover more than the
            documents' words; None is r = 16 over the documents' words.
        distance, overlap : what :meth:`similar` and :meth:`duplicates` use unless told otherwise: by default what it
            costs to move the words of one text onto those of the other, and twice what they do not share.
        weights, unknown : what words count for when :meth:`similar` compares ("idf": the more, the fewer documents have
            them; "counts", "log-idf", "bm25", "norm", "norm-idf"), and whether those without a vector do ("match": onto
            themselves, "drop": not at all, "error": a document or query with such a word is refused).
        language : the language of the documents: its stop words, word boundaries and stems. None is English, or that of
            the tokenizer; "none" is for words without stems.
        tokenizer : one of ``wordferry.texts.tokenizers.make_tokenizer`` or a registered name, in the place of the
            language's; it is stored, and used for documents and for queries.
        stop : words that weigh nothing when texts are compared, and count in a search only where it asks for them: None
            for none, a language, or your own. Not given: those of the language.
        on_empty : documents without any word: "error", "drop" (not stored), "keep" (stored, never found).
        keep : "copy" puts the vectors into the folder, "path" remembers where they are (pass a path then), "package"
            takes those that come with wordferry, by name and checksum. None: "package" for these, else "copy".
        overwrite : whether an index at ``path`` is replaced.
        settings : constants of :meth:`search` that are to differ from those of :class:`wordferry.find.Settings`.
        encoder : makes :meth:`search` one by words and meaning: "wordllama", "model2vec:PATH",
            "sentence-transformers:PATH" (nothing is downloaded), or a function from a list of texts to an array with a
            vector for each, which :meth:`open` must be given again. Vectors that you bring yourself need none: see
            :meth:`add`.

        Returns
        -------
        The opened index.
        """
        from wordferry.index.write.create import create_folder
        from wordferry.words.loaders.demand import VectorSource

        temporary = None
        if path is None:
            temporary = TemporaryDirectory(prefix="wordferry-", ignore_cleanup_errors=True)
            path = Path(temporary.name) / "index"
        made = VectorSource.of(embeddings)
        how = None if encoder is None else find_encoder(encoder)
        create_folder(
            Path(path),
            measure={"distance": distance, "overlap": overlap, "weights": weights, "unknown": unknown},
            vectors={"embeddings": made or embeddings, "related": related, "keep": keep, "encoder": how},
            words={"tokenizer": tokenizer, "language": language, "stop": stop},
            on_empty=on_empty,
            overwrite=overwrite,
            settings=settings,
        )
        index = cls(open_backend(path, made, how))
        index._temporary, index.given_encoder = temporary, encoder
        return index

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, embeddings: Any = None, encoder: Any = None) -> Index:
        """Open an index, or a folder of shards, for reading; the first change takes the writer's lock.

        ``embeddings`` is needed only when ``keep="path"`` was chosen and they have moved, or for a model that the index
        makes its vectors with and that is an object of your program; ``encoder`` only when it is a function of your
        own, or its model has moved. Another one than the index was made with is refused.
        """
        index = cls(open_backend(path, embeddings, encoder))
        index.given_encoder = encoder
        return index

    # -- changing --------------------------------------------------------------------------------------------------

    def add(
        self,
        documents: Any,
        *,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        title: str = "title",
        skip: Iterable[str] = (),
        on_empty: OnEmpty | None = None,
        vectors: Any = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> list[str]:
        """Add documents, all or none; their ids, given or generated.

        Parameters
        ----------
        documents : texts, lists of tokens, :class:`~wordferry.texts.documents.Record` objects, or mappings with
            ``text`` (or ``tokens``) and optionally ``id``, ``label`` and ``metadata``; other keys of a mapping are
            metadata too. Or a table: a DataFrame of any library, an Arrow table, a Hugging Face dataset, a dict of
            columns. An id that exists is an error.
        text, id, label, title, skip : the columns (or keys) that hold these, and those to leave out; the rest is
            metadata. Of several columns for the text, each follows the one before it.
        on_empty : documents without any word, None and NaN among them: "error", "drop" (left out, and with
            :meth:`upsert` what they replace is deleted) or "keep"; None is the index's own choice.
        vectors : a vector for each document, in their order, or the name of the column (or key) that holds it. The
            first documents of an index decide whether all have one; an index with an encoder makes what is not brought.
        threads : on how many threads texts are split; the index is the same whatever their number.
        progress : is told of documents; True shows a bar, for the related words too.
        graph_progress : is told of the related words, which are extended when many new words have come, and of vectors
            while they are made.

        A :class:`~wordferry.texts.coverage.CoverageWarning` says once where fewer than half of the words have a vector,
        or where texts without spaces became one word each.
        """
        read = Fields.of(text, id, label, skip=skip, title=title), vectors
        how: dict[str, Any] = {"replace": False, "on_empty": on_empty, "threads": thread_count(threads)}
        return list(self._store("add", documents, read, how, (progress, graph_progress)))

    def upsert(
        self,
        documents: Any,
        *,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        title: str = "title",
        skip: Iterable[str] = (),
        on_empty: OnEmpty | None = None,
        vectors: Any = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> list[str]:
        """Add documents, all or none; one whose id exists replaces that document. Everything is as in :meth:`add`."""
        read = Fields.of(text, id, label, skip=skip, title=title), vectors
        how: dict[str, Any] = {"replace": True, "on_empty": on_empty, "threads": thread_count(threads)}
        return list(self._store("add", documents, read, how, (progress, graph_progress)))

    def _store(
        self,
        method: str,
        documents: Any,
        read: tuple[Fields, Any],
        how: dict[str, Any],
        progress: tuple[ShowProgress, ShowProgress],
    ) -> Any:
        """Let the writer add or fill, and say once where few of the documents' words have a vector.

        ``read`` has the fields and the vectors; ``progress`` is that of documents and that of the graph.
        """
        given, coverage = entries(documents, *read), Coverage()
        tell = progress_for(progress[0], "adding documents") or no_progress
        total = len(documents) if isinstance(documents, Sized) else 0

        def action(writer: Any) -> Any:
            writer.coverage = coverage
            return getattr(writer, method)(given, report=lambda done: tell(done, max(total, done)), **how)

        found = self.backend.store(action, True if progress[0] is True and progress[1] is None else progress[1])
        if not self._warned:
            self._warned = coverage.warn(stacklevel=5)
        return found

    def fill(
        self,
        documents: Any,
        *,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        title: str = "title",
        skip: Iterable[str] = (),
        vectors: Any = None,
        resume: bool = False,
        step: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> int:
        """Add a large collection in steps, each on the disk before the next begins; how many documents it has.

        Other than with :meth:`add`, what was stored stays when the call fails or is stopped.

        Parameters
        ----------
        documents, text, id, label, title, skip, vectors, threads, progress, graph_progress : as in :meth:`add`.
        resume : go on after what an earlier call has stored: pass the same documents again, which is checked; those
            that are stored are passed over. The index is then the same as if nothing had happened.
        step : the number of documents of a step (262,144, or 16,384 where they are encoded): fewer need less memory,
            and less is done again after a stop.
        """
        from wordferry.index.write.segment_writer import SEGMENT

        usual = SEGMENT if self.config.encoder is None or vectors is not None else _ENCODED_STEP
        step = whole_number(usual if step is None else step, "step")
        read = Fields.of(text, id, label, skip=skip, title=title), vectors
        how: dict[str, Any] = {"resume": resume, "step": step, "threads": thread_count(threads)}
        return int(self._store("fill", documents, read, how, (progress, graph_progress)))

    def delete(self, ids: Iterable[str | int] | str | int, *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; how many were deleted. An unknown id is NotFound unless allowed."""
        wanted = [checked_id(id, "delete") for id in ([ids] if isinstance(ids, str | int) else ids)]
        with self.backend.writing() as writer:
            return writer.delete(wanted, missing_ok=missing_ok)

    def prune(self, review: str | os.PathLike[str], *, dry_run: bool = False) -> list[str]:
        """Delete what a reviewed list marks with ``delete``; the ids that go, or would go with ``dry_run``.

        The list is one of :meth:`Duplicates.to_csv`, looked at and perhaps edited. A document that has changed or gone
        since then stops the call before anything is deleted.
        """
        from wordferry.index.duplicates import read_review

        lines = read_review(review)
        going = [line.id for line in lines if line.action == "delete"]
        with nullcontext() if dry_run or not going else self.backend.writing() as writer:  # nobody else may change them
            for line in lines:
                line.check(self.backend.find(line.id), review, self.path)
            if writer is not None:
                writer.delete(going, missing_ok=False)
        return going

    def compact(self, *, rebuild: bool = False) -> None:
        """Write the live documents into as few files as possible, and forget words that none of them has.

        ``rebuild=True`` makes bags of words and related words again from the texts, e.g. after damage to their files.
        """
        self.backend.compact(rebuild=rebuild)

    def revector(self, embeddings: Any = None, *, keep: Keep | None = None) -> None:
        """Compare by other word vectors from now on; the texts are not split again.

        The related words are found anew. Who has the index open elsewhere must open it again.

        Parameters
        ----------
        embeddings : word vectors, their path, or None for the default ones.
        keep : as in :meth:`create`.
        """
        self.backend.revector(embeddings, keep)
        super().__init__(self.backend)

    # -- the end ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Put what is only in memory on the disk, give the lock back, and close the files."""
        self.backend.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_backend(path: str | os.PathLike[str], embeddings: Any = None, encoder: Any = None) -> Backend:
    """What answers for a folder: the folder itself, or its shards where it is one of shards."""
    folder = Path(path)
    if "://" in str(path) or (folder / "shards.json").is_file() or (folder / "shards").is_dir():
        from wordferry.shards.sharded import open_shards

        if embeddings is not None:
            raise InputError(f"{path} is an index in shards, which carry their own vectors: leave embeddings= out.")
        return open_shards(str(path), encoder)
    return LocalIndex(path, embeddings, encoder=encoder)
