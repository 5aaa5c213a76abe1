"""Loading word vectors: words and megabytes per second by format beside gensim, and the memory of a restricted read.

    python benchmarks/loaders.py                # both parts
    python benchmarks/loaders.py --bound-only   # 3 million words, restricted to 20,000: peak memory

The files are generated; nothing is downloaded.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import harness
import wordferry
from harness import Results, least

CHILD = """
import resource, sys, time
import numpy, scipy.sparse, wordferry, wordferry.words.loaders
path, every, keep = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = ["w%d" % (i * every) for i in range(keep)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
found = wordferry.load_embeddings(path, words=words)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(found), found.matrix.nbytes, (after - before) * 1024, time.process_time() - start)
"""


def write_binary(path: Path, words: int, dimensions: int) -> int:
    """A word2vec binary whose vectors repeat, so that gzip makes it small; returns its unpacked size."""
    rows = np.random.default_rng(0).normal(size=(8, dimensions)).astype("<f4")
    tails = [b" " + row.tobytes() + b"\n" for row in rows]
    size = 0
    with open(path, "wb") if path.suffix != ".gz" else gzip.open(path, "wb", compresslevel=1) as stream:
        size += stream.write(b"%d %d\n" % (words, dimensions))
        for start in range(0, words, 4096):
            block = b"".join(b"w%d" % i + tails[i % 8] for i in range(start, min(start + 4096, words)))
            size += stream.write(block)
    return size


def write_text(path: Path, words: int, dimensions: int, header: bool) -> int:
    """The same words as text."""
    rows = np.random.default_rng(0).normal(size=(8, dimensions))
    tails = [" " + " ".join(f"{v:.5f}" for v in row) + "\n" for row in rows]
    with open(path, "w", encoding="ascii") as stream:
        if header:
            stream.write(f"{words} {dimensions}\n")
        for i in range(words):
            stream.write(f"w{i}{tails[i % 8]}")
    return path.stat().st_size


def bound(results: Results, folder: Path, words: int, dimensions: int, keep: int) -> None:
    """Peak memory of a restricted read, in a process of its own."""
    path = folder / "large.bin.gz"
    size = write_binary(path, words, dimensions)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(words // keep), str(keep)],
        capture_output=True,
        text=True,
        check=True,
    )
    found, result, peak, seconds = child.stdout.split()
    print(f"word2vec binary, gzipped: {words:,} words x {dimensions}, {size / 1e9:.2f} GB unpacked")
    print(f"read restricted to {int(found):,} words in {float(seconds):.1f} s of CPU time")
    beyond = (int(peak) - int(result)) / 1e6
    line = f"result {int(result) / 1e6:.1f} MB, peak memory {beyond:.1f} MB beyond the result"
    results.add("restricted read: MB beyond the result", beyond, line)


def speed(results: Results, folder: Path, words: int, dimensions: int) -> None:
    """Words and megabytes per second of a full read, best of three, and how many times as long gensim takes."""
    where = f"({words:,} words x {dimensions}, one thread, CPU time)"
    print(f"\n{'format':<18}{'words/s':>12}{'MB/s':>10}{'x gensim':>12}   {where}")
    makers = {
        "word2vec binary": ("v.bin", lambda p: write_binary(p, words, dimensions)),
        "word2vec .bin.gz": ("v.bin.gz", lambda p: write_binary(p, words, dimensions)),
        "fastText .vec": ("v.vec", lambda p: write_text(p, words, dimensions, True)),
        "GloVe text": ("v.txt", lambda p: write_text(p, words, dimensions, False)),
    }
    for name, (file, make) in makers.items():
        size = make(folder / file)
        best = least(lambda path=folder / file: wordferry.load_embeddings(path))
        rival = least(lambda path=folder / file: _gensim(path))
        results.values[f"{name}: words per second"] = words / best
        results.values[f"{name}: times as fast as gensim"] = rival / best
        print(f"{name:<18}{words / best:>12,.0f}{size / best / 1e6:>10.1f}{rival / best:>12.1f}")


def _gensim(path: Path) -> None:
    from gensim.models import KeyedVectors

    KeyedVectors.load_word2vec_format(str(path), binary=".bin" in path.suffixes, no_header=path.suffix == ".txt")


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--words", type=int, default=3_000_000)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--keep", type=int, default=20_000)
    parser.add_argument("--bound-only", action="store_true")
    options = parser.parse_args()
    results = Results("loaders", options)
    with tempfile.TemporaryDirectory() as name:
        bound(results, Path(name), options.words, options.dimensions, options.keep)
        if not options.bound_only:
            speed(results, Path(name), 40_000, options.dimensions)
    results.finish()


if __name__ == "__main__":
    main()
