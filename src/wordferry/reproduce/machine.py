"""Which machine and which versions a result comes from."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any

from wordferry import __version__
from wordferry.base.runtime import thread_count, usable_cores
from wordferry.kernels.native import cpu_variant

_PACKAGES = ("numpy", "scipy", "scikit-learn", "gensim", "POT", "bm25s", "wordllama", "matplotlib")


def machine_facts(threads: int | None = None) -> dict[str, Any]:
    """Processor, memory, threads and versions, as plain values."""
    return {
        "processor": _processor(),
        "cores": usable_cores(),
        "threads": thread_count(threads),
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "wordferry": __version__,
        "kernels": cpu_variant(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name)) is not None},
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
