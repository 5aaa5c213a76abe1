"""Beside others, on what the package carries: how well each finds, and how fast, on one thread.

    python benchmarks/peers.py [--encoder PATH] [--save]

Finding: 637 articles and 120 judged queries of the sample; nDCG@10, and the processor time to index the articles and
answer all queries. Comparing: the exact Word Mover's Distance of pairs of these articles, in microseconds of processor
time per pair; values are compared first. A peer that is not installed is left out, and said so; ``--encoder`` names
the folder of a sentence-transformers model to judge as well. ``make bench-report`` makes the tables from saved runs.
"""

from __future__ import annotations

import harness
import readme
from harness import Results
from wordferry.errors import MissingDependency
from wordferry.judge.judged import sample_collection
from wordferry.judge.retrieval import judge_retrieval
from wordferry.judge.systems import System, make_system

SYSTEMS = {
    "wordferry": "words",
    "bm25s": "bm25-stem",
    "scikit-learn": "tfidf",
    "wordllama": "wordllama",
}
REPEATS = 3


def finding(encoder: str | None) -> dict[str, System]:
    """The systems that can be judged here, by the name of their library."""
    wanted = dict(SYSTEMS) | ({"sentence-transformers": f"sentence-transformers:{encoder}"} if encoder else {})
    return {library: make_system(name, threads=1) for library, name in wanted.items()}


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--encoder", help="the folder of a sentence-transformers model")
    options = parser.parse_args()
    results = Results("peers", options)
    # First, before an encoder turns on the log of everything that is imported.
    rows, note = readme.measure(results.facts["machine"]["processor"], ("wmd",))
    for name, microseconds in rows:
        results.add(f"{name.removesuffix(' wmd')}: exact wmd, cpu us per pair", microseconds)
    for library, system in finding(options.encoder).items():
        try:
            runs = [judge_retrieval(sample_collection(), {library: system}).scores[0] for _ in range(REPEATS)]
        except MissingDependency as error:
            print(f"{library} is left out: {error}")
            continue
        results.add(f"{library}: nDCG@10", round(runs[0].means["nDCG@10"].value, 4))
        results.add(f"{library}: index and answer, cpu s", min(run.seconds for run in runs))
    results.note("data", f"the sample: 637 articles, 120 judged queries; {note}")
    results.finish()


if __name__ == "__main__":
    main()
