"""``wordferry cluster``: jobs over many files, with the same answer from any number of processes or machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import wordferry
from wordferry.cli import options
from wordferry.cli.classify import CLASSIFIED, VOTING
from wordferry.cli.options import PATH, POSITIVE, Argument, Bundle, Group, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar
from wordferry.cli.serve import listen, service_settings

cluster = Group("cluster", "Run jobs over many files on processes or a Ray cluster.")
DOCUMENTS = Argument(
    "documents", "Documents: Parquet or JSON lines (a file, folder or bucket), or an index or its shards, as they are."
)
QUERIES = Argument("queries", "Queries, in the same forms as documents.")
FOLDER = Argument("folder", "The folder or bucket of the shards (wordferry cluster index).")
OUTPUT = option("-o --output", "The folder or bucket address for the Parquet files of the answer.", required=True)
ADDRESS = "A running Ray cluster, or 'local' to start one here"
RUNNING = (
    option("--workers", "How many processes work at once (default: 1; on Ray, all cores).", type=POSITIVE),
    option("--address", f"{ADDRESS} (default: plain processes)."),
    option("--work", "The folder of what is done, which every node must see (default: OUTPUT.job).", type=PATH),
    option("--keep", "Keep that folder when the job is done.", is_flag=True),
)


@contextmanager
def running(
    workers: int | None, address: str | None, embeddings: Path | None = None, **given: Any
) -> Iterator[dict[str, Any]]:
    """The engine that was asked for and a bar, for as long as the job runs."""
    from wordferry.engines.engine import Local

    if embeddings is not None:
        given["embeddings"] = wordferry.load_embeddings(embeddings)
    started: Any = Local(workers or 1) if address is None else on_ray(address, workers)
    with closing(started) as engine:
        try:
            with progress_bar("tasks") as progress:
                yield {"engine": engine, "progress": progress, **given}
        except KeyboardInterrupt:
            note("wordferry: what is done stays in the folder of the job; the same command goes on after it.")
            raise


def on_ray(address: str, workers: int | None) -> Any:
    """A Ray cluster, started here for 'local'."""
    from wordferry.engines.on_ray import Ray

    return Ray(None if address == "local" else address, workers)


@contextmanager
def job_choices(**given: Any) -> Iterator[Any]:
    """How a job compares, the constants of its word search, and the columns of its documents."""
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices

    columns = (given.pop("text"), given.pop("id"), given.pop("label", "label"))
    fields = SourceFields(*columns, vector=given.pop("vectors", None))
    constants = given.pop("settings", {})
    yield Choices(**given, fields=fields, constants=constants)


SIZE = option("--block", "How many documents or queries one task takes.", type=POSITIVE, default=20_000)
SHARDS = option("--shards", "How many shards to build (default: one per million documents).", type=POSITIVE)
RUN = Bundle("run", *RUNNING, "--embeddings", make=running)
CHOICES = Bundle("choices", "--distance --weights --unknown -r", SIZE, "--text --id", make=job_choices)
JOB = (OUTPUT, SHARDS, CHOICES, RUN, SUMMARY)


def _show(summary: Any, out: Output) -> None:
    row = vars(summary).copy()
    out.facts(row | dict(row.pop("facts")))


def _job(job: str, about: str, parts: list[options.Part], example: str) -> None:
    """A command that runs a function of :mod:`wordferry.shards.jobs` with its arguments by name."""

    def called(run: dict[str, Any], out: Output, **given: Any) -> None:
        from wordferry.shards import jobs

        _show(getattr(jobs, job)(**given, **run), out)

    called.__doc__ = about
    cluster.subcommand(*parts, examples=[example], name=job.replace("_", "-"))(called)


_job(
    "knn_graph",
    "Find the nearest other documents of every document.",
    [DOCUMENTS, "-k", *JOB],
    "wordferry cluster knn-graph articles/ -k 10 --workers 4 -o neighbours",
)
_job(
    "top_k",
    "Find the documents nearest to each query.",
    [QUERIES, DOCUMENTS, "-k --rerank --candidates --filter", *JOB],
    "wordferry cluster top-k queries.jsonl articles/ -k 10 --address auto -o found",
)
_job(
    "duplicates",
    "Find all pairs of documents that are close, and their groups.",
    [DOCUMENTS, "--threshold", *JOB],
    "wordferry cluster duplicates articles/ -o duplicates",
)
_job(
    "classify",
    "Label documents by a vote of their nearest training documents.",
    [
        Argument("train", "Training documents with labels, in the same forms as documents."),
        Argument("test", "Documents to label."),
        "-k=35",
        VOTING,
        OUTPUT,
        SHARDS,
        Bundle("choices", *CLASSIFIED, "-r", SIZE, "--text --id --label", make=job_choices),
        RUN,
        SUMMARY,
    ],
    "wordferry cluster classify train.parquet new.parquet -o labels",
)


@cluster.subcommand(
    Argument("documents", "Documents: a Parquet or JSON lines file, a folder of them, or a bucket address."),
    option("--shards", "How many shards to build.", type=POSITIVE, required=True),
    option("-o --output", "The folder or bucket address for the shards.", required=True),
    Bundle(
        "choices",
        options.shared("--distance", "rel-rwmd + 2*cosine"),
        "--weights=idf --unknown=match -r --on-empty",
        option("--language", "Whose word stems 'search' knows, or none."),
        "--set",
        option("--encoder", "Search by words and meaning: an encoder that every worker can load, by its name."),
        option("--block", "How many documents' words one task counts.", type=POSITIVE, default=20_000),
        "--text --id --label",
        option("--vectors", "The column that holds a vector of each document, for search by words and meaning."),
        make=job_choices,
    ),
    option("--tokenizer", "A language: its stop words and word boundaries."),
    RUN,
    SUMMARY,
    examples=["wordferry cluster index articles/ --shards 8 --workers 4 -o shards"],
)
def index(run: dict[str, Any], out: Output, **given: Any) -> None:
    """Build an index in shards.

    Together they answer as one undivided index does. Every other column of the documents becomes metadata to filter
    by. A build that was stopped goes on.
    """
    from wordferry.shards import build

    _show(build(**given, **run), out)


@cluster.subcommand(
    FOLDER,
    QUERIES,
    OUTPUT,
    "-k --candidates --filter",
    Bundle(
        "choices",
        "--set",
        option("--block", "How many queries one task answers from one shard.", type=POSITIVE, default=200),
        "--text --id",
        make=job_choices,
    ),
    Bundle("run", *RUNNING, make=running),
    SUMMARY,
    examples=[
        "wordferry cluster search shards queries.jsonl -k 10 -o found",
        "wordferry cluster search shards queries.jsonl --filter year>=2001 --workers 4 -o recent",
    ],
)
def search(candidates: int | None, choices: Any, run: dict[str, Any], out: Output, **given: Any) -> None:
    """Answer many queries by words from all shards.

    The answers are those of the undivided index; 'cluster top-k' compares texts.
    """
    from wordferry.shards.jobs import search

    constants = choices.constants | {"candidates": candidates}
    _show(search(choices=choices, constants=constants, **given, **run), out)


@cluster.subcommand(
    FOLDER,
    Bundle(
        "serving",
        option("--replicas", "How many processes hold each shard.", type=POSITIVE, default=1),
        option(
            "--missing on_missing",
            "When a shard is down: answer (and name it in the answer), or error.",
            default="answer",
        ),
    ),
    option("--shard-seconds", "Seconds that a shard has to answer.", type=options.SECONDS, default=10.0),
    option("--address", f"{ADDRESS}.", default="local"),
    option("--workers", "Cores of a cluster that is started here (default: all).", type=POSITIVE),
    "--host --port --token",
    Bundle("limits", "--max-seconds"),
    "--quiet",
    examples=[
        "wordferry cluster serve shards --replicas 2",
        "WORDFERRY_TOKEN=secret wordferry cluster serve shards --address auto --host 0.0.0.0",
    ],
)
def serve(
    folder: str, serving: Any, shard_seconds: float, address: str, workers: int | None, quiet: bool, **given: Any
) -> None:
    """Serve an index in shards over HTTP, as 'wordferry serve' does.

    Each shard stands in processes of its own, which Ray starts again when they die; a search asks all of them and
    merges. To change to another build, start a service for it on another port, and stop this one.
    """
    from wordferry.shards.serving import Serving

    settings = service_settings(**given)
    with (
        closing(on_ray(address, workers)) as ray,
        closing(Serving(folder, ray=ray, seconds=shard_seconds, **serving)) as opened,
    ):
        listen(opened.index, folder, settings, quiet)
