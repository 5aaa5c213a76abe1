"""Which distance an index compares by, and from which distance on two documents are no copies: figures for both.

    python benchmarks/near_copies.py --data FOLDER [--texts 200] [--queries 300] [--distances ...] [--copies ...]

First, titles that look for their own texts, which are without them (mean reciprocal rank among the first 100), and the
share of the ten nearest texts that have the class of the one that is asked about. Then near-copies: of texts of several
sets, which are not alike themselves, copies with typing errors, with a word replaced, with sentences (or halves) in
another order, cut by a tenth, and with words of other texts behind; and negated ones, which are no copies. Each set
with its copies is an index, and what ``Index.duplicates`` would delete is judged: copies of the text that stays should
go, other texts, of the same class or not, and negated copies should not. Shown for each threshold are precision,
recall, how many would go wrongly, and recall by kind. Last, each set is held out in turn: the others choose the
threshold that finds most at a precision of .99, and it is judged on the one that had no say.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import harness
from harness import Results
from wordferry import Index
from wordferry.index.duplicates import THRESHOLD
from wordferry.texts.tokenizers import default_tokenizer, negations

TITLED = ("amazon/all", "ir/cisi/docs", "ir/lisa/docs")
CLASSES = ("classic/all", "amazon/all", "r8/test", "20news/test", "twitter/all")
COPIED = ("amazon/all", "r8/test", "twitter/all", "ir/lisa/docs", "20news/test")
DISTANCES = ("rel-rwmd", "rel-rwmd + 0.5*cosine", "rel-rwmd + cosine", "rel-rwmd + 1.5*cosine", "rel-rwmd + 2*cosine")
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0)
PRECISION = 0.99
MOST = 4000
"""Documents of a set that titles and classes are looked up in."""
_WORD = re.compile(r"[A-Za-z]{4,}")
Edit = Callable[[str, random.Random, Sequence[str]], str]


def read(data: Path, name: str, count: int, seed: int = 3) -> list[dict[str, Any]]:
    """Some documents of a set, chosen at random."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if len(default_tokenizer()(row["text"])) >= 4]
    return random.Random(seed).sample(rows, min(count, len(rows)))


def of_titles(data: Path, name: str, distances: Sequence[str], queries: int) -> dict[str, float]:
    """Mean reciprocal rank of the own text of each title."""
    rows = [row for row in read(data, name, MOST) if row.get("title")]
    for row in rows:
        row["text"] = row["text"].replace(row["title"], " ", 1)
    with Index.create(on_empty="drop") as index:
        ids = index.add([{"id": str(n), "text": row["text"]} for n, row in enumerate(rows)])
        asked = [(id, rows[int(id)]["title"]) for id in ids if len(default_tokenizer()(rows[int(id)]["title"])) >= 2]
        asked = asked[:queries]
        found = {}
        for distance in distances:
            hits = index.similar([title for _, title in asked], 100, distance=distance)
            places = ([hit.id for hit in some] for some in hits)
            ranks = [1 / (ids.index(id) + 1) if id in ids else 0.0 for (id, _), ids in zip(asked, places, strict=True)]
            found[distance] = float(np.mean(ranks))
    return found


def of_classes(data: Path, name: str, distances: Sequence[str], queries: int) -> dict[str, float]:
    """The share of the ten nearest that have the class of the text."""
    rows = read(data, name, MOST)
    with Index.create(on_empty="drop") as index:
        index.add([{"id": str(n), "text": row["text"], "label": row["label"]} for n, row in enumerate(rows)])
        found = {}
        for distance in distances:
            hits = index.similar([row["text"] for row in rows[:queries]], 11, distance=distance)
            shares = [
                np.mean([hit.label == rows[n]["label"] for hit in some if hit.id != str(n)][:10])
                for n, some in enumerate(hits)
            ]
            found[distance] = float(np.mean(shares))
    return found


