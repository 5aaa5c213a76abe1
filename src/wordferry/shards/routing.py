"""How shards are asked: all at once, some, or one; here they are opened in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from wordferry.base.runtime import usable_cores
from wordferry.errors import StorageError
from wordferry.index.config import Config
from wordferry.shards.shard import Common, Shard


@dataclass(frozen=True)
class ShardAnswers:
    """Answers by shard, and the names of shards that did not answer."""

    answers: list[Any]
    numbers: list[int]
    """Which shards the answers are from."""
    missing: tuple[str, ...]


class ShardRouter(ABC):
    """Asks shards, wherever they are."""

    config: Config
    strict = True
    """Whether a shard that gives no answer is an error; otherwise it is named in the answer."""

    def __init__(self, common: Common) -> None:
        self.names = [record.name for record in common.manifest.shards]

    @abstractmethod
    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Ask some shards, each its own question: the answers by shard, in their order; one may be missing."""

    def every(self, method: str, *arguments: Any) -> ShardAnswers:
        """Ask all shards one question."""
        found = self.ask(method, dict.fromkeys(range(len(self.names)), arguments))
        missing = tuple(name for number, name in enumerate(self.names) if number not in found)
        if missing and (self.strict or not found):
            raise StorageError(f"No answer from the shards {', '.join(missing)}. Ask again in a moment.")
        return ShardAnswers(list(found.values()), list(found), missing)

    def some(self, arguments: Mapping[int, tuple[Any, ...]], method: str) -> list[Any]:
        """Ask some shards, each its own question; who gives no answer is asked once more."""
        found = self.ask(method, arguments)
        left = {number: given for number, given in arguments.items() if number not in found}
        found |= self.ask(method, left) if left else {}
        if len(found) < len(arguments):
            names = ", ".join(self.names[number] for number in arguments if number not in found)
            raise StorageError(f"No answer from the shards {names}, which have documents of this answer. Ask again.")
        return [found[number] for number in sorted(found)]

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask one shard."""
        return self.some({number: arguments}, method)[0]

    def any(self, method: str, *arguments: Any) -> Any:
        """Ask the shards in turn until one answers."""
        for number in range(len(self.names)):
            for answer in self.ask(method, {number: arguments}).values():
                return answer
        raise StorageError("No shard answers. Ask again in a moment.")

    @abstractmethod
    def close(self) -> None:
        """Let go of the shards."""


class InProcess(ShardRouter):
    """All shards opened in this process, asked by a few threads."""

    def __init__(self, common: Common, threads: int | None = None) -> None:
        super().__init__(common)
        self.shards: list[Shard] = []
        self._pool = ThreadPoolExecutor(min(len(self.names), threads or usable_cores()), "wordferry-shard")
        try:
            for number in range(len(self.names)):
                self.shards.append(Shard(common, number))
        except BaseException:
            self.close()
            raise
        self.config = self.shards[0].config

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Ask some shards; here all answer."""
        waiting = {n: self._pool.submit(getattr(self.shards[n], method), *arguments[n]) for n in sorted(arguments)}
        return {number: one.result() for number, one in waiting.items()}

    def close(self) -> None:
        """Close all shards."""
        self._pool.shutdown()
        for shard in self.shards:
            shard.close()
