"""Modules that are loaded when they are first used: a search in an index needs none of them, and starts without."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

__all__ = ["is_sparse", "late_names", "shutil", "sparse", "tempfile"]


class _Late:
    """Stands for a module; what is asked of it is looked up there once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = vars(self)[attribute] = getattr(importlib.import_module(self._name), attribute)
        return found


if TYPE_CHECKING:
    import shutil
    import tempfile

    import scipy.sparse as sparse
else:
    sparse, shutil, tempfile = _Late("scipy.sparse"), _Late("shutil"), _Late("tempfile")


def late_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names lie in modules below it, each loaded when a name is asked for."""

    def find(name: str) -> Any:
        home = next((home for home, names in homes.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home}"), name)

    return find


def is_sparse(X: Any) -> bool:
    """Whether this is a matrix or array of ``scipy.sparse``, which nothing can be before that is loaded."""
    return hasattr(X, "tocsr") and "scipy.sparse" in sys.modules and bool(sparse.issparse(X))