def typed_wrongly(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """One word in forty, at least one, with two letters in the wrong order or one left out."""
    places = list(_WORD.finditer(text))
    for match in sorted(rng.sample(places, max(1, len(places) // 40)), key=lambda match: -match.start()):
        word, at = match[0], rng.randrange(1, len(match[0]) - 1)
        wrong = word[:at] + (word[at + 1] + word[at] + word[at + 2 :] if rng.random() < 0.5 else word[at + 1 :])
        text = text[: match.start()] + wrong + text[match.end() :]
    return text


def replaced(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """One word replaced by one of another text."""
    match = rng.choice(list(_WORD.finditer(text)))
    return text[: match.start()] + rng.choice(words) + text[match.end() :]


def reordered(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """Sentences in another order; the second half of the words first where there is but one."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    if len(parts) > 2:
        rng.shuffle(parts)
        return " ".join(parts)
    tokens = text.split()
    return " ".join(tokens[len(tokens) // 2 :] + tokens[: len(tokens) // 2])


def cut(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """Without the last tenth of the words, at least one."""
    tokens = text.split()
    return " ".join(tokens[: -max(1, len(tokens) // 10)])


def extended(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """With more words behind, a tenth of what there is, at least one."""
    return f"{text} {' '.join(rng.choice(words) for _ in range(max(1, len(text.split()) // 10)))}"


def negated(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """With a word more that turns the meaning round."""
    tokens = text.split()
    at = rng.randrange(1, len(tokens))
    return " ".join([*tokens[:at], rng.choice(("not", "never", "no")), *tokens[at:]])


EDITS: dict[str, Edit] = {
    "typed wrongly": typed_wrongly,
    "one word replaced": replaced,
    "reordered": reordered,
    "cut": cut,
    "extended": extended,
    "negated": negated,
}


def unlike(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The texts of which no other has more than a third of the runs of five letters: what is left is no copy."""
    kept: list[tuple[str, set[str]]] = []
    for row in rows:
        runs = {row["text"][i : i + 5] for i in range(len(row["text"]) - 4)}
        if all(3 * len(runs & other) <= min(len(runs), len(other)) * 2 for _, other in kept) and _WORD.search(
            row["text"]
        ):
            kept.append((row["text"], runs))
    return [text for text, _ in kept]


def collection(data: Path, name: str, count: int) -> list[dict[str, Any]]:
    """Texts of a set and their copies, each with whose copy it is and of which kind."""
    rng, texts = random.Random(5), unlike(read(data, name, count))
    words = [word for text in texts for word in _WORD.findall(text) if word.lower() not in negations("en")]
    made = []
    for number, text in enumerate(texts):
        made.append({"id": f"{number}", "text": text, "of": number, "kind": "text"})
        if number % 2 == 0 and len(_WORD.findall(text)) >= 4:
            made += [
                {"id": f"{number} {kind}", "text": edit(text, rng, words), "of": number, "kind": kind}
                for kind, edit in EDITS.items()
            ]
    return made


def of_copies(data: Path, name: str, distance: str, count: int) -> dict[float, list[str]]:
    """For each threshold the kinds of the documents that would be deleted: "wrong" where it is no copy of what stays.

    The threshold 0 has all copies that there are.
    """
    documents = collection(data, name, count)
    own = {one["id"]: (one["of"], one["kind"]) for one in documents}
    deleted: dict[float, list[str]] = {0: [kind for _, kind in own.values() if kind not in ("text", "negated")]}
    with Index.create(on_empty="drop") as index:
        index.add([{"id": one["id"], "text": one["text"]} for one in documents])
        found = index.duplicates(max(THRESHOLDS), distance=distance)
        for threshold in THRESHOLDS:
            kinds = deleted[threshold] = []
            for group in found.rethreshold(threshold).groups:
                of, kept = own[group.representative]
                for whose, kind in map(own.__getitem__, group.others):
                    kinds.append(
                        kind if whose == of and "negated" not in (kept, kind) else "negated" if whose == of else "wrong"
                    )
    return deleted


def judged(kinds: Sequence[str], wanted: Counter[str]) -> tuple[float, float]:
    """Precision and recall of what would be deleted, given how many copies of each kind there are."""
    counts = Counter(kinds)
    right = sum(counts[kind] for kind in wanted)
    return right / max(len(kinds), 1), right / wanted.total()


def calibrate(results: Results, options: Any, distance: str) -> None:
    """A line of precision and recall for each threshold over all sets together, then each set held out in turn."""
    found = {name: of_copies(options.data, name, distance, options.texts) for name in COPIED}
    deleted = together(found.values())
    wanted = Counter(deleted.pop(0))
    print(f"\n{distance}: {wanted.total()} copies in {len(COPIED)} sets")
    print("threshold  precision  recall  wrong  negated  " + "  ".join(wanted))
    for threshold, kinds in deleted.items():
        counts = Counter(kinds)
        precision, recall = judged(kinds, wanted)
        shown = "  ".join(f"{counts[kind] / count:.3f}".rjust(len(kind)) for kind, count in wanted.items())
        apart = f"{counts['wrong']:5}  {counts['negated']:7}"
        print(f"{threshold:9.2f}  {precision:9.4f}  {recall:6.3f}  {apart}  {shown}", flush=True)
        results.values |= {
            f"{distance}, {threshold}, precision": precision,
            f"{distance}, {threshold}, recall": recall,
        }
    print(
        f"\n{distance}: the threshold that the other sets choose, judged on the one held out; and {THRESHOLD:g} there"
    )
    for name, own in found.items():
        others = together(one for other, one in found.items() if other != name)
        chosen, copies = best_threshold(others), Counter(own[0])
        line = [f"{name:16} chosen {chosen:4.2f}"]
        for threshold in (chosen, THRESHOLD):
            precision, recall = judged(own[threshold], copies)
            line.append(f"at {threshold:4.2f}: precision {precision:.4f}, recall {recall:.3f}")
            results.values[f"{distance}, {name} held out, {threshold}"] = [precision, recall]
        print("  ".join(line), flush=True)


def together(found: Iterable[dict[float, list[str]]]) -> dict[float, list[str]]:
    """What would be deleted of several sets, by threshold."""
    every: dict[float, list[str]] = {}
    for one in found:
        for threshold, kinds in one.items():
            every.setdefault(threshold, []).extend(kinds)
    return every


def best_threshold(deleted: dict[float, list[str]]) -> float:
    """The threshold that finds most copies among those that delete at most one document in a hundred wrongly."""
    wanted = Counter(deleted[0])
    figures = {threshold: judged(deleted[threshold], wanted) for threshold in THRESHOLDS}
    return max((t for t, (precision, _) in figures.items() if precision >= PRECISION), key=lambda t: figures[t][1])


def measure(results: Results, options: Any) -> None:
    """All figures."""
    tables = (("MRR of titles", TITLED, of_titles), ("class of the ten nearest", CLASSES, of_classes))
    for title, names, figure in tables if options.queries else ():
        print(f"\n{title:26}" + "".join(f"{distance:>24}" for distance in options.distances))
        for name in names:
            found = figure(options.data, name, options.distances, options.queries)
            print(f"{name:26}" + "".join(f"{value:24.3f}" for value in found.values()), flush=True)
            results.values |= {f"{title}, {name}, {distance}": value for distance, value in found.items()}
    for distance in options.copies:
        calibrate(results, options, distance)


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--texts", type=int, default=200, help="texts of a set of which copies are made")
    parser.add_argument("--queries", type=int, default=300, help="titles and texts of a set that are asked about")
    parser.add_argument("--distances", nargs="+", default=DISTANCES)
    parser.add_argument("--copies", nargs="*", default=("rel-rwmd", "rel-rwmd + 2*cosine"))
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or WORDFERRY_DATA; nothing is downloaded")
    results = Results("near_copies", options)
    measure(results, options)
    results.finish()


if __name__ == "__main__":
    main()
