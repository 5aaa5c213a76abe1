"""Runs the service until it is told to stop."""

from __future__ import annotations

import json
import logging
import math
import sys
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.web.settings import Settings

_CONNECTIONS = 512


class _JsonLines(logging.Formatter):
    """Every line on stderr is one JSON object; our own access lines are so already."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == "wordferry.access":
            return record.getMessage()
        return json.dumps({"level": record.levelname.lower(), "message": record.getMessage()})


def run(index: Any, settings: Settings, *, quiet: bool = False) -> None:
    """Serve an opened index. SIGTERM and Ctrl-C stop it: running requests are answered first.

    ``quiet`` keeps the lines of answered requests out of the log; errors stay.
    """
    uvicorn = optional_import("uvicorn", "serve")
    optional_import("fastapi", "serve")
    optional_import("orjson", "serve")
    from wordferry.web.app import create_app

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    for name, level in (("wordferry.access", logging.ERROR if quiet else logging.INFO), ("uvicorn", logging.INFO)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    config = uvicorn.Config(
        create_app(index, settings),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=math.ceil(settings.limits.seconds) + 1,
        lifespan="on",
    )
    uvicorn.Server(config).run()
