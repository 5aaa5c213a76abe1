"""An index in one folder of this machine: what :class:`~wordferry.Index` asks when nothing is in shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base import storage
from wordferry.base.runtime import Progress, logger, progress_for
from wordferry.encoders.encoder import Encoder, checked, find_encoder, stored_encoder
from wordferry.errors import FormatError, LockedError, NotFound, StorageError
from wordferry.find.settings import Settings
from wordferry.index.config import COPY, Config, choose_vectors, open_vectors
from wordferry.index.results import Document, Hit, Hits, Why
from wordferry.index.search.filters import Condition
from wordferry.index.search.requests import Ask, method_of
from wordferry.index.search.words import CollectionStatistics, WordSearcher
from wordferry.index.storage import stored_weights
from wordferry.index.storage.catalogue import Catalogue, all_ids
from wordferry.index.storage.columns import Field, fields_of
from wordferry.index.storage.lock import WriterLock, refuse_network, write_error
from wordferry.index.storage.segments import GRAPH, SEGMENTS, remove_orphans, with_remedy
from wordferry.index.storage.snapshot import OpenState, Snapshot, Snapshots
from wordferry.index.storage.terms import find_terms
from wordferry.index.storage.texts import all_documents, read_document
from wordferry.texts.bow import LookedUp
from wordferry.texts.tokenizers import tokenizer_from_config

if TYPE_CHECKING:
    from wordferry.base.arrays import Float32Array
    from wordferry.compare.measure import Measure
    from wordferry.explanations.explain import Explanation
    from wordferry.find.explaining import ScoreExplanation
    from wordferry.find.ranking import Ranking
    from wordferry.index.search.passages import Passage
    from wordferry.index.search.views import View, Views
    from wordferry.index.search.weights import QueryWords
    from wordferry.index.storage.graph import Graphs
    from wordferry.index.storage.verify import Stats, Verification
    from wordferry.index.write.writer import Writer
    from wordferry.words.embeddings import Embeddings
    from wordferry.words.related.graph import RelatedWords

_ATTEMPTS = 8
_BLOCK = 1000
_MANY_WORDS = 32
"""New words that are worth comparing with all others at once where documents are searched as well as added: the next
search would wait for that. Fewer are left to it."""


class LocalIndex:
    """An opened folder: its catalogue, its state, what searches it, and, from the first change on, what writes it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        embeddings: Any = None,
        together: CollectionStatistics | None = None,
        encoder: Any = None,
    ) -> None:
        self.path = Path(path)
        refuse_network(self.path)
        self._catalogue = Catalogue(self.path)
        self.identity = self._catalogue.identity
        """A name that no other index has."""
        try:
            with self._catalogue.reading() as connection:
                self.config = Config(**connection.meta("config"))
                self._vectors = open_vectors(self.path, self.config, embeddings)
                self._vectors.read(connection, connection.meta("state"))
            self._dimension, self._encoder = 0, None
            if encoder is not None:
                self._encoder = checked(find_encoder(encoder), self.config.encoder, self.dimension, str(self.path))
        except BaseException as error:
            with closing(self._catalogue):
                if isinstance(error, FormatError):  # what looks like damage may be the files of another index
                    self._catalogue.check_use()
            raise
        self.tokenizer = tokenizer_from_config(self.config.tokenizer, self.embeddings.vocabulary)
        self._together = together
        self._vouched = self.config.fingerprint if embeddings is None and self.config.keep == "package" else None
        self.words = WordSearcher(self.config.language, self._catalogue.file, together)
        fields = frozenset() if together is None else together.fields
        self._snapshots = Snapshots(self.path, self.config.fingerprint, self._vectors, fields)
        self._lock = WriterLock(self.path)
        self._writer: Writer | None = None
        self._mutex = RLock()

    @cached_property
    def _graphs(self) -> Graphs:
        from wordferry.index.storage.graph import Graphs

        return Graphs(self.path, self._vectors, self.config, self._vouched)

    @cached_property
    def views(self) -> Views:
        """The states that texts were compared with last; a search by words loads nothing of it."""
        from wordferry.index.search.views import Views, ViewSource

        return Views(ViewSource(self._graphs, self._together))

    @property
    def embeddings(self) -> Embeddings:
        """The vectors of the newest state that was read."""
        return self._vectors.embeddings

    @property
    def generation(self) -> int:
        """The number of the present state."""
        with self._catalogue.reading() as connection:
            return int(connection.meta("state")["generation"])

    @property
    def dimension(self) -> int:
        """Of the documents' vectors; 0 where they have none."""
        if not self._dimension:  # the first documents may bring theirs
            with self._catalogue.reading() as connection:
                self._dimension = int((connection.meta("state") or {}).get("dimension", 0))
        return self._dimension

    def encoder(self) -> Encoder | None:
        """What makes vectors of texts, loaded when it is first needed; None where vectors were brought."""
        if self._encoder is None and self.config.encoder is not None:
            self._encoder = stored_encoder(self.config.encoder, str(self.path))
        return self._encoder

    @property
    def related(self) -> RelatedWords | None:
        """The related words of the documents' words; None where none has a vector."""
        with self.state() as (_, snapshot):
            return self.views.source.graph(snapshot)

    @property
    def closed(self) -> bool:
        return self._catalogue.closed

    # -- states -----------------------------------------------------------------------------------------------------

    @contextmanager
    def state(self) -> Iterator[OpenState]:
        """One state of the index: a read transaction and the arrays that belong to it."""
        missing, seen = "", -1
        for _ in range(_ATTEMPTS):
            with self._catalogue.reading() as connection:
                try:
                    snapshot = self._snapshots.get(connection)
                except storage.MissingFile as error:  # compacted away after this transaction began, or lost
                    generation = connection.meta("state")["generation"]
                    lost, seen, missing = generation == seen, generation, str(error)
                else:
                    yield OpenState(connection, snapshot)
                    return
            if lost:
                self._recover(missing)
        raise with_remedy(FormatError(missing))

    def _recover(self, missing: str) -> None:
        """Make lost segments again from the texts, if nobody else is writing."""
        try:
            held = self._lock.held
            logger.warning("%s The segments are made again from the texts.", missing)
            self.compact(rebuild=True)
            if not held:
                self._lock.release()
        except (LockedError, StorageError) as error:
            raise with_remedy(FormatError(f"{missing} ({error})")) from error

    # -- searching --------------------------------------------------------------------------------------------------

    def search(self, asked: Sequence[Sequence[str]], ask: Ask, settings: Settings) -> list[Hits]:
        """The hits of every query by words, given as tokens."""
        with self.state() as state:
            rankings, counts = self.words.rank(state, asked, ask, settings)
            documents = state.read(row for one in rankings for row in one.rows.tolist())
        found = []
        for ranking, tokens in zip(rankings, asked, strict=True):
            hits = []
            for place, (row, score) in enumerate(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True)):
                why = partial(self._explain_score, state.snapshot, ranking, place)
                hits.append(self._hit(documents[row], tokens, why, ask.explain, score=score))
            found.append(Hits(hits, method="words" if ask.vectors is None else "words and meaning", counts=counts))
        return found

    def _explain_score(self, snapshot: Snapshot, ranking: Ranking, place: int) -> ScoreExplanation:
        with self._catalogue.reading() as connection:
            return self.words.explain(OpenState(connection, snapshot), ranking, place)

    def similar(self, asked: Sequence[LookedUp], measure: Measure, ask: Ask) -> list[Hits]:
        """The hits of every query by a distance, given as tokens that were looked up in the vocabulary."""
        from wordferry.index.search.similar import similar

        options: dict[str, Any] = {"method": method_of(measure, ask), "exact": ask.rerank is None}
        with self.state() as state:
            if not state.snapshot.documents or not asked:
                return [Hits(**options) for _ in asked]
            view = self.views.get(state.snapshot, measure)
            near, queries = similar(view, state, asked, measure, ask)
            documents = state.read(near.indices[near.indices >= 0].tolist())
        second, found = ask.rerank or measure, []
        for number, tokens in enumerate(asked):
            hits = []
            for row, distance in zip(near.indices[number].tolist(), near.distances[number].tolist(), strict=True):
                if row < 0:
                    continue
                texts = (tokens.text, documents[row].text)
                how = (view, second, queries[number], row)
                why = partial(self._explain_row, *how, texts) if distance < np.inf else None
                hits.append(self._hit(documents[row], tokens, why, ask.explain, distance=distance))
            found.append(Hits(hits, counts=near.counts, **options))
        return found

    def by_meaning(self, asked: Sequence[Sequence[str]], ask: Ask) -> list[Hits]:
        """The documents whose vectors are nearest to each of ``ask.vectors``; the queries are given as tokens too."""
        with self.state() as state:
            mask, snapshot = state.allowed(ask.condition, ask.without), state.snapshot
            (ranker, _), k = self.words.ranker(state), min(ask.k, max(snapshot.documents, 1))
            near = [ranker.nearest(vector, k, (snapshot.alive, mask)) for vector in ask.vectors or ()]
            documents = state.read(row for one in near for row in one.rows.tolist())
        found = []
        for tokens, one in zip(asked, near, strict=True):
            values = zip(one.rows.tolist(), (1.0 - one.cosines).tolist(), strict=True)
            hits = [self._hit(documents[row], tokens, None, False, distance=distance) for row, distance in values]
            found.append(Hits(hits, method="meaning", counts={"pairs": len(near) * snapshot.count(mask)}))
        return found

    def vector(self, id: str) -> Float32Array | None:
        """The vector of a document; None when there is no such document."""
        with self.state() as state:
            row = state.row(id)
            return None if row is None else state.snapshot.codes_of(np.array([row])).vectors()[0]

    def _hit(self, found: Document, tokens: Sequence[str], why: Why | None, explain: bool, **value: Any) -> Hit:
        own = (found.id, found.text, found.metadata, found.label)
        told = why() if explain and why is not None else None
        return Hit(*own, **value, explanation=told, why=why, where=partial(self.passages, tokens, found.text))

    def _explain_row(
        self, view: View, measure: Measure, words: QueryWords, row: int, texts: tuple[Any, Any]
    ) -> Explanation:
        """Why a document is as far from a query as it is."""
        from wordferry.index.search import memory

        (own,) = memory.queries_of_rows(view, np.array([row]))
        told = memory.explain(view, measure, (words, own), self._spell)
        return told if texts[0] is None else told.with_texts(*texts, self.tokenizer)

    def explain(self, texts: tuple[Sequence[str], Sequence[str]], measure: Measure) -> Explanation:
        """Why two texts, given as tokens, are as far apart as they are with the weights of the index."""
        from wordferry.index.search import memory

        with self.state() as (connection, snapshot):
            view = self.views.get(snapshot, measure)
            first, second = (view.words(connection, tokens) for tokens in texts)
        pair = first, memory.apart(first, second, snapshot.terms.size)
        return memory.explain(view, measure, pair, self._spell)

    def _spell(self, numbers: list[int]) -> dict[int, str]:
        """Words by their numbers."""
        if not numbers:
            return {}
        with self._catalogue.reading() as connection:
            return dict(find_terms(connection, "number", numbers))

    def passages(self, tokens: Sequence[str], text: str | Sequence[str], count: int, distance: str) -> list[Passage]:
        """The passages of a text that are nearest to a query, given as tokens."""
        from wordferry.index.search.passages import best_passages

        return best_passages((self.tokenizer, self.embeddings, self.related), tokens, text, count, distance)

    # -- documents --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        with self._catalogue.reading() as connection:
            return int(connection.meta("state")["documents"])

    def ids(self) -> list[str]:
        """The ids of all documents, in the order in which they were added."""
        with self._catalogue.reading() as connection:
            return all_ids(connection)

    def find(self, id: str) -> Document | None:
        """One document by its id; None when there is none."""
        with self.state() as state:
            found = read_document(state.connection, id)
            if found is None:
                state.row(id)  # which says so where a segment has such a document
            return found

    def count(self, condition: Condition | None) -> int:
        """How many documents pass a filter."""
        with self.state() as (_, snapshot):
            return snapshot.count(snapshot.allowed(condition))

    def page(self, span: tuple[int, int], after: str | None, condition: Condition | None) -> list[Document]:
        """Documents in their order: how many at most and how many to pass over first, behind the one with an id."""
        limit, offset = span
        with self.state() as state:
            connection, snapshot = state
            last = -1 if after is None else state.row(after)
            if last is None:
                raise NotFound(f"{self.path} has no document {after!r} to go on after.")
            places = snapshot.rows(snapshot.allowed(condition), last + 1)[offset : offset + limit].tolist()
            if condition is None:  # the catalogue must list the documents that the segments list
                query = "SELECT number FROM documents WHERE number > ? ORDER BY number LIMIT ? OFFSET ?"
                number = -1 if last < 0 else int(snapshot.numbers[last])
                listed = [row[0] for row in connection.execute(query, (number, limit, offset))]
                if listed != snapshot.numbers[places].tolist():
                    raise connection.damaged("the list of documents")
            return list(state.read(places).values())

    def documents(self, condition: Condition | None) -> Iterator[Document]:
        """All documents of one state that pass a filter, in the order in which they were added."""
        if condition is None:  # the catalogue alone is enough
            with self._catalogue.reading() as connection:
                yield from all_documents(connection)
            return
        with self.state() as state:
            places = state.snapshot.rows(state.snapshot.allowed(condition))
            for start in range(0, len(places), _BLOCK):
                yield from state.read(places[start : start + _BLOCK].tolist()).values()

    def fields(self, most: int) -> list[Field]:
        """What documents can be filtered by: each field of their metadata with the ``most`` frequent values."""
        with self.state() as (_, snapshot):
            alive = snapshot.alive
            parts = [(part.rows.columns, None if alive is None else alive[part.span]) for part in snapshot.parts]
            return fields_of(parts, most)

    def stats(self) -> Stats:
        """Sizes and counts of the index."""
        with self.state() as state:
            from wordferry.index.storage.verify import collect

            return collect(self.path, self.config, state)

    def verify(self) -> Verification:
        """Compare every byte that matters with its checksum, and all parts with each other; FormatError if not."""
        from wordferry.index.storage.verify import Checker

        checked = -1
        while True:
            with self._catalogue.reading() as connection:
                state = connection.meta("state")
            try:
                return Checker(self._catalogue, self.config, self._vectors, self._graphs).run()
            except storage.MissingFile as error:  # compacted away meanwhile, or lost
                if state is None or state["generation"] == checked:
                    raise with_remedy(FormatError(f"The index is damaged. {error}")) from None
                checked = state["generation"]

    # -- changing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """The one who may write; its lock is kept until :meth:`close`."""
        with self._mutex:
            if self._catalogue.read_only:
                raise write_error(self.path, PermissionError(30, "the folder is read-only"))
            self._catalogue.check_use()
            if self._lock.acquire():
                try:
                    self._catalogue.check_use()  # the lock may be that of an index which has taken this one's place
                    self.clean()
                except BaseException:
                    self._lock.release()
                    raise
            if self._writer is None:
                from wordferry.index.write.writer import Writer

                self._writer = Writer(self._catalogue, self.config, self._vectors, self.encoder)
            yield self._writer

    def compact(self, *, rebuild: bool) -> None:
        """Write the live documents into as few files as possible, and forget words that none of them has."""
        with self.writing() as writer:
            writer.compact(rebuild=rebuild)
            self.keep_graph()
            self.keep_weights()
            self.clean()

    def revector(self, embeddings: Any, keep: str | None) -> None:
        """Give the words of the index other vectors, and open it again with them."""
        vectors, source, chosen = choose_vectors(embeddings, keep)
        facts: dict[str, Any] = {"base": None, "copied": COPY, "manifest": None, **chosen}
        with self.writing() as writer:
            if facts["keep"] == "copy":
                facts["copied"] = f"{COPY}-{os.urandom(4).hex()}"
                vectors.save(self.path / facts["copied"])
                facts["manifest"] = storage.file_digest(self.path / facts["copied"] / storage.MANIFEST)
            writer.revector(vectors, replace(self.config, **facts), source)
            self._lock.release()
            self._catalogue.close()
            for name in ("_graphs", "views"):  # of the earlier vectors
                vars(self).pop(name, None)
            given = embeddings if facts["keep"] == "path" else source
            self.__init__(self.path, given, None, self._encoder)  # type: ignore[misc]  # as if opened now
            self.clean()
            self.keep_graph()
            self.keep_weights()

    def clean(self) -> None:
        """Remove files that the catalogue does not list: left by a killed writer, or replaced."""
        remove_orphans(self.path, {self.config.copied}, COPY)
        with self._catalogue.reading() as connection:
            names = {row[0] for row in connection.execute("SELECT name FROM segments")}
            graphs = [self.config.base, connection.meta("graph")]
            weights = connection.meta("weights")
        remove_orphans(self.path / SEGMENTS, names)
        remove_orphans(self.path / stored_weights.WEIGHTS, {weights["name"]} if weights else set())
        remove_orphans(self.path / GRAPH, {record["name"] for record in graphs if record})

    def keep_graph(self, least: int = 1, progress: Progress | None = None) -> None:
        """Put the related words on the disk when the stored ones lack at least ``least`` words (or a tenth).

        Those in memory, if there are any, are brought up to date when they lack many.
        """
        from wordferry.compare.distances import find_distance

        if not find_distance(self.config.distance).needs_related:
            return
        with self._catalogue.reading() as connection:
            state, stored = connection.meta("state"), connection.meta("graph")
        covered = stored["words"] if stored and stored["epoch"] == state["epoch"] else 0
        behind = state["vectors"] - covered
        due = behind > 0 and (behind >= least or behind * 10 >= state["vectors"])
        if not due and self._graphs.lacking(state["vectors"], state["epoch"]) < _MANY_WORDS:
            return
        with self.state() as (_, snapshot):
            related = self._graphs.get(snapshot, progress)
        if due:
            lost = "The related words of %s are in memory only: %s"  # who opens the index builds its graph again
            self._publish("graph", lambda: self._graphs.save(related, snapshot.epoch), lost)

    def _publish(self, name: str, save: Callable[[], Any], lost: str) -> None:
        """Store what was made of the documents, which are stored already: that it cannot be is only a warning."""
        try:
            record = save()
            with self._catalogue.writing() as connection:
                state = connection.meta("state")
                state["generation"] += 1
                connection.set_meta(name, record)
                connection.set_meta("state", state)
        except StorageError as error:
            logger.warning(lost, self.path, str(error))
        self.clean()

    def keep_weights(self) -> None:
        """Put on the disk what words and documents weigh, where the stored weights are too far from it."""
        if self.config.weights != stored_weights.SCHEME:
            return
        with self.state() as (connection, snapshot):
            if not stored_weights.is_due(connection.meta("weights"), snapshot.segments, snapshot.documents):
                return
            own = self.views.source.weights(snapshot, self.config.unknown != "drop")
        lost = "What the documents of %s weigh is not stored: %s"  # who searches weighs them again
        self._publish("weights", lambda: stored_weights.save(self.path, own), lost)

    def store(self, action: Callable[[Writer], Any], graph_progress: Any) -> Any:
        """Run a change that brings documents, then keep the related words up to date."""
        with self.writing() as writer:
            writer.vector_progress = progress_for(graph_progress, "making vectors")
            found = action(writer)
            self.keep_graph(least=1000, progress=progress_for(graph_progress, "relating words"))
            self.keep_weights()
        return found

    def close(self) -> None:
        """Put what is only in memory on the disk, give the lock back, and close the files."""
        with self._mutex:
            try:
                if self._lock.held and not self._catalogue.closed:
                    self.keep_graph()
                    self.keep_weights()
            finally:
                self._catalogue.close()
                self._lock.release()
