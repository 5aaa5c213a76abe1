"""How shards are asked: all at once, some, or one; here they are opened in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

from wordferry.base.runtime import usable_cores
from wordferry.index.config import Config
from wordferry.shards.shard import Common, Comparison, Shard


@dataclass(frozen=True)
class ShardAnswers:
    """Answers by shard, and the names of shards that did not answer."""

    answers: list[Any]
    numbers: list[int]
    """Which shards the answers are from."""
    missing: tuple[str, ...] = ()

    @property
    def but(self) -> str:
        """The missing shards, as an error says it."""
        return f", but of the shards {', '.join(self.missing)} there is no answer" if self.missing else ""


class ShardRouter(Protocol):
    """Asks shards, wherever they are."""

    config: Config

    def every(self, method: str, *arguments: Any) -> ShardAnswers:
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

    def near(self, asked: Sequence[Sequence[str]], how: Comparison, without: str | None) -> ShardAnswers:
        """Ask all shards for near documents; the one that holds the document asked about leaves it out."""
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


class InProcess:
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

    def every(self, method: str, *arguments: Any) -> ShardAnswers:
        """Ask all shards the same."""
        numbers = list(range(len(self.shards)))
        return ShardAnswers(self.some(dict.fromkeys(numbers, arguments), method), numbers)

    def some(self, arguments: Mapping[int, tuple[Any, ...]], method: str) -> list[Any]:
        """Ask some shards, each its own question."""
        waiting = [self._pool.submit(getattr(self.shards[n], method), *arguments[n]) for n in sorted(arguments)]
        return [one.result() for one in waiting]

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask one shard."""
        return getattr(self.shards[number], method)(*arguments)

    def any(self, method: str, *arguments: Any) -> Any:
        """Ask the first shard: here all answer."""
        return self.one(0, method, *arguments)

    def near(self, asked: Sequence[Sequence[str]], how: Comparison, without: str | None) -> ShardAnswers:
        """Ask all shards for near documents."""
        holds = {} if without is None else {n for n, shard in enumerate(self.shards) if shard.find(without) is not None}
        own = replace(how, without=without)
        numbers = list(range(len(self.shards)))
        return ShardAnswers(self.some({n: (asked, own if n in holds else how) for n in numbers}, "near"), numbers)

    def close(self) -> None:
        """Close all shards."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown()
        for shard in self.shards:
            shard.close()
