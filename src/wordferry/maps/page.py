"""A map as one HTML file: data, style and script inside it, nothing asked of the network."""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from wordferry.maps.atlas import Map, identifier, text_of

_SCRIPTS = ("data.js", "flows.js", "canvas.js", "panel.js", "main.js")
_MOST_VALUES = 20  # the page has as many colours
"""A metadata field with more different values than this is not offered for colouring, unless it holds numbers."""


def page(drawn: Map, title: str) -> str:
    """The whole page."""
    static = resources.files("wordferry.maps").joinpath("static")
    read = {name: static.joinpath(name).read_text(encoding="utf-8") for name in (*_SCRIPTS, "map.css", "map.html")}
    script = "\n".join(read[name] for name in _SCRIPTS)
    replaced = {
        "@title@": escape(title),
        "@style@": read["map.css"],
        "@script@": f'"use strict";\n(() => {{\n{script}\n}})();',
        "@texts@": _packed(json.dumps(_texts(drawn, title), ensure_ascii=False, separators=(",", ":")).encode()),
        "@arrays@": _packed(_arrays(drawn)),
    }
    text = read["map.html"]
    for key, value in replaced.items():
        text = text.replace(key, value)
    return text


def _packed(data: bytes) -> str:
    """Bytes as text inside a page; the time is left out so that the same map gives the same bytes."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def _texts(drawn: Map, title: str) -> dict[str, Any]:
    records = (*drawn.records, *drawn.unplaced)
    return {
        "title": title,
        "placed": len(drawn),
        "ids": [identifier(record, number) for number, record in enumerate(records)],
        "texts": [text_of(record) for record in records],
        "labels": [record.label for record in records],
        "metadata": [{key: value for key, value in record.metadata.items() if value is not None} for record in records],
        "colours": _colours(drawn),
        "levels": [list(level.names) for level in drawn.levels],
        "words": list(drawn.vocabulary),
        "c_max": drawn.c_max,
    }


def _colours(drawn: Map) -> list[dict[str, Any]]:
    """What points can be coloured by beside their cluster: the label, and fields of few values or of numbers."""
    found: list[dict[str, Any]] = []
    if any(record.label is not None for record in drawn.records):
        found.append({"name": "label", "kind": "names"})
    for key in dict.fromkeys(key for record in drawn.records for key in record.metadata):
        values = [record.metadata.get(key) for record in drawn.records]
        known = [value for value in values if value is not None]
        if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
            found.append({"name": key, "kind": "numbers"})
        elif 1 < len({str(value) for value in known}) <= _MOST_VALUES:
            found.append({"name": key, "kind": "names"})
    return found


def _arrays(drawn: Map) -> bytes:
    """A line of JSON that lists the arrays (name, type, length), then their bytes, each from a multiple of 8 on."""
    near = drawn.neighbors
    arrays: dict[str, Any] = {
        "points": drawn.points.astype("<f4"),
        "near": near.indices.astype("<i4"),
        "near_distances": near.distances.astype("<f4"),
        "bag_starts": drawn.masses.indptr.astype("<u4"),
        "bag_words": drawn.masses.indices.astype("<u4"),
        "bag_masses": drawn.masses.data.astype("<f4"),
        "cost_starts": drawn.costs.indptr.astype("<u4"),
        "cost_words": drawn.costs.indices.astype("<u4"),
        "cost_values": drawn.costs.data.astype("<f4"),
    }
    for depth, level in enumerate(drawn.levels):
        arrays[f"cluster_{depth}"] = level.cluster.astype("<i4")
    table, parts, position = [], [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        kind = {"<f4": "Float32Array", "<i4": "Int32Array", "<u4": "Uint32Array"}[array.dtype.str]
        table.append({"name": name, "kind": kind, "start": position, "length": array.size})
        padding = -len(data) % 8
        parts += [data, b"\0" * padding]
        position += len(data) + padding
    header = json.dumps(table, separators=(",", ":")).encode()
    return len(header).to_bytes(8, "little") + header + b" " * (-len(header) % 8) + b"".join(parts)
