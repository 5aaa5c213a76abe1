"""Shards together give the answers of the undivided index: values bit by bit, and ties in the same order."""

from __future__ import annotations

import json

import pytest

from wordferry.errors import FormatError, InputError, NotFound, Unsupported, VocabularyMismatch
from wordferry.index import Index
from wordferry.shards import Choices, build
from wordferry.shards.shard import Manifest
from wordferry.texts.weights import WEIGHTS

QUERIES = ["the cost of heating and the price of bread", "planets and their moons", "zzyzx football heated qwertz"]


def shown(hits):
    return [(hit.id, hit.score, hit.distance, hit.text, hit.metadata, hit.label) for hit in hits]


@pytest.mark.parametrize("k", [1, 10, 1000])
@pytest.mark.parametrize("constants", [{}, {"lift": 0}, {"candidates": 20}])
def test_word_search_is_that_of_the_undivided_index(whole, sharded, k, constants):
    for a, b in zip(whole.search(QUERIES, k, **constants), sharded.search(QUERIES, k, **constants), strict=True):
        assert shown(a) == shown(b)
        assert a.method == b.method


def test_stop_words_are_found_as_in_the_undivided_index(whole, sharded):
    for query in ("to be or not to be", "of the US", "who was it"):
        assert len(whole.search(query)) == 10
        assert shown(whole.search(query)) == shown(sharded.search(query))
        assert str(whole.search(query)[0].explain()) == str(sharded.search(query)[0].explain())


def test_filters(whole, sharded):
    for filter in ({"year": {"gte": 1993}}, {"rare": "yes"}, {"rare": {"exists": False}}, {"long": True}):
        assert shown(whole.search("bread", filter=filter)) == shown(sharded.search("bread", filter=filter))
        assert shown(whole.similar("bread", filter=filter)) == shown(sharded.similar("bread", filter=filter))
    with pytest.raises(InputError, match="no document has a field 'never'"):
        sharded.search("bread", filter={"never": 1})


@pytest.mark.parametrize(
    "options",
    [{}, {"weights": "counts", "unknown": "drop"}, {"weights": "bm25"}, {"distance": "wmd"}, {"distance": "rel-wmd"}],
)
def test_similar_is_that_of_the_undivided_index(whole, sharded, options):
    for a, b in zip(whole.similar(QUERIES, 30, **options), sharded.similar(QUERIES, 30, **options), strict=True):
        assert shown(a) == shown(b)


