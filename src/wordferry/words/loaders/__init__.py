"""Word vectors from the files and libraries people have: read in a stream, restricted on the way, checked.

A broken file gives a :class:`~wordferry.errors.FormatError` that names the file, the line or byte, and what was
expected there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.runtime import Progress, ShowProgress, no_progress, progress_for
from wordferry.base.storage import MANIFEST, read_manifest
from wordferry.base.streams import ByteReader
from wordferry.errors import FormatError, InputError, NotFound
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.arrays import read_array_file, read_words
from wordferry.words.loaders.binary import read_binary
from wordferry.words.loaders.named import NAMES, load_named
from wordferry.words.loaders.objects import read_object
from wordferry.words.loaders.pickles import is_pickle, open_pickle
from wordferry.words.loaders.rows import Selection
from wordferry.words.loaders.text import LONGEST_LINE, parse_header, read_text
from wordferry.words.vocabulary import Vocabulary

__all__ = ["FORMATS", "describe", "load_embeddings", "read_words"]

FORMATS = ("text", "word2vec-binary", "array", "folder")
_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b\x1c\x1d\x1e\x1f"))


def load_embeddings(
    source: Any,
    limit: int | None = None,
    words: Iterable[str] | None = None,
    normalize: bool = True,
    progress: ShowProgress = None,
    *,
    format: str | None = None,
    vocabulary: Iterable[str] | str | os.PathLike[str] | None = None,
    on_duplicate: str = "error",
    unpack: int | None = None,
    trusted: bool = False,
) -> Embeddings:
    """Read word vectors.

    Parameters
    ----------
    source : a path to word2vec binary or text, GloVe text, fastText ``.vec`` (each also gzipped), ``.npz``, ``.npy`` or
        ``.safetensors`` beside a vocabulary, or a folder written by :meth:`Embeddings.save`; or a gensim
        ``KeyedVectors``, a spaCy pipeline or vocabulary, a model2vec ``StaticModel``, or a dict of vectors; or a
        name: ``"multilingual"`` (sixteen languages in one space) or ``"wordllama"`` (English), each an extra of the
        same name. Those have a vector for any word, so pass ``words`` (without: 20,000 frequent ones, or ``limit``).
    limit : read only the first ``limit`` words (files are sorted by frequency as a rule).
    words : keep only these words, in the order of the file; those that it does not have are left out.
    normalize : scale every vector to length 1.
    progress : True shows a bar; a callable is told (done, total) now and then: bytes of the file, or rows of an array.
    format : ``"text"``, ``"word2vec-binary"``, ``"array"`` or ``"folder"``; None looks at the file.
    vocabulary : the words of an array file: a list, or a file with one word per line. None looks inside the file and
        beside it (``<name>.vocab.txt``).
    on_duplicate : ``"error"``, or ``"first"`` to keep the first of a word that appears twice.
    unpack : bytes that a gzipped or zipped file may become; None: 64 MiB and 64 times its size (or what
        ``WORDFERRY_UNPACK`` says), so that a small file cannot fill the memory.
    trusted : open what gensim's own ``.save`` wrote. Such a file is a pickle, and opening one runs what is in it: only
        for files whose maker you trust. Needs gensim.

    Returns
    -------
    Embeddings
        The words and their vectors. Memory is that of the result and a few megabytes.

    Examples
    --------
    >>> load_embeddings({"cat": [3.0, 4.0], "dog": [0.0, 2.0]}).vector("dog").tolist()
    [0.0, 1.0]
    """
    selection = Selection.of(limit, words, on_duplicate, unpack)
    tell = progress_for(progress, "reading vectors") or no_progress
    if isinstance(source, str | os.PathLike) and str(source) in NAMES and not Path(source).exists():
        return load_named(str(source), selection, normalize, tell)
    if isinstance(source, str | os.PathLike) and is_pickle(Path(source)):
        source = open_pickle(Path(source), trusted)
    with np.errstate(over="ignore"):  # a number too large for float32 is found as infinity, and named
        return _load(source, selection, normalize, tell, format, vocabulary)


def _load(
    source: Any, selection: Selection, normalize: bool, tell: Progress, format: str | None, vocabulary: Any
) -> Embeddings:
    if not isinstance(source, str | os.PathLike):
        found, matrix = read_object(source, selection, tell)
    else:
        path = Path(source)
        kind = _format_of(path, format)
        if kind == "folder":
            return _read_folder(path, selection, normalize)
        if kind == "array":
            found, matrix = read_array_file(path, selection, vocabulary, tell)
        else:
            with ByteReader(path, unpack=selection.unpack) as reader:
                read = read_binary if kind == "word2vec-binary" else read_text
                found, matrix = read(reader, selection, tell)
    try:
        return Embeddings.adopt(Vocabulary(found), matrix, normalize=normalize)
    except InputError as error:
        raise type(error)(f"{_named(source)}: {error}") from None


def _named(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else f"These {type(source).__name__}"


def _format_of(path: Path, format: str | None) -> str:
    if format is not None and format not in FORMATS:
        raise InputError(f"Unknown format of vectors {format!r}. Choose one of: {', '.join(FORMATS)}.")
    if not path.exists():
        raise NotFound(f"There is no file or folder {path}.")
    if path.is_dir():
        if format not in (None, "folder"):
            raise InputError(f"{path} is a folder, so it cannot be read as {format!r}.")
        if not (path / MANIFEST).is_file():
            raise FormatError(f"{path} is a folder without {MANIFEST}; expected one written by Embeddings.save.")
        return "folder"
    if format is not None:
        return format
    if path.suffix in (".npz", ".npy", ".safetensors"):
        return "array"
    with ByteReader(path) as reader:
        return _sniff(reader, path)


def _sniff(reader: ByteReader, path: Path) -> str:
    """Text or binary? A binary file has a line of sizes, and then bytes that no text has."""
    start = reader.peek(4096)[:4096]
    if start[:4] == _FASTTEXT_MODEL:
        raise FormatError(f"{path} is a fastText model (.bin). Load the .vec file that comes with it.")
    if start[:2] == b"PK":
        return "array"
    if ".bin" in path.suffixes:
        return "word2vec-binary"
    line, _, rest = start.partition(b"\n")
    binary = parse_header(line) is not None and rest.translate(None, _CONTROL) != rest
    return "word2vec-binary" if binary else "text"


def _read_folder(path: Path, selection: Selection, normalize: bool) -> Embeddings:
    embeddings = Embeddings.load(path)
    if embeddings.normalized and not normalize:
        raise InputError(
            f"{path} holds vectors of length 1; their true lengths are not stored. Convert with normalize=False."
        )
    if selection.limit is not None or selection.words is not None:
        kept = embeddings.vocabulary[: selection.limit]
        wanted = selection.words
        embeddings = embeddings.restrict(kept if wanted is None else [word for word in kept if word in wanted])
    learned = embeddings.lengths is not None  # a metric's vectors are right as they are, and have weights beside them
    return embeddings.normalize() if normalize and not learned else embeddings


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file or folder of vectors holds, without reading its vectors."""
    file = Path(path)
    kind = _format_of(file, None)
    if kind == "folder":
        manifest = read_manifest(file)
        embeddings = Embeddings.load(file, verify=False)
        return {
            "path": str(file),
            "format": kind,
            "words": len(embeddings),
            "dimensions": embeddings.dimensions,
            "normalized": embeddings.normalized,
            "fingerprint": embeddings.fingerprint,
            "bytes": sum(part.stat().st_size for part in file.iterdir()),
            "written_by": f"wordferry {manifest.get('wordferry')}",
            "first_words": list(embeddings.vocabulary[:5]),
        }
    facts: dict[str, Any] = {"path": str(file), "format": kind, "bytes": file.stat().st_size}
    if kind != "array":
        with ByteReader(file) as reader:
            first = reader.readline(LONGEST_LINE)
            header = parse_header(first)
            facts["words"] = header[0] if header else None
            facts["dimensions"] = header[1] if header else len(first.split()) - 1
            facts["gzip"] = reader.packed
    return facts
