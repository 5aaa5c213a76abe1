"""Words without a vector: every distance against its reference, in which such a word is c_max from all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from wordferry import DISTANCES, Embeddings, Measure, RelatedWords, Searcher, pairwise, top_k
from wordferry.compare.distances import find_overlap
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.kernels import reference
from wordferry.texts import bow
from wordferry.words.related.typical import typical_distance

PLAIN = [name for name, record in DISTANCES.items() if not record.own_weights and name != "sinkhorn"]
"""Values that are known to the last digit; those of sinkhorn have a test of their own (tests/transport)."""
CASES = [
    (name, overlap, side)
    for name in PLAIN
    for overlap in DISTANCES[name].overlaps or (None,)
    for side in DISTANCES[name].sides
]


@dataclass(frozen=True, eq=False)
class Case:
    """Token lists over words with vectors (w0, w1 ...) and without (u0, u1 ...)."""

    embeddings: Embeddings
    related: RelatedWords
    first: list[list[str]]
    second: list[list[str]]

    @property
    def words(self) -> list[str]:
        known = list(self.embeddings.vocabulary)
        return known + sorted({t for doc in (*self.first, *self.second) for t in doc if t not in set(known)})

    def far(self, distance: str) -> float:
        if DISTANCES[distance].needs_related:
            c_max = self.related.c_max
            return max(self.largest, typical_distance(self.embeddings)) if math.isnan(c_max) else c_max
        return typical_distance(self.embeddings)

    @property
    def largest(self) -> float:
        used = {t for doc in (*self.first, *self.second) for t in doc if t in self.embeddings}
        x = self.embeddings.matrix[[self.embeddings.vocabulary.id(word) for word in used]].astype(float)
        return float(np.linalg.norm(x[:, None] - x[None], axis=2).max(initial=0.0))

    def cost(self, distance: str) -> reference.Cost:
        known, far = len(self.embeddings), self.far(distance)
        if DISTANCES[distance].needs_related:
            graph = self.related.graph
            lookup = {
                i: dict(zip(graph.indices[a:b].tolist(), graph.data[a:b].tolist(), strict=True))
                for i, (a, b) in enumerate(zip(graph.indptr[:-1], graph.indptr[1:], strict=True))
            }
            base = reference.related_cost(lookup, self.related.c_max)
        else:
            base = reference.euclidean_cost(self.embeddings.matrix)
        return lambda i, j: 0.0 if i == j else far if max(i, j) >= known else base(i, j)

    @cache  # noqa: B019
    def truth(self, distance: str, overlap: str | None, side: str) -> np.ndarray:
        mode = find_overlap(DISTANCES[distance], overlap)
        cost, words = self.cost(distance), self.words
        known = len(self.embeddings)
        apart = np.eye(len(words) - known) * self.far(distance) / math.sqrt(2)
        space = np.zeros((len(words), self.embeddings.dimensions + len(apart)))
        space[:known, : self.embeddings.dimensions] = self.embeddings.matrix
        space[known:, self.embeddings.dimensions :] = apart
        one = {
            "cosine": reference.cosine,
            "bow-l1": reference.l1,
            "wcd": lambda a, b: reference.wcd(a, b, space),
            "rwmd": lambda a, b: reference.rwmd(a, b, cost, mode, side),
            "rel-rwmd": lambda a, b: reference.rwmd(a, b, cost, mode, side),
            "act": lambda a, b: reference.act(a, b, cost, mode),
            # where a word without a vector is nearer than half a distance, only what stays is defined to stay
            "wmd": lambda a, b: reference.wmd(a, b, cost, "residual"),
            "rel-wmd": lambda a, b: reference.wmd(a, b, cost, mode),
        }[distance]
        return np.array([[one(self.bag(a), self.bag(b)) for b in self.second] for a in self.first])

    def bag(self, tokens: list[str]) -> dict[int, float]:
        return {self.words.index(word): tokens.count(word) / len(tokens) for word in dict.fromkeys(tokens)}


def random_case(seed: int = 0, words: int = 60, unknown: int = 30, documents: int = 8) -> Case:
    rng = np.random.default_rng(seed)
    embeddings = Embeddings([f"w{i}" for i in range(words)], rng.normal(size=(words, 6)))
    names = [*embeddings.vocabulary, *(f"u{i}" for i in range(unknown))]
    draw = lambda: [names[i] for i in rng.integers(0, len(names), rng.integers(1, 12))]  # noqa: E731
    first = [draw() for _ in range(documents)]
    second = [draw() for _ in range(documents)]
    second[0], second[1], second[2], first[3] = first[0], ["u1"], ["u1", "u2"], ["u3"]
    return Case(embeddings, RelatedWords.build(embeddings, 5), first, second)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Vectors on a small grid, so that equal vectors and distances are common; most documents have unknown words."""
    words = draw(st.integers(2, 8))
    vectors = draw(
        st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2).filter(any), min_size=words, max_size=words)
    )
    embeddings = Embeddings([f"w{i}" for i in range(words)], np.array(vectors, float), normalize=draw(st.booleans()))
    token = st.sampled_from([*embeddings.vocabulary, "u0", "u1", "u2"])
    documents = st.lists(st.lists(token, min_size=1, max_size=7), min_size=1, max_size=3)
    related = RelatedWords.build(embeddings, draw(st.integers(1, words)))
    return Case(embeddings, related, draw(documents), draw(documents))


