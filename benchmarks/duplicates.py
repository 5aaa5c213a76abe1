"""How long de-duplication takes, from plain texts to groups, beside SemHash.

python benchmarks/duplicates.py --data FOLDER              20news (11,293 posts), and 120,000 texts of 38 words of it
python benchmarks/duplicates.py --data FOLDER --texts 0    20news alone

SemHash's figures are those of its documentation (github.com/MinishLab/semhash), encoding included, for the 11,314 posts
of 20 newsgroups and the 120,000 texts of AG News: another machine, other texts of about the same number and length. It
needs a model that must be downloaded, so it is not run here. Its answers are of another kind too: pairs by the cosine
of sums of word vectors, found approximately; ours are all pairs whose distance is at most the threshold.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import harness
from harness import Results, timed
from wordferry import Index
from wordferry.base.runtime import thread_count
from wordferry.texts.published import read_collection

PUBLISHED = {"20news": 0.73, "short": 5.20}
LENGTH = 38  # words of a text of AG News, about


def ours(results: Results, name: str, texts: list[str], threshold: float) -> None:
    """An index made of the texts on the disk, and its groups."""
    folder = Path(tempfile.mkdtemp())
    try:
        records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
        with Index.create(folder / "index", on_empty="drop") as index:
            made = timed(lambda: index.add(records))
            found = timed(lambda: index.duplicates(threshold))
            groups = timed(lambda: len(found.value.groups))
            lower = timed(lambda: len(found.value.rethreshold(threshold / 2)))
    finally:
        shutil.rmtree(folder)
    parts = {"index": made, "pairs": found, "groups": groups}
    wall, cpu = (sum(getattr(one, clock) for one in parts.values()) for clock in ("wall", "cpu"))
    results.values.update({f"{name}, {part}: s": took.wall for part, took in parts.items()})
    results.values.update({f"{name}, {part}: processor s": took.cpu for part, took in parts.items()})
    parts["in all"] = harness.Took(None, wall, cpu)
    shown = ", ".join(f"{part} {took.wall:.2f} s ({took.cpu:.2f} s of the processors)" for part, took in parts.items())
    print(f"{name}, {len(texts):,} texts, threshold {threshold:g}, {thread_count()} threads: {shown}")
    print(f"  SemHash publishes {PUBLISHED[name]:.2f} s for a collection of this kind, on another machine")
    print(
        f"  {len(found.value)} pairs ({len(found.value.copies)} exact copies) in {groups.value} groups; "
        f"another threshold of those pairs: {1000 * lower.wall:.1f} ms"
    )


def short_texts(texts: list[str], count: int) -> list[str]:
    """Pieces of ``LENGTH`` words of longer texts, one after the other."""
    words = [word for text in texts for word in text.split()]
    return [" ".join(words[i : i + LENGTH]) for i in range(0, min(len(words), count * LENGTH), LENGTH)]


if __name__ == "__main__":
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--threshold", type=float, default=0.3)
    parser.add_argument("--texts", type=int, default=120_000, help="how many short texts to make; 0 for none")
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("pass --data, the folder of the data sets")
    figures = Results("duplicates", chosen)
    posts = read_collection(chosen.data / "20news").records
    train = [str(one.text) for one in posts if one.split == "train"]
    ours(figures, "20news", train, chosen.threshold)
    if chosen.texts:
        pieces = short_texts([str(one.text) for one in posts], chosen.texts)
        ours(figures, "short", pieces, chosen.threshold)
    figures.finish()
