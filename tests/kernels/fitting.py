"""Calls that fit, of the kernels whose arguments seldom agree by chance: where the fuzzing starts from, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wordferry import _native

ROWS, WORDS = 3, 5


def _sparse(rows: int = ROWS, words: int = WORDS) -> tuple[Any, Any]:
    indptr = 2 * np.arange(rows + 1, dtype=np.int64)
    indices = np.stack([np.arange(rows) % (words - 1), np.arange(rows) % (words - 1) + 1], axis=1)
    return indptr, indices.astype(np.int32).ravel()


def csr(rows: int = ROWS, words: int = WORDS) -> Any:
    indptr, indices = _sparse(rows, words)
    return _native.Csr(indptr, indices, np.full(len(indices), 0.5, np.float32), words)


def whole(rows: int = ROWS) -> Any:
    indptr, indices = _sparse(rows)
    return _native.WholeCsr(indptr, indices, np.ones(len(indices), np.int64), WORDS)


def documents() -> Any:
    places = np.arange(WORDS, dtype=np.int32)
    costs = _f4(WORDS, WORDS), places, places
    return _native.TransportDocuments(whole(), whole(), *costs, _native.TransportRule(_native.TransportKind.wmd), False)


def _f4(*shape: int) -> Any:
    memory = np.empty(int(np.prod(shape)) * 4 + 64, np.uint8)
    start = int(-memory.ctypes.data % 64)
    array = memory[start : start + int(np.prod(shape)) * 4].view(np.float32).reshape(shape)
    array[...] = 0.5
    return array


def _i(dtype: str, *values: int) -> Any:
    return np.array(values, dtype)


def _ones(dtype: str, *shape: int) -> Any:
    return np.ones(shape, dtype)


def _lists() -> list[Any]:
    """Two documents: the first has the words 0 and 2, the second has word 2 three times, and word 4 by a bit."""
    lists = [_i("i8", 0, 2), _i("i4", 0, 2), np.array([[0, 0], [1, 0], [3, 1]]), _i("u2", 0, 0, 1), _i("u1", 3)]
    bits = [_i("i8", 0, 1), _i("i4", 4), _i("i4", 1), np.array([2] + 31 * [0], "u2")]
    return [2, *lists, *bits]


def _word_counter() -> Any:
    return _native.WordCounter(b"cat\xffdog\xff", _i("i4", 0, 1), b"the\xff", True, 1)


def _repeats() -> Any:
    return _native.Repeats(_native.Growth.saturation, _ones("f8", 2))


def _stored_arrays() -> list[Any]:
    """The documents of these lists by row."""
    return [_native.StoredWordLists(*_lists()), _i("i8", 0, 2, 4), _i("u2", 0, 2, 2, 4), _i("u1", 1, 1, 3, 1)]


def _stored() -> Any:
    return _native.StoredDocuments(*_stored_arrays())


def _word_documents() -> Any:
    return _native.WordDocuments(_stored(), _f4(2))


def _forms() -> list[Any]:
    return [_i("i4", 0, 0, 1), _i("i4", 0, 4, 2), _ones("u1", 3), _ones("f8", 2), 0.5, 1.0, 0.1]


def _weights() -> Any:
    """Of each word; one does not count."""
    return _native.WordWeights(np.array([1.0, 2.0, 0.5, 0.0, 1.0]))


def _weighed() -> Any:
    return _native.WeighedDocuments(_stored(), _f4(2), _ones("f8", 2), _f4(2), 8.0, _repeats())


def _list_arguments() -> list[Any]:
    edges = [_i("i4", 0, 1), _i("i4", 2, 4), _f4(2)]
    return [_i("i4", 0, 3), _f4(2), *edges, 1.0, _native.Overlap.omr, WORDS]


def _cosine_share() -> list[Any]:
    return [_f4(2), 1.0, 2.0, 1e-3]


def _list_query() -> Any:
    return _native.ListQuery(*_list_arguments())


def _vector_arguments() -> list[Any]:
    """The last word has no vector."""
    return [_f4(4, 3), _i("i4", 2, 0, 1, 3, -1), _weights(), 0.5]


def _vectors() -> Any:
    return _native.WordVectors(*_vector_arguments())


def _centroid_codes() -> list[Any]:
    return [_weighed(), _vectors(), _ones("f8", 3), np.eye(3)[:2], _ones("f8", 5), 2]


def _centroid_query() -> list[Any]:
    return [_vectors(), _i("i4", 0, 2), _f4(2), _i("i4", 4, 7), _f4(2)]


def _joining() -> list[Any]:
    """Two words with lists, one of which has changed, and two new ones."""
    vectors = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], "f4")
    return [
        vectors,
        _i("i8", 3, 0, 1, 2),
        _ones("i4", 2, 1),
        _f4(2, 1),
        _i("i4", 0)[:, None],
        _f4(1, 1),
        _i("i4", 0, 2),
        2,
    ]


def _graph() -> list[Any]:
    """The graph of these two words, the row of the second of which has changed."""
    return [_i("i4", 1), _f4(1), _i("i4", 0), _f4(1), _i("i4", 0, 1), _i("i4", 1, 2)]


def _rows(count: int) -> list[Any]:
    return [_ones("i4", count, 1), _f4(count, 1), _ones("i4", 4)]


def _entries(count: int) -> list[Any]:
    return [_ones("i4", count), _f4(count), _ones("i4", 4), _ones("i4", 4)]


def _linked() -> Any:
    made = _native.Joining(*_joining())
    made.link(*_graph())
    return made


def fitting() -> dict[str, Callable[[], list[Any]]]:
    """What makes the arguments of each target; methods have their object first."""
    graph, out = csr(WORDS), _f4(ROWS, ROWS)
    stems = [_i("i8", 0, 2, 3), _i("i4", 0, 1, 1), _i("i4", 1, 1, 2), _ones("f8", 3)]
    points = _native.Points(_f4(4, 3), _f4(4))
    omr, both = _native.Overlap.omr, _native.Side.both
    return {
        "Csr": lambda: [*_sparse(), np.full(2 * ROWS, 0.5, np.float32), WORDS],
        "Csr.widened": lambda: [csr(), 2 * WORDS],
        "WholeCsr": lambda: [*_sparse(), np.ones(2 * ROWS, np.int64), WORDS],
        "WholeCsr.widened": lambda: [whole(), 2 * WORDS],
        "Token": lambda: [],
        "Token.set": lambda: [_native.Token()],
        "cpu_variant": lambda: [],
        "Points": lambda: [_f4(4, 3), _f4(4)],
        "Candidates": lambda: [4, 2],
        "Candidates.seed": lambda: [_native.Candidates(4, 2), _ones("i4", 4, 2), _ones("f8", 4, 2)],
        "Candidates.unchanged": lambda: [_native.Candidates(4, 2), _ones("i4", 4, 2), np.ones(4, bool)],
        "Nearest": lambda: [ROWS, 2],
        "Nearest.finish": lambda: [_native.Nearest(ROWS, 2), 2],
        "TransportDocuments": lambda: [whole(), whole(), graph, 1.0, True],
        "make_symmetric": lambda: [_f4(ROWS, ROWS), 2, True],
        "nearest_centroids": lambda: [_f4(4, 3), _f4(3), 2],
        "pair_distances": lambda: [_f4(4, 3), _f4(4, 3), _i("i4", 0, 3), _i("i4", 1, 2), 2],
        "parse_numbers": lambda: [b"1 2 3 4", 2, _f4(4)],
        "product_error": lambda: [3],
        "refine_cosine": lambda: [csr(), csr(), 1e-3, _f4(ROWS, ROWS), 2],
        "squared_lengths": lambda: [_f4(4, 3)],
        "transposed_max": lambda: [_f4(ROWS, ROWS), _f4(ROWS, ROWS), 2],
        "union_graph": lambda: [_i("i4", 1, 2, 0)[:, None], _f4(3, 1)],
        "accumulate": lambda: [csr(), csr(), _f4(1, 16, 16), 0, True, False, out, 2],
        "dense_pairs": lambda: [
            csr(1), csr(), _f4(WORDS, 16), _i("i4", 0, -1), 1, WORDS - 1, 1.0, omr, both, _f4(1, ROWS), 2,
        ],
        "document_minima": lambda: [csr(), _f4(WORDS, 16), _f4(1, 32, 16), 16, 2],
        "lower_minima": lambda: [csr(), 0, _f4(WORDS, 16), _f4(1, 32, 16), 2],
        "panel_sums": lambda: [csr(), csr(), graph, 1.0, _native.PanelKind.omr, out, False, True, True, 2, None],
        "word_distances": lambda: [_f4(5, 3), _f4(5), _f4(16, 3), _f4(16), _f4(5, 16), 2],
        "related_pairs": lambda: [csr(), csr(), graph, 1.0, omr, both, out, 2, None],
        "rank_candidates": lambda: [points, _native.Candidates(4, 2), _i("i4", 0, 3), 2],
        "Joining": _joining,
        "Joining.rank_sums": lambda: [_native.Joining(*_joining()), _ones("f8", 1)],
        "Joining.write_lists": lambda: [_native.Joining(*_joining()), 3, *_rows(_native.Joining(*_joining()).rows)],
        "Joining.link": lambda: [_native.Joining(*_joining()), *_graph()],
        "Joining.write_links": lambda: [_linked(), 2, *_entries(_native.Joining(*_joining()).link(*_graph()))],
        "select_tile": lambda: [
            _f4(2, 3), _i("i4", 0, 1), _i("i4", 1, 2, 3), True, False, points, _native.Candidates(4, 2),
        ],
        "transport_one": lambda: [_i("i8", 2, 2, 1), _i("i8", 3, 2), _ones("f8", 3, 2)],
        "transport_many": lambda: [
            _ones("i8", 2, 3), _ones("i8", 2, 3), np.random.default_rng(0).random((2, 3, 3)), 2,
        ],
        "TransportRule": lambda: [_native.TransportKind.wmd, 2, False, 0.1, 1e-6, 50],
        "share_out": lambda: [
            _i("i8", 0, 2, 3), _i("i8", 0, 1, 1), _i("i8", 1, 0, 1), _ones("f8", 3), _ones("f8", 2),
            _ones("f8", 2), _ones("f8", 2),
        ],
        "soft_plan": lambda: [
            np.full(3, 1 / 3), np.full(2, 0.5), _f4(3, 2),
            _native.TransportRule(_native.TransportKind.wmd, 0, False, 0.1, 1e-6, 50),
        ],
        "transport_pair": lambda: [_f4(6, 3), _i("i8", 0, 2), _i("i8", 1, 2), _i("i8", 3, 1), _i("i8", 1, 1)],
        "TransportDocuments.all_pairs": lambda: [documents(), True, 0, out, 2],
        "TransportDocuments.search": lambda: [
            documents(), _f4(ROWS, ROWS), np.ones(ROWS, bool), 0.1, 2, -1, 2,
        ],
        "Nearest.offer": lambda: [_native.Nearest(ROWS, 2), 0, out, 0, None, 2],
        "StoredWordLists": _lists,
        "StoredDocuments": _stored_arrays,
        "StoredDocuments.sums": lambda: [_stored(), _ones("f8", WORDS), True, _repeats(), 2],
        "WordDocuments": lambda: [_stored(), _f4(2)],
        "FormQuery": _forms,
        "best_by_words": lambda: [[_word_documents()] * 2, _native.FormQuery(*_forms()), np.ones(4, bool), 3],
        "CodedDocuments": lambda: [_ones("i1", 2, 3), _f4(2)],
        "best_by_meaning": lambda: [
            [_native.CodedDocuments(_ones("i1", 2, 3), _f4(2))] * 2, _i("i2", 5, 0, 7), 0.1, np.ones(4, bool),
            np.ones(4, bool), 3,
        ],
        "scores_by_words": lambda: [[_word_documents()] * 2, _native.FormQuery(*_forms()), _i("i8", 3, 0)],
        "near_rows": lambda: [
            [_word_documents()] * 2, _i("i4", 0, 1, 1, 0, 0), _ones("f8", 2), _i("i8", 3, 0), _i("i4", 0, 1), 1,
        ],
        "nearest_among": lambda: [*stems, 2, 2],
        "merge_keys": lambda: [np.array([3, 7], "u8"), _i("i4", 1, 0), np.array([5, 7], "u8")],
        "stem_frequencies": lambda: [
            _native.StoredWordLists(*_lists()), _i("i8", 0, 1, 3), _i("i4", 0, 2, 4),
        ],
        "WordCounter": lambda: [b"cat\xffdog\xff", _i("i4", 0, 1), b"the\xff", True, 1],
        "WordCounter.add": lambda: [_word_counter(), b"cow\xff", _i("i4", 2)],
        "WordCounter.count": lambda: [
            _word_counter(), b"the cat's dogcow\xffcat\xff", _i("i8", 13, 21), _i("u1", 1, 0), 0, 2,
        ],
        "count_lists": lambda: [
            _i("i4", 0, 1, 1), _i("u1", 1, 2, 3), _i("i8", 0, -1), _ones("i8", 2), _ones("i8", 2),
        ],
        "place_lists": lambda: [
            _i("i8", 0, 2, 3), _i("i4", 0, 1, 1), _i("u1", 2, 1, 3), _i("i8", 0, 1), _i("i8", 1, 2), _i("i8", 0, 0),
            _i("i8", 0, -1), _ones("u2", 3), _ones("u1", 1), _ones("u2", 32),
        ],
        "WordWeights": lambda: [np.array([0.0, 1.0, 2.0])],
        "Repeats": lambda: [_native.Growth.saturation, _ones("f8", 2)],
        "WeighedDocuments": lambda: [_stored(), _f4(2), _ones("f8", 2), _f4(2), 8.0, _repeats()],
        "WordVectors": _vector_arguments,
        "CentroidCodes": _centroid_codes,
        "centroids_of": lambda: [[_weighed()] * 2, _vectors(), _i("i8", 1, 3)],
        "CentroidQuery": _centroid_query,
        "CentroidQuery.nearest": lambda: [
            _native.CentroidQuery(*_centroid_query()), [_weighed()] * 2,
            [_native.CentroidCodes(*_centroid_codes())] * 2, np.ones(4, bool),
            2, 2,
        ],
        "CentroidQuery.distances": lambda: [
            _native.CentroidQuery(*_centroid_query()), [_weighed()] * 2, _i("i8", 1, 2),
        ],
        "ListQuery": _list_arguments,
        "CosineShare": _cosine_share,
        "nearest_by_lists": lambda: [
            [_list_query()], [_weighed()] * 2, _weights(), np.ones(4, bool), [_native.CosineShare(*_cosine_share())],
            0.1, 3, 2,
        ],
        "list_distances": lambda: [
            _list_query(), [_weighed()] * 2, _weights(), [_native.CosineShare(*_cosine_share())], _i("i8", 1, 2),
        ],
        "list_bounds": lambda: [
            _native.StoredWordLists(*_lists()), _i("i4", 0, 2), _f4(2), _f4(2), _f4(2), _f4(2), _repeats(),
            1.0, 2,
        ],
    }  # fmt: skip