@pytest.fixture(scope="module")
def case() -> Case:
    return random_case()


def options(case: Case, distance: str) -> dict:
    return {"embeddings": case.embeddings} | ({"related": case.related} if DISTANCES[distance].needs_related else {})


@pytest.mark.parametrize(("distance", "overlap", "side"), CASES)
def test_values_are_those_of_the_reference(case: Case, distance: str, overlap: str | None, side: str) -> None:
    truth = case.truth(distance, overlap, side)
    measure = Measure(distance, overlap, side, **options(case, distance))
    algorithms = ["auto"]
    if DISTANCES[distance].sided:
        algorithms = ["standard"] if overlap == "residual" else ["standard", "linear"]
    for algorithm in algorithms:
        found = measure.pairwise(case.first, case.second, algorithm=algorithm)
        np.testing.assert_allclose(found, truth, atol=2e-5, err_msg=algorithm)
        np.testing.assert_allclose(
            measure.pairwise(case.second, case.first, algorithm=algorithm).T if side == "both" else truth,
            truth,
            atol=2e-5,
        )
    own = measure.pairwise(case.first)
    assert (np.diag(own) == 0).all()
    np.testing.assert_allclose(measure.paired(case.first, case.second), truth.diagonal(), atol=2e-5)


@pytest.mark.parametrize(("distance", "overlap", "side"), CASES)
def test_searches_and_explanations_agree(case: Case, distance: str, overlap: str | None, side: str) -> None:
    truth = case.truth(distance, overlap, side)
    measure = Measure(distance, overlap, side, **options(case, distance))
    searcher = wordferry.Searcher.of(measure, case.second)
    for row, query in enumerate(case.first):
        expected = np.sort(truth[row])[:4]
        np.testing.assert_allclose(searcher.top_k([query], 4).distances[0], expected, atol=2e-5)
    np.testing.assert_allclose(measure.top_k(case.first, case.second, 4).distances, np.sort(truth)[:, :4], atol=2e-5)
    for i, j in ((0, 1), (3, 2), (5, 5), (2, 2)):
        told = measure.explain(case.first[i], case.second[j])
        assert told.distance == pytest.approx(truth[i, j], abs=2e-5)
        named = {word for row in told.rows for word in (row.source, row.target) if word}
        assert named <= set(case.first[i]) | set(case.second[j])


@given(case=cases(), chosen=st.sampled_from(CASES))
@settings(max_examples=100)
def test_any_words(case: Case, chosen: tuple[str, str | None, str]) -> None:
    distance, overlap, side = chosen
    truth = case.truth(distance, overlap, side)
    given_options = options(case, distance)
    found = pairwise(case.first, case.second, distance, overlap=overlap, side=side, **given_options)
    np.testing.assert_allclose(found, truth, atol=1e-4)
    near = top_k(case.first, case.second, 2, distance, overlap=overlap, side=side, **given_options)
    np.testing.assert_allclose(near.distances[:, : len(case.second)], np.sort(truth)[:, :2], atol=1e-4)


@given(case=cases())
@settings(max_examples=30)
def test_bounds_hold(case: Case) -> None:
    """rwmd(omr) <= rwmd(residual) <= wmd also with words that have no vector."""
    pair = lambda name, mode: pairwise(case.first, case.second, name, overlap=mode, embeddings=case.embeddings)  # noqa: E731
    omr, residual, exact = pair("rwmd", "omr"), pair("rwmd", "residual"), pair("wmd", None)
    assert (omr <= residual + 1e-4).all()
    assert (residual <= exact + 1e-4).all()


@given(
    seed=st.integers(0, 10_000), unknown=st.integers(1, 60), distance=st.sampled_from(["wmd", "rel-wmd", "rwmd", "act"])
)
@settings(max_examples=40)
def test_search_is_equal_to_comparing_with_everything(seed: int, unknown: int, distance: str) -> None:
    case = random_case(seed, words=40, unknown=unknown, documents=40)
    measure = Measure(distance, **options(case, distance))
    values = measure.pairwise(case.first, case.second)
    found = measure.top_k(case.first, case.second, 5)
    if distance in ("wmd", "rel-wmd"):  # one way to a value: equal to the last bit, ties included
        best = np.argsort(values, axis=1, kind="stable")[:, :5]
        np.testing.assert_array_equal(found.indices, best)
        np.testing.assert_array_equal(found.distances, np.take_along_axis(values, best, axis=1))
    else:
        np.testing.assert_allclose(found.distances, np.sort(values, axis=1)[:, :5], atol=2e-5)


