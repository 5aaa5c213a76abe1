"""How shards are asked: all at once, some, or one; here they are opened in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition, local
from typing import Any, Protocol

from wordferry.base.runtime import usable_cores
from wordferry.index.config import Config
from wordferry.shards.shard import Common, Comparison, Shard


@dataclass(frozen=True)
class Lost:
    """The answers of the shards that gave one, and the names of those that did not."""

    answers: list[Any]
    numbers: list[int]
    """Which shards the answers are from."""
    missing: tuple[str, ...] = ()

    @property
    def but(self) -> str:
        """The missing shards, as an error says it."""
        return f", but of the shards {', '.join(self.missing)} there is no answer" if self.missing else ""


class Gate:
    """Lets any number in at a time, and closes for a change that must not happen under their feet."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside, self._closing = 0, False
        self._mine = local()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Within it nothing changes; who is inside may come in again."""
        depth = getattr(self._mine, "depth", 0)
        with self._changed:
            while self._closing and not depth:
                self._changed.wait()
            self._inside += 1
        self._mine.depth = depth + 1
        try:
            yield
        finally:
            self._mine.depth = depth
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it nobody is inside."""
        with self._changed:
            self._closing = True
            while self._inside:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._closing = False
                self._changed.notify_all()


class Calls(Protocol):
    """Asks shards, wherever they are."""

    config: Config

    def every(self, method: str, *arguments: Any) -> Lost:
        """Ask all shards the same."""
        ...

    def some(self, arguments: Mapping[int, tuple[Any, ...]], method: str) -> list[Any]:
        """Ask some shards, each its own question; the answers in the order of their numbers."""
        ...

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask one shard."""
        ...

    def any(self, method: str, *arguments: Any) -> Any:
        """Ask whichever shard answers."""
        ...

    def near(self, asked: Sequence[Sequence[str]], how: Comparison, without: str | None) -> Lost:
        """Ask all shards for near documents; the one that holds the document asked about leaves it out."""
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


class Here:
    """All shards opened in this process, asked by a few threads."""

    def __init__(self, common: Common) -> None:
        self.shards: list[Shard] = []
        try:
            for number in range(len(common.manifest.shards)):
                self.shards.append(Shard(common, number))
        except BaseException:
            self.close()
            raise
        self.config = self.shards[0].index.config
        self._pool = ThreadPoolExecutor(min(len(self.shards), usable_cores()), "wordferry-shard")

    def _all(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        waiting = [self._pool.submit(getattr(self.shards[n], method), *arguments[n]) for n in sorted(arguments)]
        return [one.result() for one in waiting]

    def every(self, method: str, *arguments: Any) -> Lost:
        """Ask all shards the same."""
        numbers = list(range(len(self.shards)))
        return Lost(self._all(method, dict.fromkeys(numbers, arguments)), numbers)

    def some(self, arguments: Mapping[int, tuple[Any, ...]], method: str) -> list[Any]:
        """Ask some shards, each its own question."""
        return self._all(method, arguments)

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask one shard."""
        return getattr(self.shards[number], method)(*arguments)

    def any(self, method: str, *arguments: Any) -> Any:
        """Ask the first shard: here all answer."""
        return self.one(0, method, *arguments)

    def near(self, asked: Sequence[Sequence[str]], how: Comparison, without: str | None) -> Lost:
        """Ask all shards for near documents."""
        holds = {} if without is None else {n for n, shard in enumerate(self.shards) if shard.find(without) is not None}
        own = replace(how, without=without)
        numbers = list(range(len(self.shards)))
        return Lost(self._all("near", {n: (asked, own if n in holds else how) for n in numbers}), numbers)

    def close(self) -> None:
        """Close all shards."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown()
        for shard in self.shards:
            shard.close()
