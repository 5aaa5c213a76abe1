"""The map of the collection behind the service: drawn when somebody asks for it, kept until the collection changes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from wordferry.base.runtime import check_cancelled, usable_cores
from wordferry.errors import InputError, NotFound
from wordferry.web.settings import Limits
from wordferry.web.workers import Workers

Key = tuple[Any, ...]
"""Which index, and which state of it."""
_FIRST_SECONDS = 0.3
"""How long an answer waits for a map that is nearly there."""


class Mapping:
    """One map, being drawn or ready. An older state's is never shown: what was deleted is gone."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._workers = Workers("map", 1, 1)
        self._task: asyncio.Task[dict[str, bytes]] | None = None
        self._key: Key = ()
        """The state that is drawn."""
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
        task = self._task
        if task is None or (task.done() and (self._key != key or task.cancelled())):
            self._key, self._progress = key, 0.0
            task = self._task = asyncio.create_task(self._workers.run(self._packed, index))
        await asyncio.wait({task}, timeout=_FIRST_SECONDS)
        ready = task.done() and self._key == key
        if ready and task.exception() is not None:  # said once: whoever asks again starts again
            self._task = None
            task.result()
        return {"ready": ready, "progress": 1.0 if ready else round(self._progress, 3), "documents": documents}

    def part(self, name: str, key: Key) -> bytes:
        """The texts or the arrays of the map that is ready, compressed as the page takes them."""
        task = self._task
        if task is None or not task.done() or self._key != key or task.exception() is not None:
            raise NotFound("No map of the present state is ready. GET /api/map draws one and says when it is.")
        return task.result()[name]

    def _packed(self, index: Any) -> dict[str, bytes]:
        from wordferry.maps.page import packed_arrays, packed_texts

        def told(done: int, total: int, /) -> None:
            check_cancelled()
            self._progress = 0.95 * done / max(total, 1)
            time.sleep(0)  # between steps, whoever waits to answer a request comes first

        drawn = index.map(threads=max(1, usable_cores() - 1), progress=told)
        check_cancelled()
        return {"texts": packed_texts(drawn, "Map"), "arrays": packed_arrays(drawn)}
