"""What stands before every request: who may ask, how large, how long; what it holds, and what is written down of it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import traceback
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from wordferry.web.metrics import Metrics
from wordferry.web.settings import Limits, Settings, is_loopback

access_log = logging.getLogger("wordferry.access")

_GONE = 499
"""Written to the log, never sent: the client went away."""
_OPEN = frozenset({"/", "/map", "/docs", "/healthz"})
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\s:@/\[\]]+)(:\d{1,5})?")
_PIECE = 64 << 10
"""Bytes of an answer that are sent at once: only these are beside those that wait to be sent."""
_SMALL = 64 << 10
"""Bytes that a request may hold whatever the others do."""
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""What every answer has that says nothing else itself."""


def log_line(facts: dict[str, Any]) -> str:
    """A line of the log: JSON that begins with the time (UTC)."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": now, **facts})


class JsonLines(logging.Formatter):
    """Makes every line of the log one JSON object; our own access lines are so already."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == access_log.name:
            return record.getMessage()
        return log_line({"level": record.levelname.lower(), "message": record.getMessage()})


@dataclass
class Memory:
    """The bytes that all requests hold together."""

    limits: Limits
    held: int = 0


class Share:
    """The bytes that one request holds until it ends. Small requests need no room, large ones share what there is."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._size, self._taken, self._answer = memory, 0, 0, 0

    def hold(self, size: int) -> None:
        """Hold some bytes more, if there is room for them."""
        self._size += size
        wanted = self._size if self._size > _SMALL else 0
        if self._memory.held + wanted - self._taken > self._memory.limits.held_bytes:
            raise HTTPException(
                503, "Too many large requests are under way. Ask again in a moment.", {"retry-after": "2"}
            )
        self._memory.held += wanted - self._taken
        self._taken = wanted

    def answer(self, part: bytes) -> bytes:
        """Hold a part of the answer, and give it back, if the whole is not larger than allowed."""
        self._answer += len(part)
        if self._answer > self._memory.limits.answer_bytes:
            raise too_large(self._memory.limits)
        self.hold(len(part))
        return part

    def release(self) -> None:
        """Give everything back."""
        self._memory.held -= self._taken
        self._size = self._taken = self._answer = 0


share_of_request: ContextVar[Share] = ContextVar("wordferry_share")


def too_large(limits: Limits) -> HTTPException:
    """The error for an answer above the limit."""
    text = f"The answer would have more than the {limits.answer_bytes} bytes that one may have."
    return HTTPException(
        413, f"{text} Ask for fewer hits, documents or texts at a time; offset and after bring the next ones."
    )


class Guard:
    """An ASGI layer that checks host, token, size and time, adds the security headers, counts and logs.

    A request's work ends with the request: when its time is over, when its client goes away and when the service
    stops, the task that answers it is cancelled, and with it what that task waits for.
    """

    def __init__(self, app: Any, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._memory = Memory(settings.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        if root := self._settings.root_path:  # whether or not a proxy has cut it off the path
            scope = {**scope, "root_path": root}
        connection = scope.get("state", {}).get("connection")  # of our own server; another one has none
        request, answer = Request(scope, receive), _Reply(send, connection, self._settings.limits)
        share = Share(self._memory)
        share_of_request.set(share)
        error: Exception | None = None
        if connection is not None:
            connection.begin(_length(request.headers))
        try:
            error = await self._answered(request, answer)
        except ClientDisconnect:
            answer.status = answer.status or _GONE
        finally:
            share.release()
            if connection is not None:
                connection.end()
            self._record(scope, answer.status, time.perf_counter() - start, error)

    async def _answered(self, request: Request, answer: _Reply) -> Exception | None:
        """Answer a request, if only by saying why not; what went wrong where that is our fault."""
        problem, seconds = None, self._settings.limits.seconds
        try:
            self._check_room(request.scope, answer)
            self._check_place(request.scope)
            self._check_host(request.headers)
            self._check_token(request)
            async with asyncio.timeout(seconds) as answer.clock:
                await self._let_in(request, answer)
            return None
        except ClientDisconnect:
            raise
        except HTTPException as error:
            refusal = error
        except TimeoutError:
            text = f"The request took longer than the {seconds:g} s allowed. Ask for less, or again later."
            refusal = HTTPException(503, text, {"retry-after": "5"})
        except asyncio.CancelledError:
            refusal = HTTPException(503, "The service is shutting down.", {"retry-after": "5"})
        except Exception as error:
            problem = error
            refusal = HTTPException(500, "Something went wrong here, and was written to the service's log.")
        if not answer.status:
            answer.clock = None  # it has ended
            response = JSONResponse({"error": refusal.detail}, refusal.status_code, refusal.headers)
            await response(request.scope, request.receive, answer.send)
        return problem

    async def _let_in(self, request: Request, answer: _Reply) -> None:
        """Read the body and answer, unless the client goes away first."""
        body = await self._body(request)
        if answer.connection is not None:
            answer.connection.read()

        async def again() -> Message:
            return {"type": "http.request", "body": body}

        gone = asyncio.ensure_future(request.receive())  # after the body nothing comes but the end of the connection
        work = asyncio.create_task(self._app(request.scope, again, answer.send))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not answer.ended:
                raise ClientDisconnect
            await work
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def _check_place(self, scope: Scope) -> None:
        """Lead from the root path to the page, whose address ends with a slash: what it refers to is relative."""
        root = self._settings.root_path
        if root and scope["path"] == root:
            raise HTTPException(308, f"The page is at {root}/.", {"location": f"{root}/"})

    def _check_room(self, scope: Scope, answer: _Reply) -> None:
        """Refuse requests on connections above the limit, except /healthz."""
        if answer.connection is not None and answer.connection.surplus and _path(scope) != "/healthz":
            text = "Too many connections are open. Close some, or ask again later."
            raise HTTPException(503, text, {"retry-after": "5", "connection": "close"})

    def _check_host(self, headers: Headers) -> None:
        """Without a token only this machine's own names are answered, else a web page elsewhere could rebind to us."""
        if self._settings.token is not None:
            return
        hosts = headers.getlist("host")
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is None or not is_loopback(found["name"].lower()):
            shown = ", ".join(hosts)[:200]
            raise HTTPException(
                400, f"This service answers on this machine only, but was called as {shown!r}. Set a token."
            )

    def _check_token(self, request: Request) -> None:
        """Everything needs the reader's right, but for the page's own files and health."""
        path, token = _path(request.scope), bearer(request.headers)
        if path in _OPEN or path.startswith("/static/"):
            return
        if not self._settings.may_read(token):
            text = "A token is needed: send the header 'Authorization: Bearer <token>'."
            if token is not None:
                text = "This token is not the right one: it is neither the reader's nor the writer's."
            raise HTTPException(401, text, {"www-authenticate": "Bearer"})

    async def _body(self, request: Request) -> bytes:
        """The whole body; refused as soon as it is known to be too large.

        What still comes of a refused body is read and thrown away by the connection, so that the answer arrives.
        """
        limits, body = self._settings.limits, bytearray()
        ending = {"connection": "close"} if "expect" in request.headers else None
        refusal = HTTPException(413, f"The body may have {limits.body_bytes} bytes at most.", ending)
        if (_length(request.headers) or 0) > limits.body_bytes:
            raise refusal
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > limits.body_bytes:
                        raise refusal
                    share_of_request.get().hold(len(part))
        except TimeoutError:
            text = f"The body did not come within {limits.body_seconds:g} s."
            raise HTTPException(408, text, {"connection": "close"}) from None
        return bytes(body)

    def _record(self, scope: Scope, status: int, seconds: float, error: Exception | None) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", None) or "other"
        self._metrics.request(method, route, status, seconds)
        level = logging.ERROR if error else logging.INFO
        if not access_log.isEnabledFor(level):
            return
        line: dict[str, Any] = {
            "client": (scope.get("client") or ["", 0])[0],
            "method": method,
            "route": route,
            "status": status,
            "ms": round(seconds * 1e3, 2),
        }
        if error is not None:
            line["error"] = type(error).__name__
            frames = traceback.extract_tb(error.__traceback__)  # no message and no code: they might quote a document
            line["trace"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        access_log.log(level, log_line(line))


class _Reply:
    """Watches what is sent, and adds our headers.

    An answer goes out in pieces, as fast as its client takes them; one that takes too long loses its connection.
    """

    def __init__(self, send: Send, connection: Any, limits: Limits) -> None:
        self._send, self.connection, self._limits = send, connection, limits
        self.clock: asyncio.Timeout | None = None
        """The time for the work, which ends where the answer begins."""
        self.status = 0
        self.ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        elif not message.get("more_body", False):
            self.ended = True
        if self.clock is not None and not self.clock.expired():
            self.clock.reschedule(None)
        body = message.get("body", b"")
        last = max(len(body) - 1, 0) // _PIECE * _PIECE
        try:
            async with asyncio.timeout(self._limits.answer_seconds + len(body) / self._limits.answer_rate):
                for start in range(0, last, _PIECE):
                    await self._send({**message, "body": body[start : start + _PIECE], "more_body": True})
                await self._send({**message, "body": body[last:]} if last else message)
                if self.ended and self.connection is not None:
                    await self.connection.drained()
        except TimeoutError:
            if self.connection is not None:
                self.connection.drop()
            raise ClientDisconnect from None


def _path(scope: Scope) -> str:
    """The path of a request below where the service is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and f"{path}/".startswith(f"{root}/") else path


def _length(headers: Headers) -> int | None:
    """The bytes of a request's body, 0 where it has none; None where it does not say."""
    length = headers.get("content-length", "")
    if length.isdecimal() and len(length) < 20:
        return int(length)
    return None if length or "transfer-encoding" in headers else 0


def bearer(headers: Headers) -> str | None:
    """The token that a request offers."""
    scheme, _, offered = headers.get("authorization", "").partition(" ")
    return offered.strip() if scheme.lower() == "bearer" and offered.strip() else None


def check_writer(settings: Settings, headers: Headers) -> None:
    """Let only those write who have the writer token."""
    token = bearer(headers)
    if settings.may_write(token):
        return
    if settings.writer_token is None:
        raise HTTPException(403, "This service is read-only: it was started without a writer token.")
    if token is None:
        text = "Writing needs the writer token: send the header 'Authorization: Bearer <token>'."
        raise HTTPException(401, text, {"www-authenticate": "Bearer"})
    raise HTTPException(403, "Writing needs the writer token, and this is not it.")
