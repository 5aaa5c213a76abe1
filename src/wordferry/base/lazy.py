"""Modules that are loaded when they are first used: a search in an index needs none of them, and starts without."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

__all__ = ["is_sparse", "sparse"]


class _Late:
    """Stands for a module; what is asked of it is looked up there once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import scipy.sparse as sparse
else:
    sparse = _Late("scipy.sparse")


def is_sparse(X: Any) -> bool:
    """Whether this is a matrix or array of ``scipy.sparse``, which nothing can be before that is loaded."""
    return "scipy.sparse" in sys.modules and bool(sparse.issparse(X))
