"""Retrieval collections in the shapes people have them: documents, queries, and which answers are right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordferry.base.streams import ByteReader
from wordferry.errors import FormatError, NotFound
from wordferry.texts.documents import json_rows

_DOCUMENTS = ("corpus", "docs", "documents")
_QUERIES = ("queries", "topics")
_JSON = (".jsonl", ".jsonl.gz", ".ndjson")
_TREC = (".trec", ".sgml", ".txt", ".trec.gz", ".sgml.gz", ".txt.gz", "")
_TABLES = (".tsv", ".txt", ".tsv.gz", ".txt.gz", "")
_QREL_FOLDER = "qrels"


@dataclass(frozen=True)
class Judged:
    """A collection with judged queries."""

    name: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    queries: Mapping[str, str]
    """The text of each query that has at least one right answer, by its id."""
    right: Mapping[str, Mapping[str, int]]
    """For each of those queries the grade of each judged document; above 0 is right."""
    left_out: int = 0
    """Queries without a right answer: nothing can be said about them."""

    def __repr__(self) -> str:
        return f"Judged({self.name!r}, {len(self.ids)} documents, {len(self.queries)} judged queries)"


def sample_collection() -> Judged:
    """The sample collection in the package with its judged queries."""
    from wordferry.texts.datasets import sample

    found = sample()
    ids = tuple(str(record.id) for record in found.articles)
    texts = tuple(f"{record.metadata.get('title', '')}\n{record.text}".strip() for record in found.articles)
    queries = {str(id): str(text) for id, text in found.queries}
    return _checked("sample", ids, texts, queries, found.judgements)


def read_judged(path: Path, split: str = "test") -> Judged:
    """Read a folder in BEIR's shape, in TREC's, or in a plain one.

    BEIR: ``corpus.jsonl`` and ``queries.jsonl`` with ``_id``, ``title``, ``text``, and ``qrels/<split>.tsv`` with a
    line of names. TREC: ``documents`` and ``topics`` as text with tags (``<DOC> <DOCNO>``, ``<top> <num>``), and
    ``qrels`` with four columns. Plain: ``docs.jsonl`` and ``queries.jsonl`` with ``id`` and ``text``, and
    ``qrels.tsv`` with query, document and grade. All may be gzipped.
    """
    if not path.is_dir():
        raise NotFound(f"{path} is not a folder. Expected documents, queries and qrels in it.")
    documents = _find(path, _DOCUMENTS, (*_JSON, *_TREC), "the documents")
    queries = _find(path, _QUERIES, (*_JSON, *_TREC), "the queries")
    read = list(_json_texts(documents) if documents.name.endswith(_JSON) else _trec_texts(documents, "DOC", "DOCNO"))
    asked = dict(_json_texts(queries) if queries.name.endswith(_JSON) else _trec_topics(queries))
    ids, texts = tuple(id for id, _ in read), tuple(text for _, text in read)
    if len(set(ids)) < len(ids):
        twice = next(id for n, id in enumerate(ids) if id in ids[:n])
        raise FormatError(f"{documents}: the id {twice!r} occurs twice.")
    return _checked(path.resolve().name, ids, texts, asked, _grades(_qrels(path, split)))


def _checked(
    name: str, ids: tuple[str, ...], texts: tuple[str, ...], asked: Mapping[str, str], grades: Mapping[str, Any]
) -> Judged:
    known = set(ids)
    right = {
        query: {document: int(grade) for document, grade in grades[query].items() if document in known}
        for query in asked
        if query in grades
    }
    usable = {query: asked[query] for query, found in right.items() if any(grade > 0 for grade in found.values())}
    if not usable:
        raise FormatError(f"{name}: no query has a right answer among the documents. Do the ids of the files agree?")
    return Judged(name, ids, texts, usable, {query: right[query] for query in usable}, len(asked) - len(usable))


def _find(folder: Path, stems: Iterable[str], endings: Iterable[str], what: str) -> Path:
    for stem in stems:
        for ending in endings:
            if (file := folder / f"{stem}{ending}").is_file():
                return file
    names = ", ".join(sorted(one.name for one in folder.iterdir())) or "nothing"
    raise NotFound(f"{folder} has no file with {what} ({' or '.join(stems)}); it holds {names}.")


def _qrels(folder: Path, split: str) -> Path:
    inside = folder / _QREL_FOLDER
    if inside.is_dir():
        for ending in _TABLES:
            if (file := inside / f"{split}{ending}").is_file():
                return file
        names = ", ".join(sorted(one.name for one in inside.iterdir()))
        raise NotFound(f"{inside} has no judgements called {split!r}; it holds {names}. Name one with split=.")
    return _find(folder, (_QREL_FOLDER,), _TABLES, "the judgements")


def _json_texts(file: Path) -> Iterator[tuple[str, str]]:
    for where, row in json_rows(file):
        id = row.get("_id", row.get("id"))
        text = row.get("text")
        if id is None or not isinstance(text, str):
            raise FormatError(f"{where}: expected '_id' (or 'id') and a text, found {', '.join(row)}.")
        title = row.get("title") or ""
        begins = text.lstrip().startswith(str(title))
        yield str(id), text if not title or begins else f"{title}\n{text}"


def _whole(file: Path) -> str:
    with ByteReader(file) as stream:
        return stream.read(-1).decode("utf-8", errors="replace")


def _trec_texts(file: Path, tag: str, number: str) -> Iterator[tuple[str, str]]:
    found = False
    for block in re.findall(rf"<{tag}>(.*?)</{tag}>", _whole(file), re.DOTALL | re.IGNORECASE):
        id = re.search(rf"<{number}>(.*?)</{number}>", block, re.DOTALL | re.IGNORECASE)
        if id is None:
            raise FormatError(f"{file}: a <{tag}> has no <{number}>.")
        found = True
        yield id[1].strip(), re.sub(r"<[^>]*>", " ", block.replace(id[0], " ")).strip()
    if not found:
        raise FormatError(f"{file}: expected documents between <{tag}> and </{tag}>.")


def _trec_topics(file: Path) -> Iterator[tuple[str, str]]:
    """Topics whose tags need not be closed: the number and the title."""
    blocks = re.split(r"<top>", _whole(file), flags=re.IGNORECASE)[1:]
    if not blocks:
        raise FormatError(f"{file}: expected topics that begin with <top>.")
    for block in blocks:
        number = re.search(r"<num>\s*(?:Number:)?\s*([^\s<]+)", block, re.IGNORECASE)
        title = re.search(r"<title>\s*(?:Topic:)?\s*([^<]+)", block, re.IGNORECASE)
        if number is None or title is None:
            raise FormatError(f"{file}: a topic needs <num> and <title>.")
        yield number[1], " ".join(title[1].split())


def _grades(file: Path) -> dict[str, dict[str, int]]:
    """Judgements in three columns (query, document, grade) or in TREC's four; a line of names is passed over."""
    found: dict[str, dict[str, int]] = {}
    for row, line in enumerate(_whole(file).splitlines(), start=1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) not in (3, 4):
            raise FormatError(f"{file}, line {row}: expected query, document and grade, found {len(cells)} columns.")
        try:
            grade = int(float(cells[-1]))
        except ValueError:
            if row == 1:
                continue
            raise FormatError(f"{file}, line {row}: the grade {cells[-1]!r} is not a number.") from None
        found.setdefault(cells[0], {})[cells[-2]] = grade
    return found
