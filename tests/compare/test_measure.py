"""Measures and runs, and that the functions are short forms of them without a will of their own."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from click.testing import CliRunner

import wordferry
from tests.relaxed.cases import Corpus, masses, random_corpus
from wordferry import DISTANCES, Measure, Run, find_distance
from wordferry.compare.distances.act import Act
from wordferry.errors import InputError, Unsupported
from wordferry.kernels import reference

CALLS = ("distance", "paired", "explain", "pairwise", "top_k", "Searcher")
A, B = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=8, documents=12)


@pytest.mark.parametrize("name", CALLS)
def test_every_option_stands_in_the_signature(name: str) -> None:
    signature = inspect.signature(getattr(wordferry, name))
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    for option in ("embeddings", "related", "overlap", "side", "tokenizer"):
        assert signature.parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
    positional = [p for p in signature.parameters.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert len(positional) <= 8


def test_functions_about_pairs_have_one_default() -> None:
    defaults = {inspect.signature(getattr(wordferry, name)).parameters["distance"].default for name in CALLS[:3]}
    assert defaults == {"wmd"}
    assert wordferry.distance(A, B) == wordferry.Measure("wmd").pair(A, B) == wordferry.paired([A], [B])[0]


@pytest.mark.parametrize("distance", list(DISTANCES))
def test_a_wrong_algorithm_is_refused_by_every_distance(corpus: Corpus, distance: str) -> None:
    for call in (
        lambda: wordferry.top_k(corpus.x, corpus.y, 1, distance, algorithm="nonsense", **corpus.options),
        lambda: wordferry.pairwise(corpus.x, corpus.y, distance, algorithm="nonsense", **corpus.options),
    ):
        with pytest.raises(InputError, match="algorithm must be one of"):
            call()


def test_an_iterator_is_a_collection() -> None:
    texts = [A, B, "The band gave a concert in Japan"]
    expected = wordferry.top_k([A], texts, 2, "wcd")
    mask = np.array([False, True, True])
    for Y in (iter(texts), (text for text in texts)):
        np.testing.assert_array_equal(wordferry.top_k(iter([A]), Y, 2, "wcd").indices, expected.indices)
    assert wordferry.top_k([A], iter(texts), 1, "wcd", mask=mask).indices.tolist() == [[1]]
    assert wordferry.Searcher(iter(texts), "wcd").top_k(iter([A]), 1).indices.tolist() == [[0]]


@pytest.mark.parametrize("distance", [name for name, record in DISTANCES.items() if not record.own_weights])
def test_a_measure_gives_what_the_functions_give(corpus: Corpus, distance: str) -> None:
    measure = Measure(distance, **corpus.options)
    D = wordferry.pairwise(corpus.x, corpus.y, distance, **corpus.options)
    np.testing.assert_array_equal(measure.pairwise(corpus.x, corpus.y), D)
    np.testing.assert_allclose(measure.paired(corpus.x, corpus.y), D.diagonal(), atol=1e-6)
    np.testing.assert_array_equal(
        measure.paired(corpus.x, corpus.y), wordferry.paired(corpus.x, corpus.y, distance, **corpus.options)
    )
    assert measure.pair(corpus.x[:1], corpus.y[1:2]) == pytest.approx(D[0, 1], abs=1e-6)
    found = measure.top_k(corpus.x, corpus.y, 3)
    np.testing.assert_array_equal(found.indices, wordferry.Searcher.of(measure, corpus.y).top_k(corpus.x, 3).indices)
    assert measure.explain(corpus.x[:1], corpus.y[1:2]).distance == pytest.approx(D[0, 1], abs=1e-5)


def test_paired_documents_stay_in_step(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="as many documents in X as in Y, got 2 and 3"):
        wordferry.paired(corpus.x[:2], corpus.y[:3], **corpus.options)
    with pytest.raises(InputError, match="out of step"):
        wordferry.paired([A], [B], on_empty="drop")
    assert wordferry.paired([], []).shape == (0,)


def test_runs_are_checked() -> None:
    assert Run(threads=2).workers == 2
    for wrong, message in (
        ({"threads": 0}, "threads must be at least 1"),
        ({"memory": 5}, "memory must be"),
        ({"device": "cuda:7"}, "device must be one of 'cpu'"),
    ):
        with pytest.raises(InputError, match=message):
            Run(**wrong)
    with pytest.raises(InputError, match="device must be one of 'cpu'"):
        wordferry.pairwise([A], [B], device="tpu")


def test_parameters_of_a_distance(corpus: Corpus) -> None:
    assert find_distance("act", transfers=3) == Act(transfers=3) == find_distance("act(transfers=3)")
    spelt = ("act( cost = 'cosine' ,transfers=3 )", 'act(transfers=3, cost="cosine",)', "act(cost=cosine, transfers=3)")
    assert {find_distance(one) for one in spelt} == {Act(transfers=3, cost="cosine")}
    assert (Act(transfers=3).name, Act().name) == ("act(transfers=3)", "act")
    cost = corpus.cost("act")
    bags = [[masses(bag) for bag in side[:4]] for side in (corpus.first, corpus.second)]
    for transfers in (0, 1, 3):
        truth = [[reference.act(a, b, cost, "omr", transfers) for b in bags[1]] for a in bags[0]]
        found = wordferry.pairwise(corpus.x[:4], corpus.y[:4], Act(transfers=transfers), embeddings=corpus.embeddings)
        np.testing.assert_allclose(found, truth, atol=1e-5)
        label = f"act(transfers={transfers})"
        told = wordferry.explain(corpus.x[:1], corpus.y[:1], label, embeddings=corpus.embeddings)
        assert told.distance == pytest.approx(truth[0][0], abs=1e-5)
    for wrong, message in (
        ("act(steps=3)", "act has no parameter 'steps'; its parameters: cost, transfers"),
        ("wmd(transfers=3)", "its parameters: cost"),
        ("act(3)", "Cannot read the parameters"),
        ("act(transfers=1, transfers=2)", "Cannot read the parameters"),
        ("act(transfers=1 cost=cosine)", "Cannot read the parameters"),
        ("act(transfers=(1))", "Cannot read the parameters"),
        (f"act(transfers={'-' * 100_000}1)", "transfers must be a whole number"),
        ("act(transfers='3')", "transfers must be a whole number"),
        ("act(transfers=-1)", "transfers must be at least 0"),
        ("atc(transfers=1)", "Unknown distance"),
    ):
        with pytest.raises(InputError, match=message):
            find_distance(wrong)


def test_a_distance_without_a_method_is_an_error() -> None:
    """Nothing is computed by a formula that the record does not name."""
    nameless = wordferry.compare.problem.Distance(family="mine", title="One without methods")
    with pytest.raises(Unsupported, match="No method of mine"):
        wordferry.pairwise([A], [B], nameless)
    with pytest.raises(Unsupported, match="mine cannot be explained"):
        wordferry.explain(A, B, nameless)


def test_the_fast_pair_is_reached_from_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The general way is closed, so that only the fast one can answer."""
    from wordferry.cli import app
    from wordferry.compare import measure

    expected = wordferry.distance(A, B)
    monkeypatch.setattr(measure.Measure, "problem", None)
    assert wordferry.distance(A, B, overlap="keep", threads=1, embeddings=wordferry.default_embeddings()) == expected
    result = CliRunner().invoke(app, ["distance", A, B, "--json"])
    assert json.loads(result.stdout)["value"] == expected, result.output


def test_a_pair_has_one_value() -> None:
    """Also through related words, which are then those of the whole vocabulary."""
    from wordferry.cli import app

    value = wordferry.distance(A, B, "rel-rwmd")
    result = CliRunner().invoke(app, ["distance", A, B, "-d", "rel-rwmd", "--json"])
    assert json.loads(result.stdout)["value"] == value
    assert wordferry.paired([A, B], [B, A], "rel-rwmd").tolist() == [value, value]
    assert wordferry.explain(A, B, "rel-rwmd").distance == pytest.approx(value, abs=1e-6)


def test_solve_is_public() -> None:
    answer = wordferry.solve([1, 2], [2, 1], [[0.0, 1.0], [1.0, 3.0]])
    assert answer.cost == 3.0
