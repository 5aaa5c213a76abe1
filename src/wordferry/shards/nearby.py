"""Parts of a folder of shards as files of this machine: where they are, or a copy of what lies in a bucket."""

from __future__ import annotations

import hashlib
from pathlib import Path

from wordferry.base.storage import cache_folder
from wordferry.engines.location import Location


def on_this_machine(place: Location, name: str, version: str = "") -> Path:
    """A folder below a place. That of a bucket is copied once, and kept under the place's name and the version."""
    if place.local is not None:
        return place.local / name
    key = hashlib.sha256(f"{place.address}\0{version}".encode()).hexdigest()[:16]
    folder = cache_folder() / "shards" / key / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        place.download(name, folder)
    return folder
