"""The parts of the service that need no index: settings, batches, counters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from wordferry.errors import InputError
from wordferry.web.batching import Batcher
from wordferry.web.metrics import Histogram, Metrics
from wordferry.web.settings import Limits, Settings, is_loopback
from wordferry.web.workers import Overloaded, Workers


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[(name, True) for name in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost")],
        *[(name, False) for name in ("0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.evil", "")],
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_off_loopback_needs_a_token() -> None:
    with pytest.raises(InputError, match=r"Refusing to listen on 0\.0\.0\.0"):
        Settings(host="0.0.0.0")
    with pytest.raises(InputError, match="Refusing"):
        Settings(host="0.0.0.0", writer_token="w")
    assert Settings(host="0.0.0.0", token="r").may_read("r")


@pytest.mark.parametrize("token", ["", "with space", "new\nline", "ümlaut"])
def test_bad_token(token: str) -> None:
    with pytest.raises(InputError, match="printable ASCII"):
        Settings(token=token)


def test_same_tokens_are_refused() -> None:
    with pytest.raises(InputError, match="must differ"):
        Settings(token="x", writer_token="x")


def test_rights() -> None:
    both = Settings(token="r", writer_token="w")
    assert [both.may_read(t) for t in ("r", "w", "x", "", None)] == [True, True, False, False, False]
    assert [both.may_write(t) for t in ("r", "w", "x", "", None)] == [False, True, False, False, False]
    open_ = Settings()
    assert open_.may_read(None)
    assert not open_.may_write(None)
    assert not open_.may_write("")


def test_limits_are_checked() -> None:
    with pytest.raises(InputError, match="limit k must be greater than 0"):
        Limits(k=0)


def test_batcher_joins_what_waits() -> None:
    """While one call runs, what arrives is joined; lanes are kept apart; answers find their askers."""
    calls: list[tuple[str, list[int]]] = []
    gate = threading.Event()

    def work(key: str, items: Sequence[int]) -> list[str]:
        calls.append((key, list(items)))
        if len(calls) == 1:
            gate.wait(10)
        return [f"{key}{item}" for item in items]

    async def scene() -> list[str]:
        batcher: Batcher[int, str] = Batcher(work, Workers("test", 1, 100), largest=3, waiting=100)
        tasks = [asyncio.create_task(batcher.submit("a", 0))]
        while not calls:
            await asyncio.sleep(0.001)
        tasks += [asyncio.create_task(batcher.submit("a", i)) for i in range(1, 6)]
        tasks += [asyncio.create_task(batcher.submit("b", 9))]
        await asyncio.sleep(0)
        gate.set()
        answers = await asyncio.gather(*tasks)
        return list(answers)

    assert asyncio.run(scene()) == ["a0", "a1", "a2", "a3", "a4", "a5", "b9"]
    assert sorted(calls) == [("a", [0]), ("a", [1, 2, 3]), ("a", [4, 5]), ("b", [9])]


def test_batcher_runs_a_second_call_when_it_is_nearly_full() -> None:
    """Two calls of one lane at once, each worth it; a few more wait for the end of one of them."""
    calls: list[list[int]] = []
    gates = [threading.Event() for _ in range(3)]

    def work(key: str, items: Sequence[int]) -> list[int]:
        calls.append(list(items))
        gates[len(calls) - 1].wait(10)
        return list(items)

    async def seen(count: int) -> None:
        while len(calls) < count:
            await asyncio.sleep(0.001)

    async def scene() -> list[int]:
        workers = Workers("test", 2, 100)
        batcher: Batcher[int, int] = Batcher(work, workers, largest=4, waiting=100)
        tasks = [asyncio.create_task(batcher.submit("a", 0))]
        await seen(1)
        tasks += [asyncio.create_task(batcher.submit("a", i)) for i in (1, 2)]
        await asyncio.sleep(0.05)
        assert len(calls) == 1
        tasks += [asyncio.create_task(batcher.submit("a", 3))]
        await seen(2)
        tasks += [asyncio.create_task(batcher.submit("a", i)) for i in (4, 5)]
        await asyncio.sleep(0.05)
        assert len(calls) == 2
        gates[0].set()
        await tasks[0]
        await asyncio.sleep(0.05)
        assert len(calls) == 2  # too few beside another call
        gates[1].set()
        gates[2].set()
        answers = await asyncio.gather(*tasks)
        assert await batcher.submit("a", 9) == 9  # and it begins anew
        workers.close()
        return list(answers)

    gates.append(threading.Event())
    gates[3].set()
    assert asyncio.run(scene()) == list(range(6))
    assert calls == [[0], [1, 2, 3], [4, 5], [9]]


def test_batcher_keeps_errors_apart() -> None:
    gate = threading.Event()

    def work(key: str, items: Sequence[int]) -> list[int]:
        gate.wait(10)
        if 13 in items:
            raise InputError("13 is unlucky")
        return [item * 2 for item in items]

    async def scene() -> list[object]:
        batcher: Batcher[int, int] = Batcher(work, Workers("test", 1, 100), largest=8, waiting=100)
        tasks = [asyncio.create_task(batcher.submit("a", i)) for i in (1, 2, 13, 4)]
        await asyncio.sleep(0.01)
        gate.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        return list(answers)

    answers = asyncio.run(scene())
    assert [a for a in answers if isinstance(a, int)] == [2, 4, 8]
    assert isinstance(answers[2], InputError)


def test_batcher_refuses_a_long_queue_and_survives_the_impatient() -> None:
    gate = threading.Event()

    def work(key: str, items: Sequence[int]) -> list[int]:
        gate.wait(10)
        return list(items)

    async def scene() -> None:
        batcher: Batcher[int, int] = Batcher(work, Workers("test", 1, 100), largest=8, waiting=2)
        first = asyncio.create_task(batcher.submit("a", 0))
        await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(batcher.submit("a", i)) for i in (1, 2)]
        await asyncio.sleep(0.01)
        with pytest.raises(Overloaded):
            await batcher.submit("a", 3)
        waiting[0].cancel()
        gate.set()
        assert await first == 0
        assert await waiting[1] == 2
        assert await batcher.submit("a", 4) == 4

    asyncio.run(scene())


def test_histogram() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.add(value)
    assert list(histogram.lines("x", "")) == [
        'x_bucket{le="1.0"} 2',
        'x_bucket{le="2.0"} 3',
        'x_bucket{le="+Inf"} 4',
        "x_sum 12.0",
        "x_count 4",
    ]


def test_metrics_text() -> None:
    metrics = Metrics()
    metrics.request("GET", "/healthz", 200, 0.004)
    metrics.request("GET", "/healthz", 200, 0.004)
    metrics.batch(5)
    text = metrics.text({"wordferry_documents": ("Documents stored.", 7.0)})
    assert 'wordferry_requests_total{method="GET",route="/healthz",status="200"} 2' in text
    assert 'wordferry_request_seconds_bucket{route="/healthz",le="0.005"} 2' in text
    assert "wordferry_search_batch_texts_sum 5.0" in text
    assert "wordferry_documents 7.0" in text
    assert text.endswith("\n")
