"""The service under load: 32 clients on loopback search 10,000 documents; latency, memory, and what batching gains.

    python benchmarks/serve.py [--documents 10000] [--clients 32] [--seconds 60] [--distance words] [--heavy 0]

The load comes from a second process with one connection per client. Each client asks again as soon as it is answered.
First the service runs as it is, then with batching off, for the same time; the machine's noise hits both. With --heavy
so many more clients send the heaviest search that is allowed (wmd, long texts) all the time; their answers are counted
apart, and batching stays on.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import harness
from harness import Results

SERVER = """
import sys, wordferry
from wordferry.web.server import run
from wordferry.web.settings import Settings
path, port, batching = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "on"
with wordferry.Index.open(path) as index:
    run(index, Settings(port=port, batching=batching), quiet=True)
"""


def make_documents(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """The sample's articles and mixtures of their sentences."""
    import wordferry

    generator = random.Random(seed)
    sentences = [s for text in wordferry.sample().texts for s in text.split(". ") if len(s) > 30]
    return [{"id": f"d{i}", "text": ". ".join(generator.sample(sentences, 5))} for i in range(count)]


def make_queries(distance: str, count: int = 500, seed: int = 1) -> list[bytes]:
    """Bodies of searches, a sentence each: by its words, or by a distance."""
    import wordferry

    generator = random.Random(seed)
    sentences = [s for text in wordferry.sample().texts for s in text.split(". ") if len(s) > 30]
    by = {} if distance == "words" else {"distance": distance}
    return [json.dumps({"texts": [generator.choice(sentences)], "k": 10, **by}).encode() for _ in range(count)]


async def client(port: int, bodies: list[bytes], until: float, number: int, times: list[float], bad: list[str]) -> None:
    """One connection that searches again and again; plain sockets, so that the load costs little itself."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    i = number * 7
    while time.perf_counter() < until:
        body = bodies[i % len(bodies)]
        i += 1
        start = time.perf_counter()
        writer.write(
            b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length"))
        answer = await reader.readexactly(length)
        times.append(time.perf_counter() - start)
        if not head.startswith(b"HTTP/1.1 200") or answer.count(b'"id"') != 10:
            bad.append(answer[:200].decode(errors="replace"))
    writer.close()


def make_heavy(documents: int, number: int) -> bytes:
    """The body of a search that asks for nearly as much work as is allowed: wmd of long texts of different words."""
    import wordferry
    from wordferry.web.engine import SearchQuery
    from wordferry.web.settings import Limits
    from wordferry.web.work import of_search

    limits = Limits()
    known = [word for word in wordferry.default_embeddings().vocabulary if word.isalpha() and 3 < len(word) < 8]
    one = of_search([SearchQuery("", 10, words=1000, how={"distance": "wmd"})], documents, 6_000).steps / 1000
    most = int(0.9 * limits.work / one)
    generator = random.Random(number)
    texts = []
    while most > 0 and len(texts) < limits.batch:
        texts.append(" ".join(generator.sample(known, min(most, 12_000))))
        most -= 12_000
    return json.dumps({"texts": texts, "k": 10, "distance": "wmd"}).encode()


async def heavy_client(port: int, body: bytes, statuses: list[str]) -> None:
    """A client that asks for as much as it may, again and again."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        try:
            statuses.append((await reader.readuntil(b"\r\n")).split()[1].decode())
        finally:
            writer.close()


def resident(pid: int) -> float:
    """Memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used; unlike latency it does not depend on who else is busy."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    path: Path, batching: str, clients: int, seconds: float, bodies: list[bytes], heavy: list[bytes]
) -> dict[str, Any]:
    """Run one service under load, with a client for each heavy request beside the light ones."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(path), str(port), batching])
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("the service did not start") from None
                time.sleep(0.1)
        times: list[float] = []
        bad: list[str] = []
        memory: list[float] = []

        statuses: list[str] = []

        async def load(length: float) -> None:
            beside = [asyncio.create_task(heavy_client(port, body, statuses)) for body in heavy]
            until = time.perf_counter() + length
            tasks = [asyncio.create_task(client(port, bodies, until, n, times, bad)) for n in range(clients)]
            while time.perf_counter() < until:
                await asyncio.sleep(min(1.0, length / 10))
                memory.append(resident(process.pid))
            await asyncio.gather(*tasks)
            for task in beside:
                task.cancel()

        asyncio.run(load(min(3.0, seconds / 4)))  # warm
        times.clear()
        memory.clear()
        used = processor_seconds(process.pid)
        asyncio.run(load(seconds))
        used = processor_seconds(process.pid) - used
    finally:
        process.terminate()
        process.wait(30)
    half = len(memory) // 2
    return {
        "batching": batching,
        **({"heavy_clients": len(heavy), "heavy_answers": dict(Counter(statuses))} if heavy else {}),
        "searches": len(times),
        "errors": len(bad),
        "per_second": round(len(times) / seconds, 1),
        **{f"p{q}_ms": round(float(np.percentile(times, q)) * 1e3, 1) for q in (50, 95, 99)},
        "processor_ms_per_search": round(used / len(times) * 1e3, 2),
        "memory_MiB": round(memory[-1], 1),
        "memory_growth_MiB": round(float(np.mean(memory[half:]) - np.mean(memory[:half])), 2),
    }


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--distance", default="words", help="what the searches ask for: words, or a distance")
    parser.add_argument("--heavy", type=int, default=0, help="clients that send the heaviest search all the time")
    options = parser.parse_args()
    import wordferry

    results = Results("serve", options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        with wordferry.Index.create(path) as index:
            index.add(make_documents(options.documents))
        heavy = [make_heavy(options.documents, number) for number in range(options.heavy)]
        bodies = make_queries(options.distance)
        if heavy:
            found = [measure(path, "on", options.clients, options.seconds, bodies, heavy)]
        else:
            found = [
                measure(path, batching, options.clients, options.seconds, bodies, []) for batching in ("on", "off")
            ]
    for run in found:
        print(json.dumps(run))
        about = f"batching {run['batching']}" + (f", {options.heavy} heavy requests" if heavy else "")
        for key in ("per_second", "p50_ms", "p95_ms", "p99_ms", "processor_ms_per_search", "memory_MiB"):
            if key in run:
                results.values[f"{about}: {key}"] = run[key]
    if not heavy:
        on, off = found
        results.add("batching gain in searches", round(on["per_second"] / off["per_second"], 2))
        gain = round(off["processor_ms_per_search"] / on["processor_ms_per_search"], 2)
        results.add("batching gain in processor time", gain)
    results.finish()


if __name__ == "__main__":
    main()
