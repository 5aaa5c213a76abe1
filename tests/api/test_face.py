"""The public names: each documents itself, takes names as people spell them, and gives one value for one pair."""

from __future__ import annotations

import doctest
import inspect
import io
import re
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wordferry
import wordferry.neighbors
from wordferry.compare.distances.act import Act
from wordferry.errors import InputError, WordferryError

A, B = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"
OURS = ("compare", "judge", "clouds", "index.duplicates", "texts", "words", "base")
"""The rooms whose names are held to the rule here."""
MADE_BY_METHODS = {"wordferry.RelatedWords"}
"""Classes that nobody calls: build, load and open make them."""


def public() -> Iterator[tuple[str, Any]]:
    """Every public function, class and method of a class, by its name."""
    found: dict[str, Any] = {f"wordferry.{name}": getattr(wordferry, name) for name in wordferry.__all__}
    for module in (wordferry.neighbors, wordferry.clouds):
        found |= {f"{module.__name__}.{name}": value for name, value in vars(module).items() if name[0] != "_"}
    for name, value in found.items():
        room = str(getattr(value, "__module__", "")).removeprefix("wordferry.")
        if not room.startswith(OURS) or not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        if name.startswith("wordferry.clouds") and not room.startswith("clouds"):
            continue
        yield name, value


CALLS = dict(public())


def described(doc: str) -> set[str]:
    """The parameters that the section of a NumPy docstring names."""
    section = re.split(r"^\s*Parameters\n\s*-+\n", doc, flags=re.M)[-1]
    section = re.split(r"^\s*(?:Returns|Attributes|Examples)\n\s*-+\n", section, flags=re.M)[0]
    heads = re.findall(r"^([\w, ]+) :", inspect.cleandoc("\n" + section), flags=re.M)
    return {name.strip() for head in heads for name in head.split(",")}


@pytest.mark.parametrize("name", CALLS)
def test_every_parameter_is_described(name: str) -> None:
    value = CALLS[name]
    taken = () if name in MADE_BY_METHODS else inspect.signature(value).parameters
    wanted = {parameter for parameter in taken if parameter != "self"}
    doc = inspect.getdoc(value) or ""
    assert wanted - described(doc) == set(), f"{name} does not say what these are"
    assert ">>>" in doc, f"{name} shows no example"
    if inspect.isfunction(value):
        assert "Returns\n-------" in doc, f"{name} does not say what it returns"


@pytest.mark.parametrize("name", CALLS)
def test_examples_are_true(name: str) -> None:
    value = CALLS[name]
    module = inspect.getmodule(value)
    tests = [test for test in doctest.DocTestFinder().find(value, name, module=module) if test.examples]
    assert tests
    for test in tests:
        shown = io.StringIO()
        assert doctest.DocTestRunner().run(test, out=shown.write).failed == 0, shown.getvalue()


@pytest.mark.parametrize("owner", [wordferry.Measure, wordferry.Searcher])
def test_methods_that_answer_describe_their_parameters(owner: type) -> None:
    asked = {"pairwise", "plan", "top_k", "pair", "paired", "explain", "of"} & set(vars(owner))
    assert asked
    for name in asked:
        method = getattr(owner, name)
        wanted = set(inspect.signature(method).parameters) - {"self"}
        assert wanted - described(inspect.getdoc(method)) == set(), f"{owner.__name__}.{name}"


@pytest.mark.parametrize("name", [name for name, value in CALLS.items() if inspect.isfunction(value)])
def test_results_have_a_type(name: str) -> None:
    assert typing.get_type_hints(CALLS[name])["return"] is not Any


def test_the_list_of_names_can_be_learnt() -> None:
    assert len(wordferry.__all__) <= 24
    assert not {"pair", "one_to_many"} & set(wordferry.__all__)


