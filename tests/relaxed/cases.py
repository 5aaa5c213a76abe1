"""Small corpora for the tests here, and their distances by the references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from wordferry import Embeddings, RelatedWords
from wordferry.kernels import reference

Bag = dict[int, int]


@dataclass(frozen=True)
class Corpus:
    """Bags of word counts over a vocabulary with vectors and related words."""

    embeddings: Embeddings
    related: RelatedWords
    first: list[Bag]
    second: list[Bag]

    @property
    def x(self) -> sp.csr_array:
        return matrix(self.first, len(self.embeddings))

    @property
    def y(self) -> sp.csr_array:
        return matrix(self.second, len(self.embeddings))

    @property
    def options(self) -> dict[str, object]:
        return {"embeddings": self.embeddings, "related": self.related}

    def cost(self, distance: str) -> reference.Cost:
        """The cost of two words under a distance, by the reference."""
        if not distance.startswith("rel-"):
            return reference.euclidean_cost(self.embeddings.matrix)
        graph = self.related.graph
        rows = [slice(graph.indptr[i], graph.indptr[i + 1]) for i in range(graph.shape[0])]
        lookup = {
            i: dict(zip(graph.indices[s].tolist(), graph.data[s].tolist(), strict=True)) for i, s in enumerate(rows)
        }
        return reference.related_cost(lookup, self.related.c_max)

    def truth(self, distance: str, overlap: str = "keep", side: str = "both") -> np.ndarray:
        """All distances of ``first`` to ``second`` by the reference."""
        cost = self.cost(distance)
        one: dict[str, Callable[[reference.Bag, reference.Bag], float]] = {
            "cosine": reference.cosine,
            "bow-l1": reference.l1,
            "wcd": lambda a, b: reference.wcd(a, b, self.embeddings.matrix),
            "wmd": lambda a, b: reference.wmd(a, b, cost, overlap),
            "rel-wmd": lambda a, b: reference.wmd(a, b, cost, overlap),
            "rwmd": lambda a, b: reference.rwmd(a, b, cost, overlap, side),
            "rel-rwmd": lambda a, b: reference.rwmd(a, b, cost, overlap, side),
        }
        function = one[distance]
        return np.array([[function(masses(a), masses(b)) for b in self.second] for a in self.first])


def masses(bag: Bag) -> dict[int, float]:
    """Counts to masses that sum to 1."""
    total = sum(bag.values())
    return {word: count / total for word, count in bag.items()}


def matrix(bags: list[Bag], words: int) -> sp.csr_array:
    """Bags as CSR counts."""
    indptr = np.cumsum([0] + [len(bag) for bag in bags])
    indices = [word for bag in bags for word in sorted(bag)]
    data = [bag[word] for bag in bags for word in sorted(bag)]
    return sp.csr_array((np.array(data, dtype=np.int32), indices, indptr), shape=(len(bags), words))


def random_corpus(seed: int = 0, words: int = 80, documents: int = 37, length: int = 12, r: int = 5) -> Corpus:
    """A corpus in which words and whole documents come again."""
    rng = np.random.default_rng(seed)
    embeddings = Embeddings([f"w{i}" for i in range(words)], rng.normal(size=(words, 7)))
    bags: list[Bag] = []
    for _ in range(2 * documents):
        drawn, counts = np.unique(rng.zipf(1.3, size=length) % words, return_counts=True)
        bags.append(dict(zip(drawn.tolist(), counts.tolist(), strict=True)))
    bags[documents] = bags[0]
    bags[documents + 1] = {word: 3 * count for word, count in bags[1].items()}
    bags[documents + 2] = {next(iter(bags[2])): 1}
    return Corpus(embeddings, RelatedWords.build(embeddings, r), bags[:documents], bags[documents:])


@st.composite
def corpora(draw: st.DrawFn, most_documents: int = 4) -> Corpus:
    """Vectors on a small grid, so that equal distances and equal vectors are common."""
    words = draw(st.integers(2, 12))
    dimensions = draw(st.integers(1, 4))
    cell = st.integers(-2, 2)
    rows = st.lists(cell, min_size=dimensions, max_size=dimensions).filter(any)
    vectors = draw(st.lists(rows, min_size=words, max_size=words))
    normalize = draw(st.booleans())
    embeddings = Embeddings([f"w{i}" for i in range(words)], np.array(vectors, dtype=float), normalize=normalize)
    bag = st.dictionaries(st.integers(0, words - 1), st.integers(1, 6), min_size=1, max_size=8)
    documents = st.lists(bag, min_size=1, max_size=most_documents)
    r = draw(st.integers(1, words + 1))
    return Corpus(embeddings, RelatedWords.build(embeddings, r), draw(documents), draw(documents))
