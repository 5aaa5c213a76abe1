"""``wordferry --info``: what is installed and what it runs on."""

from __future__ import annotations

from typing import Any


def installed_extras() -> dict[str, bool]:
    """Every extra of the package, and whether all that it brings is installed."""
    import re
    from importlib.metadata import PackageNotFoundError, distribution

    own = distribution("wordferry")
    brings: dict[str, list[str]] = {name: [] for name in own.metadata.get_all("Provides-Extra") or ()}
    for line in own.requires or ():
        name, extra = re.match(r"[\w.-]+(\[[\w,-]+\])?", line), re.search(r"extra == ['\"]([\w-]+)", line)
        if name is not None and extra is not None:
            brings[extra[1]].append(name[0])

    def has(name: str) -> bool:
        package, _, extras = name.rstrip("]").partition("[")
        if package == "wordferry":
            return all(has(one) for extra in extras.split(",") for one in brings[extra])
        try:
            return bool(distribution(package))
        except PackageNotFoundError:
            return False

    return {extra: all(map(has, names)) for extra, names in brings.items()}


def installed() -> dict[str, Any]:
    """Versions, CPU variant, threads, extras and distances."""
    import platform
    from importlib.metadata import version
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
        "extras": installed_extras(),
        "distances": list(wordferry.DISTANCES),
        "folder": str(Path(wordferry.__file__).parent),
    }
