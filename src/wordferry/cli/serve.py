"""wordferry serve: the search service and its page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wordferry.cli.common import examples, note

MAX_BATCH = typer.Option(
    64, "--max-batch", min=1, help="The largest number of texts in one search, or of documents in one addition."
)
MAX_HEAD_SECONDS = typer.Option(
    5.0, "--max-head-seconds", min=0.1, help="Seconds after which a connection without a whole request is closed."
)
MAX_CONNECTIONS = typer.Option(1024, "--max-connections", min=1, help="The largest number of open connections.")
MAX_WORK = typer.Option(2e9, "--max-work", min=1, help="The most work of a request, in steps (words x documents).")
MAX_SECONDS = typer.Option(30.0, "--max-seconds", min=0.1, help="The longest time of a request, in seconds.")


def register(app: typer.Typer) -> None:
    app.command(
        "serve", epilog=examples("wordferry serve news", "WORDFERRY_TOKEN=secret wordferry serve news --host 0.0.0.0")
    )(serve)


def serve(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of an index (wordferry index create).")],
    host: str = typer.Option(
        "127.0.0.1", "--host", help="The address to listen on; a token is required for any but loopback addresses."
    ),
    port: int = typer.Option(8080, "--port", min=1, max=65535, help="The port to listen on."),
    token: str = typer.Option(None, "--token", envvar="WORDFERRY_TOKEN", help="The token that readers must send."),
    writer_token: str = typer.Option(
        None,
        "--writer-token",
        envvar="WORDFERRY_WRITER_TOKEN",
        help="The token that allows adding and deleting; without it the service is read-only.",
    ),
    max_body: int = typer.Option(4 << 20, "--max-body", min=1024, help="The largest size of a request, in bytes."),
    max_text: int = typer.Option(100_000, "--max-text", min=1, help="The largest number of characters of a text."),
    max_batch: int = MAX_BATCH,
    max_k: int = typer.Option(1000, "--max-k", min=1, help="The largest number of hits of a search."),
    max_seconds: float = MAX_SECONDS,
    max_work: float = MAX_WORK,
    max_head_seconds: float = MAX_HEAD_SECONDS,
    max_connections: int = MAX_CONNECTIONS,
    quiet: bool = typer.Option(False, "--quiet", help="Log errors only, not every request."),
) -> None:
    """Serve an index over HTTP, with a page at /.

    The API is under /api, its description at /openapi.json, health at /healthz and counters at /metrics. Log lines
    are JSON on stderr and never hold a document's or a query's text. Ctrl-C or SIGTERM answers what ends soon, cancels
    the rest, and ends within five seconds.
    """
    from wordferry.index import Index
    from wordferry.web.server import run
    from wordferry.web.settings import Limits, Settings

    limits = Limits(
        body_bytes=max_body,
        text_length=max_text,
        batch=max_batch,
        k=max_k,
        seconds=max_seconds,
        work=max_work,
        head_seconds=max_head_seconds,
        connections=max_connections,
    )
    settings = Settings(host, port, token or None, writer_token or None, limits)
    with Index.open(index) as opened:
        if sys.stderr.isatty():  # else stderr is a log, one JSON object per line
            note(f"Serving {index} ({len(opened)} documents) on http://{host}:{port}/")
        run(opened, settings, quiet=quiet)
