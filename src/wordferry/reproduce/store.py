"""Finished cells on disk: one small JSON file each, written whole or not at all, so that a run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from wordferry.base.storage import write_whole

FORMAT = 1


class Store:
    """The folder of finished cells. A cell counts as finished only for the data and settings it was made with."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def load(self, key: str, fingerprint: str) -> dict[str, Any] | None:
        """The result of a finished cell, or None when it is missing, broken, or of other data."""
        try:
            cell = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(cell, dict) or (cell.get("key"), cell.get("fingerprint")) != (key, fingerprint):
            return None
        result = cell.get("result")
        return result if isinstance(result, dict) else None

    def save(self, key: str, fingerprint: str, result: dict[str, Any]) -> None:
        """Write a finished cell, atomically."""
        cell = {"key": key, "fingerprint": fingerprint, "result": result}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._file(key), json.dumps(cell, indent=1).encode())

    def _file(self, key: str) -> Path:
        return self.folder / (re.sub(r"[^\w.+-]", "~", key) + ".json")


def fingerprint_of(*parts: Any) -> str:
    """A short digest of settings and of the contents of files and folders."""
    digest = hashlib.sha256(str(FORMAT).encode())
    for part in parts:
        if isinstance(part, Path):
            files = sorted(p for p in part.rglob("*") if p.is_file()) if part.is_dir() else [part]
            for file in files:
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]
