"""A small encoder for tests: words of a topic point the same way, so texts can be near without sharing a word."""

from __future__ import annotations

import hashlib
import re
from functools import cache

import numpy as np

TOPICS = {
    "cat": ("cat", "kitten", "feline", "purrs", "tomcat"),
    "money": ("bank", "money", "loan", "interest", "credit"),
    "sea": ("ship", "harbour", "sailor", "vessel", "river"),
}
_TOPIC_OF = {word: topic for topic, words in TOPICS.items() for word in words}


@cache
def _direction(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(64).astype(np.float32)


def hashed(texts: list[str]) -> np.ndarray:
    """The sum of a fixed random vector for the topic of each word."""
    rows = []
    for text in texts:
        row = np.zeros(64, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            row += _direction(_TOPIC_OF.get(word, word))
        rows.append(row)
    return np.array(rows)
