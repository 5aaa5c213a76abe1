"""``wordferry cluster``: jobs over many files, with the same answer from any number of processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import JSON_OPTION, complete_distance, emit, examples, progress_bar
from wordferry.cli.hits import FILTER_OPTION, parse_filters

if TYPE_CHECKING:
    from wordferry.engines.run import JobSummary
    from wordferry.shards import Choices

FILES = typer.Argument(..., help="Documents: a Parquet or JSON lines file, a folder of them, or a bucket address.")
DOCUMENTS = typer.Argument(
    ..., help="Documents: Parquet or JSON lines (a file, folder or bucket), or an index or its shards, as they are."
)
OUTPUT = typer.Option(..., "-o", "--output", help="The folder or bucket address for the Parquet files of the answer.")
WORKERS = typer.Option(
    None, "--workers", min=1, help="How many processes work at once (default: 1, or all cores of a Ray cluster)."
)
SHARDS = typer.Option(None, "--shards", min=1, help="How many shards to build (default: one per 250,000 documents).")
ADDRESS = typer.Option(
    None, "--address", help="A running Ray cluster, or 'local' to start one here (default: plain processes)."
)
DISTANCE = typer.Option(
    None,
    "--distance",
    "-d",
    autocompletion=complete_distance,
    help="The distance (default: that of an index that is given, else rel-rwmd).",
)
WEIGHTS = typer.Option(
    None, "--weights", help="What a word counts for: idf, counts, log-idf, bm25 or norm (default: the index's, or idf)."
)
UNKNOWN = typer.Option(
    None,
    "--unknown",
    help="Words without a vector: match (they count), drop, error (default: the index's, or match).",
)
RELATED = typer.Option(16, "-r", min=1, help="How many related words each word has.")
BLOCK = typer.Option(20_000, "--block", min=1, help="How many documents or queries one task takes.")
TEXT = typer.Option("text", "--text", help="The column that holds the text.")
ID = typer.Option("id", "--id", help="The column that holds the id.")
LABEL = typer.Option("label", "--label", help="The column that holds the label.")
VECTORS = typer.Option(
    None, "--embeddings", help="Word vectors, a file or folder (default: the vectors in the package)."
)
WORK = typer.Option(
    None, "--work", help="The folder of the plan and of what is done; every node must see it (default: OUTPUT.job)."
)
KEEP = typer.Option(False, "--keep", help="Keep that folder when the job is done.")


def register(app: Any) -> None:
    """Add the commands to the command line."""
    from wordferry.cli import cluster_index, cluster_serve

    group = typer.Typer(help="Jobs over files on several processes or a Ray cluster; a stopped job goes on.")
    group.command(
        "knn-graph", epilog=examples("wordferry cluster knn-graph articles/ -k 10 --workers 4 -o neighbours")
    )(knn_graph)
    group.command(
        "top-k", epilog=examples("wordferry cluster top-k queries.jsonl articles/ -k 10 --address auto -o found")
    )(top_k)
    group.command(
        "duplicates", epilog=examples("wordferry cluster duplicates articles/ --threshold 0.3 -o duplicates")
    )(duplicates)
    group.command("classify", epilog=examples("wordferry cluster classify train.parquet new.parquet -o labels"))(
        classify
    )
    cluster_index.register(group)
    cluster_serve.register(group)
    app.add_typer(group, name="cluster")


def knn_graph(
    documents: str = DOCUMENTS,
    k: int = typer.Option(10, "-k", min=1, help="How many nearest documents to find for each."),
    output: str = OUTPUT,
    workers: int | None = WORKERS,
    address: str | None = ADDRESS,
    distance: str | None = DISTANCE,
    weights: str | None = WEIGHTS,
    unknown: str | None = UNKNOWN,
    r: int = RELATED,
    shards: int | None = SHARDS,
    block: int = BLOCK,
    text: str = TEXT,
    id: str = ID,
    embeddings: str | None = VECTORS,
    work: Path | None = WORK,
    keep: bool = KEEP,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Find the nearest other documents of every document."""
    from wordferry.shards import jobs

    choices = _choices(distance, weights, unknown, r, block, (text, id, "label"))
    with Running(workers, address, embeddings, work, keep) as run:
        show(jobs.knn_graph(documents, output, k, choices, shards=shards, **run), as_json)


