"""``wordferry cluster``: jobs over many files, with the same answer from any number of processes or machines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordferry.cli import options
from wordferry.cli.classify import CLASSIFIED, VOTING
from wordferry.cli.options import PATH, POSITIVE, Group, argument, bundle, command, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar
from wordferry.cli.serve import check_port

cluster = Group("cluster", "Run jobs over many files on processes or a Ray cluster.")
FILES = argument("documents", "Documents: a Parquet or JSON lines file, a folder of them, or a bucket address.")
DOCUMENTS = argument(
    "documents", "Documents: Parquet or JSON lines (a file, folder or bucket), or an index or its shards, as they are."
)
QUERIES = argument("queries", "Queries, in the same forms as documents.")
FOLDER = argument("folder", "The folder or bucket of the shards (wordferry cluster index).")
OUTPUT = option("-o --output", "The folder or bucket address for the Parquet files of the answer.", required=True)
WORKERS = option("--workers", "How many processes work at once (default: 1; on Ray, all cores).", type=POSITIVE)
ADDRESS = "A running Ray cluster, or 'local' to start one here"
RUNNING = (
    WORKERS,
    option("--address", f"{ADDRESS} (default: plain processes)."),
    option("--work", "The folder of what is done, which every node must see (default: OUTPUT.job).", type=PATH),
    option("--keep", "Keep that folder when the job is done.", is_flag=True),
)


def block_option(help: str, default: int = 20_000) -> options.Part:
    """The size of a task."""
    return option("--block", help, type=POSITIVE, default=default)


@contextmanager
def running(
    workers: int | None, address: str | None, work: Path | None, keep: bool, embeddings: Path | None = None
) -> Iterator[dict[str, Any]]:
    """The engine that was asked for and a bar, for as long as the job runs."""
    given: dict[str, Any] = {"work": work, "keep": keep}
    if embeddings is not None:
        from wordferry.words.loaders import load_embeddings

        given["embeddings"] = load_embeddings(embeddings)
    engine: Any
    if address is None:
        from wordferry.engines.engine import Local

        engine = Local(workers or 1)
    else:
        engine = on_ray(address, workers)
    try:
        with progress_bar("tasks") as progress:
            yield {"engine": engine, "progress": progress, **given}
    except KeyboardInterrupt:
        note("wordferry: what is done stays in the folder of the job; the same command goes on after it.")
        raise
    finally:
        engine.close()


def on_ray(address: str, workers: int | None) -> Any:
    """A Ray cluster, started here for 'local'."""
    from wordferry.engines.on_ray import Ray

    return Ray(None if address == "local" else address, workers)


@contextmanager
def job_choices(**given: Any) -> Iterator[Any]:
    """How a job compares, and the columns of its documents."""
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices

    fields = SourceFields(given.pop("text"), given.pop("id"), given.pop("label", "label"))
    yield Choices(**given, fields=fields)


SIZE = block_option("How many documents or queries one task takes.")
SHARDS = option("--shards", "How many shards to build (default: one per million documents).", type=POSITIVE)
JOB = bundle("choices", "--distance --weights --unknown -r", SIZE, "--text --id", make=job_choices)
RUN = bundle("run", *RUNNING, "--embeddings", make=running)


@command(
    DOCUMENTS,
    "-k",
    OUTPUT,
    SHARDS,
    JOB,
    RUN,
    SUMMARY,
    examples=["wordferry cluster knn-graph articles/ -k 10 --workers 4 -o neighbours"],
    group=cluster,
)
def knn_graph(
    documents: str, k: int, output: str, shards: int | None, choices: Any, run: dict[str, Any], out: Output
) -> None:
    """Find the nearest other documents of every document."""
    from wordferry.shards import jobs

    _show(jobs.knn_graph(documents, output, k, choices, shards=shards, **run), out)


@command(
    QUERIES,
    DOCUMENTS,
    "-k",
    OUTPUT,
    SHARDS,
    bundle("questions", "--rerank --candidates --filter"),
    JOB,
    RUN,
    SUMMARY,
    examples=["wordferry cluster top-k queries.jsonl articles/ -k 10 --address auto -o found"],
    group=cluster,
)
def top_k(
    queries: str,
    documents: str,
    k: int,
    output: str,
    shards: int | None,
    questions: dict[str, Any],
    choices: Any,
    run: dict[str, Any],
    out: Output,
) -> None:
    """Find the documents nearest to each query."""
    from wordferry.shards import jobs

    questions |= {"filter": options.parse_filters(questions["filter"])}
    _show(jobs.top_k(queries, documents, output, k, choices, shards=shards, **questions, **run), out)


@command(
    DOCUMENTS,
    "--threshold",
    OUTPUT,
    SHARDS,
    JOB,
    RUN,
    SUMMARY,
    examples=["wordferry cluster duplicates articles/ -o duplicates"],
    group=cluster,
)
def duplicates(
    documents: str,
    threshold: float | None,
    output: str,
    shards: int | None,
    choices: Any,
    run: dict[str, Any],
    out: Output,
) -> None:
    """Find all pairs of documents that are close, and their groups."""
    from wordferry.shards import jobs

    _show(jobs.duplicates(documents, output, threshold, choices, shards=shards, **run), out)


@command(
    argument("train", "Training documents with labels, in the same forms as documents."),
    argument("test", "Documents to label."),
    "-k=35",
    VOTING,
    OUTPUT,
    SHARDS,
    bundle("choices", *CLASSIFIED, "-r", SIZE, "--text --id --label", make=job_choices),
    RUN,
    SUMMARY,
    examples=["wordferry cluster classify train.parquet new.parquet -o labels"],
    group=cluster,
)
def classify(
    train: str,
    test: str,
    k: int,
    voting: str,
    output: str,
    shards: int | None,
    choices: Any,
    run: dict[str, Any],
    out: Output,
) -> None:
    """Label documents by a vote of their nearest training documents."""
    from wordferry.shards import jobs

    _show(jobs.classify(train, test, output, k, choices, voting=voting, shards=shards, **run), out)


@command(
    FILES,
    option("--shards", "How many shards to build.", type=POSITIVE, required=True),
    option("-o --output", "The folder or bucket address for the shards.", required=True),
    bundle(
        "choices",
        options.DEFAULT_DISTANCE,
        "--weights=idf --unknown=match -r --on-empty",
        option("--language", "Whose word stems 'search' knows, or none."),
        "--set",
        option("--encoder", "Search by words and meaning: an encoder that every worker can load, by its name."),
        block_option("How many documents' words one task counts."),
    ),
    option("--tokenizer", "A language: its stop words and word boundaries."),
    bundle("columns", "--text --id --label"),
    option("--vectors", "The column that holds a vector of each document, for search by words and meaning."),
    RUN,
    SUMMARY,
    examples=["wordferry cluster index articles/ --shards 8 --workers 4 -o shards"],
    group=cluster,
)
def index(
    documents: str,
    shards: int,
    output: str,
    choices: dict[str, Any],
    tokenizer: str | None,
    columns: dict[str, str],
    vectors: str | None,
    run: dict[str, Any],
    out: Output,
) -> None:
    """Build an index in shards.

    Together they answer as one undivided index does. Every other column of the documents becomes metadata to filter
    by. A build that was stopped goes on.
    """
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices, build

    constants = options.parse_settings(choices.pop("settings"))
    fields = SourceFields(columns["text"], columns["id"], columns["label"], vector=vectors)
    made = Choices(**choices, constants=constants, fields=fields)
    _show(build(documents, output, shards, made, tokenizer=tokenizer, **run), out)


@command(
    FOLDER,
    QUERIES,
    OUTPUT,
    "-k",
    bundle("questions", "--candidates --filter --set"),
    block_option("How many queries one task answers from one shard.", 200),
    bundle("columns", "--text --id"),
    bundle("run", *RUNNING, make=running),
    SUMMARY,
    examples=[
        "wordferry cluster search shards queries.jsonl -k 10 -o found",
        "wordferry cluster search shards queries.jsonl --filter year>=2001 --workers 4 -o recent",
    ],
    group=cluster,
)
def search(
    folder: str,
    queries: str,
    output: str,
    k: int,
    questions: dict[str, Any],
    block: int,
    columns: dict[str, str],
    run: dict[str, Any],
    out: Output,
) -> None:
    """Answer many queries by words from all shards.

    The answers are those of the undivided index; 'cluster top-k' compares texts.
    """
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices, jobs

    constants = {**options.parse_settings(questions["settings"]), "candidates": questions["candidates"]}
    choices = Choices(block=block, fields=SourceFields(columns["text"], columns["id"]))
    asked = {"filter": options.parse_filters(questions["filter"]), "constants": constants}
    _show(jobs.search(folder, queries, output, k, choices, **asked, **run), out)


@command(
    FOLDER,
    option("--replicas", "How many processes hold each shard.", type=POSITIVE, default=1),
    option("--missing", "When a shard is down: answer (and name it in the answer), or error.", default="answer"),
    option("--shard-seconds", "Seconds that a shard has to answer.", type=options.SECONDS, default=10.0),
    option("--address", f"{ADDRESS}.", default="local"),
    option("--workers", "Cores of a cluster that is started here (default: all).", type=POSITIVE),
    "--host --port --token --max-seconds --quiet",
    examples=[
        "wordferry cluster serve shards --replicas 2",
        "WORDFERRY_TOKEN=secret wordferry cluster serve shards --address auto --host 0.0.0.0",
    ],
    group=cluster,
)
def serve(
    folder: str,
    replicas: int,
    missing: Any,
    shard_seconds: float,
    address: str,
    workers: int | None,
    host: str,
    port: int,
    token: str | None,
    seconds: float,
    quiet: bool,
) -> None:
    """Serve an index in shards over HTTP, as 'wordferry serve' does.

    Each shard stands in processes of its own, which Ray starts again when they die; a search asks all of them and
    merges. To change to another build, start a service for it on another port, and stop this one.
    """
    from contextlib import closing

    from wordferry.shards.serving import Serving
    from wordferry.web.server import run
    from wordferry.web.settings import Limits, Settings

    settings = Settings(host, port, token or None, None, Limits(seconds=seconds))
    check_port(host, port)
    with closing(on_ray(address, workers)) as ray:
        given: dict[str, Any] = {"replicas": replicas, "on_missing": missing, "seconds": shard_seconds}
        with closing(Serving(folder, ray=ray, **given)) as serving:
            if sys.stderr.isatty():
                note(f"Serving {folder} ({len(serving.index)} documents) on http://{host}:{port}/")
            run(serving.index, settings, quiet=quiet)


def _show(summary: Any, out: Output) -> None:
    row = vars(summary).copy()
    out.facts(row | dict(row.pop("facts", {})))
