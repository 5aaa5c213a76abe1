"""``wordferry judge | reproduce | demo``: how well searches and distances do, beside rivals and beside the paper."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, Argument, Bundle, Group, command, option
from wordferry.cli.output import ROWS, SUMMARY, Output, note, output, progress_bar

judge = Group("judge", help="Judge searches and distances beside their rivals.")
SYSTEMS = option(
    "-s --system",
    "What to judge, given as often as needed: words, bm25, bm25-stem, tfidf, a distance, an encoder (wordllama, "
    "model2vec:PATH or sentence-transformers:PATH), or words+ENCODER; options follow a colon, as in "
    "rel-rwmd:weights=counts.",
    multiple=True,
    callback=lambda ctx, option, names: list(dict.fromkeys(names)),
)
DISTANCES = ["wmd", "rel-rwmd", "tfidf"]
"""What is judged where no system is named."""


@judge.subcommand(
    Argument("folders", "Folders in the form of BEIR or TREC. Default: the sample.", type=PATH, nargs=-1),
    SYSTEMS,
    option("--baseline", "One of the systems, to compare the others with."),
    option("--split", "Which file of a folder qrels/ to take.", default="test"),
    option("--report", "Also write a page with charts and queries.", type=PATH),
    option("--details", "Also write everything, query by query, as JSON.", type=PATH),
    Bundle("given", "--embeddings --weights=idf --unknown=match --threads"),
    "--seed",
    ROWS,
    examples=[
        "wordferry judge retrieval my-collection -s words -s bm25-stem -s rel-rwmd --baseline bm25-stem",
        "wordferry judge retrieval --report report.html",
    ],
)
def retrieval(
    folders: tuple[Path, ...],
    system: list[str],
    split: str,
    report: Path | None,
    details: Path | None,
    given: dict[str, Any],
    out: Output,
    **chosen: Any,
) -> None:
    """Judge searches by the right answers to queries.

    The measures are nDCG@10, MAP, recall and MRR, with intervals.
    """
    from wordferry.judge.judged import read_judged, sample_collection
    from wordferry.judge.judged_report import report_page
    from wordferry.judge.retrieval import judge_retrieval, mean_rows
    from wordferry.judge.systems import make_system

    names = system or ["words", "words:lift=0", "bm25", "bm25-stem", "tfidf", "rel-rwmd"]
    if chosen["baseline"] not in (None, *names):
        names.append(chosen["baseline"])
    given["embeddings"] = options.load_vectors(given["embeddings"])
    systems = {name: make_system(name, **given) for name in names}
    collections = [read_judged(folder, split) for folder in folders] or [sample_collection()]
    results = []
    for collection in collections:
        with progress_bar(f"judging on {collection.name}") as progress:
            results.append(judge_retrieval(collection, systems, progress=progress, **chosen))
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


@judge.subcommand(
    Argument("file", "JSON lines with a score (higher = more alike) and texts a and b, or numbers i and j.", type=PATH),
    option("--documents", "JSON lines with the texts that i and j number.", type=PATH),
    SYSTEMS,
    "--embeddings --weights=idf --unknown=match -r --threads --seed",
    ROWS,
    examples=[
        "wordferry judge pairs pairs.jsonl -s wmd -s rel-rwmd -s tfidf",
        "wordferry judge pairs pairs.jsonl.gz --documents docs.jsonl.gz -s wmd --weights counts",
    ],
)
def pairs(file: Path, documents: Path | None, system: list[str], out: Output, **given: Any) -> None:
    """Judge distances by people's ratings of pairs of texts.

    The correlation with the ratings is Spearman's, with its interval, and Pearson's; 1 is perfect agreement.
    """
    from wordferry.judge.likeness import judge_pairs
    from wordferry.texts.published import read_pairs

    found = read_pairs(file, documents)
    given["embeddings"] = options.load_vectors(given["embeddings"])
    out.write(judge_pairs(found, system or DISTANCES, **given))


@judge.subcommand(
    Argument("file", "JSON lines with texts a, b (related) and c. Default: the sample.", type=PATH, required=False),
    SYSTEMS,
    option("--rule", "When one is solved: closer, d(a,b) < d(a,c); smallest, d(a,b) least of three.", default="closer"),
    "--embeddings --weights=idf --unknown=match -r --threads --seed",
    ROWS,
    examples=["wordferry judge triplets -s wmd -s wcd -s tfidf", "wordferry judge triplets triplets.jsonl.gz -s wmd"],
)
def triplets(file: Path | None, system: list[str], out: Output, **given: Any) -> None:
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
    out.write(judge_triplets(documents, triples, system or DISTANCES, **given))


@command(
    option("--data", "The folder of the data sets (default: WORDFERRY_DATA).", type=PATH),
    option("-s --datasets --dataset", "Sets to run, several with commas (default: all).", multiple=True),
    option("-d --distances --distance", "Distances to run (default: all).", multiple=True, **options.DISTANCE),
    option("--protocol", "paper (Werner & Laber 2020), fair (Sato et al. 2022) or learned.", default="paper"),
    option("-o --output", "The folder of the report.", type=PATH, default=Path("report")),
    option("-e --embeddings", "Word vectors (default: the Google News vectors of the folder, if any).", type=PATH),
    "--threads",
    SUMMARY,
    examples=["wordferry reproduce --data sets --datasets r8,twitter --distances rwmd,rel-rwmd -o report"],
)
def reproduce(data: Path | None, protocol: str, output: Path, out: Output, **given: Any) -> None:
    """Run the experiments of the paper and write a report.

    The report has tables, charts and the published numbers beside ours.
    A run that was stopped goes on where it was: finished results are kept in the report's folder. Nothing is
    downloaded.
    """
    from wordferry.reproduce import Plan, Source, data_folder
    from wordferry.reproduce import reproduce as run
    from wordferry.reproduce.summary import error_rows

    source, sets = Source(data_folder(data), given["embeddings"]), _separated(given["datasets"])
    plan = Plan(source, protocol, sets, _separated(given["distances"]), given["threads"])
    try:
        results = run(plan, output, note)
    except KeyboardInterrupt:
        note(f"wordferry: finished results stay in {output}; the same command goes on after them.")
        raise
    out.write(error_rows(results.cells, protocol), title="test error %")
    note(f"report: {output / 'index.html'}")


def _separated(values: tuple[str, ...]) -> tuple[str, ...]:
    """Names that were given one by one or with commas between them."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@command(
    option("--json as_json", "JSON lines instead of text; 'step' says what a line is about.", is_flag=True),
    examples=["wordferry demo", "wordferry demo --json | jq -c 'select(.step == \"retrieval\")'"],
)
def demo(as_json: bool) -> None:
    """Find, compare, explain and judge on the sample collection.

    It needs no network: the articles, queries and vectors are in the package.
    """
    from wordferry.demo import run
    from wordferry.demo.page import show

    result = run(progress_bar)
    if as_json:
        with output(as_json) as out:
            out.write(result.to_rows())
    else:
        show(result)
