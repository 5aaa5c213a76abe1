"""Connected components of an edge list that need not fit into memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array

_BLOCK = 1 << 16


class Components:
    """Groups of nodes that edges join; the name of a group is its smallest node.

    The parents of all nodes lie in a file that is mapped, so memory holds only the pages that are in use, and edges
    come in blocks in any order: the groups are the same.

    >>> joined = Components(5)
    >>> joined.add(np.array([3, 0]), np.array([4, 1]))
    >>> joined.groups().tolist()
    [0, 0, 2, 3, 3]
    """

    def __init__(self, nodes: int, folder: Path | None = None) -> None:
        self._file = tempfile.NamedTemporaryFile(dir=folder, prefix="components-")  # noqa: SIM115
        self.nodes = nodes
        self._parent: Any = np.memmap(self._file, dtype=np.int64, mode="w+", shape=(max(1, nodes),))
        for start in range(0, nodes, _BLOCK):
            self._parent[start : start + _BLOCK] = np.arange(start, min(start + _BLOCK, nodes))

    def add(self, first: Any, second: Any) -> None:
        """Join the ends of edges."""
        for a, b in zip(np.asarray(first).tolist(), np.asarray(second).tolist(), strict=True):
            one, other = self.group(a), self.group(b)
            if one != other:
                self._parent[max(one, other)] = min(one, other)

    def group(self, node: int) -> int:
        """The smallest node of the group that a node is in."""
        parent = self._parent
        while (above := int(parent[node])) != node:
            parent[node] = parent[above]  # halve the way for the next one who asks
            node = above
        return node

    def groups(self) -> Int64Array:
        """The group of every node."""
        return np.array([self.group(node) for node in range(self.nodes)], dtype=np.int64)

    def close(self) -> None:
        """Remove the file."""
        del self._parent
        self._file.close()
