"""Runs the service until it is told to stop."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
from dataclasses import replace
from functools import partial
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.web.settings import Limits, Settings

_FILES = 256
"""Files that the process may need beside its connections."""
_BACKLOG = 256


def run(index: Any, settings: Settings, *, quiet: bool = False) -> None:
    """Serve an opened index. SIGTERM and Ctrl-C stop it: requests that end soon are answered first, others cancelled.

    It ends within ``settings.stop_seconds`` whatever it does: what was acknowledged is on the disk by then.
    ``quiet`` keeps the lines of answered requests out of the log; errors stay.
    """
    uvicorn, *_ = (optional_import(name, "serve") for name in ("uvicorn", "httptools", "fastapi", "orjson"))
    from wordferry.web.app import create_app
    from wordferry.web.connections import Connection, Connections
    from wordferry.web.guard import JsonLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("wordferry.access", logging.ERROR if quiet else logging.INFO), ("uvicorn", logging.INFO)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    limits = _with_files(settings.limits)
    config = uvicorn.Config(
        create_app(index, settings),
        http=partial(Connection, Connections(limits)),
        ws="none",
        host=settings.host,
        port=settings.port,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        access_log=False,
        log_config=None,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=math.ceil(limits.head_seconds),
        timeout_graceful_shutdown=settings.stop_seconds / 2,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    told = server.handle_exit

    def handle_exit(number: int, frame: Any) -> None:
        end = threading.Timer(0.9 * settings.stop_seconds, os._exit, [128 + number])
        end.daemon = True  # for work that cannot be cancelled; a write that was not acknowledged is undone on opening
        end.start()
        told(number, frame)

    server.handle_exit = handle_exit
    server.run()


def _with_files(limits: Limits) -> Limits:
    """Ask the system for one file per connection (the usual 1,024 are too few); the limits that it allows."""
    try:
        import resource
    except ImportError:  # not on this system
        return limits
    wanted = limits.connections + _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return replace(limits, connections=max(1, most - _FILES))
