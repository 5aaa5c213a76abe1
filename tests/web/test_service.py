"""The service: the answer of every endpoint that reads."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordferry
from tests.web.conftest import DOCUMENTS, QUERY, SCRIPT, WRITER, open_client, post, stored
from wordferry.texts.tokenizers import default_tokenizer
from wordferry.web.settings import Limits


def test_search_finds_by_words(reader: Any, built_index: Path) -> None:
    body = {"texts": [QUERY, "football match"], "k": 5, "explain": True}
    answer = post(reader, "/api/search", body)
    with wordferry.Index.open(built_index) as index:
        expected = index.search([QUERY, "football match"], k=5)
    assert answer["distance"] is None
    for result, hits in zip(answer["results"], expected, strict=True):
        assert [hit["id"] for hit in result["hits"]] == [hit.id for hit in hits]
        assert [hit["score"] for hit in result["hits"]] == [hit.score for hit in hits]
        assert result["hits"][0]["text"] == hits[0].text
        assert result["hits"][0]["metadata"] == dict(hits[0].metadata)
        for hit in result["hits"]:
            parts = [*hit["explanation"]["words"], *hit["explanation"]["neighbours"]]
            assert sum(part["part"] for part in parts) == pytest.approx(hit["score"], rel=1e-6)
    plain = post(reader, "/api/search", body | {"explain": False})["results"][0]["hits"][0]
    assert "explanation" not in plain
    assert "distance" not in plain


def test_every_word_counts(own_index: Path) -> None:
    """A word without a vector finds the documents that have it; one that no document has finds none."""
    with open_client(own_index, writer_token="writer") as client:
        new = {"documents": [{"id": "name", "text": "The xyzzyq is a boat"}, {"id": "bare", "text": "xyzzyq"}]}
        post(client, "/api/documents", new, 201, headers=WRITER)
        found = post(client, "/api/search", {"texts": ["XYZZYQ", "plughx"]})["results"]
        assert {hit["id"] for hit in found[0]["hits"]} == {"name", "bare"}
        assert found[1]["hits"] == []


def test_search_by_a_distance(reader: Any, built_index: Path) -> None:
    answer = post(reader, "/api/search", {"texts": [QUERY, "football match"], "k": 5, "distance": "rel-rwmd"})
    with wordferry.Index.open(built_index) as index:
        expected = index.similar([QUERY, "football match"], k=5, distance="rel-rwmd")
    assert answer["distance"] == "rel-rwmd"
    for result, hits in zip(answer["results"], expected, strict=True):
        assert [hit["id"] for hit in result["hits"]] == [hit.id for hit in hits]
        assert np.allclose([hit["distance"] for hit in result["hits"]], [hit.distance for hit in hits])


def test_search_with_distance_filter_and_unknown_words(reader: Any) -> None:
    body = {"texts": [f"{QUERY} xyzzyq"], "k": 3, "distance": "wmd", "filter": {"topic": "health"}}
    result = post(reader, "/api/search", body)["results"][0]
    assert {hit["metadata"]["topic"] for hit in result["hits"]} == {"health"}
    assert result["unknown_words"] == ["xyzzyq"]
    assert result["known_words"] == 4


def test_search_of_many_ks_at_once(reader: Any) -> None:
    few = post(reader, "/api/search", {"texts": [QUERY], "k": 2})["results"][0]["hits"]
    many = post(reader, "/api/search", {"texts": [QUERY], "k": 9})["results"][0]["hits"]
    assert len(few) == 2
    assert many[:2] == few


@pytest.mark.parametrize("distance", [None, "rel-rwmd"])
def test_pages_of_hits(reader: Any, distance: str | None) -> None:
    body = {"texts": ["a small river"], "distance": distance}
    whole = post(reader, "/api/search", body | {"k": 30})["results"][0]
    assert whole["more"]
    parts = [post(reader, "/api/search", body | {"k": 10, "offset": o})["results"][0] for o in (0, 10, 20)]
    assert [hit for part in parts for hit in part["hits"]] == whole["hits"]
    everything = post(reader, "/api/search", body | {"k": 1000})["results"][0]["hits"]
    last = post(reader, "/api/search", body | {"k": 10, "offset": len(everything) - 3})["results"][0]
    assert (last["hits"], last["more"]) == (everything[-3:], False)


def test_documents_like_a_document(reader: Any, built_index: Path) -> None:
    """By id the document itself is no hit; its text alone finds it first."""
    answer = post(reader, "/api/similar", {"like": {"id": "computing-01"}, "k": 5})
    assert answer["distance"] == "rel-rwmd + 2*cosine"
    assert "computing-01" not in [hit["id"] for hit in answer["hits"]]
    text = reader.get("/api/documents/computing-01").json()["text"]
    by_text = post(reader, "/api/similar", {"like": {"text": text}, "k": 6})
    assert by_text["hits"][0]["id"] == "computing-01"
    assert by_text["hits"][1:] == answer["hits"]
    paged = post(reader, "/api/similar", {"like": {"id": "computing-01"}, "k": 2, "offset": 3})
    assert paged["hits"] == answer["hits"][3:]
    chosen = {"like": {"id": "computing-01"}, "k": 3, "distance": "wmd", "filter": {"topic": "health"}}
    assert {hit["metadata"]["topic"] for hit in post(reader, "/api/similar", chosen)["hits"]} == {"health"}


def test_fields_to_filter_by(reader: Any) -> None:
    fields = {field["name"]: field for field in reader.get("/api/fields").json()["fields"]}
    topics = {one["value"]: one["documents"] for one in fields["topic"]["values"]}
    for topic, count in topics.items():
        found = post(reader, "/api/similar", {"like": {"text": QUERY}, "k": 1000, "filter": {"topic": topic}})
        assert len(found["hits"]) == count
    assert "title" in fields


def test_best_passages(reader: Any) -> None:
    """A long document is explained by the sentences that are nearest to the query; the rest is shown, and apart."""
    text = " ".join(wordferry.sample().texts[:8]) + " A ferry carries sailors over the wide river."
    body = {"a": {"text": "sailors on a river boat"}, "b": {"text": text}, "passages": 1, "distance": "wmd"}
    answer = post(reader, "/api/explain", body)
    ((start, end),) = answer["passages"]
    assert "ferry carries sailors" in text[start:end]
    assert "".join(segment["text"] for segment in answer["b"]["segments"]) == text
    assert "".join(s["text"] for s in answer["b"]["segments"] if s["compared"]) == text[start:end]
    assert set(answer["b"]["masses"]) == set(default_tokenizer()(text[start:end]))
    assert sum(flow["cost"] for flow in answer["flows"]) == pytest.approx(answer["value"], abs=1e-5)
    whole = post(reader, "/api/explain", body | {"passages": None})
    assert whole["passages"] is None
    assert whole["value"] > answer["value"]


@pytest.mark.parametrize("name", ["rel-rwmd", "rel-wmd"])
def test_one_value_for_a_pair(reader: Any, name: str) -> None:
    """Two texts have the value that Python gives them, to the last digit, in every answer."""
    other = "Helpers fix old code of xyzzyq"  # a word without a vector counts
    value = wordferry.distance(QUERY, other, distance=name)
    assert post(reader, "/api/distance", {"a": QUERY, "b": other, "distances": [name]})["values"] == {name: value}
    explained = post(reader, "/api/explain", {"a": {"text": QUERY}, "b": {"text": other}, "distance": name})
    assert explained["value"] == pytest.approx(value, abs=1e-6)


def test_distance(reader: Any) -> None:
    names = ["wmd", "rwmd", "cosine"]
    values = post(reader, "/api/distance", {"a": QUERY, "b": "helpers fix old code", "distances": names})["values"]
    expected = [wordferry.distance(QUERY, "helpers fix old code", distance=name) for name in names]
    assert list(values) == names
    assert np.allclose(list(values.values()), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["wmd", "rwmd", "rel-rwmd", "rel-wmd"])
def test_explanation_sums_to_the_distance(reader: Any, name: str) -> None:
    hit = post(reader, "/api/similar", {"like": {"text": QUERY}, "k": 1, "distance": name})["hits"][0]
    answer = post(reader, "/api/explain", {"a": {"text": QUERY}, "b": {"id": hit["id"]}, "distance": name})
    assert answer["value"] == pytest.approx(hit["distance"], abs=1e-5)
    assert sum(flow["cost"] for flow in answer["flows"]) == pytest.approx(answer["value"], abs=1e-5)
    for flow in answer["flows"]:
        assert flow["cost"] == pytest.approx(flow["mass"] * flow["distance"], abs=1e-6)
        assert flow["source"] in answer["a"]["masses"] or (flow["source"] is None and flow["kind"] == "c_max")
        assert flow["target"] in answer["b"]["masses"] or (flow["target"] is None and flow["kind"] == "c_max")
    assert "".join(segment["text"] for segment in answer["a"]["segments"]) == QUERY
    assert "".join(segment["text"] for segment in answer["b"]["segments"]) == hit["text"]
    assert sum(answer["b"]["masses"].values()) == pytest.approx(1)


def test_related_words(reader: Any, built_index: Path) -> None:
    answer = reader.get("/api/related", params={"word": "software"}).json()
    distances = [one["distance"] for one in answer["neighbours"]]
    assert distances == sorted(distances)
    assert len(distances) >= answer["r"] == 16
    assert answer["c_max"] > 1
    outside = reader.get("/api/related", params={"word": "Obama"}).json()
    assert outside["word"] == "obama"
    assert outside["c_max"] == answer["c_max"]
    vectors = wordferry.default_embeddings()
    stored = {token for text in [*wordferry.sample().texts, SCRIPT] for token in default_tokenizer()(text)}
    words = vectors.restrict(sorted(stored))
    distances = np.linalg.norm(words.matrix - vectors.vector("obama"), axis=1)
    nearest = [words.vocabulary[int(i)] for i in np.argsort(distances)[:16]]
    assert [one["word"] for one in outside["neighbours"][:5]] == nearest[:5]
    assert set(nearest) <= {one["word"] for one in outside["neighbours"]}
    missing = reader.get("/api/related", params={"word": "xyzzyq"})
    assert missing.status_code == 404
    assert "xyzzyq" in missing.json()["error"]


def test_documents_can_be_walked_through(reader: Any) -> None:
    ids, after = [], None
    while True:
        parameters = {"limit": 100} | ({"after": after} if after else {})
        page = reader.get("/api/documents", params=parameters).json()
        ids += [document["id"] for document in page["documents"]]
        after = page["next"]
        if after is None:
            break
    assert len(ids) == len(set(ids)) == DOCUMENTS


def test_document_whose_id_looks_like_a_path(reader: Any) -> None:
    answer = reader.get("/api/documents/script/%3Cb%3E")
    assert answer.status_code == 200
    assert answer.json()["text"] == SCRIPT
    assert answer.headers["content-type"] == "application/json"


def test_stats_health_metrics_openapi(reader: Any) -> None:
    assert stored(reader) == DOCUMENTS
    stats = reader.get("/api/stats").json()
    assert stats["writable"] is False
    known = {"rel-rwmd + 2*cosine", "rwmd", "rel-rwmd", "wmd", "rel-wmd", "wrd", "sinkhorn"}
    assert set(stats["explained"]) == known | (set(stats["explained"]) & {"act"})
    assert stats["limits"]["k"] == 1000
    assert reader.get("/healthz").json() == {"status": "ok"}
    post(reader, "/api/search", {"texts": [QUERY]})
    text = reader.get("/metrics").text
    assert 'wordferry_requests_total{method="POST",route="/api/search",status="200"}' in text
    assert f"wordferry_documents {DOCUMENTS}.0" in text
    paths = reader.get("/openapi.json").json()["paths"]
    assert {"/api/search", "/api/distance", "/api/explain", "/api/documents", "/api/stats", "/healthz"} <= set(paths)
    assert "400" in paths["/api/search"]["post"]["responses"]


def test_one_bad_text_does_not_lose_the_answers_of_the_others(reader: Any) -> None:
    alone = post(reader, "/api/search", {"texts": [QUERY]})["results"]
    for extra in ({}, {"distance": "wmd"}):
        first, bad, last = post(reader, "/api/search", {"texts": [QUERY, "?!", QUERY], **extra})["results"]
        assert first == last
        assert (bad["hits"], bad["error"]) == ([], "The query has no words.")
        assert extra or first == alone[0]
        assert first["hits"]


def test_empty_index(tmp_path: Path) -> None:
    """Everything answers before the first document is there, and finds it once it is."""
    wordferry.Index.create(tmp_path / "empty").close()
    with open_client(tmp_path / "empty", writer_token="writer") as client:
        assert stored(client) == 0
        assert client.get("/api/documents").json() == {"documents": [], "next": None}
        assert post(client, "/api/search", {"texts": [QUERY]})["results"][0]["hits"] == []
        assert client.get("/api/related", params={"word": "software"}).status_code == 404
        assert post(client, "/api/explain", {"a": {"text": QUERY}, "b": {"text": "old code"}})["value"] > 0
        post(client, "/api/documents", {"documents": [{"id": "one", "text": QUERY}]}, 201, headers=WRITER)
        hits = post(client, "/api/similar", {"like": {"text": QUERY}})["hits"]
        assert [(hit["id"], hit["distance"]) for hit in hits] == [("one", 0.0)]
        assert post(client, "/api/search", {"texts": [QUERY]})["results"][0]["hits"][0]["id"] == "one"


def test_documents_like_a_text_are_those_that_python_finds(reader: Any, built_index: Path) -> None:
    """With the index's own weights, and words without a vector count; a document by its id, too."""
    asked = "xyzzyq software of volunteers"
    with wordferry.Index.open(built_index) as index:
        for like, hits in (
            ({"text": asked}, index.similar(asked, 5)),
            ({"text": "xyzzyq"}, index.similar("xyzzyq", 5)),
            ({"id": "computing-01"}, index.similar(id="computing-01", k=5)),
        ):
            found = post(reader, "/api/similar", {"like": like, "k": 5})["hits"]
            assert [(hit["id"], hit["distance"]) for hit in found] == [(hit.id, hit.distance) for hit in hits]
            answer = post(reader, "/api/explain", {"a": like, "b": {"id": found[0]["id"]}})
            assert answer["value"] == pytest.approx(hits[0].explain().distance, abs=1e-6)


