"""The application: routes over an opened index, and errors as answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from wordferry import __version__
from wordferry.errors import Cancelled, FormatError, LockedError, NotFound, ReplacedError, StorageError, WordferryError
from wordferry.web import routes
from wordferry.web.guard import Guard, access_log, log_line
from wordferry.web.service import Service
from wordferry.web.settings import Settings
from wordferry.web.workers import Overloaded

_ERRORS = (RequestValidationError, HTTPException, Overloaded, WordferryError)


def create_app(index: Any, settings: Settings | None = None) -> FastAPI:
    """The ASGI application over an opened index. Closing the index stays the caller's affair."""
    service = Service(index, settings or Settings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await asyncio.to_thread(service.stop)

    app = FastAPI(
        title="wordferry",
        version=__version__,
        description="Search, compare and explain texts by Word Mover's Distance and its relatives.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        exception_handlers=dict.fromkeys(_ERRORS, _answer_error),
    )
    app.state.service = service
    for router in (routes.reading(service), routes.writing(service), routes.watching(service), routes.page()):
        app.include_router(router)
    app.add_middleware(Guard, settings=service.settings, metrics=service.metrics)
    app.openapi()  # made once, while there is one thread: it parses docstrings, which two at once cannot before 3.11.8
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    """An error as ``{"error": text}`` with the right status."""
    refusal = _refusal(error)
    return JSONResponse({"error": refusal.detail}, refusal.status_code, headers=refusal.headers)


def _refusal(error: Any) -> HTTPException:
    """The answer to a request that has failed."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, RequestValidationError):
        return HTTPException(400, describe_validation(error))
    if isinstance(error, Overloaded):
        kind = "heavy requests" if str(error) == "heavy" else "requests"
        return HTTPException(503, f"Too many {kind} are waiting. Ask again in a moment.", {"retry-after": "1"})
    if isinstance(error, Cancelled):  # only a service that stops cancels what somebody waits for
        return HTTPException(503, "The service is shutting down.", {"retry-after": "5"})
    if isinstance(error, ReplacedError | FormatError):  # nothing that a client did, nor can mend
        access_log.error(log_line({"level": "error", "message": str(error)}))
        gone = "was moved or removed" if isinstance(error, ReplacedError) else "cannot be read"
        text = f"The index behind this service {gone}. Whoever runs the service finds more in its log."
        return HTTPException(503, text, {"retry-after": "60"})
    if isinstance(error, LockedError | StorageError):
        return HTTPException(503, str(error), {"retry-after": "5"})
    return HTTPException(404 if isinstance(error, NotFound) else 422, str(error))


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
