"""Lists in metadata: a document is found by any of the values."""

from __future__ import annotations

import numpy as np
import pytest

from wordferry.errors import InputError
from wordferry.index import Index

DOCUMENTS = [
    {"id": "a", "text": "the president greets the press", "tags": ["news", "politics"], "years": [1999, 2001.5]},
    {"id": "b", "text": "a band gave a concert", "tags": ["music"], "years": []},
    {"id": "c", "text": "shares fell at the exchange", "tags": "news", "years": 2001},
    {"id": "d", "text": "a cat sleeps on the sofa", "tags": np.array(["pets", "news"]), "years": [None, True]},
    {"id": "e", "text": "two dogs were barking"},
]
CASES = [
    ({"tags": "news"}, "acd"),
    ({"tags": {"in": ["music", "pets"]}}, "bd"),
    ({"tags": {"ne": "news"}}, "be"),
    ({"tags": {"exists": True}}, "abcd"),
    ({"tags": {"gte": "p"}}, "ad"),
    ({"tags": {"lt": "n"}}, "b"),
    ({"years": 2001}, "c"),
    ({"years": 1999.0}, "a"),
    ({"years": {"gt": 2001}}, "a"),
    ({"years": {"lte": 2001}}, "ac"),
    ({"years": True}, "d"),
    ({"years": 1}, ""),
    ({"years": None}, "d"),
    ({"years": {"exists": False}}, "e"),
    ({"tags": "news", "years": {"lt": 2000}}, "a"),
]


@pytest.fixture(scope="module", params=["buffer", "segment"])
def index(request, tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("lists") / "index") as index:
        index.add(DOCUMENTS)
        if request.param == "segment":
            index.compact()
        yield index


@pytest.mark.parametrize(("filter", "ids"), CASES, ids=str)
def test_filters_look_into_lists(index, filter, ids):
    assert sorted(hit.id for hit in index.similar("a text about the president", k=5, filter=filter)) == list(ids)


def test_lists_come_back_as_they_went_in(index):
    assert index.get("a").metadata == {"tags": ["news", "politics"], "years": [1999, 2001.5]}
    assert index.get("d").metadata == {"tags": ["pets", "news"], "years": [None, True]}
    assert index.verify().documents == 5
    hits = index.similar("the press", k=5).to_columns()
    assert '["music"]' in hits["tags"]


def test_fields_count_the_values_of_lists(index):
    (tags,) = (field for field in index.fields() if field.name == "tags")
    assert dict(tags.values) == {"news": 3, "politics": 1, "music": 1, "pets": 1}
    assert tags.documents == 4


@pytest.mark.parametrize("value", [[["nested"]], [{"a": 1}], {"a": 1}, [float("inf")], [2**70], object(), "\0list\0[]"])
def test_other_values_are_refused_by_name(index, value):
    with pytest.raises(InputError, match="'strange'"):
        index.add([{"text": "a cat", "strange": value}])
