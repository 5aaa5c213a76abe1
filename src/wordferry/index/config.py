"""What an index is made with and keeps for life: distance, r, tokenizer, and where its word vectors are."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wordferry.base import storage
from wordferry.errors import FormatError, InputError, VocabularyMismatch, WordferryError
from wordferry.index.storage.segments import check_manifest
from wordferry.index.storage.terms import IndexVectors, MadeVectors
from wordferry.texts.datasets import default_embeddings, default_source, given_or_default
from wordferry.words.embeddings import Embeddings
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.words.loaders.demand import VectorSource

Keep = Literal["package", "copy", "path"]
RECOMMENDED = "rel-rwmd + 2*cosine"
"""What an index compares by unless it is told otherwise: benchmarks/near_copies.py says why."""
KEEP = ("package", "copy", "path")
COPY = "embeddings"


@dataclass(frozen=True)
class Config:
    """The choices of ``Index.create``, stored in the catalogue."""

    distance: str
    """With its parameters, as ``find_distance`` reads it."""
    overlap: str | None
    weights: str
    unknown: str
    r: int
    on_empty: str
    tokenizer: dict[str, Any]
    keep: str
    """"copy" when the vectors are in the index folder, "package" when they are those that come with wordferry, "path"
    when they are elsewhere, "made" when the index makes them as words come."""
    path: str | None
    fingerprint: str
    """Of the full embeddings."""
    normalized: bool
    vocabulary: str
    """Fingerprint of the words of the full embeddings."""
    package: dict[str, str] | None = None
    """With ``keep="package"``: which vectors, as :func:`wordferry.texts.datasets.default_source` names them."""
    base: dict[str, Any] | None = None
    """The related words that were given at creation, if any."""
    copied: str = COPY
    """With ``keep="copy"``: the folder of the vectors."""
    manifest: str | None = None
    """sha256 of the manifest of the copied vectors."""
    language: str = "english"
    """Whose stems word search knows."""
    source: dict[str, Any] | None = None
    """With ``keep="made"``: the model that makes vectors, as :func:`choose_vectors` names it."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Constants of word search that differ from the defaults."""
    encoder: dict[str, Any] | None = None
    """The name, dimension and fingerprint of the encoder, as :meth:`wordferry.encoders.Encoder.to_json` gives them."""


def choose_vectors(given: Any, keep: str | None) -> tuple[Embeddings, VectorSource | None, dict[str, Any]]:
    """The vectors of ``embeddings=`` and ``keep=`` of a call; None are the default ones.

    Where a model makes them as words come there are none yet, and it is given too. The last is the part of a
    :class:`Config` that says which vectors these are, and where.
    """
    from wordferry.words.loaders.demand import VectorSource

    source = VectorSource.of(given)
    kept = _checked_keep(keep, given, source)
    if source is None:
        embeddings, made = read_embeddings(given), None
    else:
        embeddings = Embeddings.adopt(Vocabulary([]), np.zeros((0, source.dimensions), dtype=np.float32))
        place = None if source.place is None else os.fspath(source.place)
        made = {"name": source.name, "place": place, "dimensions": source.dimensions}
    facts: dict[str, Any] = {
        "keep": kept,
        "path": str(Path(given).resolve()) if kept == "path" else None,
        "source": made,
        "fingerprint": embeddings.fingerprint if source is None else os.urandom(8).hex(),
        "normalized": embeddings.normalized,
        "vocabulary": embeddings.vocabulary.fingerprint,
        "package": default_source() if kept == "package" else None,
    }
    return embeddings, source, facts


