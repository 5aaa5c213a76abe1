"""``wordferry serve | cluster``: services, and jobs over many files with one answer from any number of machines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.classify import CLASSIFIED, VOTING
from wordferry.cli.options import PATH, POSITIVE, Argument, Bundle, Group, command, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar
from wordferry.errors import InputError

if TYPE_CHECKING:
    from wordferry.web.settings import Settings

cluster = Group("cluster", help="Run jobs over many files on processes or a Ray cluster.")
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
    name="serve",
)
def serve_shards(
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


LIMITS = Bundle(
    "limits",
    option("--max-body body_bytes", "Bytes of a request, at most.", type=POSITIVE, default=4 << 20),
    option("--max-text text_length", "Characters of a text, at most.", type=POSITIVE, default=100_000),
    option("--max-batch batch", "Texts of a search or documents of an addition, at most.", type=POSITIVE, default=64),
    option("--max-k k", "Hits of a search, at most.", type=POSITIVE, default=1000),
    "--max-seconds",
    option("--max-work work", "Work of a request, in words x documents.", type=click.FloatRange(min=1), default=2e9),
    option("--max-head-seconds head_seconds", "Seconds to send a request's head.", type=options.SECONDS, default=5.0),
    option("--max-connections connections", "Open connections, at most.", type=POSITIVE, default=1024),
)


@command(
    "INDEX --encoder --host --port --token",
    option("--writer-token", "The token that allows to add and delete.", envvar="WORDFERRY_WRITER_TOKEN"),
    option("--root-path", "The path under which a proxy shows the service, such as /search.", default=""),
    option(
        "--trust-proxy trusted_proxies",
        "An address or network whose X-Forwarded-For is believed; may be repeated.",
        multiple=True,
    ),
    LIMITS,
    "--quiet",
    examples=["wordferry serve news", "WORDFERRY_TOKEN=secret wordferry serve news --host 0.0.0.0"],
)
def serve(index: Path, encoder: str | None, quiet: bool, **given: Any) -> None:
    """Serve an index over HTTP, with a page at /.

    The API is under /api, described at /docs and /openapi.json; health is at /healthz and counters at /metrics. Log
    lines are JSON on stderr and never hold a document's or a query's text. Ctrl-C or SIGTERM answers what ends soon,
    cancels the rest, and ends within five seconds.
    """
    settings = service_settings(**given)
    with wordferry.Index.open(index, encoder=encoder) as opened:
        listen(opened, index, settings, quiet)


def listen(opened: wordferry.Index, name: str | Path, settings: Settings, quiet: bool) -> None:
    """Serve an opened index until it is stopped."""
    from wordferry.web.server import run

    if sys.stderr.isatty():  # else stderr is a log, one JSON object per line
        where = f"http://{settings.host}:{settings.port}{settings.root_path}/"
        note(f"Serving {name} ({len(opened)} documents) on {where}")
    run(opened, settings, quiet=quiet)


def service_settings(
    limits: dict[str, Any], token: str | None, writer_token: str | None = None, **given: Any
) -> Settings:
    """What a service is started with; an address that cannot be listened on is refused before anything is loaded."""
    import socket

    from wordferry.web.settings import Limits, Settings

    settings = Settings(**given, token=token or None, writer_token=writer_token or None, limits=Limits(**limits))
    host, port = settings.host, settings.port
    try:
        for family, kind, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        raise InputError(
            f"The service cannot listen on {host}:{port}: {error.strerror}. Choose another --port or --host."
        ) from None
    return settings
