"""``wordferry --info``: what is installed and what it runs on."""

from __future__ import annotations

from typing import Any

EXTRAS = {"parquet": "pyarrow", "sklearn": "sklearn", "plot": "matplotlib", "serve": "fastapi"}


def installed() -> dict[str, Any]:
    """Versions, CPU variant, threads, extras and distances."""
    import platform
    from importlib.metadata import version
    from importlib.util import find_spec
    from pathlib import Path

    import wordferry
    from wordferry.base.runtime import thread_count
    from wordferry.kernels.native import cpu_variant

    return {
        "wordferry": wordferry.__version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "system": f"{platform.system()} {platform.machine()}",
        "kernels": cpu_variant(),
        "threads": thread_count(),
        "extras": {extra: find_spec(module) is not None for extra, module in EXTRAS.items()},
        "distances": list(wordferry.DISTANCES),
        "folder": str(Path(wordferry.__file__).parent),
    }
