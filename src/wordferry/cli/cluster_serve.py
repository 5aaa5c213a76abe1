"""``wordferry cluster serve``: the search service over an index in shards."""

from __future__ import annotations

import sys
from typing import Any

import typer

from wordferry.cli.common import examples, note

FOLDER = typer.Argument(..., help="The folder or bucket of the shards (wordferry cluster index).")


def register(group: Any) -> None:
    """Add the command to ``wordferry cluster``."""
    group.command(
        "serve",
        epilog=examples(
            "wordferry cluster serve shards --replicas 2",
            "WORDFERRY_TOKEN=secret wordferry cluster serve shards --address auto --host 0.0.0.0",
        ),
    )(serve)


def serve(
    folder: str = FOLDER,
    replicas: int = typer.Option(1, "--replicas", min=1, help="How many processes hold each shard."),
    missing: str = typer.Option(
        "answer", "--missing", help="When a shard is down: answer (and name it in the answer), or error."
    ),
    shard_seconds: float = typer.Option(
        10.0, "--shard-seconds", min=0.1, help="Seconds after which a shard that does not answer counts as missing."
    ),
    address: str = typer.Option("local", "--address", help="A running Ray cluster, or 'local' to start one here."),
    workers: int | None = typer.Option(None, "--workers", min=1, help="Cores of a cluster that is started here."),
    host: str = typer.Option(
        "127.0.0.1", "--host", help="The address to listen on; a token is required for any but loopback addresses."
    ),
    port: int = typer.Option(8080, "--port", min=1, max=65535, help="The port to listen on."),
    token: str = typer.Option(None, "--token", envvar="WORDFERRY_TOKEN", help="The token that readers must send."),
    max_seconds: float = typer.Option(
        30.0, "--max-seconds", min=0.1, help="The longest time of a request, in seconds."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="Log errors only, not every request."),
) -> None:
    """Serve an index in shards over HTTP, with the addresses and the page of 'wordferry serve'.

    Each shard stands in processes of its own, which Ray starts again when they die; a search asks all of them and
    merges. To change to another build, start a service for it on another port, and stop this one.
    """
    from wordferry.engines.on_ray import Ray
    from wordferry.shards.serving import Serving
    from wordferry.web.server import run
    from wordferry.web.settings import Limits, Settings

    settings = Settings(host, port, token or None, None, Limits(seconds=max_seconds))
    ray = Ray(None if address == "local" else address, workers)
    try:
        serving = Serving(folder, replicas=replicas, on_missing=missing, seconds=shard_seconds, ray=ray)  # type: ignore[arg-type]
        try:
            if sys.stderr.isatty():
                shards = len(serving.index.common.manifest.shards)
                note(f"Serving {folder} ({len(serving.index)} documents, {shards} shards) on http://{host}:{port}/")
            run(serving.index, settings, quiet=quiet)
        finally:
            serving.close()
    finally:
        ray.close()
