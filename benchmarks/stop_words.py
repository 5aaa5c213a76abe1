"""Which stop words to leave out: figures on judged sentences, documents, queries and classes for several lists.

    python benchmarks/stop_words.py --data FOLDER                # all lists, all sets
    python benchmarks/stop_words.py --data FOLDER --sets twitter --lists default

Spearman's correlation with people's ratings by wmd and by rel-rwmd (STS benchmark, test pairs) and Pearson's (Lee's
documents); nDCG@10 of word search (cran, cisi, lisa); test error in percent of the k-NN classifier with its defaults.
Vectors are those of the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import harness
from harness import Results
from wordferry.find.memory import WordSearch
from wordferry.judge.agreement import agreement
from wordferry.judge.evaluation import judged_measure
from wordferry.judge.judged import read_judged
from wordferry.judge.retrieval import judge_retrieval
from wordferry.neighbors import WordMoverClassifier
from wordferry.texts.documents import json_rows
from wordferry.texts.published import read_collection
from wordferry.texts.tokenizers import WordTokenizer, stop_words

NEGATIONS = """
against arent cannot cant couldnt didnt doesnt dont hadnt hasnt havent isnt neither never no nobody none nor not nothing
shouldnt unless wasnt werent without wont wouldnt
"""
OPPOSITES = "above after before below down few less off out over under up"
_DEFAULT = stop_words("english")
LISTS = {
    "no word kept": _DEFAULT.union(NEGATIONS.split(), OPPOSITES.split()),
    "negations kept": _DEFAULT.union(OPPOSITES.split()),
    "default": _DEFAULT,
    "on kept too": _DEFAULT - {"on"},
    "in and on kept too": _DEFAULT - {"in", "on"},
    "no stop words": frozenset(),
}
SETS = ("twitter", "r8", "amazon", "classic")


def figures(data: Any, stop: frozenset[str], sets: list[str]) -> dict[str, float]:
    """Every figure for one list of stop words."""
    tokenizer = WordTokenizer(stop=stop)
    found: dict[str, float] = {}
    rows = [row for _, row in json_rows(data / "pairs/stsb/test.jsonl.gz")]
    for distance in ("wmd", "rel-rwmd"):
        measure = judged_measure(distance, tokenizer=tokenizer)
        first, second, ratings = ([row[key] for row in rows] for key in ("a", "b", "score"))
        found[f"STS-B {distance}"] = agreement(first, second, ratings, measure).spearman
    documents = [row["text"] for _, row in json_rows(data / "pairs/lee/docs.jsonl.gz")]
    rows = [row for _, row in json_rows(data / "pairs/lee/pairs.jsonl.gz")]
    first, second = ([documents[row[key]] for row in rows] for key in ("i", "j"))
    measure = judged_measure("wmd", tokenizer=tokenizer)
    found["Lee wmd"] = agreement(first, second, [row["score"] for row in rows], measure).pearson
    for name in ("cran", "cisi", "lisa"):
        judged = read_judged(data / "ir" / name)

        def words(texts: Any, queries: list[str], k: int) -> list[tuple[Any, Any]]:
            answers = map(WordSearch(texts, tokenizer=tokenizer).search, queries, [k] * len(queries))
            return [(hits.rows, hits.scores) for hits in answers]

        scores = judge_retrieval(judged, {"words": words}).scores
        found[name] = scores[0].means["nDCG@10"].value
    for name in sets:
        collection = read_collection(data / name)
        split = collection.splits[0]
        texts, labels = [str(one.text) for one in collection.records], np.array(collection.labels)
        model = WordMoverClassifier(on_empty="keep", tokenizer=tokenizer)
        model.fit([texts[i] for i in split.train], labels[split.train])
        wrong = model.predict([texts[i] for i in split.test]) != labels[split.test]
        found[f"{name} %"] = 100 * float(np.mean(wrong))
    return found


def measure(results: Results, options: Any) -> None:
    """A line for each list."""
    for number, name in enumerate(options.lists):
        found = figures(options.data, LISTS[name], options.sets)
        if not number:
            print(f"{'':18}" + "".join(f"{column:>16}" for column in found))
        print(f"{name:18}" + "".join(f"{value:16.3f}" for value in found.values()), flush=True)
        results.values.update({f"{name}, {column}": value for column, value in found.items()})


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--lists", nargs="+", choices=list(LISTS), default=list(LISTS))
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or WORDFERRY_DATA; nothing is downloaded")
    results = Results("stop_words", options)
    measure(results, options)
    results.finish()


if __name__ == "__main__":
    main()
