"""``wordferry judge``: how well searches, distances and their rivals do, on your own data or on the sample."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, Group, argument, bundle, command, option
from wordferry.cli.output import ROWS, Output, progress_bar

judge = Group("judge", "Judge searches and distances beside their rivals.")
SYSTEMS = option(
    "-s --system",
    "What to judge, given as often as needed: words, bm25, bm25-stem, tfidf, a distance, an encoder (wordllama, "
    "model2vec:PATH or sentence-transformers:PATH), or words+ENCODER; options follow a colon, as in "
    "rel-rwmd:weights=counts.",
    multiple=True,
)


@command(
    argument("folders", "Folders in the form of BEIR or TREC. Default: the sample.", type=PATH, nargs=-1),
    SYSTEMS,
    option("--baseline", "One of the systems, to compare the others with."),
    option("--split", "Which file of a folder qrels/ to take.", default="test"),
    option("--report", "Also write a page with charts and queries.", type=PATH),
    option("--details", "Also write everything, query by query, as JSON.", type=PATH),
    bundle("given", "--embeddings --weights=idf --unknown=match --threads"),
    "--seed",
    ROWS,
    examples=[
        "wordferry judge retrieval my-collection -s words -s bm25-stem -s rel-rwmd --baseline bm25-stem",
        "wordferry judge retrieval --report report.html",
    ],
    group=judge,
)
def retrieval(
    folders: tuple[Path, ...],
    system: tuple[str, ...],
    baseline: str | None,
    split: str,
    report: Path | None,
    details: Path | None,
    given: dict[str, Any],
    seed: int,
    out: Output,
) -> None:
    """Judge searches by the right answers to queries.

    The measures are nDCG@10, MAP, recall and MRR, with intervals.
    """
    from wordferry.judge.judged import read_judged, sample_collection
    from wordferry.judge.judged_report import report_page
    from wordferry.judge.retrieval import judge_retrieval, mean_rows
    from wordferry.judge.systems import make_system

    names = list(dict.fromkeys(system)) or ["words", "words:lift=0", "bm25", "bm25-stem", "tfidf", "rel-rwmd"]
    if baseline is not None and baseline not in names:
        names.append(baseline)
    given["embeddings"] = options.load_vectors(given["embeddings"])
    systems = {name: make_system(name, **given) for name in names}
    collections = [read_judged(folder, split) for folder in folders] or [sample_collection()]
    results = []
    for collection in collections:
        with progress_bar(f"judging on {collection.name}") as progress:
            results.append(judge_retrieval(collection, systems, baseline=baseline, seed=seed, progress=progress))
    for result in results:
        found = result.collection
        title = f"{found.name}: {len(found.ids)} documents, {len(found.queries)} judged queries"
        plain = ({"collection": found.name, **row} for row in result.rows())
        out.write([score.cells() for score in result.scores] if out.table else plain, title=title)
    if len(results) > 1:
        out.write([{"collection": "mean", **row} for row in mean_rows(results)])
    if report is not None:
        line = "wordferry " + " ".join(map(shlex.quote, sys.argv[1:]))
        report.write_text(report_page(results, line), encoding="utf-8")
    if details is not None:
        details.write_text(json.dumps([result.to_json() for result in results], indent=1), encoding="utf-8")


@command(
    argument("file", "JSON lines with a score (higher = more alike) and texts a and b, or numbers i and j.", type=PATH),
    option("--documents", "JSON lines with the texts that i and j number.", type=PATH),
    SYSTEMS,
    bundle("given", "--embeddings --weights=idf --unknown=match -r --threads --seed"),
    ROWS,
    examples=[
        "wordferry judge pairs pairs.jsonl -s wmd -s rel-rwmd -s tfidf",
        "wordferry judge pairs pairs.jsonl.gz --documents docs.jsonl.gz -s wmd --weights counts",
    ],
    group=judge,
)
def pairs(file: Path, documents: Path | None, system: tuple[str, ...], given: dict[str, Any], out: Output) -> None:
    """Judge distances by people's ratings of pairs of texts.

    The correlation with the ratings is Spearman's, with its interval, and Pearson's; 1 is perfect agreement.
    """
    from wordferry.judge.likeness import judge_pairs
    from wordferry.texts.published import read_pairs

    found = read_pairs(file, documents)
    given["embeddings"] = options.load_vectors(given["embeddings"])
    out.write(judge_pairs(found, _names(system), **given))


@command(
    argument("file", "JSON lines with texts a, b (related) and c. Default: the sample.", type=PATH, required=False),
    SYSTEMS,
    bundle(
        "given",
        option(
            "--rule", "When one is solved: closer, d(a,b) < d(a,c); smallest, d(a,b) least of three.", default="closer"
        ),
        "--embeddings --weights=idf --unknown=match -r --threads --seed",
    ),
    ROWS,
    examples=["wordferry judge triplets -s wmd -s wcd -s tfidf", "wordferry judge triplets triplets.jsonl.gz -s wmd"],
    group=judge,
)
def triplets(file: Path | None, system: tuple[str, ...], given: dict[str, Any], out: Output) -> None:
    """Judge distances by triplets of which two are related.

    The error is how often a is not nearer to its relative b than to c, with its interval.
    """
    from wordferry.judge.likeness import judge_triplets

    if file is None:
        collection = wordferry.sample()
        numbers = {record.id: i for i, record in enumerate(collection.articles)}
        triples = [(numbers[a], numbers[b], numbers[c]) for a, b, c in collection.triplets]
        documents: list[Any] = [record.text for record in collection.articles]
    else:
        from wordferry.texts.published import read_triplets

        found = read_triplets(file)
        documents, triples = list(found.documents), list(found.triples)
    given["embeddings"] = options.load_vectors(given["embeddings"])
    out.write(judge_triplets(documents, triples, _names(system), **given))


def _names(system: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(system)) or ["wmd", "rel-rwmd", "tfidf"]