def top_k(
    queries: str = typer.Argument(..., help="Queries, in the same forms as documents."),
    documents: str = DOCUMENTS,
    k: int = typer.Option(10, "-k", min=1, help="How many documents to find for each query."),
    output: str = OUTPUT,
    workers: int | None = WORKERS,
    address: str | None = ADDRESS,
    distance: str | None = DISTANCE,
    weights: str | None = WEIGHTS,
    unknown: str | None = UNKNOWN,
    rerank: str | None = typer.Option(
        None, "--rerank", autocompletion=complete_distance, help="Re-order the candidates by this distance; not exact."
    ),
    candidates: int | None = typer.Option(
        None, "--candidates", min=1, help="How many candidates the first distance finds."
    ),
    filter: list[str] = FILTER_OPTION,
    r: int = RELATED,
    shards: int | None = SHARDS,
    block: int = BLOCK,
    text: str = TEXT,
    id: str = ID,
    embeddings: str | None = VECTORS,
    work: Path | None = WORK,
    keep: bool = KEEP,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Find the documents nearest to each query."""
    from wordferry.shards import jobs

    choices = _choices(distance, weights, unknown, r, block, (text, id, "label"))
    with Running(workers, address, embeddings, work, keep) as run:
        asked: dict[str, Any] = {"filter": parse_filters(filter), "rerank": rerank, "candidates": candidates}
        show(jobs.top_k(queries, documents, output, k, choices, shards=shards, **asked, **run), as_json)


def duplicates(
    documents: str = DOCUMENTS,
    threshold: float = typer.Option(..., "--threshold", min=0.0, help="The largest distance of a pair."),
    output: str = OUTPUT,
    workers: int | None = WORKERS,
    address: str | None = ADDRESS,
    distance: str | None = DISTANCE,
    weights: str | None = WEIGHTS,
    unknown: str | None = UNKNOWN,
    r: int = RELATED,
    shards: int | None = SHARDS,
    block: int = BLOCK,
    text: str = TEXT,
    id: str = ID,
    embeddings: str | None = VECTORS,
    work: Path | None = WORK,
    keep: bool = KEEP,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Find all pairs of documents that are close, and the groups that they form."""
    from wordferry.shards import jobs

    choices = _choices(distance, weights, unknown, r, block, (text, id, "label"))
    with Running(workers, address, embeddings, work, keep) as run:
        show(jobs.duplicates(documents, output, threshold, choices, shards=shards, **run), as_json)


def classify(
    train: str = typer.Argument(..., help="Training documents with labels, in the same forms as documents."),
    test: str = typer.Argument(..., help="Documents to label."),
    k: int = typer.Option(19, "-k", min=1, help="How many nearest training documents vote."),
    output: str = OUTPUT,
    workers: int | None = WORKERS,
    address: str | None = ADDRESS,
    distance: str | None = DISTANCE,
    weights: str | None = WEIGHTS,
    unknown: str | None = UNKNOWN,
    r: int = RELATED,
    shards: int | None = SHARDS,
    block: int = BLOCK,
    text: str = TEXT,
    id: str = ID,
    label: str = LABEL,
    embeddings: str | None = VECTORS,
    work: Path | None = WORK,
    keep: bool = KEEP,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Label documents by the vote of their nearest training documents."""
    from wordferry.shards import jobs

    choices = _choices(distance, weights, unknown, r, block, (text, id, label))
    with Running(workers, address, embeddings, work, keep) as run:
        show(jobs.classify(train, test, output, k, choices, shards=shards, **run), as_json)


def _choices(
    distance: str | None, weights: str | None, unknown: str | None, r: int, block: int, columns: tuple[str, str, str]
) -> Choices:
    from wordferry.engines.sources import SourceFields
    from wordferry.shards import Choices

    fields = SourceFields(*columns)
    return Choices(distance, r=r, weights=weights, unknown=unknown, block=block, fields=fields)


class Running:
    """The engine that was asked for, and a bar, for as long as the job runs."""

    def __init__(
        self, workers: int | None, address: str | None, embeddings: str | None, work: Path | None, keep: bool
    ) -> None:
        self.workers, self.address, self.embeddings, self.work, self.keep = workers, address, embeddings, work, keep

    def __enter__(self) -> dict[str, Any]:
        from wordferry.engines.engine import Local
        from wordferry.words.loaders import load_embeddings

        vectors = None if self.embeddings is None else load_embeddings(self.embeddings)
        if self.address is None:
            self.engine: Any = Local(self.workers or 1)
        else:
            from wordferry.engines.on_ray import Ray

            self.engine = Ray(None if self.address == "local" else self.address, self.workers)
        self.bar = progress_bar("tasks")
        progress = self.bar.__enter__()
        return {
            "engine": self.engine,
            "embeddings": vectors,
            "work": self.work,
            "keep": self.keep,
            "progress": progress,
        }

    def __exit__(self, *error: Any) -> None:
        self.bar.__exit__(*error)
        self.engine.close()


def show(summary: JobSummary, as_json: bool | None) -> None:
    """Print what a job did."""
    row = {name: value for name, value in vars(summary).items() if name != "facts"} | dict(summary.facts)
    emit([row], as_json)
