"""The parts of the service that need no index: settings, batches, counters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from starlette.exceptions import HTTPException

from tests.web.conftest import submit
from wordferry.errors import InputError
from wordferry.web.guard import Memory, Share
from wordferry.web.metrics import Histogram, Metrics
from wordferry.web.settings import Limits, Settings, is_loopback
from wordferry.web.workers import Batcher, Overloaded, Workers


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


class Gate:
    """Work that notes each call, and waits where it is told to."""

    def __init__(self, *closed: int) -> None:
        self.calls: list[tuple[str, list[int]]] = []
        self.gates = {number: threading.Event() for number in closed}

    def __call__(self, key: str, items: Sequence[int]) -> list[str]:
        self.calls.append((key, list(items)))
        number = len(self.calls) - 1
        if number in self.gates:
            assert self.gates[number].wait(20)
        if 13 in items:
            raise InputError("13 is unlucky")
        return [f"{key}{item}" for item in items]

    async def seen(self, count: int) -> None:
        while len(self.calls) < count:
            await asyncio.sleep(0.001)


def test_batcher_joins_what_waits() -> None:
    """While one call runs, what arrives is joined; keys are kept apart; answers find their askers."""
    work = Gate(0)

    async def scene() -> list[str]:
        batcher: Batcher[int, str] = Batcher(work, Workers("test", 1, 100), largest=3)
        tasks = [asyncio.create_task(submit(batcher, "a", 0))]
        await work.seen(1)
        tasks += [
            asyncio.create_task(submit(batcher, key, i))
            for key, i in (("a", 1), ("b", 9), ("a", 2), ("a", 3), ("a", 4))
        ]
        await asyncio.sleep(0)
        work.gates[0].set()
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(scene()) == ["a0", "a1", "b9", "a2", "a3", "a4"]
    assert work.calls == [("a", [0]), ("a", [1, 2, 3]), ("b", [9]), ("a", [4])]


def test_batcher_starts_at_once_while_a_thread_is_free() -> None:
    """Two threads take one item each; what comes then waits for the first of them, and goes together."""
    work = Gate(0, 1)

    async def scene() -> list[str]:
        workers = Workers("test", 2, 100)
        batcher: Batcher[int, str] = Batcher(work, workers, largest=16)
        tasks = []
        for i in (0, 1):
            tasks.append(asyncio.create_task(submit(batcher, "a", i)))
            await work.seen(i + 1)
        tasks += [asyncio.create_task(submit(batcher, "a", i)) for i in (2, 3, 4)]
        await asyncio.sleep(0)
        work.gates[1].set()
        await work.seen(3)
        work.gates[0].set()
        answers = list(await asyncio.gather(*tasks))
        assert await submit(batcher, "a", 9) == "a9"  # and it begins anew
        workers.close()
        return answers

    assert asyncio.run(scene()) == ["a0", "a1", "a2", "a3", "a4"]
    assert work.calls == [("a", [0]), ("a", [1]), ("a", [2, 3, 4]), ("a", [9])]


def test_large_items_take_the_place_of_several() -> None:
    work = Gate(0)

    async def scene() -> None:
        batcher: Batcher[int, str] = Batcher(work, Workers("test", 1, 100), largest=4, size=float)
        tasks = [asyncio.create_task(submit(batcher, "a", 1))]
        await work.seen(1)
        tasks += [asyncio.create_task(submit(batcher, "a", i)) for i in (3, 2, 1, 9, 2)]
        await asyncio.sleep(0)
        work.gates[0].set()
        await asyncio.gather(*tasks)

    asyncio.run(scene())
    assert [items for _, items in work.calls] == [[1], [3, 1], [2, 2], [9]]


def test_what_a_call_raises_all_its_items_get() -> None:
    work = Gate(0)

    async def scene() -> list[object]:
        batcher: Batcher[int, str] = Batcher(work, Workers("test", 1, 100), largest=2)
        tasks = [asyncio.create_task(submit(batcher, "a", i)) for i in (1, 13, 2, 3)]
        await work.seen(1)
        work.gates[0].set()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    *lost, third, last = asyncio.run(scene())
    assert (third, last) == ("a2", "a3")
    assert [type(one) for one in lost] == [InputError, InputError]


def test_batcher_refuses_a_long_queue_and_survives_the_impatient() -> None:
    work = Gate(0)

    async def scene() -> None:
        batcher: Batcher[int, str] = Batcher(work, Workers("test", 1, 2), largest=8)
        first = asyncio.create_task(submit(batcher, "a", 0))
        await work.seen(1)
        waiting = [asyncio.create_task(submit(batcher, "a", i)) for i in (1, 2)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await submit(batcher, "a", 3)
        waiting[0].cancel()
        work.gates[0].set()
        assert await first == "a0"
        assert await waiting[1] == "a2"
        assert await submit(batcher, "a", 4) == "a4"

    asyncio.run(scene())


def test_memory_is_shared_and_given_back() -> None:
    """Small requests need no room; a large one takes what is there, and gives it back when it ends."""
    memory = Memory(Limits(held_bytes=1 << 20, answer_bytes=600 << 10))
    first, second, small = Share(memory), Share(memory), Share(memory)
    first.hold(60 << 10)
    assert memory.held == 0
    first.hold(700 << 10)
    with pytest.raises(HTTPException, match="Too many large requests"):
        second.hold(400 << 10)
    small.answer(b"x" * (60 << 10))
    first.release()
    second.release()
    second.answer(b"x" * (400 << 10))
    with pytest.raises(HTTPException, match="more than the 614400 bytes"):
        second.answer(b"x" * (300 << 10))
    second.release()
    assert memory.held == 0


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
