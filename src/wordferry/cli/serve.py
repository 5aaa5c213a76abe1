"""``wordferry serve``: the search service and its page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.options import POSITIVE, Bundle, command, option
from wordferry.cli.output import note
from wordferry.errors import InputError

if TYPE_CHECKING:
    from wordferry.web.settings import Settings

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
