"""Making a new index folder: written beside its place and renamed, so that it is there whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordferry.base import storage
from wordferry.compare.measure import Measure
from wordferry.errors import InputError, StorageError, WordferryError
from wordferry.find.settings import Settings
from wordferry.find.stems import NO_LANGUAGE, stemmer
from wordferry.find.stems import languages as stem_languages
from wordferry.index.config import COPY, Config, choose_vectors
from wordferry.index.storage.catalogue import FILE, Catalogue
from wordferry.index.storage.graph import Graphs, check_related
from wordferry.index.storage.lock import LOCK, WriterLock, refuse_network, write_error
from wordferry.index.storage.segments import GRAPH, SEGMENTS
from wordferry.index.storage.stored_weights import WEIGHTS
from wordferry.index.storage.terms import IndexVectors, TermVectors, term_row
from wordferry.texts import bow
from wordferry.texts.languages import LANGUAGES, language_code
from wordferry.texts.tokenizers import Tokenizer, WordTokenizer, make_tokenizer, tokenizer_config
from wordferry.texts.weights import check_scheme
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_VECTORS = re.compile(rf"{COPY}(-[0-9a-f]{{8}})?|\.{COPY}.*\.(tmp|old)").fullmatch
"""Folders of vectors, and what a killed writer leaves of them."""


def create_folder(
    path: Path,
    *,
    measure: dict[str, Any],
    vectors: dict[str, Any],
    words: dict[str, Any],
    on_empty: str,
    overwrite: bool,
    settings: Mapping[str, Any] | None,
) -> None:
    """Check everything, then write the folder of an empty index.

    ``measure`` is distance, overlap, weights and unknown; ``vectors`` is embeddings, related, keep and encoder;
    ``words`` is tokenizer and language: each as :meth:`Index.create` takes it.
    """
    own = Measure(**measure)
    check_scheme(own.weights)
    bow.check_on_empty(on_empty)
    tokenizer, stems = choose_words(**words)
    Settings().changed(**(settings or {}))
    check_target(path, overwrite)
    refuse_network(path.absolute().parent)
    embeddings, source, facts = choose_vectors(vectors["embeddings"], vectors["keep"])
    r, start = check_related(vectors["related"], embeddings)
    if source is not None and "compounds" in str(tokenizer["name"]):
        raise InputError(
            f"{source.name!r} makes a vector for every word, so no compound is cut: make the tokenizer without "
            "compounds=."
        )
    config = Config(
        distance=own.distance.name,
        overlap=measure["overlap"],
        weights=own.weights,
        unknown=own.unknown,
        r=r,
        on_empty=on_empty,
        tokenizer=tokenizer,
        language=stems,
        settings=dict(settings or {}),
        encoder=None if vectors["encoder"] is None else vectors["encoder"].to_json(),
        **facts,
    )
    try:
        _write(path, config, embeddings, start)
    except WordferryError:
        raise
    except OSError as error:
        raise StorageError(f"{write_error(path, error)} Nothing is left behind.") from error


def check_target(path: Path, overwrite: bool) -> None:
    """Refuse to write where something else is."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not (path / FILE).is_file():
        raise InputError(f"{path} exists and is not a wordferry index; it is left alone. Choose another path.")
    if not overwrite:
        raise InputError(f"{path} is an index already. Open it with Index.open, or replace it with overwrite=True.")
    own = {SEGMENTS, GRAPH, WEIGHTS, LOCK, FILE, *(f"{FILE}-{end}" for end in ("wal", "shm", "journal"))}
    names = sorted(one.name for one in path.iterdir())
    others = [name for name in names if name not in own and _VECTORS(name) is None]
    if others:
        raise InputError(
            f"{path} holds {others[0]!r} beside the index, and replacing the index would remove it. Move it away, "
            "or choose another path."
        )


def _write(path: Path, config: Config, embeddings: Embeddings, start: RelatedWords | None) -> None:
    with storage.written_whole(path.absolute(), swap_in) as folder:
        (folder / SEGMENTS).mkdir()
        (folder / GRAPH).mkdir()
        values = asdict(config)
        if config.keep == "copy":
            embeddings.save(folder / COPY)
            values["manifest"] = storage.file_digest(folder / COPY / storage.MANIFEST)
        meta: dict[str, Any] = {}
        words: list[str] = []
        if start is not None:
            graphs = Graphs(folder, IndexVectors(embeddings), config, None)
            meta["graph"] = values["base"] = graphs.save(start, 0)
            words = list(start.vocabulary)
        vectors = embeddings.vocabulary.ids(words).tolist()
        rows = [term_row(number, word, row) for number, (word, row) in enumerate(zip(words, vectors, strict=True))]
        state: dict[str, Any] = dict.fromkeys(("documents", "number_sum", "id_sum", "epoch", "made"), 0)
        state |= {"generation": 1, "next_number": 1, "fingerprint": config.fingerprint}
        state |= TermVectors.of(len(rows), list(enumerate(vectors))).facts
        if config.encoder is not None:
            state["dimension"] = config.encoder["dimension"]
        Catalogue.create(folder, {"identity": os.urandom(16).hex(), "config": values, "state": state, **meta}, rows)


def swap_in(temporary: Path, path: Path) -> None:
    """Rename into place; an index that is replaced must not be in use by a writer."""
    lock = WriterLock(path)
    if (path / FILE).is_file():
        lock.acquire()
    elif path.is_dir():
        path.rmdir()
    try:
        storage.swap_in(temporary, path)
    finally:
        lock.release()


_VARIANTS = {"porter": "en", "dutch_porter": "nl"}
"""Stems that have a name of their own within a language."""


def choose_words(
    tokenizer: Tokenizer | str | None, language: str | None, stop: Iterable[str] | str | None = ""
) -> tuple[dict[str, Any], str]:
    """The tokenizer as it is stored, and the language whose stems are known.

    A language brings its own tokenizer, and a tokenizer of a language its stems; two languages contradict each other.
    """
    if language is None or (language in stem_languages() and language not in LANGUAGES.values()):
        code = _VARIANTS.get(str(language))  # a language that has stems alone
    else:
        code = language_code(language)
    if stop != "":
        if tokenizer is not None:
            raise InputError("stop= belongs to the tokenizer of a language; tokenizer= names another: leave one out.")
        tokenizer = make_tokenizer(None if language == NO_LANGUAGE else language, stop=stop)
    if tokenizer is None and language not in (None, NO_LANGUAGE):
        tokenizer = WordTokenizer() if code is None else None if code == "en" else make_tokenizer(code)
    config = tokenizer_config(tokenizer)
    own = str(config["language"]) if "language" in config else None
    if language is None:
        return config, _stems_of(own or "en")
    if language == NO_LANGUAGE:
        return config, NO_LANGUAGE
    if own is not None and code != own:
        raise InputError(
            f"The tokenizer is {LANGUAGES[own]} and language={language!r} another language: pass one of the two. "
            f"language='{NO_LANGUAGE}' is for words without stems."
        )
    if code is not None and language not in _VARIANTS:
        return config, _stems_of(code)
    stemmer(language)
    return config, language


def _stems_of(code: str) -> str:
    name = LANGUAGES[code].lower() if code in LANGUAGES else "english"
    return name if name in stem_languages() else NO_LANGUAGE
