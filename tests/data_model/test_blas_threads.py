"""The limit on NumPy's own threads holds inside the block only, also when the block fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from wordferry.base.runtime import one_blas_thread


def limits():
    """Of NumPy's own library; SciPy may bring another one, which no product of ours uses."""
    places = str(Path(np.__file__).parent)
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return [pool["num_threads"] for pool in blas if pool["filepath"].startswith(places)] or [
        pool["num_threads"] for pool in blas
    ]


def test_the_limit_is_restored():
    before = limits()
    with one_blas_thread():
        assert set(limits()) == {1}
    assert limits() == before
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert limits() == before


def test_of_overlapping_blocks_the_last_restores_the_limit():
    before = limits()
    if set(before) == {1}:
        pytest.skip("this machine's products run on one thread anyway")
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(limits()) == {1}
    second.__exit__(None, None, None)
    assert limits() == before


def test_any_thread_holds_and_restores_the_limit():
    """threadpoolctl 3.8 obeys one thread, the first, and says nothing to the others."""
    before = limits()
    if set(before) == {1}:
        pytest.skip("this machine's products run on one thread anyway")

    def limited():
        with threadpool_limits(1):
            return limits()

    with one_blas_thread():
        pass
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        block = one_blas_thread()
        one.submit(block.__enter__).result()
        assert set(limits()) == {1}
        other.submit(block.__exit__, None, None, None).result()
        assert limits() == before
        assert one.submit(limited).result() == [1] * len(before)  # what a caller does of its own works, too
        assert limits() == before
