"""An index in shards: built in parallel, searched together, with the answers of one undivided index."""

from wordferry.shards.building import Choices, build
from wordferry.shards.sharded import ShardedIndex

__all__ = ["Choices", "ShardedIndex", "build"]