def test_words_without_a_vector_do_not_weaken_the_dual_bound() -> None:
    """They cost the same onto everything, which leaves a plain dual ascent no room: twice as much had to be solved."""
    texts = [article.text for article in wordferry.sample().articles]
    solved = {
        unknown: top_k(texts[:10], texts[10:310], 10, "wmd", unknown=unknown).counts["solved"]
        for unknown in ("match", "drop")
    }
    assert solved["match"] < 1.3 * solved["drop"]


def test_two_names_are_not_the_same_document() -> None:
    """Without them both would be "a fast parser", at distance 0."""
    a, b = "zyxlib a fast parser", "quuxor a fast parser"
    for distance in PLAIN:
        assert wordferry.distance(a, b, distance, unknown="drop") == 0
        assert wordferry.distance(a, b, distance) > 0.01
        assert wordferry.distance(a, a, distance) == 0


def test_policies() -> None:
    embeddings = Embeddings(["cat", "dog"], np.eye(2))
    call = lambda **kw: wordferry.pairwise([["cat", "cobol"]], [["cat"]], "bow-l1", embeddings=embeddings, **kw)  # noqa: E731
    assert call().tolist() == [[1.0]]
    assert call(unknown="drop").tolist() == [[0.0]]
    with pytest.raises(InputError, match="Document 0 holds the word 'cobol', which has no vector"):
        call(unknown="error")
    with pytest.raises(InputError, match="unknown must be one of 'match'"):
        call(unknown="ignore")
    with pytest.raises(EmptyDocumentError, match="no tokens"):
        wordferry.pairwise([[]], [["cat"]], "bow-l1", embeddings=embeddings)
    assert wordferry.pairwise([["cobol"]], [["cobol"], ["fortran"]], "wmd", embeddings=embeddings)[0, 0] == 0


def test_a_document_of_unknown_words_is_found_by_them() -> None:
    texts = ["the cat sleeps", "zyxlib", "stocks fell"]
    for distance in PLAIN:
        assert Searcher(texts, distance).top_k(["zyxlib"], 1).indices.tolist() == [[1]]
        assert Searcher(["zyxlib", "quuxor"], distance).top_k(["quuxor"], 1).indices.tolist() == [[1]]


def test_encoded_documents_stand_for_their_texts(case: Case) -> None:
    vocabulary = case.embeddings.vocabulary
    first, second = (bow.bags(side, vocabulary, unknown="match") for side in (case.first, case.second))
    assert first.coverage.min() == 0 < first.coverage.max()
    for distance in ("wmd", "rel-rwmd", "cosine"):
        expected = pairwise(case.first, case.second, distance, **options(case, distance))
        np.testing.assert_array_equal(pairwise(first, second, distance, **options(case, distance)), expected)
        found = Searcher(second, distance, **options(case, distance)).top_k(first, 3)
        expected = top_k(case.first, case.second, 3, distance, **options(case, distance)).indices
        np.testing.assert_array_equal(found.indices, expected)
    with pytest.raises(InputError, match="another vocabulary"):
        pairwise(first, second, "cosine", embeddings=Embeddings(["cat"], np.eye(1)))
    with pytest.raises(InputError, match="has no columns for words without a vector"):
        wordferry.encode(case.first, case.embeddings, unknown="match")


def test_explanations_show_unknown_words_as_themselves() -> None:
    told = wordferry.explain("zyxlib parses", "quuxor parses", "wmd")
    moved = [(row.source, row.target, row.kind) for row in told.rows if row.cost]
    assert moved == [("zyxlib", "quuxor", "c_max")]
    assert told.rows[0].distance == pytest.approx(told.c_max)


@pytest.mark.parametrize("name", PLAIN)
def test_only_the_query_has_words_without_a_vector(name: str) -> None:
    """A collection that was prepared without them compares as one that was prepared with the query."""
    emb = Embeddings(["cat", "dog", "cow", "hen"], np.eye(4))
    documents = [["cat"], ["dog", "cow"], ["hen", "hen", "cat"]]
    found = Searcher(documents, name, embeddings=emb).top_k([["cat", "zebra"], ["zebra"], ["dog"]], 3)
    wanted = top_k([["cat", "zebra"], ["zebra"], ["dog"]], documents, 3, name, embeddings=emb)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_array_equal(found.distances, wanted.distances)


def test_a_dict_of_weights_names_words_of_queries_too() -> None:
    """A word without a vector that no document has weighs what the dict says, however the query is compared."""
    emb = wordferry.Embeddings(["cat", "dog", "cow"], [[1.0, 0.0], [0.9, 0.3], [0.0, 1.0]])
    weights = {"zebra": 5.0, "cat": 2.0}
    query, documents = ["zebra", "cat", "gnu"], [["cat", "dog"], ["cow"]]
    row = wordferry.pairwise([query], documents, "rwmd", embeddings=emb, weights=weights)[0]
    near = wordferry.Searcher(documents, "rwmd", embeddings=emb, weights=weights).top_k([query], 2)
    assert near.distances[0].tolist() == sorted(row.tolist())
    lighter = wordferry.Searcher(documents, "rwmd", embeddings=emb, weights={"cat": 2.0}).top_k([query], 2)
    assert near.distances[0, 0] > lighter.distances[0, 0]
