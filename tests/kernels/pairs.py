"""Two threads with one object: ``python -m tests.kernels.pairs LAST SECONDS``.

Objects of every class that the extension module binds are shared by two threads, which call its methods with arguments
that mostly fit. A call may return or raise what :mod:`tests.kernels.fuzz` allows; anything else ends this process, and
under ThreadSanitizer a race does. The class at hand is kept in the file LAST.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from tests.kernels import fuzz


def methods() -> dict[str, list[str]]:
    """The methods and properties of each class that can be made."""
    found: dict[str, list[str]] = {}
    for name in fuzz.targets():
        owner, _, method = name.partition(".")
        if method:
            found.setdefault(owner, []).append(method)
    return found


def shared(owner: str, maker: fuzz.Maker) -> Iterator[Any]:
    """Objects of a class: one from arguments that fit, where they are known, else whatever can be made."""
    for name, make in fuzz.starts().items():
        if name.partition(".")[0] == owner and "." in name:
            yield make()[0]
    yield maker.made(owner)


def arguments(owner: str, method: str, maker: fuzz.Maker) -> list[Any]:
    """Arguments without the object itself."""
    make = fuzz.starts().get(f"{owner}.{method}")
    if make is not None and maker.rng.random() < 0.9:
        return [own(value) for value in make()[1:]]
    wanted = maker.one_of(*fuzz.kinds(fuzz.targets()[f"{owner}.{method}"]))
    return maker.arguments(wanted[1:])


def own(value: Any) -> Any:
    """An array of this thread alone, as aligned as kernels want it; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    memory = np.empty(value.nbytes + 64, np.uint8)
    start = int(-memory.ctypes.data % 64)
    copy = memory[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


def together(thing: Any, owner: str, calls: int, seed: int) -> None:
    """Let two threads call methods of one object."""
    start = threading.Barrier(2)

    def work(number: int) -> None:
        maker = fuzz.Maker(seed * 2 + number)
        made: list[tuple[Callable[..., Any], list[Any]]] = []
        for _ in range(calls):
            method = maker.one_of(*methods()[owner])
            made.append((getattr(thing, method), arguments(owner, method, maker)))
        start.wait()
        for call, given in made:
            with suppress(*fuzz.ALLOWED):
                call(*given)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(last: str, seconds: float) -> None:
    """Go through all classes again and again."""
    file = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    end, seed = time.monotonic() + seconds, 0
    while time.monotonic() < end or seed == 0:
        for owner in sorted(methods()):
            seed += 1
            maker = fuzz.Maker(seed)
            maker.oddness = 0.0
            os.pwrite(file, f"{owner}, seed {seed:20d}".ljust(80).encode(), 0)
            for thing in shared(owner, maker):
                if thing is not None:
                    together(thing, owner, 20, seed)
    os.close(file)
    print(f"{seed} objects")


if __name__ == "__main__":
    fuzz.limit_memory()
    faulthandler.enable()
    np.seterr(all="ignore")
    main(sys.argv[1], float(sys.argv[2]))
