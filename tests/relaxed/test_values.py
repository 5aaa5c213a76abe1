"""Values against the references: by example, on the golden corpus, and on the sample collection."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.relaxed.cases import Corpus, masses, matrix, random_corpus
from wordferry import Embeddings, Measure, RelatedWords, Run, default_embeddings, pairwise, sample
from wordferry.compare.problem import fill, make_plan
from wordferry.kernels import reference
from wordferry.texts.bow import TfIdf, bags

RELAXED = [
    (d, o, s) for d in ("rwmd", "rel-rwmd") for o in ("omr", "keep", "residual") for s in ("both", "left", "right")
]
METHODS = {"rwmd": ("blocks", "rows"), "rel-rwmd": ("panels", "scan", "lists")}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus()


@pytest.mark.parametrize(("distance", "overlap", "side"), RELAXED)
def test_every_method_gives_the_reference(corpus: Corpus, distance: str, overlap: str, side: str) -> None:
    truth = corpus.truth(distance, overlap, side)
    problem = Measure(distance, overlap, side, **corpus.options).problem(corpus.x, corpus.y, Run(threads=2))
    plan = make_plan(problem)
    methods = METHODS[distance][-1:] if overlap == "residual" else METHODS[distance]
    for method in methods:
        for swapped in (False, True):
            out = np.full(problem.shape, np.nan, dtype=np.float32)
            fill(problem, out, replace(plan, method=method, swapped=swapped))
            np.testing.assert_allclose(out, truth, atol=1e-5, err_msg=f"{method}, swapped={swapped}")


@pytest.mark.parametrize(("distance", "overlap", "side"), RELAXED)
def test_x_with_itself(corpus: Corpus, distance: str, overlap: str, side: str) -> None:
    own = replace(corpus, second=corpus.first)
    truth = own.truth(distance, overlap, side)
    algorithms = ["standard"] if overlap == "residual" else ["standard", "linear"]
    for algorithm in algorithms:
        options = {"overlap": overlap, "side": side, "algorithm": algorithm, **corpus.options}
        out = pairwise(corpus.x, None, distance, **options)
        np.testing.assert_allclose(out, truth, atol=1e-5)
        assert (np.diag(out) == 0).all()


@pytest.mark.parametrize("distance", ["cosine", "bow-l1", "wcd"])
def test_baselines(corpus: Corpus, distance: str) -> None:
    np.testing.assert_allclose(
        pairwise(corpus.x, corpus.y, distance, embeddings=corpus.embeddings), corpus.truth(distance), atol=1e-6
    )
    own = replace(corpus, second=corpus.first)
    out = pairwise(corpus.x, None, distance, embeddings=corpus.embeddings)
    np.testing.assert_allclose(out, own.truth(distance), atol=1e-6)
    assert (np.diag(out) == 0).all()
    assert (out == out.T).all()


def test_tfidf_is_fitted_on_the_second_side(corpus: Corpus) -> None:
    weights = TfIdf.fit(corpus.y)
    X, Y = weights.apply(corpus.x), weights.apply(corpus.y)
    for distance, plain in (("tfidf-l1", "bow-l1"), ("tfidf-cosine", "cosine")):
        out = pairwise(corpus.x, corpus.y, distance)
        np.testing.assert_allclose(out, pairwise(X, Y, plain), atol=1e-6)
        np.testing.assert_array_equal(out, pairwise(corpus.x, corpus.y, distance, weights=weights))
        np.testing.assert_array_equal(out, pairwise(corpus.x, corpus.y, distance, weights=weights.idf))
    assert not np.allclose(out, pairwise(corpus.x, corpus.y, "tfidf-cosine", weights=TfIdf.fit(corpus.x)), atol=1e-4)


@pytest.fixture(scope="module")
def golden_corpus(golden: Path) -> tuple[Path, sp.csr_array, dict[str, object]]:
    vectors = np.load(golden / "embeddings.npy")
    documents = json.loads((golden / "docs.json").read_text())["docs"]
    embeddings = Embeddings([f"w{i}" for i in range(len(vectors))], vectors)
    X = matrix([{w: doc.count(w) for w in set(doc)} for doc in documents], len(vectors))
    return golden, X, {"embeddings": embeddings, "related": RelatedWords.build(embeddings, 16)}


@pytest.mark.parametrize(
    ("file", "distance", "overlap"),
    [
        ("rwmd_plain", "rwmd", "keep"),
        ("rwmd_second", "rwmd", "omr"),
        ("rwmd_strict", "rwmd", "residual"),
        ("rel-rwmd_r16", "rel-rwmd", "omr"),
    ],
)
def test_golden(golden_corpus, file: str, distance: str, overlap: str) -> None:
    golden, X, options = golden_corpus
    truth = np.load(golden / f"formula_{file}.npy")
    for algorithm in ("standard", "linear"):
        if overlap == "residual" and algorithm == "linear":
            continue
        for Y in (None, X):
            out = pairwise(X, Y, distance, overlap=overlap, algorithm=algorithm, **options)
            np.testing.assert_allclose(out, truth, atol=1e-5)


@pytest.mark.parametrize(("file", "distance", "far"), [("cosine", "cosine", 1e-4), ("wcd", "wcd", 1e-4)])
def test_golden_of_the_authors_program(golden_corpus, file: str, distance: str, far: float) -> None:
    golden, X, options = golden_corpus
    np.testing.assert_allclose(pairwise(X, None, distance, **options), np.load(golden / f"{file}.npy"), atol=far)


def test_the_sample_collection() -> None:
    embeddings = default_embeddings()
    texts = [article.text for article in sample().articles]
    X = bags(texts, embeddings.vocabulary).matrix
    used = np.unique(X.indices)
    small = embeddings.restrict(used)
    related = RelatedWords.build(small, 16)
    X = X[:, used]
    some = sp.csr_array(X[:6])
    counts = [
        dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in (X[i : i + 1] for i in range(6))
    ]
    corpus = Corpus(small, related, counts, counts)
    for distance in ("rwmd", "rel-rwmd"):
        truth = corpus.truth(distance, "omr")
        for algorithm in ("standard", "linear"):
            out = pairwise(some, some, distance, embeddings=small, related=related, algorithm=algorithm)
            np.testing.assert_allclose(out, truth, atol=1e-5 * related.c_max)
    both = [
        pairwise(X, None, "rel-rwmd", embeddings=small, related=related, algorithm=a) for a in ("standard", "linear")
    ]
    np.testing.assert_allclose(*both, atol=1e-5)


def test_special_documents() -> None:
    """One word, the same, disjoint and larger documents, worked out by hand."""
    embeddings = Embeddings(["a", "b", "c"], np.array([[0.0, 1.0], [3.0, 1.0], [0.0, 5.0]]), normalize=False)
    X = matrix([{0: 1}, {0: 1, 1: 1}], 3)
    Y = matrix([{0: 2}, {1: 1}, {2: 5}, {0: 1, 1: 1, 2: 2}], 3)
    expected = {
        "keep": [[0, 3, 4, 0.25 * 3 + 0.5 * 4], [1.5, 1.5, (4 + 5) / 2, 2.0]],
        "omr": [[0, 3, 4, 0.75 + 2.0], [1.5, 1.5, 4.5, 0.5 * 4]],
        "residual": [[0, 3, 4, 2.75], [1.5, 1.5, 4.5, 0.25 * 4 + 0.25 * 5]],
    }
    for overlap, values in expected.items():
        np.testing.assert_allclose(pairwise(X, Y, "rwmd", embeddings=embeddings, overlap=overlap), values, rtol=1e-6)


def test_equal_vectors_cost_nothing() -> None:
    """Distances near zero survive the matrix product: they are computed from differences."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=(6, 40))
    embeddings = Embeddings([f"w{i}" for i in range(12)], np.vstack([base, base + 1e-4 * rng.normal(size=base.shape)]))
    X, Y = matrix([{0: 1, 1: 2}, {2: 1}], 12), matrix([{6: 1, 7: 2}, {8: 1}], 12)
    corpus = Corpus(embeddings, RelatedWords.build(embeddings, 3), [{0: 1, 1: 2}, {2: 1}], [{6: 1, 7: 2}, {8: 1}])
    for algorithm in ("standard", "linear"):
        out = pairwise(X, Y, "rwmd", embeddings=embeddings, algorithm=algorithm)
        np.testing.assert_allclose(out, corpus.truth("rwmd", "omr"), rtol=1e-4)
    assert pairwise(X, Y, "wcd", embeddings=embeddings)[1, 1] == pytest.approx(corpus.truth("wcd")[1, 1], rel=1e-4)