def _checked_keep(keep: str | None, embeddings: Any, source: VectorSource | None) -> str:
    """How the vectors are kept; the default ones are in the package already."""
    if source is not None:
        if keep not in (None, "copy"):
            raise InputError(f"Vectors that {source.name!r} makes are kept in the index: leave keep= out.")
        return "made"
    if keep is None:
        keep = "package" if _packaged(embeddings) else "copy"
    if keep not in KEEP:
        raise InputError(f"keep must be one of {', '.join(map(repr, KEEP))}; got {keep!r}.")
    if keep == "package" and not _packaged(embeddings):
        raise InputError("keep='package' is for the word vectors that come with wordferry; use keep='copy' for others.")
    if keep == "path" and not isinstance(embeddings, str | os.PathLike):
        raise InputError(
            "keep='path' remembers where the word vectors are, so pass their path: embeddings='vectors/'. "
            "Save vectors that are only in memory with Embeddings.save, or use keep='copy'."
        )
    return keep


def _packaged(embeddings: Any) -> bool:
    loaded = default_embeddings.cache_info().currsize > 0  # else nobody can have passed them
    return embeddings is None or (loaded and embeddings is default_embeddings())


def read_embeddings(given: Any) -> Embeddings:
    """Embeddings from what a caller passes: a path, None for the default ones, or whatever else other calls take."""
    named = isinstance(given, str | os.PathLike) and Path(given).exists()
    return _load(Path(given)) if named else given_or_default(given)


def open_vectors(folder: Path, config: Config, given: Any) -> IndexVectors:
    """The vectors of an index; ``given`` are those that a caller passes in the place of what the index remembers."""
    if config.source is not None:
        from wordferry.words.loaders.demand import VectorSource

        source = VectorSource.of(given)
        if given is not None and source is None:
            raise VocabularyMismatch(f"{folder} makes its vectors with {config.source['name']!r}: pass that model.")
        return MadeVectors(config.source, source, folder)
    if given is None:
        return IndexVectors(open_embeddings(folder, config))
    found = IndexVectors(read_embeddings(given))
    check_fingerprint(found.embeddings, config)
    return found


def open_embeddings(folder: Path, config: Config) -> Embeddings:
    """The embeddings of an index, memory-mapped, held to what the catalogue says of them."""
    if config.keep == "copy":  # the bytes of a very large one are compared by ``verify`` only
        place = folder / config.copied
        check_manifest(place, str(config.manifest))
        embeddings = Embeddings.load(place)
        if embeddings.vocabulary.fingerprint != config.vocabulary:
            raise FormatError(f"{place / 'vocabulary.txt'} is damaged: its words differ from the catalogue.")
        return embeddings
    if config.keep == "package":
        wanted, now = config.package or {}, default_source()
        if any(wanted.get(key) != now[key] for key in ("name", "sha256")):
            raise VocabularyMismatch(
                f"{folder} was made with the word vectors {wanted.get('name')} of wordferry {wanted.get('version')}, "
                f"and wordferry {now['version']}, which is installed, has others ({now['name']}). Install that version "
                f"(pip install 'wordferry=={wanted.get('version')}') to use the index, or to take its documents out "
                "(wordferry index export); or open it with embeddings=<a copy of those vectors>."
            )
        return default_embeddings()
    place = Path(str(config.path))
    try:
        embeddings = _load(place, config.normalized)
    except (WordferryError, OSError) as error:
        raise FormatError(
            f"The word vectors of {folder} are not in the index but at {place}, and cannot be read: {error} "
            "Bring them back, or open the index with embeddings=<their new path>."
        ) from error
    check_fingerprint(embeddings, config)
    return embeddings


def check_fingerprint(embeddings: Embeddings, config: Config) -> None:
    """Refuse other words or vectors than those the index was made with.

    The fingerprint of a folder stands in its manifest, where ``verify`` compares it with the bytes.
    """
    words = embeddings.vocabulary.fingerprint == config.vocabulary and embeddings.normalized == config.normalized
    if not words or embeddings.fingerprint != config.fingerprint:
        raise VocabularyMismatch(
            f"The index was made with other {'vectors' if words else 'words'} than these embeddings hold (fingerprint "
            f"{config.fingerprint}). Open it with the same embeddings."
        )


def _load(place: Path, normalized: bool = True) -> Embeddings:
    if place.is_dir() and (place / storage.MANIFEST).is_file():
        return Embeddings.load(place)
    from wordferry.words.loaders import load_embeddings

    return load_embeddings(place, normalize=normalized)
