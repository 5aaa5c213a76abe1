"""Connections: how long one may owe a request, how many there may be, and which one makes room for another.

The server below (uvicorn) waits for ever for the head of a request, and for ever for a client that does not read its
answer. Its protocol is extended here by one that counts bytes and seconds, and that puts itself into the state of
each request (``scope["state"]["connection"]``), where the guard tells it that a request has begun and ended.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from wordferry.web.settings import Limits

HEAD_BYTES = 64 << 10
"""The most bytes of a request's line and headers together, beside those that came with its first bytes."""
_REST_BYTES = 64 << 20
"""The most bytes of a refused body that are read and thrown away, so that the refusal arrives."""
_SPARE = 64
"""Connections above the limit that are heard all the same, for health and for a refusal that says why."""
_DRAIN_SECONDS = 0.05


class Connections:
    """The open connections of one service."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._idle: dict[Any, None] = {}
        """Connections that owe us the rest of a request, or have none; the one that has been so longest first."""
        self._all: set[Any] = set()

    def __len__(self) -> int:
        return len(self._all)

    def add(self, connection: Any) -> bool:
        """Make room for a connection; False when nothing could: then it gets health and refusals only, or is closed."""
        self._all.add(connection)
        room = True
        if sum(one.host == connection.host for one in self._all) > self.limits.client_connections:
            room = self._drop_idle(connection.host)
        if room and len(self._all) > self.limits.connections:
            room = self._drop_idle(None)
        self._idle[connection] = None
        return room

    def busy(self, connection: Any) -> None:
        """A connection has brought a whole request."""
        self._idle.pop(connection, None)

    def idle(self, connection: Any) -> None:
        """A connection's request has been answered."""
        if connection in self._all:
            self._idle[connection] = None

    def remove(self, connection: Any) -> None:
        """A connection has ended."""
        self._all.discard(connection)
        self._idle.pop(connection, None)

    def _drop_idle(self, client: str | None) -> bool:
        """Close the connection that has been idle longest, of one client or of all."""
        for connection in self._idle:
            if client is None or connection.host == client:
                connection.drop()
                return True
        return False


class Connection(HttpToolsProtocol):  # type: ignore[misc]  # uvicorn is not looked into
    """uvicorn's protocol with one clock: a connection whose requests are answered has some seconds for the next head.

    Bytes that are no request's body yet are counted, so that a head does not grow for ever.
    """

    def __init__(self, room: Connections, *, app_state: dict[str, Any], **given: Any) -> None:
        super().__init__(app_state=app_state | {"connection": self}, **given)
        self.room, self.host, self.surplus = room, "", False
        self._clock: asyncio.TimerHandle | None = None
        self._requests, self._rest = 0, 0
        self._head: int | None = HEAD_BYTES
        """Bytes that may still come before the next request; None while a body comes, which the guard counts."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.host = self.client[0] if self.client else ""
        self.surplus = not self.room.add(self)
        if self.surplus and len(self.room) > self.room.limits.connections + _SPARE:
            self.drop()  # there is no room even for refusals
        else:
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.remove(self)
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            if self._head < 0:  # only now: what came with a head may have been the body
                self.drop()
                return
            self._head -= len(data)
        super().data_received(data)

    def drop(self) -> None:
        """Close now, whatever is under way."""
        self.room.remove(self)
        self.transport.abort()

    def begin(self, length: int | None) -> None:
        """The head of a request has come; ``length`` is that of its body, where the request says it."""
        self._requests += 1
        self._head, self._rest = None, _REST_BYTES if length is None else min(length, _REST_BYTES)
        self._stop_clock()

    def read(self) -> None:
        """The whole request has come; until here the client owed us bytes, and would have made room for others."""
        self._head = HEAD_BYTES
        self.room.busy(self)

    def end(self) -> None:
        """A request was answered, or refused before all of it came."""
        self._requests -= 1
        if not self._requests and not self.transport.is_closing():
            self._head = HEAD_BYTES + (self._rest if self._head is None else 0)
            self.room.idle(self)
            self._start_clock()

    async def drained(self) -> None:
        """Returns when the client, or its system, has taken all that was sent."""
        while self.transport.get_write_buffer_size() and not self.transport.is_closing():
            await asyncio.sleep(_DRAIN_SECONDS)

    def _start_clock(self) -> None:
        self._clock = self.loop.call_later(self.room.limits.head_seconds, self.drop)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