@pytest.mark.parametrize("name", ["rel-rwmd", "rel-wmd", "rwmd", "wmd", "wcd", "cosine", "act"])
def test_one_pair_has_one_value(name: str) -> None:
    """Whichever call is asked, and whatever else stands in it."""
    company = ["The band gave a concert in Japan", "stocks fell sharply", "a cat sleeps on the sofa"]
    expected = np.float32(wordferry.distance(A, B, name))
    assert wordferry.pairwise([A], [B], name)[0, 0] == expected
    assert wordferry.paired([A, company[0]], [B, company[1]], name)[0] == expected
    assert wordferry.pairwise([A, *company], [*company, B], name)[0, -1] == expected
    assert wordferry.top_k([A], [B], 5, name).distances.tolist() == [[expected]]
    assert wordferry.Searcher([B, *company], name).top_k([A], 9).distances[0].tolist().count(expected) >= 1
    assert np.float32(wordferry.explain(A, B, name).distance) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "meant"), [("WMD", "wmd"), ("rel_rwmd", "rel-rwmd"), ("Rel-WMD", "rel-wmd"), ("cosin", "cosine")]
)
def test_a_name_spelled_otherwise_is_understood(given: str, meant: str) -> None:
    index = {"a": A, "b": B}
    calls = [
        lambda: wordferry.distance(A, B, given),
        lambda: wordferry.pairwise([A], [B], given),
        lambda: wordferry.Measure(given),
        lambda: wordferry.Searcher([A], given),
        lambda: wordferry.find_distance(f"{given} + wcd"),
        lambda: wordferry.neighbors.WordMoverNeighbors(1, given).fit(list(index.values())),
    ]
    for call in calls:
        with pytest.raises(InputError, match=f"Did you mean '{meant}'"):
            call()


def test_a_name_like_no_other_is_not_guessed() -> None:
    with pytest.raises(InputError) as error:
        wordferry.find_distance("banana")
    assert "Did you mean" not in str(error.value)
    with pytest.raises(InputError, match="Did you mean 'wmd'"):
        wordferry.clouds.distance([[1.0, 0.0]], [[0.0, 1.0]], "WMD")


# The identity of a distance -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["act(transfers=0)", "act", "rel-rwmd + 0.5*cosine", "act(transfers=2) + 1234567.125e-1*wcd", "wmd + 1e+3*cosine"],
)
def test_a_name_carries_all_parameters(text: str) -> None:
    found = wordferry.find_distance(text)
    assert wordferry.find_distance(found.name) == found
    assert wordferry.find_distance(found.name).name == found.name == repr(found)


def test_parameters_are_part_of_the_name_and_not_of_the_family() -> None:
    few, usual = Act(transfers=0), Act()
    assert few.name != usual.name
    assert few.family == usual.family == usual.name


def test_numbers_beyond_reason_are_refused() -> None:
    for share in (1e39, 1e7, 1e-7, float("inf"), float("nan"), -1.0, 0.0):
        with pytest.raises(InputError, match="share of cosine in a blend must be a number from"):
            wordferry.blend(("wmd", 1), ("cosine", share))
    for transfers in (2**31, 2**40, -1, 1.5, True):
        with pytest.raises(InputError, match="transfers must be"):
            Act(transfers=transfers)
    many = wordferry.distance(A, B, "act(transfers=1000000)")
    assert many == pytest.approx(wordferry.distance(A, B, "act(transfers=50)"))


# What people pass as texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([b"a text"], "decode"),
        (b"a text", "list of texts"),
        ([[(0, 1), (5, 2)]], "doc2bow"),
        ([[]], "no tokens"),
        ([["cat", 3]], "tokens must be str"),
        ([None], "Document 0 has no known word"),
        ([float("nan")], "Document 0 has no known word"),
        ([3.5], "float"),
        (np.array([["a cat", "a dog"], ["x", "y"]], dtype=object), "one-dimensional"),
        (np.array(["a cat", None], dtype=object), "Document 1 has no known word"),
        ([{"title": "a cat"}], "expected a field 'text'"),
    ],
)
def test_what_is_no_text_is_said_in_the_user_s_words(documents: Any, words: str) -> None:
    for call in (
        lambda: wordferry.pairwise(documents, distance="wcd"),
        lambda: wordferry.top_k(["a cat"], documents, 1, "wcd"),
        lambda: wordferry.Searcher(documents, "wcd"),
    ):
        with pytest.raises(WordferryError, match=words):
            call()


def test_an_array_of_texts_is_a_list_of_texts() -> None:
    texts = np.array([A, B], dtype=object)
    np.testing.assert_array_equal(wordferry.pairwise(texts), wordferry.pairwise([A, B]))


def test_an_index_tells_parameters_apart(tmp_path: Any) -> None:
    """A search by one parameter leaves nothing behind that answers a search by another."""
    texts = [A, B, "The band gave a concert in Japan", "stocks fell sharply", "a cat sleeps on the sofa"]
    index = wordferry.Index.create(tmp_path / "index", weights="counts")
    index.add(texts)
    for name in ("act(transfers=0)", "act", "act(transfers=0)"):
        found = {hit.text: hit.distance for hit in index.similar(A, 5, distance=name)}
        expected = wordferry.pairwise([A], texts, name)[0]
        assert [found[text] for text in texts] == pytest.approx(expected.tolist(), abs=1e-5), name
    made = wordferry.Index.create(tmp_path / "other", distance="act(transfers=0)")
    assert "act(transfers=0)" in repr(made.stats())
