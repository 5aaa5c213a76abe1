"""Whether arrays lie in mapped files."""

from __future__ import annotations

import mmap

import numpy as np


def is_mapped(array):
    """Whether an array lies in a mapped file, and not in memory of its own."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)