def test_the_omr_identity(corpus: Corpus) -> None:
    """One term with OMR is c_max (1 - sum min) less what related words save."""
    out = pairwise(corpus.x, corpus.y, "rel-rwmd", side="left", **corpus.options)
    cost, c_max = corpus.cost("rel-rwmd"), corpus.related.c_max
    for i, a in enumerate(map(masses, corpus.first)):
        for j, b in enumerate(map(masses, corpus.second)):
            common = sum(min(mass, b.get(w, 0.0)) for w, mass in a.items())
            excess = {w: max(mass - b.get(w, 0.0), 0.0) for w, mass in a.items()}
            saved = sum(
                mass * (c_max - min((cost(w, v) for v in b if v != w), default=c_max)) for w, mass in excess.items()
            )
            assert out[i, j] == pytest.approx(c_max * (1 - common) - saved, abs=1e-5)


def test_reference_of_cosine_near_zero() -> None:
    """Nearly equal bags: 1 - cosine keeps its digits."""
    a, b = {0: 1000, 1: 1000}, {0: 1001, 1: 1000}
    out = pairwise(matrix([a], 2), matrix([b], 2), "cosine")[0, 0]
    x, y = np.array([1.0, 1.0]), np.array([1.001, 1.0])
    true = 1 - np.float64(x @ y) / (np.linalg.norm(x) * np.linalg.norm(y))
    assert out == pytest.approx(true, rel=1e-2)
    assert reference.cosine(masses(a), masses(b)) == pytest.approx(true, rel=1e-6)
