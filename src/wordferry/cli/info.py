"""``wordferry info``: what is installed and what it runs on."""

from __future__ import annotations

from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, emit_json, examples, wants_json

EXTRAS = {
    "parquet": "pyarrow",
    "sklearn": "sklearn",
    "plot": "matplotlib",
    "serve": "fastapi",
}


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(epilog=examples("wordferry info", "wordferry info --json"))(info)


def info(as_json: bool | None = JSON_OPTION) -> None:
    """Show versions, the CPU variant of the kernels, threads, extras that are installed, and the distances."""
    facts = collect()
    if wants_json(as_json):
        emit_json([facts])
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {'yes' if found else 'no'}" for key, found in value.items())
        typer.echo(f"{name:<11}{', '.join(value) if isinstance(value, list) else value}")


def collect() -> dict[str, Any]:
    """The facts of the command, by name."""
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
