"""What the wheel carries: the default word vectors and a sample collection. Nothing is ever fetched."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.lazy import late_names
from wordferry.base.streams import npy_blocks
from wordferry.data import FOLDER
from wordferry.texts.records import Record
from wordferry.words.embeddings import Embeddings
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.texts.published import read_collection as read_collection
    from wordferry.texts.published import read_pairs as read_pairs
    from wordferry.texts.published import read_triplet_list as read_triplet_list
    from wordferry.texts.published import read_triplets as read_triplets

# Readers of sets that the user brings, under the name people look for them.
_READERS = ("read_collection", "read_pairs", "read_triplet_list", "read_triplets")
__getattr__ = late_names("wordferry.texts", {"published": _READERS})
_VECTORS = "glove.6B.100d-60k-int8"
DEFAULT_SHAPE = 60_000, 100
"""Words and dimensions of the default vectors."""
_BLOCK = 2048


@dataclass(frozen=True)
class Sample:
    """The sample collection: short articles by topic, queries with judged answers, and triplets.

    >>> s = sample()
    >>> s.articles[0].id, s.articles[0].label
    ('animals-01', 'animals')
    >>> s.queries[0], dict(s.judgements["q001"])
    (('q001', 'lost springer spaniel'), {'animals-01': 2, 'animals-02': 2})
    """

    articles: tuple[Record, ...]
    """Each has an id, its topic as label, and the metadata topic, subtopic, title, paraphrase_of and near_duplicate_of.

    The last two are ids or None: the same event told in other words, and the same text with small changes.
    """
    triplets: tuple[tuple[str, str, str], ...]
    """Ids (a, b, c) where a is nearer to b than to c: a and b are about one subject, c has the same topic at most."""
    queries: tuple[tuple[str, str], ...]
    """Queries as (id, text)."""
    judgements: Mapping[str, Mapping[str, int]]
    """By the id of a query the ids of the articles that answer it: 2 wholly, 1 in part. All others do not."""

    @property
    def texts(self) -> list[str]:
        """The texts of the articles."""
        return [str(article.text) for article in self.articles]

    @property
    def labels(self) -> list[str]:
        """The topics of the articles."""
        return [str(article.label) for article in self.articles]

    def __repr__(self) -> str:
        return (
            f"Sample({len(self.articles)} articles, {len(set(self.labels))} topics, "
            f"{len(self.queries)} queries, {len(self.triplets)} triplets)"
        )


@cache
def sample() -> Sample:
    """The articles, queries and triplets written for wordferry; the articles in the order of their ids.

    Returns
    -------
    Sample
        ``articles``, ``queries`` with judged answers, and ``triplets``.

    Examples
    --------
    >>> len(sample().articles), len(sample().queries)
    (637, 120)
    """
    from wordferry.texts.documents import read_documents

    folder = FOLDER / "sample"
    read = tuple(read_documents(folder / "articles.jsonl", label="topic"))
    articles = tuple(
        Record(record.text, record.id, record.label, None, {"topic": record.label, **record.metadata})
        for record in read
    )
    triplets = tuple((row["a"], row["b"], row["c"]) for row in _rows(folder / "triplets.jsonl"))
    queries = tuple((row["id"], row["text"]) for row in _rows(folder / "queries.jsonl"))
    return Sample(articles, triplets, queries, _judgements(folder / "qrels.tsv"))


def _rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _judgements(file: Path) -> Mapping[str, Mapping[str, int]]:
    """The grades of a table with the columns query, document, grade, below a heading."""
    found: dict[str, dict[str, int]] = {}
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        found.setdefault(query, {})[document] = int(grade)
    return MappingProxyType({query: MappingProxyType(grades) for query, grades in found.items()})


@cache
def default_embeddings() -> Embeddings:
    """GloVe 6B vectors of the 60,000 most frequent alphabetic English words, 100 dimensions, unit length.

    Stored as int8 with a scale per word; sources and licences are in ``wordferry/data/LICENSES.md``.

    Returns
    -------
    Embeddings
        The vectors that are used where none are given; made once.

    Examples
    --------
    >>> len(default_embeddings()), default_embeddings().dimensions
    (60000, 100)
    """
    return Embeddings.late(Vocabulary.late(_default_words), DEFAULT_SHAPE[1], _default_vectors)


def _default_words() -> list[str]:
    packed = (FOLDER / f"{_VECTORS}.vocab.txt.gz").read_bytes()
    return gzip.decompress(packed).decode("utf-8").rstrip("\n").split("\n")


@cache
def _default_vectors() -> Embeddings:
    """The default embeddings with their vectors, of which a search by words needs none."""
    import zipfile

    file = FOLDER / f"{_VECTORS}.npz"
    with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
        with archive.open("scale.npy") as member:
            scale = _read_rows(member, (DEFAULT_SHAPE[0], 1))
        with archive.open("vectors_q.npy") as member:
            matrix = _read_rows(member, DEFAULT_SHAPE)
    matrix *= scale
    return Embeddings.adopt(default_embeddings().vocabulary, matrix)


@cache
def default_source() -> dict[str, str]:
    """What names the default vectors and tells them from those of another version: name, sha256 and version.

    The sha256 is that of the packaged files, one after the other, so that it is the same on every machine.
    """
    from wordferry import __version__

    digest = hashlib.sha256()
    for ending in ("npz", "vocab.txt.gz"):
        digest.update((FOLDER / f"{_VECTORS}.{ending}").read_bytes())
    return {"name": _VECTORS, "sha256": digest.hexdigest(), "version": __version__}


def given_or_default(embeddings: Any, *, grow: bool = True) -> Embeddings:
    """The word vectors to use: the default ones for None, else as :func:`as_embeddings` takes them."""
    if embeddings is None:
        return default_embeddings()
    from wordferry.words.loaders.given import as_embeddings

    return as_embeddings(embeddings, grow=grow)


def _read_rows(stream: IO[bytes], shape: tuple[int, ...]) -> Float32Array:
    """An ``.npy`` stream as float32, converted in blocks, so that the stored array never exists whole."""
    result = np.empty(shape, dtype=np.float32)
    for number, block in enumerate(npy_blocks(stream, _BLOCK)):
        result[number * _BLOCK : number * _BLOCK + len(block)] = block.reshape(len(block), -1)
    return result