def test_a_document_of_words_without_vectors_is_found_and_explained(own_index: Path) -> None:
    with open_client(own_index, writer_token="writer") as client:
        documents = [{"id": "name", "text": "xyzzyq"}, {"id": "more", "text": "plughq xyzzyq. Old software. Code."}]
        post(client, "/api/documents", {"documents": documents}, 201, headers=WRITER)
        hits = post(client, "/api/similar", {"like": {"text": "xyzzyq"}, "k": 2})["hits"]
        assert [hit["id"] for hit in hits] == ["name", "more"]
        assert hits[0]["distance"] == 0
        assert [hit["id"] for hit in post(client, "/api/similar", {"like": {"id": "name"}, "k": 1})["hits"]] == ["more"]
        answer = post(client, "/api/explain", {"a": {"text": "xyzzyq"}, "b": {"id": "more"}, "passages": 1})
        assert "xyzzyq" in answer["b"]["masses"]


def test_overlap_and_empty_documents_of_the_index(tmp_path: Path) -> None:
    """Explanations use the overlap that searches use; a document without known words is infinitely far."""
    plain: dict[str, Any] = {"on_empty": "keep", "weights": "counts", "unknown": "drop"}
    with wordferry.Index.create(tmp_path / "kept", distance="rwmd", overlap="keep", **plain) as index:
        index.add([{"id": "a", "text": "old old code and software"}, {"id": "nothing", "text": "xyzzyq"}])
    with open_client(tmp_path / "kept") as client:
        query = "old software software"
        hits = post(client, "/api/similar", {"like": {"text": query}})["hits"]
        assert [hit["id"] for hit in hits] == ["a", "nothing"]
        assert hits[1]["distance"] is None
        answer = post(client, "/api/explain", {"a": {"text": query}, "b": {"id": "a"}})
        assert answer["value"] == pytest.approx(hits[0]["distance"], abs=1e-5)
        values = post(client, "/api/distance", {"a": query, "b": "old old code and software"})["values"]
        assert values["rwmd"] == pytest.approx(hits[0]["distance"], abs=1e-5)


