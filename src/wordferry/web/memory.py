"""Memory that requests hold: the bytes of large bodies and answers, of one request and of all together."""

from __future__ import annotations

from contextvars import ContextVar

from starlette.exceptions import HTTPException

from wordferry.web.settings import Limits

_SMALL = 64 << 10
"""Bytes that a request may hold whatever the others do."""


class Memory:
    """The bytes that all requests hold together."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.held = limits, 0


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
