"""Encoding in a thread of its own, while the words of the next documents are read and counted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType

from wordferry.encoders.codes import Codes
from wordferry.encoders.encoder import Encoder
from wordferry.errors import Cancelled


class EncodingAhead:
    """Makes vectors, one call after the other; a block that ends early waits for one batch of texts at most."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(1) if threads > 1 else None
        self._left = False

    def begin(self, encoder: Encoder, texts: list[str]) -> Callable[[], Codes]:
        """Begin to encode texts; what comes back waits for their codes. With one thread it makes them itself."""

        def encode() -> Codes:
            return Codes.of(encoder.encode(texts, self._go_on))

        return encode if self._pool is None else self._pool.submit(copy_context().run, encode).result

    def _go_on(self, done: int, total: int) -> None:
        if self._left:
            raise Cancelled("The documents are no longer wanted.")

    def __enter__(self) -> EncodingAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
