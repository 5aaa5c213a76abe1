"""``wordferry index create | add | delete | info | verify | compact | upgrade``: a collection on disk.

The commands that only list documents are in ``cli/listing``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli import listing
from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, complete_distance, emit, examples, note, progress_bar
from wordferry.cli.comparing import read_text
from wordferry.cli.hits import parse_settings
from wordferry.cli.vectors import EMBEDDINGS_OPTION

if TYPE_CHECKING:
    from wordferry.index import Index
    from wordferry.texts.documents import Record

commands = typer.Typer(no_args_is_help=True, help="Make a searchable collection on disk and change it.")

INDEX = typer.Argument(..., help="The folder of the index.")
FORMAT = typer.Option(
    None, "--format", help="jsonl, json, csv, tsv, text, folder or parquet (default: by the file's name or first line)."
)
SKIP = typer.Option([], "--skip", help="A field to leave out; may be given several times.")
KEEP_TEXT = typer.Option(False, "--keep-text", help="Keep numbers of CSV and TSV files as text.")
TEXT = typer.Option("text", "--text", help="The field that holds the text (or its tokens).")
ID = typer.Option("id", "--id", help="The field that holds the id.")
LABEL = typer.Option("label", "--label", help="The field that holds the label.")
DISTANCE = typer.Option(
    "rel-rwmd",
    "--distance",
    "-d",
    autocompletion=complete_distance,
    help="The distance that 'similar' uses unless told otherwise.",
)
OVERLAP = typer.Option(
    None, "--overlap", help="What happens to words in both texts: keep, omr or residual (default: the distance's own)."
)
ON_EMPTY = typer.Option("error", "--on-empty", help="What to do with documents without any word: error, drop or keep.")
KEEP = typer.Option(
    None,
    "--keep",
    help="Where the word vectors stay: in the index (copy), where they are (path), or in wordferry (package, the "
    "default for those that come with it).",
)
LANGUAGE = typer.Option(
    None,
    "--language",
    help="The language of the documents: its stop words, word boundaries and stems (default: English); none: no stems.",
)
TOKENIZER = typer.Option(
    None,
    "--tokenizer",
    help="A tokenizer by its registered name, in the place of the language's; --language then gives the stems.",
)
STOP = typer.Option(
    None, "--stop", help="Words to leave out: none, a language, or @FILE with your own (default: those of --language)."
)
RESUME = typer.Option(False, "--resume", help="Go on where the same command was stopped, with the choices made then.")
WEIGHTS = typer.Option(
    "idf", "--weights", help="What words count for in 'similar': counts, idf, log-idf, bm25 or norm."
)
UNKNOWN = typer.Option("match", "--unknown", help="Words without a vector in 'similar': match, drop or error.")
DOCUMENTS = "A file or folder of documents, or - for the standard input."


def register(app: Any) -> None:
    """Add the commands to the command line."""
    listing.register(commands)
    app.add_typer(commands, name="index")


@dataclass(frozen=True)
class _Source:
    """Documents of a file with their number, where it is cheap to know."""

    path: str
    fields: dict[str, Any]

    def __iter__(self) -> Iterator[Record]:
        from wordferry.texts.documents import read_documents

        return read_documents(self.path, **self.fields)

    def __len__(self) -> int:
        file = Path(self.path)
        if self.path == "-" or not file.is_file() or file.suffix not in (".jsonl", ".ndjson", ".txt", ".tsv", ".csv"):
            return 0
        with open(file, "rb") as stream:
            return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


@commands.command(
    epilog=examples(
        "wordferry index create news news.jsonl --embeddings glove",
        "wordferry index create empty --distance wmd",
    )
)
def create(
    path: Path = INDEX,
    documents: str | None = typer.Argument(None, help=DOCUMENTS),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    related: Path | None = typer.Option(None, "--related", help="A folder of related words to start from."),
    r: int = typer.Option(16, "--r", "-r", min=1, help="How many related words each word has."),
    distance: str = DISTANCE,
    overlap: str | None = OVERLAP,
    on_empty: str = ON_EMPTY,
    keep: str | None = KEEP,
    language: str | None = LANGUAGE,
    tokenizer: str | None = TOKENIZER,
    stop: str | None = STOP,
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing index."),
    resume: bool = RESUME,
    weights: str = WEIGHTS,
    unknown: str = UNKNOWN,
    settings: list[str] = typer.Option([], "--set", help="A constant of word search, e.g. lift=0; kept in the index."),
    format: str | None = FORMAT,
    text: str = TEXT,
    id: str = ID,
    label: str = LABEL,
    skip: list[str] = SKIP,
    keep_text: bool = KEEP_TEXT,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Make an index, and add documents to it if any are given.

    A large collection is added in steps. If the command is stopped, the same command with --resume goes on after them.
    """
    from wordferry.index import Index
    from wordferry.index.create import check_target
    from wordferry.words.related.graph import RelatedWords

    check_target(path, overwrite)
    beside = path.absolute().with_name(f".{path.name}.new")  # so that it is there whole or not at all
    if resume and beside.exists():
        index = Index.open(beside)
    else:
        start = r if related is None else RelatedWords.load(related)
        options: dict[str, Any] = {"on_empty": on_empty, "keep": keep, "overwrite": True}
        options["tokenizer"] = tokenizer if stop is None else _tokenizer(tokenizer, language, stop)
        options |= {"language": language, "settings": parse_settings(settings), "weights": weights, "unknown": unknown}
        options |= {"related": start, "distance": distance, "overlap": overlap}
        index = Index.create(beside, embeddings=embeddings, **options)
    fields = _fields(format, text, id, label, skip, keep_text)
    _report(path, as_json, added=_put_in_place(index, beside, path, documents, fields, threads))


