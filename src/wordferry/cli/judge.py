"""``wordferry judge``: how well searches, distances and their rivals do, on your own data or on the sample."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import (
    JSON_OPTION,
    THREADS_OPTION,
    examples,
    progress_bar,
)
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output, put
from wordferry.cli.vectors import EMBEDDINGS_OPTION, load_vectors

SYSTEMS = typer.Option(
    [],
    "--system",
    "-s",
    help="What to judge, given as often as needed: words, bm25, bm25-stem, tfidf, a distance, wordllama, "
    "model2vec:PATH or sentence-transformers:PATH; options follow a colon, as in rel-rwmd:weights=idf.",
)
SEED = typer.Option(0, "--seed", min=0, help="The seed of the draws that the intervals come from.")


def register(app: Any) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Judge searches and distances beside their rivals, with intervals.")
    group.command(
        "retrieval",
        epilog=examples(
            "wordferry judge retrieval my-collection -s words -s bm25-stem -s rel-rwmd --baseline bm25-stem",
            "wordferry judge retrieval --report report.html",
        ),
    )(retrieval)
    group.command("pairs", epilog=examples("wordferry judge pairs pairs.jsonl -s wmd -s rel-rwmd -s tfidf"))(pairs)
    group.command("triplets", epilog=examples("wordferry judge triplets -s wmd -s wcd -s tfidf"))(triplets)
    app.add_typer(group, name="judge")


def retrieval(
    folders: list[Path] = typer.Argument(
        None, help="Folders with documents, queries and qrels, as BEIR or TREC have them. Default: the sample."
    ),
    system: list[str] = SYSTEMS,
    baseline: str | None = typer.Option(None, "--baseline", help="One of the systems, to compare the others with."),
    split: str = typer.Option("test", "--split", help="Which file of a folder qrels/ to take."),
    report: Path | None = typer.Option(None, "--report", help="Also write a page with charts and queries."),
    details: Path | None = typer.Option(None, "--details", help="Also write everything, query by query, as JSON."),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    seed: int = SEED,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Judge searches by the right answers to queries: nDCG@10, MAP, recall and MRR, with intervals."""
    from wordferry.judge.judged import read_judged, sample_collection
    from wordferry.judge.judged_report import report_page
    from wordferry.judge.retrieval import judge_retrieval, mean_rows
    from wordferry.judge.systems import make_system

    names = list(dict.fromkeys(system)) or ["words", "words:lift=0", "bm25", "bm25-stem", "tfidf", "rel-rwmd"]
    if baseline is not None and baseline not in names:
        names.append(baseline)
    vectors = load_vectors(embeddings)
    systems = {name: make_system(name, embeddings=vectors, threads=threads) for name in names}
    collections = [read_judged(folder, split) for folder in folders or []] or [sample_collection()]
    results = []
    for collection in collections:
        with progress_bar(f"judging on {collection.name}") as progress:
            results.append(judge_retrieval(collection, systems, baseline=baseline, seed=seed, progress=progress))
    with output(as_json, as_csv, output_file) as out:
        for result in results:
            found = result.collection
            title = f"{found.name}: {len(found.ids)} documents, {len(found.queries)} judged queries"
            plain = ({"collection": found.name, **row} for row in result.rows())
            out.write([score.cells() for score in result.scores] if out.table else plain, title=title)
        if len(results) > 1:
            out.write([{"collection": "mean", **row} for row in mean_rows(results)])
    if report is not None:
        command = "wordferry " + " ".join(map(shlex.quote, sys.argv[1:]))
        report.write_text(report_page(results, command), encoding="utf-8")
    if details is not None:
        details.write_text(json.dumps([result.to_json() for result in results], indent=1), encoding="utf-8")


def pairs(
    file: Path = typer.Argument(..., help="JSON lines with a score (higher = more alike) and the texts a and b."),
    documents: Path | None = typer.Option(None, "--documents", help="JSON lines with the texts that i and j number."),
    system: list[str] = SYSTEMS,
    embeddings: Path | None = EMBEDDINGS_OPTION,
    seed: int = SEED,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Judge distances by how well they agree with people's ratings of pairs (Spearman, with intervals)."""
    from wordferry.judge.likeness import judge_pairs
    from wordferry.texts.published import read_pairs

    found = read_pairs(file, documents)
    names = list(dict.fromkeys(system)) or ["wmd", "rel-rwmd", "tfidf"]
    rows = judge_pairs(found, names, embeddings=load_vectors(embeddings), threads=threads, seed=seed)
    put(rows, as_json, as_csv, output_file)


def triplets(
    file: Path | None = typer.Argument(
        None, help="JSON lines with the texts (or token lists) a, b and c, a and b being related. Default: the sample."
    ),
    system: list[str] = SYSTEMS,
    embeddings: Path | None = EMBEDDINGS_OPTION,
    seed: int = SEED,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Judge distances by triplets: how often a is nearer to its relative b than to c (errors, with intervals)."""
    from wordferry.cli.triplets import sample_triplets
    from wordferry.judge.likeness import judge_triplets
    from wordferry.texts.published import read_triplets

    if file is None:
        documents, triples = sample_triplets()
    else:
        found = read_triplets(file)
        documents, triples = list(found.documents), list(found.triples)
    names = list(dict.fromkeys(system)) or ["wmd", "rel-rwmd", "tfidf"]
    vectors = load_vectors(embeddings)
    rows = judge_triplets(documents, triples, names, embeddings=vectors, threads=threads, seed=seed)
    put(rows, as_json, as_csv, output_file)