def test_documents_given_as_tokens(tmp_path: Path) -> None:
    """Tokens are compared as they are, and shown with spaces between."""
    with wordferry.Index.create(tmp_path / "tokens") as index:
        index.add([{"id": "t", "tokens": ["software", "the", "repair", "of"]}])
    with open_client(tmp_path / "tokens") as client:
        assert client.get("/api/documents/t").json()["text"] == "software the repair of"
        answer = post(client, "/api/explain", {"a": {"text": "software repair"}, "b": {"id": "t"}, "distance": "wmd"})
        assert set(answer["b"]["masses"]) == {"software", "the", "repair", "of"}
        assert "".join(segment["text"] for segment in answer["b"]["segments"]) == "software the repair of"
        assert sum(flow["cost"] for flow in answer["flows"]) == pytest.approx(answer["value"])


def test_time_limit(built_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that takes too long is told so; the service goes on."""
    import time

    with open_client(built_index, limits=Limits(seconds=0.2)) as client:
        engine = client.app.state.service.engine
        real = engine.related
        monkeypatch.setattr(engine, "related", lambda word: time.sleep(0.6) or real(word))
        answer = client.get("/api/related", params={"word": "software"})
        assert answer.status_code == 503
        assert "longer than the 0.2 s" in answer.json()["error"]
        assert client.get("/healthz").status_code == 200


def test_unforeseen_error(built_index: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A bug is a plain 500 for the caller, a trace without texts in the log, and not the end."""

    def broken(word: str) -> Any:
        raise ZeroDivisionError(f"the secret is {word}")

    with open_client(built_index) as client, caplog.at_level(logging.INFO, "wordferry.access"):
        monkeypatch.setattr(client.app.state.service.engine, "related", broken)
        answer = client.get("/api/related", params={"word": "software"})
        assert answer.status_code == 500
        assert "software" not in answer.text
        assert client.get("/healthz").status_code == 200
    line = json.loads(caplog.records[0].getMessage())
    assert line["error"] == "ZeroDivisionError"
    assert line["trace"][-1].endswith(" broken")
    assert "software" not in json.dumps(line)


def test_access_log_holds_no_text(built_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_client(built_index) as client, caplog.at_level(logging.INFO, "wordferry.access"):
        post(client, "/api/search", {"texts": [QUERY]})
        client.get("/api/documents/computing-01")
        client.get("/api/related", params={"word": "software"})
        client.get("/nothing/at/all")
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "wordferry.access"]
    assert [line["route"] for line in lines] == ["/api/search", "/api/documents/{id:path}", "/api/related", "other"]
    assert set(lines[0]) == {"time", "client", "method", "route", "status", "ms"}
    text = json.dumps(lines)
    assert not any(word in text for word in ("olunteers", "software", "computing-01", "nothing"))


def test_the_interface_is_described_before_anything_is_asked(reader: Any) -> None:
    """Before 3.11.8 Python's parser, which takes docstrings from sources, fails beside a thread that parses too."""
    assert reader.app.openapi_schema is not None
