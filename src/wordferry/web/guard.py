"""What stands before every request: who may ask, how large, how long; and what is written down of it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from wordferry.web.metrics import Metrics
from wordferry.web.settings import Settings, is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

access_log = logging.getLogger("wordferry.access")

_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        b"trusted-types 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]


class Refused(Exception):
    """A request that does not get in: status, text, and a header or two."""

    def __init__(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, headers or {}


class Guard:
    """An ASGI layer that checks host, token, size and time, adds the security headers, counts and logs."""

    def __init__(self, app: Any, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        answer = _Answer(send)
        error: Exception | None = None
        try:
            self._check_host(scope)
            self._check_token(scope)
            async with asyncio.timeout(self._settings.limits.seconds):
                body = await self._body(scope, receive)
                await self._app(scope, _replay(body, receive), answer.send)
        except Refused as refusal:
            await answer.refuse(refusal)
        except TimeoutError:
            seconds = self._settings.limits.seconds
            text = f"The request took longer than the {seconds:g} s allowed. Ask for less, or again later."
            await answer.refuse(Refused(503, text, {"retry-after": "5"}))
        except asyncio.CancelledError:
            await answer.refuse(Refused(503, "The service is shutting down.", {"retry-after": "5"}))
            raise
        except Exception as problem:
            error = problem
            await answer.refuse(Refused(500, "Something went wrong here, and was written to the service's log."))
        finally:
            self._record(scope, answer.status, time.perf_counter() - start, error)

    def _check_host(self, scope: Scope) -> None:
        """Without a token only this machine's own names are answered, else a web page elsewhere could rebind to us."""
        if self._settings.token is not None:
            return
        host = _header(scope, b"host").rpartition("@")[2]
        name = host[: host.rfind("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if not is_loopback(name.lower()):
            raise Refused(400, f"This service answers on this machine only, but was called as {name!r}. Set a token.")

    def _check_token(self, scope: Scope) -> None:
        path, method = scope["path"], scope["method"]
        if not path.startswith("/api/") and path not in {"/metrics", "/openapi.json"}:
            return
        scheme, _, offered = _header(scope, b"authorization").partition(" ")
        token = offered.strip() if scheme.lower() == "bearer" and offered.strip() else None
        if not self._settings.may_read(token):
            text = "A token is needed: send the header 'Authorization: Bearer <token>'."
            raise Refused(401, text, {"www-authenticate": "Bearer"})
        if path.startswith("/api/documents") and method in {"POST", "DELETE"} and not self._settings.may_write(token):
            if self._settings.writer_token is None:
                raise Refused(403, "This service is read-only: it was started without a writer token.")
            if token is None:
                text = "Writing needs the writer token: send the header 'Authorization: Bearer <token>'."
                raise Refused(401, text, {"www-authenticate": "Bearer"})
            raise Refused(403, "Writing needs the writer token, and this is not it.")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, refused as soon as it is known to be too large."""
        most = self._settings.limits.body_bytes
        too_large = Refused(413, f"The body may have {most} bytes at most.", {"connection": "close"})
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > most:
            raise too_large
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "The connection ended before the body did.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise too_large
            more = message.get("more_body", False)
        return b"".join(parts)

    def _record(self, scope: Scope, status: int, seconds: float, error: Exception | None) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", None) or "other"
        self._metrics.request(method, route, status, seconds)
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
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
        access_log.log(logging.ERROR if error else logging.INFO, json.dumps(line))


class _Answer:
    """Watches what is sent, adds our headers, and can answer itself while nothing was sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            names = {name.lower() for name, _ in headers}
            message["headers"] = headers + [pair for pair in _HEADERS if pair[0] not in names]
            if b"cache-control" not in names:
                message["headers"].append((b"cache-control", b"no-store"))
        await self._send(message)

    async def refuse(self, refusal: Refused) -> None:
        """Send an error as JSON, unless an answer has begun."""
        if self.status:
            return
        body = json.dumps({"error": refusal.text}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive that hands out the body that was already read, then whatever comes next (a disconnect)."""
    rest = [body]

    async def again() -> Message:
        if rest:
            return {"type": "http.request", "body": rest.pop(), "more_body": False}
        return await receive()

    return again


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
