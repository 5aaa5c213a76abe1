"""Words without a vector: what keeping them costs, distance by distance.

    python benchmarks/unknown.py                     # the sample collection
    python benchmarks/unknown.py --data folder       # 20news, in which one word in eight has no vector
    python benchmarks/unknown.py --data folder --only wmd act

Three forms of the same texts are compared, in turns: with such words left out (``unknown="drop"``), with them kept
(``unknown="match"``), and with a vector made up for each of them, so that all words are known and documents are as long
as with "match". Times are processor time of one thread, the least of --repeats runs, of documents that are encoded
already; searches are those of a prepared ``Searcher``. "a word pair" divides by the words of x times those of y, summed
over all pairs: documents with more words are more work, whatever the words are.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import harness
from harness import Results, least
from wordferry import Embeddings, RelatedWords, Searcher, default_embeddings, pairwise, sample
from wordferry.texts import bow
from wordferry.texts.tokenizers import make_tokenizer

DISTANCES = ("rel-rwmd", "rel-wmd", "rwmd", "wmd", "act", "wcd", "cosine")
COSTLY = ("wmd", "rel-wmd", "act")
FORMS = ("drop", "match", "known")


@dataclass(frozen=True)
class Form:
    """One form of the texts: queries, documents, and the vectors to compare them with."""

    queries: bow.Encoded
    documents: bow.Encoded
    embeddings: Embeddings
    related: RelatedWords
    unknown: str

    def options(self, distance: str) -> dict[str, Any]:
        graph = {"related": self.related} if distance.startswith("rel-") else {}
        return {"embeddings": self.embeddings, "unknown": self.unknown, **graph}

    @property
    def pairs(self) -> int:
        return self.queries.matrix.shape[0] * self.documents.matrix.shape[0]

    @property
    def word_pairs(self) -> float:
        """Words of x times words of y, summed over all pairs."""
        return float(self.queries.matrix.nnz) * float(self.documents.matrix.nnz)

    def part(self, rows: int, columns: int) -> Form:
        """The first of the queries and documents."""
        sizes = zip((self.queries, self.documents), (rows, columns), strict=True)
        x, y = (side.take(np.arange(min(size, side.matrix.shape[0]))) for side, size in sizes)
        return replace(self, queries=x, documents=y)


def texts(folder: Path | None) -> tuple[str, list[list[str]]]:
    """Token lists, stop words left out."""
    if folder is None:
        split = make_tokenizer()
        return "sample collection", [list(split(article.text)) for article in sample().articles]
    stop = set((folder / "stop_words_smart570.txt").read_text(encoding="utf-8").split())
    with gzip.open(folder / "20news" / "test.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = (json.loads(line)["text"] for line in lines)
        return "20news", [[w for w in (t.split() if isinstance(t, str) else t) if w not in stop] for t in found]


def forms(tokens: list[list[str]], queries: int, documents: int) -> dict[str, Form]:
    """The three forms; only texts that have a word with a vector."""
    embeddings = default_embeddings()
    tokens = [some for some in tokens if any(word in embeddings for word in some)]
    x, y = tokens[:queries], tokens[queries : queries + documents]
    used = {word for some in (*x, *y) for word in some}
    small = embeddings.restrict(sorted(word for word in used if word in embeddings))
    missing = sorted(word for word in used if word not in embeddings)
    made_up = np.random.default_rng(0).normal(size=(len(missing), small.dimensions))
    made_up /= np.linalg.norm(made_up, axis=1, keepdims=True)
    full = Embeddings([*small.vocabulary, *missing], np.concatenate([small.matrix, made_up.astype(np.float32)]))

    def form(vectors: Embeddings, related: RelatedWords, unknown: str) -> Form:
        sides = (bow.bags(some, vectors.vocabulary, unknown=unknown) for some in (x, y))
        return Form(*sides, vectors, related, unknown)

    related = RelatedWords.build(small, 16)
    return {
        "drop": form(small, related, "drop"),
        "match": form(small, related, "match"),
        "known": form(full, RelatedWords.build(full, 16), "match"),
    }


def in_turns(work: dict[str, Any], repeats: int) -> dict[str, float]:
    """The least processor time of each, run in turns so that all meet the same neighbours on the machine."""
    best = dict.fromkeys(work, np.inf)
    for _ in range(repeats):
        for name, one in work.items():
            best[name] = min(best[name], least(one, 1))
    return best


def report(results: Results, key: str, seconds: dict[str, float], forms: dict[str, Form]) -> None:
    """One line: microseconds a pair of each form, and the ratios that matter."""
    us = {name: value / forms[name].pairs * 1e6 for name, value in seconds.items()}
    ratio, known = us["match"] / us["drop"], us["match"] / us["known"]
    each = ratio * forms["drop"].word_pairs / forms["match"].word_pairs
    figures = "".join(f"{us[name]:10.4f}" for name in FORMS)
    results.add(f"{key}, us a pair", us, f"{key:20s}{figures}{ratio:13.2f}{each:13.2f}{known:13.2f}")


def run(results: Results, made: dict[str, Form], options: argparse.Namespace) -> None:
    columns = ("to drop", "a word pair", "to known")
    print(f"\n{'us a pair':20s}" + "".join(f"{name:>10s}" for name in FORMS) + "".join(f"{c:>13s}" for c in columns))
    for distance in options.only or DISTANCES:
        rows, columns = (8, 100) if distance in COSTLY else (200, 1000)
        parts = {name: form.part(rows, columns) for name, form in made.items()}
        work = {name: partial(matrix, part, distance) for name, part in parts.items()}
        report(results, f"{distance} pairwise", in_turns(work, options.repeats), parts)
        parts = {name: form.part(20, options.documents) for name, form in made.items()}
        work = {name: search(part, distance) for name, part in parts.items()}
        report(results, f"{distance} top 10", in_turns(work, options.repeats), parts)


def matrix(form: Form, distance: str) -> Any:
    """All pairs, in one call."""
    return pairwise(form.queries, form.documents, distance, threads=1, **form.options(distance))


def search(form: Form, distance: str) -> Callable[[], Any]:
    """The nearest ten of each query, asked one by one of a prepared collection."""
    searcher = Searcher(form.documents, distance, threads=1, **form.options(distance))
    queries = [form.queries.take(np.array([i])) for i in range(len(form.queries.rows))]
    return lambda: [searcher.top_k(query, 10) for query in queries]


def main() -> None:
    made = harness.parser(__doc__)
    harness.data_option(made)
    made.add_argument("--only", nargs="*", choices=DISTANCES, help="only these distances")
    made.add_argument("--queries", type=int, default=200)
    made.add_argument("--documents", type=int, default=2000)
    made.add_argument("--repeats", type=int, default=5)
    options = made.parse_args()
    results = Results("unknown", options)
    name, tokens = texts(options.data)
    made_up = forms(tokens, options.queries, options.documents)
    kept, left = (made_up[name].documents.matrix.nnz for name in ("match", "drop"))
    size = len(made_up["match"].documents.rows)
    results.note("data", f"{name}: {size} documents of {kept / size:.0f} words, of which {1 - left / kept:.1%} unknown")
    run(results, made_up, options)
    results.finish()


if __name__ == "__main__":
    main()
