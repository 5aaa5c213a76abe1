"""The second task of the paper on the triplet files of a data folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wordferry.compare.distances import find_distance
from wordferry.judge.evaluation import indexed_distances, judged_measure
from wordferry.judge.triplets import judge
from wordferry.reproduce.bench import Clock, Source
from wordferry.reproduce.cells import Cell
from wordferry.texts import bow
from wordferry.texts.published import read_triplets
from wordferry.words.related.graph import DEFAULT_R, RelatedWords


def triplet_files(folder: Path) -> dict[str, Path]:
    """Triplet files by the name of their set: ``triplets/NAME/triplets.jsonl``, gzipped or not."""
    found: dict[str, Path] = {}
    for file in sorted((folder / "triplets").glob("*/triplets.jsonl*")):
        found.setdefault(file.parent.name, file)
    return found


class TripletBench:
    """A triplet set, encoded once for all distances."""

    def __init__(self, name: str, file: Path, source: Source, threads: int | None) -> None:
        self.threads = threads
        read = read_triplets(file, name=name)
        embeddings = source.load_vectors()
        found = bow.bags(read.documents, embeddings.vocabulary, tokenizer=source.tokenizer(name), on_empty="keep")
        words = np.unique(found.matrix.indices).astype(np.int64)
        self.counts = found.matrix[:, words]
        self.embeddings = embeddings.restrict(words)
        self.documents = bow.Encoded.of(self.counts, self.embeddings.vocabulary)
        self.triples = np.array(read.triples, dtype=np.int64).reshape(-1, 3)
        self.facts = {
            "documents": len(read.documents),
            "triplets": len(read.triples),
            "words": len(words),
            "mean_words": round(float(np.diff(self.counts.indptr).mean()), 1),
        }

    def run(self, cell: Cell) -> dict[str, Any]:
        """Both rules from the same distances."""
        clock = Clock()
        related = None
        with clock.step("preprocessing"):
            if find_distance(cell.distance).needs_related:
                related = RelatedWords.build(self.embeddings, DEFAULT_R, threads=self.threads)
        measure = judged_measure(cell.distance, embeddings=self.embeddings, related=related)
        a, b, c = self.triples.T
        with clock.step("distances"):
            both = np.concatenate
            near = indexed_distances(self.documents, both([a, a]), both([b, c]), measure, self.threads)
        with clock.step("third side"):
            third = indexed_distances(self.documents, b, c, measure, self.threads)
        ab, ac = np.split(near, 2)
        empty = ~(np.diff(self.counts.indptr) > 0)[self.triples].all(axis=1)
        return {
            **cell.to_json(),
            **self.facts,
            "closer": judge(ab, ac, empty=empty).to_json(),
            "smallest": judge(ab, ac, third, empty=empty, rule="smallest").to_json(),
            **clock.to_json(),
        }
