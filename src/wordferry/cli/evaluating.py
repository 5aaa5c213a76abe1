"""What ``triplets``, ``agreement`` and ``classify`` share: distances to judge, and their word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import complete_distance
from wordferry.cli.vectors import load_vectors

DISTANCES_OPTION = typer.Option(
    ["wmd", "rel-rwmd"],
    "--distance",
    "-d",
    autocompletion=complete_distance,
    help="A distance to judge; may be given several times.",
)
R_OPTION = typer.Option(
    16, "--r", "-r", min=1, help="How many related words each word has, for the distances that use them."
)


def settings(
    distances: list[str],
    embeddings: Path | None,
    r: int,
    threads: int | None,
    weights: str = "counts",
    unknown: Any = "match",
) -> list[Any]:
    """One setting for each distance to judge."""
    from wordferry.compare.distances import find_distance
    from wordferry.judge.evaluation import DistanceSetting

    for name in distances:
        find_distance(name)
    vectors = load_vectors(embeddings)
    return [
        DistanceSetting(name, vectors, r=r, weights=weights, unknown=unknown, threads=threads) for name in distances
    ]
