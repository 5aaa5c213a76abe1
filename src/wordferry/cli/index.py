"""``wordferry index list | get | export | create | add | delete | info | verify | compact``: a collection on disk."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, Argument, Bundle, Group, option
from wordferry.cli.output import CSV, ROWS, SUMMARY, Output, note, progress_bar, shortened
from wordferry.errors import InputError, NotFound, WordferryError

if TYPE_CHECKING:
    from wordferry.index.results import Document
    from wordferry.texts.documents import Record

index = Group("index", help="Make a searchable collection on disk and change it.")


@index.subcommand(
    "INDEX --filter",
    "-k=100",
    option("--offset", "How many documents to pass over first.", type=click.IntRange(min=0), default=0),
    ROWS,
    examples=["wordferry index list news --filter topic=sport", "wordferry index list news --csv"],
)
def list_(index: Path, filter: dict[str, Any] | None, k: int, offset: int, out: Output) -> None:
    """List documents in the order in which they were added.

    Each with its id, label, metadata and the head of the text.
    """
    with wordferry.Index.open(index) as opened:
        found = opened.page(k, offset=offset, filter=filter)
        total = opened.count(filter)
    rows = [_row(document, shortened(document.text)) for document in found]
    for row in rows if out.table else ():
        row["metadata"] = ", ".join(f"{key}={value}" for key, value in row["metadata"].items())
    out.write(rows)
    end = offset + len(found)
    what = "documents that pass the filter" if filter else "documents"
    if found and total > len(found):
        more = f"; --offset {end} shows the next" if end < total else ""
        note(f"{offset + 1} to {end} of {total} {what}{more}")
    elif not found:
        note(f"wordferry: {total} {what} in {index}" + (f", none after {offset}." if total else "."))


@index.subcommand(
    "INDEX",
    Argument("ids", "The ids of documents.", nargs=-1, required=True),
    ROWS,
    examples=["wordferry index get news article-17"],
)
def get(index: Path, ids: tuple[str, ...], out: Output) -> int:
    """Show documents by id, with their whole text and metadata.

    One that is missing does not stop the others.
    """
    missing = 0
    with wordferry.Index.open(index) as opened:
        for id in ids:
            try:
                document = opened.get(id)
            except NotFound as error:
                missing += 1
                note(f"wordferry: {error}")
                continue
            if not out.table:
                out.write([_row(document, document.text)])
                continue
            for name, value in {"id": document.id, "label": document.label, **document.metadata}.items():
                if value is not None:
                    click.echo(f"{name}: {value}")
            click.echo(f"\n{document.text if isinstance(document.text, str) else ' '.join(document.text)}\n")
    return int(missing > 0)


@index.subcommand(
    "INDEX",
    option("-o --output", "The file: .jsonl, .json, .csv or .parquet (default: JSON lines on stdout).", type=PATH),
    CSV,
    "--filter",
    Bundle(
        "names",
        "--text --id --label",
        option("--vectors", "Write the vectors of documents too, into this field (not CSV)."),
    ),
    examples=[
        "wordferry index export news -o news.jsonl",
        "wordferry index export news -o sport.parquet --filter topic=sport",
        "wordferry index export news | wordferry index create copy -",
    ],
)
def export(index: Path, output: Path | None, as_csv: bool, names: dict[str, Any], **given: Any) -> None:
    """Write documents into a file that 'create' and 'add' read.

    JSON brings back the same documents; in Parquet and CSV a missing field comes back as null, and CSV makes text of
    whatever is no number.
    """
    if as_csv and output is not None:
        raise InputError(f"The ending of -o {output} says what is written; leave out --csv.")
    format = None if output is not None else "csv" if as_csv else "jsonl"
    with wordferry.Index.open(index) as opened, progress_bar("writing documents") as progress:
        count = opened.export(output, format=format, **names, progress=progress, **given)
    note(f"{output or index}: {count} documents")


@index.subcommand(
    "INDEX",
    option("-o --output", "The folder to write documents, queries and words into.", type=PATH, required=True),
    option("--format", "parquet, jsonl, qdrant, milvus, opensearch or pgvector.", default="parquet"),
    option("--queries", "A file with one query per line, to write as well.", type=PATH),
    option("--error", "Leave out what changes a distance by no more.", type=click.FloatRange(0.0, 2.0), default=0.0),
    SUMMARY,
    examples=["wordferry index export-sparse news -o vectors --format qdrant --queries queries.txt --error 0.1"],
)
def export_sparse(index: Path, output: Path, format: str, queries: Path | None, error: float, out: Output) -> None:
    """Write documents as sparse vectors for other engines.

    Their inner products rank like rel-rwmd; engines that search sparse vectors take them.
    """
    from wordferry.engines.sparse import Sparse

    lines = None if queries is None else queries.read_text(encoding="utf-8").splitlines()
    with wordferry.Index.open(index) as opened:
        found = list(opened)
        texts, ids = [one.text for one in found], [one.id for one in found]
        made = Sparse.of(texts, embeddings=opened.embeddings, tokenizer=opened.tokenizer, error=error)
    with progress_bar("documents") as progress:
        facts = made.write(output, ids, format, lines, progress)
    out.facts(facts | {"output": str(output)})


def _row(document: Document, text: Any) -> dict[str, Any]:
    return {"id": document.id, "label": document.label, "metadata": dict(document.metadata), "text": text}


DOCUMENTS = "A file or folder of documents, or - for the standard input."
FIELDS = Bundle(
    "fields",
    option("--format", "jsonl, json, csv, tsv, text, folder or parquet (default: by the file's name or first line)."),
    option("--text", "The field that holds the text; repeat it for several.", multiple=True, default=["text"]),
    "--id --label",
    option("--title", "The field that holds the title, which tables, page and map show.", default="title"),
    option("--skip", "A field to leave out; may be given several times.", multiple=True),
    option("--vectors", "The field that holds a vector of each document, for search by words and meaning."),
    option("--encoding", "The encoding of the file, e.g. latin-1.", default="utf-8"),
    option("--keep-text", "Keep numbers of CSV and TSV files as text.", is_flag=True),
)
CHOICES = Bundle(
    "choices",
    "--embeddings",
    option("--related", "A folder of related words to start from.", type=PATH),
    "-r",
    options.shared("--distance", "rel-rwmd + 2*cosine"),
    "--overlap --weights=idf --unknown=match --on-empty",
    option("--keep", "Where the vectors stay: in the index (copy), where they are (path), in wordferry (package)."),
    option("--language", "Whose stop words, word boundaries and stems are used (default: English); none: no stems."),
    option("--tokenizer", "A registered tokenizer in the place of the language's; --language then gives stems."),
    option("--stop", "Words of no weight: none, a language, or @FILE with your own (default: those of --language)."),
    "--set",
    option("--encoder", "Search by words and meaning: wordllama, model2vec:PATH or sentence-transformers:PATH."),
)


class _Source:
    """Documents of a file, how many it has where that is cheap to know, and how many were read."""

    def __init__(self, path: str, fields: dict[str, Any]) -> None:
        self.path, self.read = path, 0
        numbers = not fields.pop("keep_text")
        self.fields = fields | {"split": None, "numbers": numbers}

    def counted(self, added: int) -> dict[str, int]:
        """How many documents were added, and how many were read and left out."""
        return {"added": added} | ({"dropped": self.read - added} if self.read > added else {})

    def __iter__(self) -> Iterator[Record]:
        for record in wordferry.read_documents(self.path, **self.fields):
            self.read += 1
            yield record

    def __len__(self) -> int:
        file = Path(self.path)
        if self.path == "-" or not file.is_file() or file.suffix not in (".jsonl", ".ndjson", ".txt", ".tsv", ".csv"):
            return 0
        with open(file, "rb") as stream:
            return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


@index.subcommand(
    "INDEX",
    Argument("documents", DOCUMENTS, required=False),
    CHOICES,
    option("--overwrite", "Replace an existing index.", is_flag=True),
    option("--resume", "Go on where the same command was stopped, with the choices made then.", is_flag=True),
    FIELDS,
    "--threads",
    SUMMARY,
    examples=[
        "wordferry index create news news.jsonl --embeddings glove",
        "wordferry index create news news.jsonl --encoder wordllama",
        "wordferry index create empty -d wmd",
    ],
)
def create(
    index: Path, documents: str | None, choices: Any, overwrite: bool, resume: bool, out: Output, **given: Any
) -> None:
    """Make an index, and add documents to it if any are given.

    A large collection is added in steps. If the command is stopped, the same command with --resume goes on after them.
    """
    from wordferry.index.write.create import check_target, swap_in

    check_target(index, overwrite)
    beside = index.absolute().with_name(f".{index.name}.new")  # so that it is there whole or not at all
    resume = resume and beside.exists()
    opened = (
        wordferry.Index.open(beside) if resume else wordferry.Index.create(beside, overwrite=True, **_choices(choices))
    )
    facts = {"added": 0}
    with _kept_when_stopped(beside):
        with opened:
            if resume:
                note(f"{len(opened)} documents are stored already; going on after them")
            if documents is not None:
                source = _Source(documents, given.pop("fields"))
                with _adding() as bars:
                    facts = source.counted(opened.fill(source, resume=True, **bars, **given))
        swap_in(beside, index)
    _report(index, out, facts)


@index.subcommand(
    "INDEX",
    Argument("documents", DOCUMENTS),
    option("--upsert", "Replace documents whose id exists, instead of refusing them.", is_flag=True),
    option("--on-empty", "Documents without any word: error, drop or keep (default: as the index was made)."),
    FIELDS,
    "--threads",
    SUMMARY,
    examples=[
        "wordferry index add news more.jsonl --upsert",
        "zcat old.jsonl.gz | wordferry index add news - --format jsonl",
    ],
)
def add(index: Path, documents: str, upsert: bool, fields: dict[str, Any], out: Output, **given: Any) -> None:
    """Add documents, all of them or none."""
    source = _Source(documents, fields)
    with wordferry.Index.open(index) as opened, _adding() as bars:
        store = opened.upsert if upsert else opened.add
        try:
            added = len(store(source, **bars, **given))
        except KeyboardInterrupt:
            note(f"wordferry: nothing was added to {index}: documents are added all together or not at all.")
            raise
    _report(index, out, source.counted(added))


@index.subcommand(
    "INDEX",
    Argument("ids", "The ids of documents; - reads them from stdin, one per line.", nargs=-1, required=True),
    option("--missing-ok", "Ignore ids that do not exist.", is_flag=True),
    SUMMARY,
    examples=["wordferry index delete news 17 18", "cat old-ids.txt | wordferry index delete news -"],
)
def delete(index: Path, ids: tuple[str, ...], missing_ok: bool, out: Output) -> None:
    """Delete documents by id, all of them or none."""
    names = [line.rstrip("\n") for line in sys.stdin if line.strip()] if ids == ("-",) else list(ids)
    with wordferry.Index.open(index) as opened:
        count = opened.delete(names, missing_ok=missing_ok)
    _report(index, out, {"deleted": count})


@index.subcommand("INDEX", SUMMARY, examples=["wordferry index info news"])
def info(index: Path, out: Output) -> None:
    """Show what an index holds, how it compares, and its size."""
    with wordferry.Index.open(index) as opened:
        facts, config = opened.stats().to_json(), opened.config
        choices = {"weights": config.weights, "unknown": config.unknown, "language": config.language}
        if opened.backend.dimension:
            choices["encoder"] = "vectors that were brought" if config.encoder is None else config.encoder["name"]
            facts["dimension"] = opened.backend.dimension
    first = {name: facts[name] for name in ("documents", "words", "pairs", "coverage", "distance")}
    out.facts(first | choices | facts)


@index.subcommand("INDEX", SUMMARY, examples=["wordferry index verify news"])
def verify(index: Path, out: Output) -> None:
    """Check an index: every file, and how they fit together.

    Files are compared with their checksums, and all parts with each other. Exits with 2 when anything is wrong.
    """
    with wordferry.Index.open(index) as opened:
        out.facts(vars(opened.verify()))
    note(f"{index} is sound")


@index.subcommand(
    "INDEX",
    option("--rebuild", "Make the bags of words and the related words again from the texts.", is_flag=True),
    SUMMARY,
    examples=["wordferry index compact news", "wordferry index compact news --rebuild"],
)
def compact(index: Path, rebuild: bool, out: Output) -> None:
    """Drop what deleted documents left, and join files."""
    with wordferry.Index.open(index) as opened:
        facts = {} if rebuild else {"bytes_before": opened.stats().bytes}
        opened.compact(rebuild=rebuild)
    _report(index, out, facts)


def _choices(given: dict[str, Any]) -> dict[str, Any]:
    """The options of ``Index.create``."""
    r, stop, related = given.pop("r"), given.pop("stop"), given["related"]
    if stop is not None:
        given["stop"] = options.read_text(stop).split() if stop.startswith("@") else None if stop == "none" else stop
    given["related"] = r if related is None else wordferry.RelatedWords.load(related)
    return given


@contextmanager
def _kept_when_stopped(beside: Path) -> Iterator[None]:
    """Keep what a create that was stopped has stored, for --resume; remove the folder if that is nothing."""
    try:
        yield
    except BaseException as error:
        stored = 0
        with suppress(WordferryError), wordferry.Index.open(beside) as index:
            stored = len(index)
        if not stored:
            shutil.rmtree(beside, ignore_errors=True)
            if isinstance(error, KeyboardInterrupt):
                note("wordferry: no step was done yet, so nothing is stored.")
        elif isinstance(error, KeyboardInterrupt | WordferryError):
            note(f"{stored} documents are stored; go on after them with the same command and --resume")
        raise


@contextmanager
def _adding() -> Iterator[dict[str, Any]]:
    """The bars of an addition. A warning that few words have a vector is left to :func:`_report`, in our words."""
    from wordferry.texts.coverage import CoverageWarning

    with (
        warnings.catch_warnings(),
        progress_bar("adding documents") as progress,
        progress_bar("relating words") as relating,
    ):
        warnings.simplefilter("ignore", CoverageWarning)
        yield {"progress": progress, "graph_progress": relating}


def _report(path: Path, out: Output, facts: dict[str, int]) -> None:
    with wordferry.Index.open(path) as index:
        stats = index.stats()
    row = {"index": str(path), **facts, "documents": stats.documents, "words": stats.words, "bytes": stats.bytes}
    out.facts(row | {"coverage": round(stats.coverage, 3)})
    if stats.documents and stats.coverage < 0.5:
        note(
            f"wordferry: only {stats.coverage:.0%} of the words have a vector, so texts are compared by equal spelling "
            "for the most part. If they are not English, create the index with --language and --embeddings "
            "multilingual; if they are, with larger embeddings."
        )
