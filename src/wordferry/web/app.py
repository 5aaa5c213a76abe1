"""The application: routes over an opened index, and errors as answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from wordferry import __version__
from wordferry.errors import Cancelled, FormatError, LockedError, NotFound, ReplacedError, StorageError, WordferryError
from wordferry.web import routes
from wordferry.web.guard import Guard, access_log, log_line
from wordferry.web.memory import Refused
from wordferry.web.service import Service
from wordferry.web.settings import Settings
from wordferry.web.workers import Overloaded


def create_app(index: Any, settings: Settings | None = None) -> FastAPI:
    """The ASGI application over an opened index. Closing the index stays the caller's affair."""
    service = Service(index, settings or Settings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await asyncio.get_running_loop().run_in_executor(None, service.stop)

    app = FastAPI(
        title="wordferry",
        version=__version__,
        description="Search, compare and explain texts by Word Mover's Distance and its relatives.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.service = service
    app.include_router(routes.reading(service))
    app.include_router(routes.writing(service))
    app.include_router(routes.watching(service))
    app.include_router(routes.page())
    _answer_errors(app)
    app.add_middleware(Guard, settings=service.settings, metrics=service.metrics)
    return app


def _answer_errors(app: FastAPI) -> None:
    """Errors as ``{"error": text}`` with the right status."""

    def failed(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
        return JSONResponse({"error": text}, status, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return failed(400, describe_validation(error))

    @app.exception_handler(StarletteHTTPException)
    async def http(request: Request, error: StarletteHTTPException) -> Response:
        return failed(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return failed(error.status, error.text, error.headers)

    @app.exception_handler(Overloaded)
    async def overloaded(request: Request, error: Overloaded) -> Response:
        kind = "heavy requests" if str(error) == "heavy" else "requests"
        return failed(503, f"Too many {kind} are waiting. Ask again in a moment.", {"retry-after": "1"})

    @app.exception_handler(WordferryError)
    async def ours(request: Request, error: WordferryError) -> Response:
        if isinstance(error, Cancelled):  # only a service that stops cancels what somebody waits for
            return failed(503, "The service is shutting down.", {"retry-after": "5"})
        if isinstance(error, ReplacedError | FormatError):  # nothing that a client did, nor can mend
            access_log.error(log_line({"level": "error", "message": str(error)}))
            gone = "was moved or removed" if isinstance(error, ReplacedError) else "cannot be read"
            text = f"The index behind this service {gone}. Whoever runs the service finds more in its log."
            return failed(503, text, {"retry-after": "60"})
        if isinstance(error, NotFound):
            return failed(404, str(error))
        if isinstance(error, LockedError | StorageError):
            return failed(503, str(error), {"retry-after": "5"})
        return failed(422, str(error))


def describe_validation(error: RequestValidationError) -> str:
    """What is wrong with a request, in one line, without repeating what came."""
    parts = []
    for problem in error.errors()[:3]:
        place = ".".join(str(step) for step in problem["loc"] if step not in {"body", "query", "path"})
        if problem["type"] == "json_invalid":
            place, problem = "body", {"msg": "not valid JSON (UTF-8, no NaN, not too deep)"}
        parts.append(f"{place or 'body'}: {problem['msg'].removeprefix('Value error, ')}")
    more = len(error.errors()) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."