@commands.command(
    epilog=examples(
        "wordferry index add news more.jsonl --upsert", "zcat old.jsonl.gz | wordferry index add news - --format jsonl"
    )
)
def add(
    path: Path = INDEX,
    documents: str = typer.Argument(..., help=DOCUMENTS),
    upsert: bool = typer.Option(False, "--upsert", help="Replace documents whose id exists, instead of refusing them."),
    format: str | None = FORMAT,
    text: str = TEXT,
    id: str = ID,
    label: str = LABEL,
    skip: list[str] = SKIP,
    keep_text: bool = KEEP_TEXT,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Add documents, all of them or none."""
    from wordferry.index import Index

    with Index.open(path) as index:
        count = _add(index, documents, _fields(format, text, id, label, skip, keep_text), upsert=upsert)
    _report(path, as_json, added=count)


@commands.command(
    epilog=examples("wordferry index delete news 17 18", "cat old-ids.txt | wordferry index delete news -")
)
def delete(
    path: Path = INDEX,
    ids: list[str] = typer.Argument(
        ..., help="The ids of documents; - reads them from the standard input, one per line."
    ),
    missing_ok: bool = typer.Option(False, "--missing-ok", help="Ignore ids that do not exist."),
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Delete documents by id, all of them or none."""
    from wordferry.index import Index

    if ids == ["-"]:
        ids = [line.rstrip("\n") for line in sys.stdin if line.strip()]
    with Index.open(path) as index:
        count = index.delete(ids, missing_ok=missing_ok)
    _report(path, as_json, deleted=count)


@commands.command(epilog=examples("wordferry index info news"))
def info(path: Path = INDEX, as_json: bool | None = JSON_OPTION) -> None:
    """Show what an index holds and how large it is."""
    from wordferry.cli.common import wants_json
    from wordferry.index import Index

    with Index.open(path) as index:
        facts = index.stats().to_json()
    if wants_json(as_json):
        emit([facts], True)
    else:
        emit([{"what": name, "value": str(value)} for name, value in facts.items()], False)


@commands.command(epilog=examples("wordferry index verify news"))
def verify(path: Path = INDEX, as_json: bool | None = JSON_OPTION) -> None:
    """Compare every file with its checksum, and all parts with each other; exit 2 when anything is wrong."""
    from dataclasses import asdict

    from wordferry.index import Index

    with Index.open(path) as index:
        emit([asdict(index.verify())], as_json)
    note(f"{path} is sound")


@commands.command(epilog=examples("wordferry index compact news", "wordferry index compact news --rebuild"))
def compact(
    path: Path = INDEX,
    rebuild: bool = typer.Option(
        False, "--rebuild", help="Make the bags of words and the related words again from the texts."
    ),
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Drop what deleted documents left, and write the rest into as few files as possible."""
    from wordferry.index import Index

    with Index.open(path) as index:
        before = index.stats().bytes if not rebuild else 0
        index.compact(rebuild=rebuild)
    _report(path, as_json, **({"bytes_before": before} if before else {}))


@commands.command(epilog=examples("wordferry index upgrade news"))
def upgrade(path: Path = INDEX, as_json: bool | None = JSON_OPTION) -> None:
    """Bring an index that an earlier version made up to date, in its place."""
    from wordferry.index import Index

    if not Index.upgrade(path):
        note(f"{path} is up to date")
    _report(path, as_json)


def _tokenizer(tokenizer: str | None, language: str | None, stop: str) -> Any:
    """A tokenizer of a language with stop words of the caller's choice."""
    from wordferry.errors import InputError
    from wordferry.texts.tokenizers import make_tokenizer

    if tokenizer is not None:
        raise InputError("--stop belongs to the tokenizer of a language, and --tokenizer names another: leave one out.")
    words: Any = stop
    if stop.startswith("@"):
        words = read_text(stop).split()
    elif stop == "none":
        words = None
    return make_tokenizer(None if language == "none" else language, stop=words)


def _fields(format: str | None, text: str, id: str, label: str, skip: list[str], keep_text: bool) -> dict[str, Any]:
    """The options of ``read_documents``."""
    return {
        "format": format,
        "text": text,
        "id": id,
        "label": label,
        "split": None,
        "skip": skip,
        "numbers": not keep_text,
    }


def _add(index: Index, documents: str | None, fields: dict[str, Any], *, upsert: bool = False) -> int:
    if documents is None:
        return 0
    source = _Source(documents, fields)
    with progress_bar("adding documents, relating words") as progress:
        ids = (index.upsert if upsert else index.add)(source, progress=progress, graph_progress=progress)
    return len(ids)


def _fill(index: Index, documents: str | None, fields: dict[str, Any], threads: int | None) -> int:
    if documents is None:
        return 0
    source = _Source(documents, fields)
    with progress_bar("adding documents, relating words") as progress:
        return index.fill(source, resume=True, threads=threads, progress=progress, graph_progress=progress)


def _put_in_place(
    index: Index, beside: Path, path: Path, documents: str | None, fields: dict[str, Any], threads: int | None
) -> int:
    """Fill an index that was begun beside its place, and put it there; how many documents were added."""
    from wordferry.index.create import swap_in

    try:
        with index:
            count = _fill(index, documents, fields, threads)
        swap_in(beside, path)
    except BaseException as error:
        _keep_or_remove(beside, error)
        raise
    return count


def _keep_or_remove(beside: Path, error: BaseException) -> None:
    """What a create that was stopped leaves: what --resume can go on with, or nothing."""
    from wordferry.errors import WordferryError
    from wordferry.index import Index

    stored = 0
    try:
        with Index.open(beside) as index:
            stored = len(index)
    except WordferryError:
        pass
    if not stored:
        shutil.rmtree(beside, ignore_errors=True)
    elif isinstance(error, KeyboardInterrupt | WordferryError):
        note(f"{stored} documents are stored; go on after them with the same command and --resume")


def _report(path: Path, as_json: bool | None, **facts: int) -> None:
    from wordferry.index import Index

    with Index.open(path) as index:
        stats = index.stats()
    row = {"index": str(path), **facts, "documents": stats.documents, "words": stats.words, "bytes": stats.bytes}
    emit([row], as_json)
