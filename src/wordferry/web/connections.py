"""Connections: how long one may stay silent, how many there may be, and which one goes when there are too many.

The server below (uvicorn) waits for ever for a request's head. Here a connection that has not brought a whole head
some seconds after it was made, or after its last request ended, is closed; and where there are too many connections
the one that has been idle longest makes room, so that whoever sends a request is heard.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.web.settings import Limits

HEAD_BYTES = 64 << 10
"""The most bytes of a request's line and headers together."""
_SPARE = 64
"""Connections above the limit that are heard all the same, for health and for a refusal that says why."""


class Connections:
    """The open connections of one service."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._idle: dict[Any, None] = {}
        """Connections that owe us the rest of a request, or have none; the one that has been so longest first."""
        self._all: set[Any] = set()
        self._of_client: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._all)

    def add(self, connection: Any, client: str) -> bool:
        """Make room for a connection; False when nothing could: then it gets health and refusals only, or is closed."""
        self._all.add(connection)
        self._of_client[client] += 1
        room = True
        if self._of_client[client] > self._limits.client_connections:
            room = self._drop_idle(client)
        if room and len(self._all) > self._limits.connections:
            room = self._drop_idle(None)
        self._idle[connection] = None
        return room

    @property
    def full(self) -> bool:
        """Whether there is no room even for refusals."""
        return len(self._all) > self._limits.connections + _SPARE

    def busy(self, connection: Any) -> None:
        """A connection has brought a whole request."""
        self._idle.pop(connection, None)

    def idle(self, connection: Any) -> None:
        """A connection's request has been answered."""
        if connection in self._all:
            self._idle[connection] = None

    def remove(self, connection: Any, client: str) -> None:
        """A connection has ended."""
        if connection in self._all:
            self._all.remove(connection)
            self._idle.pop(connection, None)
            self._of_client[client] -= 1
            if not self._of_client[client]:
                del self._of_client[client]

    def _drop_idle(self, client: str | None) -> bool:
        """Close the connection that has been idle longest, of one client or of all."""
        for connection in self._idle:
            if client is None or connection.client_name == client:
                connection.drop()
                return True
        return False


def protocol_class(limits: Limits) -> type[asyncio.Protocol]:
    """The HTTP protocol of a service with these limits."""
    base: Any = optional_import("uvicorn.protocols.http.httptools_impl", "serve").HttpToolsProtocol
    connections = Connections(limits)

    class Connection(base):  # type: ignore[misc]
        """uvicorn's protocol with a deadline for heads, a bound on their size, and a place among the others."""

        _deadline: asyncio.TimerHandle | None = None
        _between = True
        """No request has begun, or the last one has been read to its end."""
        _in_head = False
        _head_bytes = 0
        client_name = ""
        surplus = False

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.client_name = self.client[0] if self.client else ""
            self.surplus = not connections.add(self, self.client_name)
            if self.surplus and connections.full:
                self.drop()
            else:
                self._deadline = self.loop.call_later(limits.head_seconds, self.drop)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.remove(self, self.client_name)
            self._stop_clock()
            super().connection_lost(exc)

        def drop(self) -> None:
            """Close now, whatever is under way."""
            connections.remove(self, self.client_name)
            self._stop_clock()
            self.transport.abort()

        def data_received(self, data: bytes) -> None:
            owed = self._between
            super().data_received(data)
            if self.transport.is_closing():
                return
            if self._working():
                self._stop_clock()
                self._head_bytes = 0
            elif self._between and not owed:  # the rest of a refused body has come
                self._stop_clock()
                self._rest()
            else:
                self._wait_for_more(len(data))

        def _wait_for_more(self, size: int) -> None:
            """Half a head, or half of a body that was refused: the clock runs, and a head may not grow for ever."""
            if self._deadline is None:
                self._deadline = self.loop.call_later(limits.head_seconds, self.drop)
            if self._in_head or self._between:
                self._head_bytes += size
                if self._head_bytes > HEAD_BYTES:
                    self.send_400_response(f"The head of a request may have {HEAD_BYTES} bytes at most.")

        def _rest(self) -> None:
            """Nothing is owed by either side: the usual time for an idle connection begins."""
            self._unset_keepalive_if_required()
            wait, end = self.timeout_keep_alive, self.timeout_keep_alive_handler
            self.timeout_keep_alive_task = self.loop.call_later(wait, end)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._between, self._in_head = False, True
            self.scope["state"]["surplus"] = self.surplus

        def on_headers_complete(self) -> None:
            self._in_head = False
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._between = True
            if self._working():  # until here the client owed us bytes, and would have made room for others
                connections.busy(self)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self._working():
                connections.idle(self)
                self._head_bytes = 0
                if not self._between and not self.transport.is_closing():
                    self._unset_keepalive_if_required()
                    self._stop_clock()
                    self._deadline = self.loop.call_later(limits.head_seconds, self.drop)

        def _working(self) -> bool:
            """Whether a request is being answered."""
            return self.cycle is not None and not self.cycle.response_complete

        def _stop_clock(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Connection
