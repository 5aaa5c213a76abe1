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

_SCRIPTS = ("service.js", "data.js", "flows.js", "canvas.js", "panel.js", "main.js")
_TOKEN = """<dialog id="token" aria-labelledby="token-title">
  <form method="dialog">
    <h2 id="token-title">This service asks for a token</h2>
    <p id="token-reason" role="alert" hidden></p>
    <p class="quiet">It is kept in this tab only.</p>
    <input type="password" id="token-value" autocomplete="off" aria-label="Token">
    <button class="more">Use it</button>
  </form>
</dialog>"""
_MOST_POINTS = 2000
"""Points of a picture in a notebook."""
_MOST_VALUES = 20  # the page has as many colours
"""A metadata field with more different values than this is not offered for colouring, unless it holds numbers."""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
"""What the browser may do with a page that carries everything in itself."""


def page(drawn: Map, title: str) -> str:
    """The whole page, which asks nothing of the network."""
    head = f"""<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<style>
{style()}</style>"""
    data = "\n".join(
        f'<script type="text/plain" id="{name}">{base64.b64encode(packed).decode("ascii")}</script>'
        for name, packed in (("texts", packed_texts(drawn, title)), ("arrays", packed_arrays(drawn)))
    )
    return _filled(title=escape(title), head=head, back="", foot=f"{data}\n<script>\n{script()}\n</script>")


def picture(drawn: Map) -> str:
    """A small picture without a script: points by cluster, the names of the coarsest clusters, what is not shown."""
    level = drawn.levels[0] if drawn.levels else None
    step = max(1, -(-len(drawn) // _MOST_POINTS))
    shapes = []
    for number in range(0, len(drawn), step):
        x, y = (300 + 260 * drawn.points[number]).tolist()
        cluster = -1 if level is None else int(level.cluster[number])
        colour = "#9aa4ab" if cluster < 0 else f"hsl({cluster * 137 % 360} 60% 50%)"
        hint = escape(text_of(drawn.records[number])[:80])
        shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"><title>{hint}</title></circle>')
    for number, name in enumerate(() if level is None else level.names):
        assert level is not None
        x, y = (300 + 260 * np.median(drawn.points[level.cluster == number], axis=0)).tolist()
        halo = "paint-order:stroke;stroke:#fff;stroke-width:3"
        words = (
            f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" font-size="12" style="{halo}">{escape(name)}</text>'
        )
        shapes.append(words)
    outside = 0 if level is None else int((level.cluster < 0).sum())
    facts = f"{len(drawn):,} documents, {outside:,} of them in no cluster, {len(drawn.unplaced):,} without a place"
    size = 'viewBox="0 0 600 600" style="max-width:600px;width:100%;background:#fff"'
    return f'<svg {size} role="img" aria-label="Map of documents">{"".join(shapes)}</svg><p>{facts}</p>'


def service_page() -> str:
    """The page for the service, whose parts and data have addresses of their own."""
    head = """<link rel="icon" href="static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="static/map.css">"""
    back = '<p><a href="./">Back to the search</a></p>'
    return _filled(title="Map", head=head, back=back, foot=_TOKEN + '\n<script src="static/map.js"></script>')


def style() -> str:
    """The style of the page."""
    return _part("map.css")


def script() -> str:
    """The script of the page."""
    body = "\n".join(map(_part, _SCRIPTS))
    return f'"use strict";\n(() => {{\n{body}\n}})();'


def packed_texts(drawn: Map, title: str) -> bytes:
    """Texts, ids, labels, metadata and names, as compressed JSON."""
    return _packed(json.dumps(_texts(drawn, title), ensure_ascii=False, separators=(",", ":")).encode())


def packed_arrays(drawn: Map) -> bytes:
    """Places, neighbours, bags of words and costs, compressed."""
    return _packed(_arrays(drawn))


def _filled(**values: str) -> str:
    text = _part("map.html")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _part(name: str) -> str:
    return resources.files("wordferry.maps").joinpath("static").joinpath(name).read_text(encoding="utf-8")


def _packed(data: bytes) -> bytes:
    """The time is left out so that the same map gives the same bytes."""
    return gzip.compress(data, 6, mtime=0)


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
