"""An index in shards: built in parallel, searched together, with the answers of one undivided index."""

from wordferry.shards.building import Choices, build

__all__ = ["Choices", "build"]
