"""The application: routes over an opened index. It checks nothing itself that the models or the guard check."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib import resources
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException as StarletteHTTPException

from wordferry import __version__
from wordferry.errors import LockedError, NotFound, StorageError, WordferryError
from wordferry.web import models
from wordferry.web.batching import Batcher, Overloaded
from wordferry.web.engine import Answer, Engine
from wordferry.web.engine import Query as SearchQuery
from wordferry.web.guard import Guard
from wordferry.web.metrics import Metrics, resident_bytes
from wordferry.web.settings import Settings

Result = TypeVar("Result")
_MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_MEANINGS = {
    400: "The request does not follow the schema.",
    401: "A token is needed.",
    403: "This token may not write.",
    404: "There is no such document or word.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request follows the schema but cannot be answered, e.g. a text without any known word.",
    503: "Too much to do, or another process is writing: ask again later.",
}


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {s: {"model": models.ErrorAnswer, "description": _MEANINGS[s]} for s in statuses}


class _JsonRequest(Request):
    """A request whose JSON is parsed strictly: valid UTF-8, bounded depth, no NaN, no half characters."""

    async def json(self) -> Any:
        return orjson.loads(await self.body())


class _JsonRoute(APIRoute):
    """A route that takes bodies of type application/json only (which also keeps other sites' forms out)."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.body_field is not None and kind != "application/json":
                raise HTTPException(415, f"The body must be of type application/json, got {kind or 'none'!r}.")
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class Service:
    """An engine, its threads and its batches; lives as long as the application runs."""

    def __init__(self, index: Any, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.engine = Engine(index)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="wordferry-web")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="wordferry-writer")
        self.batcher: Batcher[SearchQuery, Answer] | None = None

    def start(self) -> None:
        """Make what belongs to the running event loop."""
        limits = self.settings.limits
        self.batcher = Batcher(
            self.engine.search,
            largest=limits.batch if self.settings.batching else 1,
            waiting=limits.waiting,
            observe=self.metrics.batch,
        )

    def stop(self) -> None:
        """Let what runs end."""
        if self.batcher is not None:
            self.batcher.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)

    async def read(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a reading call in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def write(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a writing call; one at a time. It ends even when its request does not wait for it."""
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._writer, work, *arguments))

    async def search(self, request: Any) -> list[dict[str, Any]]:
        """Answer each text of a search, joined with the searches of others."""
        assert self.batcher is not None
        key = self.engine.lane(request.distance, request.filter)
        waiting = [self.batcher.submit(key, (text, request.k)) for text in request.texts]
        answers = await asyncio.gather(*waiting)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return [answer for answer in answers if isinstance(answer, dict)]


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
    app.include_router(_reading(service))
    app.include_router(_writing(service))
    app.include_router(_watching(service))
    app.include_router(_page())
    _answer_errors(app)
    app.add_middleware(Guard, settings=service.settings, metrics=service.metrics)
    return app


def _reading(service: Service) -> APIRouter:
    requests = models.request_models(service.settings.limits)
    bearer = Depends(HTTPBearer(auto_error=False, description="The reader or the writer token."))
    common = _errors(400, 401, 413, 415, 422, 503)
    router = APIRouter(prefix="/api", route_class=_JsonRoute, dependencies=[bearer], tags=["read"])
    engine = service.engine
    SearchRequest, DistanceRequest, ExplainRequest = (requests[n] for n in ("search", "distance", "explain"))

    @router.post("/search", responses=common, response_model=models.SearchAnswer)
    async def search(request: SearchRequest) -> Response:  # type: ignore[valid-type]
        """The k nearest documents of each text."""
        results = await service.search(request)
        return _json({"distance": engine.name(request.distance), "results": results})  # type: ignore[attr-defined]

    @router.post("/distance", responses=common, response_model=models.DistanceAnswer)
    async def distance(request: DistanceRequest) -> Response:  # type: ignore[valid-type]
        """The distance of two texts, by one name or several."""
        values = await service.read(engine.distances, request.a, request.b, request.distances)  # type: ignore
        return _json({"values": values})

    @router.post("/explain", responses=common | _errors(404), response_model=models.ExplainAnswer)
    async def explain(request: ExplainRequest) -> Response:  # type: ignore[valid-type]
        """Which word of one text or stored document travels to which of the other, and what it costs."""
        a, b = request.a.model_dump(), request.b.model_dump()  # type: ignore[attr-defined]
        return _json(await service.read(engine.explain, a, b, request.distance))  # type: ignore[attr-defined]

    @router.get("/related", responses=_errors(400, 401, 404, 422), response_model=models.RelatedAnswer)
    async def related(word: Annotated[str, Query(min_length=1, max_length=256)]) -> Response:
        """The related words of a word, and the one distance of all others."""
        return _json(await service.read(engine.related, word))

    @router.get("/documents", responses=_errors(400, 401, 422), response_model=models.DocumentPage)
    async def documents(
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        after: Annotated[str | None, Query(max_length=512, description="The cursor of the page before.")] = None,
    ) -> Response:
        """The stored documents, a page at a time."""
        return _json(await service.read(engine.page, limit, after))

    @router.get("/documents/{id:path}", responses=_errors(400, 401, 404), response_model=models.DocumentAnswer)
    async def document(id: str) -> Response:
        """One stored document."""
        return _json(await service.read(engine.get, id))

    @router.get("/stats", responses=_errors(401), response_model=models.StatsAnswer)
    async def stats() -> Response:
        """What is stored, which distances there are, and the limits."""
        facts = await service.read(engine.stats)
        writable = service.settings.writer_token is not None
        return _json(facts | {"writable": writable, "limits": vars(service.settings.limits)})

    return router


def _writing(service: Service) -> APIRouter:
    AddRequest = models.request_models(service.settings.limits)["add"]
    bearer = Depends(HTTPBearer(auto_error=False, description="The writer token.", scheme_name="Writer"))
    router = APIRouter(prefix="/api", route_class=_JsonRoute, dependencies=[bearer], tags=["write"])
    engine = service.engine

    @router.post(
        "/documents",
        status_code=201,
        responses=_errors(400, 401, 403, 413, 415, 422, 503),
        response_model=models.AddAnswer,
    )
    async def add(request: AddRequest) -> Response:  # type: ignore[valid-type]
        """Store documents. When the answer comes they are on disk."""
        documents = [document.model_dump() for document in request.documents]  # type: ignore[attr-defined]
        ids = await service.write(engine.add, documents, request.replace)  # type: ignore[attr-defined]
        return _json({"ids": ids}, 201)

    @router.delete(
        "/documents/{id:path}", responses=_errors(400, 401, 403, 404, 503), response_model=models.DeleteAnswer
    )
    async def delete(id: str) -> Response:
        """Delete a document. When the answer comes it is gone from the disk's catalogue."""
        await service.write(engine.delete, id)
        return _json({"deleted": id})

    return router


def _watching(service: Service) -> APIRouter:
    router = APIRouter(tags=["watch"])
    bearer = Depends(HTTPBearer(auto_error=False, description="The reader or the writer token."))

    @router.get("/healthz", response_model=models.Health)
    async def healthz() -> Response:
        """Whether the service answers; needs no token."""
        return _json({"status": "ok"})

    @router.get("/metrics", responses=_errors(401), response_class=PlainTextResponse, dependencies=[bearer])
    async def metrics() -> Response:
        """Counters in the Prometheus text format."""
        gauges = {
            "wordferry_documents": ("Documents stored.", float(await service.read(service.engine.count))),
            "process_resident_memory_bytes": ("Memory of the process.", resident_bytes()),
        }
        return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _page() -> APIRouter:
    """The page and its parts, read once; nothing but these names is ever served."""
    router = APIRouter(include_in_schema=False)
    folder = resources.files("wordferry.web").joinpath("static")
    for part in folder.iterdir():
        suffix = "." + part.name.rpartition(".")[2]
        if suffix in _MEDIA:
            path = "/" if part.name == "index.html" else f"/static/{part.name}"
            answer = _static(part.read_bytes(), _MEDIA[suffix])
            router.add_api_route(path, answer, methods=["GET", "HEAD"], response_class=Response)
    return router


def _static(body: bytes, media: str) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        return Response(body, media_type=media, headers={"cache-control": "no-cache"})

    return answer


def _json(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


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

    @app.exception_handler(Overloaded)
    async def overloaded(request: Request, error: Overloaded) -> Response:
        return failed(503, "Too many searches are waiting. Ask again in a moment.", {"retry-after": "1"})

    @app.exception_handler(WordferryError)
    async def ours(request: Request, error: WordferryError) -> Response:
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
        parts.append(f"{place or 'body'}: {problem['msg']}")
    more = len(error.errors()) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."