@pytest.mark.parametrize("distance", ["rel-rwmd", "cosine", "bow-l1", "wcd"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_all_weights_are_those_of_the_undivided_index(whole, sharded, weights, distance):
    options = {"weights": weights, "distance": distance}
    for unknown in ("match", "drop"):
        a, b = (one.similar(QUERIES, 30, unknown=unknown, **options) for one in (whole, sharded))
        assert [shown(hits) for hits in a] == [shown(hits) for hits in b]


def test_two_stages(whole, sharded):
    for options in (
        {"distance": "rel-rwmd"},
        {"rerank": "wmd"},
        {"distance": "wcd", "rerank": "wmd", "candidates": 15},
    ):
        a, b = (one.similar(QUERIES[:2], 12, **options) for one in (whole, sharded))
        assert [shown(hits) for hits in a] == [shown(hits) for hits in b]
        assert [hits.exact for hits in a] == [hits.exact for hits in b]


def test_a_document_is_not_like_itself(whole, sharded):
    name = whole.ids()[60]
    assert shown(whole.similar(id=name, k=20)) == shown(sharded.similar(id=name, k=20))
    assert shown(whole.similar(id=name, k=5, rerank="wmd")) == shown(sharded.similar(id=name, k=5, rerank="wmd"))


def test_reasons(whole, sharded):
    for a, b in zip(whole.search(QUERIES[0], 5), sharded.search(QUERIES[0], 5), strict=True):
        assert a.explain().to_json() == b.explain().to_json()
        assert [p.text for p in a.passages(2)] == [p.text for p in b.passages(2)]
    a, b = (one.similar(QUERIES[1], 3, explain=True) for one in (whole, sharded))
    assert [hit.explanation.to_rows() for hit in a] == [hit.explanation.to_rows() for hit in b]
    assert [hit.explain().distance for hit in b] == pytest.approx([hit.distance for hit in b], abs=1e-6)


def test_documents_by_id_and_by_page(whole, sharded):
    assert len(whole) == len(sharded)
    assert sharded.get(whole.ids()[120]) == whole.get(whole.ids()[120])
    assert [one.id for one in sharded] == whole.ids()
    assert [one.id for one in sharded.page(70, whole.ids()[10])] == whole.ids()[11:81]
    with pytest.raises(NotFound):
        sharded.get("nobody")
    assert whole.ids()[3] in sharded
    assert "nobody" not in sharded
    assert sharded.fields() == whole.fields()


def test_the_number_of_shards_and_of_workers_does_not_show(source, sharded, tmp_path):
    from wordferry.engines.engine import Local

    build(source, tmp_path / "five", 5, Choices(block=37), engine=Local(2))
    with Index.open(str(tmp_path / "five")) as five:
        assert [shown(hits) for hits in five.search(QUERIES)] == [shown(hits) for hits in sharded.search(QUERIES)]
        assert [shown(hits) for hits in five.similar(QUERIES)] == [shown(hits) for hits in sharded.similar(QUERIES)]
        assert five.related.c_max == sharded.related.c_max
        five.verify()


def test_a_stopped_build_goes_on(source, folder, tmp_path, monkeypatch):
    from wordferry.engines import tasks

    true, done = tasks.perform, []

    def stopping(task, place, shared):
        if task.name == "shard-00002" and "stop" in done:
            raise KeyboardInterrupt
        done.append(task.name)
        return true(task, place, shared)

    monkeypatch.setattr("wordferry.engines.engine.perform", stopping)
    done.append("stop")
    with pytest.raises(KeyboardInterrupt):
        build(source, tmp_path / "again", 3)
    with pytest.raises(NotFound, match="goes on when it is started again"):
        Index.open(str(tmp_path / "again"))
    first = [name for name in done if name != "stop"]
    done.clear()
    built = build(source, tmp_path / "again", 3)
    assert done == ["shard-00002"]
    assert built.resumed == len(first)
    with Index.open(str(tmp_path / "again")) as again, Index.open(str(folder)) as once:
        assert shown(again.search("bread", 50)) == shown(once.search("bread", 50))


def test_different_vocabularies_are_an_error_that_names_the_shard(source, folder, tmp_path):
    """A shard of another build in the place of one of ours."""
    import shutil

    from wordferry.engines.location import Location
    from wordferry.shards.shard import SHARDS

    (tmp_path / "few.jsonl").write_text(json.dumps({"id": "x", "text": "a cat and a dog"}) + "\n")
    build(str(tmp_path / "few.jsonl"), tmp_path / "other", 1)
    shutil.copytree(folder, tmp_path / "mixed")
    ours = Manifest.read(Location(tmp_path / "mixed")).shards[1].name
    theirs = Manifest.read(Location(tmp_path / "other")).shards[0].name
    shutil.rmtree(tmp_path / "mixed" / SHARDS / ours)
    shutil.copytree(tmp_path / "other" / SHARDS / theirs, tmp_path / "mixed" / SHARDS / ours)
    with pytest.raises(VocabularyMismatch, match=f"Shard {ours} has another vocabulary"):
        Index.open(str(tmp_path / "mixed"))


def test_damage_and_changes_are_named(folder, tmp_path):
    import shutil

    import wordferry
    from wordferry.engines.location import Location

    shutil.copytree(folder, tmp_path / "changed")
    record = Manifest.read(Location(tmp_path / "changed")).shards[2]
    with wordferry.Index.open(tmp_path / "changed" / "shards" / record.name) as index:
        index.delete(index.ids()[0])
    with pytest.raises(FormatError, match=f"Shard {record.name} was changed"):
        Index.open(str(tmp_path / "changed"))
    shutil.rmtree(tmp_path / "changed" / "shards" / record.name)
    with pytest.raises(FormatError, match=f"Shard {record.name} cannot be opened"):
        Index.open(str(tmp_path / "changed"))
    manifest = tmp_path / "changed" / "shards.json"
    manifest.write_text(manifest.read_text().replace('"words"', '"wards"'))
    with pytest.raises(FormatError, match="does not match its checksum"):
        Index.open(str(tmp_path / "changed"))


@pytest.mark.parametrize("where", ["shards", "common"])
def test_a_manifest_that_names_what_is_outside_its_folder_is_refused(folder, tmp_path, where):
    """Checksums find accidents, not somebody who can write the file: a name must not lead elsewhere."""
    from wordferry.base.storage import json_digest
    from wordferry.engines.location import Location
    from wordferry.shards.shard import FILE

    values = json.loads((folder / FILE).read_text())
    del values["sha256"]
    if where == "shards":
        values["shards"][0]["name"] = "../../outside"
    else:
        values["common"]["../outside"] = "0" * 64
    place = Location(tmp_path / "forged")
    place.write(FILE, json.dumps({**values, "sha256": json_digest(values)}).encode())
    with pytest.raises(FormatError, match="no name of a shard"):
        Manifest.read(place)


def test_a_hit_is_explained_by_the_weights_that_found_it(whole, sharded):
    for options in ({"weights": "counts"}, {"weights": "bm25", "unknown": "drop"}, {"distance": "act(transfers=0)"}):
        a, b = (one.similar(QUERIES[0], 3, **options)[0] for one in (whole, sharded))
        assert b.explain().distance == pytest.approx(b.distance, abs=1e-6)
        assert a.explain().to_rows() == b.explain().to_rows()
        assert a.explain("sentence").to_rows() == b.explain("sentence").to_rows()
        assert (a.explain().name, b.explain().name) == (options.get("distance", "rel-rwmd + 2*cosine"),) * 2


@pytest.mark.parametrize("options", [{}, {"weights": "counts"}, {"rerank": "wmd"}, {"distance": "cosine"}])
def test_method_counts_and_progress_are_those_of_the_undivided_index(whole, sharded, options):
    told = {}
    for name, one in (("whole", whole), ("sharded", sharded)):
        told[name] = []
        hits = one.similar(QUERIES, 4, progress=lambda done, total, name=name: told[name].append(total), **options)
        told[name].append((hits[0].method, hits[0].exact, hits[0].counts["pairs"]))
    assert told["whole"][-1] == told["sharded"][-1]
    assert set(told["whole"][:-1]) == set(told["sharded"][:-1]) == {len(QUERIES)}


def test_documents_are_listed_as_in_the_undivided_index(whole, sharded):
    assert sharded.ids() == whole.ids()
    assert [one.id for one in sharded] == whole.ids()
    assert [one.id for one in sharded.page(7, offset=3)] == [one.id for one in whole.page(7, offset=3)]
    behind = whole.ids()[10]
    for offset in (3, 60, 120):  # in its own shard, in the next one, and in the last one
        assert [one.id for one in sharded.page(7, behind, offset=offset)] == whole.ids()[11 + offset : 18 + offset]
    assert len(sharded) == len(whole) == sharded.count()
    assert sharded.stats().documents == len(whole)
    with pytest.raises(Unsupported, match="not changed"):
        sharded.add(["one more"])


@pytest.mark.parametrize(("name", "given"), [("duplicates", ()), ("leakage", (["a text"],)), ("knn_graph", (3,))])
def test_all_pairs_of_shards_are_a_job_of_the_cluster(sharded, name, given):
    with pytest.raises(Unsupported, match="wordferry cluster"):
        getattr(sharded, name)(*given)


@pytest.mark.parametrize("distance", ["act(transfers=0)", "act(transfers=2)", "act"])
def test_parameters_of_a_distance_are_kept(whole, sharded, distance):
    a, b = (one.similar(QUERIES, 8, distance=distance) for one in (whole, sharded))
    assert [shown(hits) for hits in a] == [shown(hits) for hits in b]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"id": "a", "text": "cat"}', '{"id": "b", "text": "  "}'], "docs.jsonl, row 2: the document has no words"),
        (['{"id": "a", "text": "cat", "x": {"y": 1}}'], "docs.jsonl, row 1: .*metadata 'x'"),
        (['{"id": "a", "text": "cat"}', '{"id": "a", "text": "dog"}'], "rows 1 and 2 have the same id"),
    ],
)
def test_bad_rows_are_named_before_a_shard_is_built(tmp_path, lines, words):
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(FormatError, match=words):
        build(str(tmp_path / "docs.jsonl"), tmp_path / "out", 1)
    assert not (tmp_path / "out" / "shards").exists()


def test_too_many_shards_and_a_full_place_are_refused(source, folder, tmp_path):
    with pytest.raises(InputError, match="every shard needs a document"):
        build(source, tmp_path / "out", 1000)
    with pytest.raises(InputError, match="holds a sharded index already"):
        build(source, folder, 3)


def test_sizes_are_those_of_all_shards_together(whole, folder):
    from wordferry.index import Index

    with Index.open(folder) as index:
        ours, theirs = index.stats(), whole.stats()
        for name in ("documents", "pairs", "tokens", "words"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert ours.coverage == pytest.approx(theirs.coverage)
        checked = index.verify()
        assert (checked.documents, checked.pairs) == (theirs.documents, theirs.pairs)
    with pytest.raises(InputError, match="leave embeddings= out"):
        Index.open(folder, embeddings=whole.embeddings)
