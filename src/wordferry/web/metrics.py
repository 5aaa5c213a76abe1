"""Counters of the service in the Prometheus text format."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


class Histogram:
    """Counts of values up to each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        """The cumulative buckets, the sum and the count."""
        running = 0
        comma = "," if labels else ""
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            running += count
            yield f'{name}_bucket{{{labels}{comma}le="{bound}"}} {running}'
        braces = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{braces} {self.total!r}"
        yield f"{name}_count{braces} {running}"


class Metrics:
    """What the service counts; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(SECONDS))
        self._batches = Histogram(SIZES)
        self.started = time.time()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route].add(seconds)

    def batch(self, size: int) -> None:
        """Count one search call that answered ``size`` texts."""
        with self._lock:
            self._batches.add(size)

    def text(self, gauges: dict[str, tuple[str, float]]) -> str:
        """The page of ``/metrics``; ``gauges`` maps a name to its meaning and present value."""
        with self._lock:
            lines = _head("wordferry_requests_total", "counter", "Requests answered.")
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"wordferry_requests_total{{{labels}}} {count}")
            meaning = "Time from the request's first byte to the answer's last."
            lines += _head("wordferry_request_seconds", "histogram", meaning)
            for route, histogram in sorted(self._seconds.items()):
                lines += histogram.lines("wordferry_request_seconds", f'route="{route}"')
            lines += _head("wordferry_search_batch_texts", "histogram", "Texts answered by one search call.")
            lines += self._batches.lines("wordferry_search_batch_texts", "")
        for name, (meaning, value) in {**gauges, "wordferry_start_seconds": ("Start time.", self.started)}.items():
            lines += [*_head(name, "gauge", meaning), f"{name} {value!r}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def resident_bytes() -> float:
    """Memory of this process, 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
