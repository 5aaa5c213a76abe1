"""The map of the collection behind the service: drawn when somebody asks for it, kept until the collection changes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from wordferry.base.runtime import check_cancelled, usable_cores
from wordferry.errors import InputError, NotFound, WordferryError
from wordferry.web.settings import Limits
from wordferry.web.workers import Workers

Key = tuple[Any, ...]
"""Which index, and which state of it."""
_FIRST_SECONDS = 0.3
"""How long an answer waits for a map that is nearly there."""


@dataclass(frozen=True)
class Packed:
    """A map as the page takes it: compressed texts and arrays."""

    key: Key
    texts: bytes
    arrays: bytes


class Mapping:
    """At most one map is kept and one is being drawn. An older state's is never shown: what was deleted is gone."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._workers = Workers("map", 1, 1)
        self._ready: Packed | None = None
        self._failed: tuple[Key, WordferryError] | None = None
        self._task: asyncio.Task[None] | None = None
        self._progress = 0.0

    def stop(self) -> None:
        """Cancel what is being drawn."""
        self._workers.close()

    async def state(self, index: Any, key: Key, documents: int) -> dict[str, Any]:
        """Whether the map of a state is ready; if not, it is being drawn from now on."""
        if documents > self._limits.map_documents:
            raise InputError(
                f"The collection has {documents} documents, and a map of this service has "
                f"{self._limits.map_documents} at most. Draw it with 'wordferry map' instead."
            )
        if documents == 0:
            raise InputError("The collection is empty, so there is nothing to draw.")
        if self._ready is not None and self._ready.key != key:
            self._ready = None
        if self._ready is None:
            self._raise_failure(key)
            if self._task is None or self._task.done():
                self._progress = 0.0
                self._task = asyncio.create_task(self._draw(index, key))
            await asyncio.wait({self._task}, timeout=_FIRST_SECONDS)
            self._raise_failure(key)
        ready = self._ready is not None
        return {"ready": ready, "progress": 1.0 if ready else round(self._progress, 3), "documents": documents}

    def part(self, name: str, key: Key) -> bytes:
        """The texts or the arrays of the map that is ready."""
        if self._ready is None or self._ready.key != key:
            raise NotFound("No map of the present state is ready. GET /api/map draws one and says when it is.")
        return self._ready.texts if name == "texts" else self._ready.arrays

    def _raise_failure(self, key: Key) -> None:
        """Say once why a map could not be drawn; whoever asks again starts again."""
        failed, self._failed = self._failed, None
        if failed is not None and failed[0] == key:
            raise failed[1]

    async def _draw(self, index: Any, key: Key) -> None:
        try:
            self._ready = await self._workers.run(self._packed, index, key)
        except WordferryError as error:
            self._failed = key, error

    def _packed(self, index: Any, key: Key) -> Packed:
        from wordferry.maps.page import packed_arrays, packed_texts

        def told(done: int, total: int, /) -> None:
            check_cancelled()
            self._progress = 0.95 * done / max(total, 1)
            time.sleep(0)  # between steps, whoever waits to answer a request comes first

        drawn = index.map(threads=max(1, usable_cores() - 1), progress=told)
        check_cancelled()
        return Packed(key, packed_texts(drawn, "Map"), packed_arrays(drawn))
