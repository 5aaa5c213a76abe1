"""The addresses of the service and what answers them.

Annotations are evaluated here as they are read (no ``from __future__ import annotations``): the models of requests are
made for each service, with its limits.
"""

import math
from collections.abc import Awaitable, Callable, Coroutine
from importlib import resources
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import ValidationError

from wordferry.maps.page import script, service_page, style
from wordferry.web import models
from wordferry.web.engine import dumped
from wordferry.web.guard import check_writer
from wordferry.web.metrics import resident_bytes
from wordferry.web.service import Service, writer_admitted

_MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_PAGES = {"index.html": "/", "docs.html": "/docs", "map.html": "/map"}
_MEANINGS = {
    400: "The request does not follow the schema.",
    401: "A token is needed.",
    403: "This token may not write.",
    404: "There is no such document or word.",
    413: "The body is too large, or the answer would be.",
    415: "The body is not application/json.",
    422: "The request follows the schema but cannot be answered, e.g. a text without any known word.",
    503: "Too much to do, or another process is writing: ask again later.",
}


Identity = Annotated[str, Path(description="The id of a document; it may hold slashes.")]
_BYTES = "application/octet-stream"
_PACKED: dict[int | str, dict[str, Any]] = {
    200: {"description": "Compressed bytes.", "content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}}}
}


_READER = Depends(HTTPBearer(auto_error=False, description="The reader or the writer token."))


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {s: {"model": models.ErrorAnswer, "description": _MEANINGS[s]} for s in statuses}


def _route(service: Service, *, writing: bool = False) -> type[APIRoute]:
    """Routes that take bodies of type application/json only (which also keeps other sites' forms out), and answer from
    the index that is there when theirs was replaced. Whoever comes to a writing one has shown the writer token first.
    """

    class Route(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler() if self.body_field is None else _of_body(self.endpoint)

            async def handle(request: Request) -> Response:
                if writing:
                    check_writer(service.settings, request.headers)
                    writer_admitted.set(True)
                return await service.answered(lambda: handler(request))

            return handle

    return Route


def _of_body(endpoint: Callable[[Any], Awaitable[Response]]) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Answers by an endpoint that takes the model of a body, whose JSON is parsed strictly: valid UTF-8, bounded depth,
    no NaN, no half characters."""
    model = endpoint.__annotations__["request"]

    async def handle(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, f"The body must be of type application/json, got {kind or 'none'!r}.")
        try:
            asked = model.model_validate(orjson.loads(await request.body()))
        except orjson.JSONDecodeError:
            raise RequestValidationError([{"type": "json_invalid", "loc": (), "msg": ""}]) from None
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_context=False, include_url=False)) from None
        return await endpoint(asked)

    return handle


def reading(service: Service) -> APIRouter:
    requests = models.request_models(service.settings.limits)
    common = _errors(400, 401, 413, 415, 422, 503)
    router = APIRouter(prefix="/api", route_class=_route(service), dependencies=[_READER], tags=["read"])
    SearchRequest, SimilarRequest = requests["search"], requests["similar"]
    DistanceRequest, ExplainRequest = requests["distance"], requests["explain"]

    @router.post("/search", responses=common, response_model=models.SearchAnswer)
    async def search(request: SearchRequest) -> Response:  # type: ignore[valid-type]
        """The documents that the words of each text find best; with a distance, those nearest to it."""
        return _json(await service.search(request))

    @router.post("/similar", responses=common | _errors(404), response_model=models.SimilarAnswer)
    async def similar(request: SimilarRequest) -> Response:  # type: ignore[valid-type]
        """The documents most like a text or a stored document, by a distance."""
        return _json(await service.similar(request))

    @router.post("/distance", responses=common, response_model=models.DistanceAnswer)
    async def distance(request: DistanceRequest) -> Response:  # type: ignore[valid-type]
        """The distance of two texts, by one name or several."""
        return _json(await service.distance(request))

    @router.post("/explain", responses=common | _errors(404), response_model=models.ExplainAnswer)
    async def explain(request: ExplainRequest) -> Response:  # type: ignore[valid-type]
        """Which word of one text or stored document travels to which of the other, and what it costs."""
        return _json(await service.explain(request))

    @router.get("/related", responses=_errors(400, 401, 404, 422), response_model=models.RelatedAnswer)
    async def related(
        word: Annotated[str, Query(min_length=1, max_length=256, description="A word of the vectors' vocabulary.")],
    ) -> Response:
        """The related words of a word, and the one distance of all others."""
        return _json(await service.read(service.engine.related, word))

    @router.get("/fields", responses=_errors(401), response_model=models.FieldsAnswer)
    async def fields() -> Response:
        """The fields of the documents' metadata and their most frequent values, to filter by."""
        return _json(await service.read(service.engine.fields))

    @router.get("/map", responses=_errors(401, 422, 503), response_model=models.MapAnswer)
    async def drawn() -> Response:
        """Whether the map of the documents is ready. Asking for it has it drawn; it is kept until they change."""
        return _json(await service.map_state())

    @router.get("/map/{part}", responses=_errors(400, 401, 404) | _PACKED)
    async def drawn_part(part: Annotated[Literal["texts", "arrays"], Path(description="Which half.")]) -> Response:
        """The map as the page at /map reads it: its texts (JSON) or its arrays, compressed by gzip."""
        packed = await service.map_part(part)
        return Response(packed, media_type=_BYTES, headers={"cache-control": "no-store"})

    @router.get("/documents", responses=_errors(400, 401, 404, 413), response_model=models.DocumentPage)
    async def documents(
        limit: Annotated[int, Query(ge=1, le=1000, description="Documents of a page, at most.")] = 100,
        after: Annotated[str | None, Query(max_length=512, description="The cursor of the page before.")] = None,
    ) -> Response:
        """The stored documents, a page at a time."""
        return _json(await service.read(service.engine.page, limit, after))

    @router.get("/documents/{id:path}", responses=_errors(400, 401, 404, 413), response_model=models.DocumentAnswer)
    async def document(id: Identity) -> Response:
        """One stored document."""
        return _json(await service.read(service.engine.get, id))

    @router.get("/stats", responses=_errors(401), response_model=models.StatsAnswer)
    async def stats() -> Response:
        """What is stored, which distances there are, and the limits."""
        facts = await service.facts()
        writable = service.settings.writer_token is not None
        return _json(facts | {"writable": writable, "limits": vars(service.settings.limits)})

    return router


def writing(service: Service) -> APIRouter:
    AddRequest = models.request_models(service.settings.limits)["add"]
    bearer = Depends(HTTPBearer(auto_error=False, description="The writer token.", scheme_name="Writer"))
    router = APIRouter(prefix="/api", route_class=_route(service, writing=True), dependencies=[bearer], tags=["write"])

    @router.post(
        "/documents",
        status_code=201,
        responses=_errors(400, 401, 403, 413, 415, 422, 503),
        response_model=models.AddAnswer,
    )
    async def add(request: AddRequest) -> Response:  # type: ignore[valid-type]
        """Store documents. When the answer comes they are on disk."""
        documents = [document.model_dump() for document in request.documents]  # type: ignore[attr-defined]
        stored = await service.write(service.engine.add, documents, request.replace)  # type: ignore[attr-defined]
        return _json(stored, 201)

    @router.delete(
        "/documents/{id:path}", responses=_errors(400, 401, 403, 404, 503), response_model=models.DeleteAnswer
    )
    async def delete(id: Identity) -> Response:
        """Delete a document. When the answer comes it is gone from the disk's catalogue."""
        return _json(await service.write(service.engine.delete, id))

    return router


def watching(service: Service) -> APIRouter:
    router = APIRouter(tags=["watch"])

    @router.get("/healthz", response_model=models.Health)
    async def healthz() -> Response:
        """Whether the service answers; needs no token."""
        return _json({"status": "ok"})

    @router.get("/metrics", responses=_errors(401), response_class=PlainTextResponse, dependencies=[_READER])
    async def metrics() -> Response:
        """Counters in the Prometheus text format."""
        documents = (await service.facts())["documents"]
        gauges = {
            "wordferry_documents": ("Documents stored.", float(math.nan if documents is None else documents)),
            "process_resident_memory_bytes": ("Memory of the process.", resident_bytes()),
        }
        return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def page() -> APIRouter:
    """The page and its parts, read once; nothing but these names is ever served."""
    router = APIRouter(include_in_schema=False)
    folder = resources.files("wordferry.web").joinpath("static")
    files = {part.name: part.read_bytes() for part in folder.iterdir() if part.is_file()}
    files |= {"map.html": service_page().encode(), "map.css": style().encode(), "map.js": script().encode()}
    for name, body in files.items():
        suffix = "." + name.rpartition(".")[2]
        if suffix in _MEDIA:
            path, answer = _PAGES.get(name, f"/static/{name}"), _static(body, _MEDIA[suffix])
            router.add_api_route(path, answer, methods=["GET", "HEAD"], response_class=Response)
    return router


def _static(body: bytes, media: str) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        return Response(body, media_type=media, headers={"cache-control": "no-cache"})

    return answer


def _json(value: bytes | dict[str, Any], status: int = 200) -> Response:
    return Response(value if isinstance(value, bytes) else dumped(value), status, media_type="application/json")
