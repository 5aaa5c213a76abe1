"""Make the related words of the default vectors in ``src/wordferry/data``.

    python tools/make_default_related.py [FOLDER]

Only the ids of the neighbours are stored (60,000 x 16, two bytes each), and the sums that c_max follows from; distances
are computed from the vectors when the file is read. Takes about seven seconds of one core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from wordferry import RelatedWords, default_embeddings
from wordferry.words.related.whole import SHIPPED, SHIPPED_R

TARGET = Path(__file__).resolve().parents[1] / "src" / "wordferry" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=TARGET, help="where to write (default: the package)")
    folder = parser.parse_args().folder
    related = RelatedWords.build(default_embeddings(), SHIPPED_R, "exact")
    lists = related.lists
    np.savez_compressed(folder / SHIPPED, own=lists.own.astype(np.uint16), rank_sums=lists.rank_sums, total=lists.total)
    print(f"{len(related)} words x {SHIPPED_R}, c_max {related.c_max!r}, in {folder / SHIPPED}")


if __name__ == "__main__":
    main()
