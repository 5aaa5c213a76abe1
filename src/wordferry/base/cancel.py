"""Cancelling: work that runs in one thread is stopped from another.

    cancel = Cancel()
    with cancellable(cancel):
        top_k(...)          # raises errors.Cancelled soon after any thread has called cancel.cancel()

Kernels look at the token of their context by themselves; loops in Python call ``check_cancelled``. A thread that is
started inside the block does not inherit the context: run it in ``contextvars.copy_context()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wordferry.errors import Cancelled


class Cancel:
    """Says stop to whatever runs inside ``cancellable`` with it; it can be said once, from any thread."""

    def __init__(self) -> None:
        from wordferry import _native

        self._token = _native.Token()

    def cancel(self) -> None:
        """Stop the work; that it has ended already is not an error."""
        self._token.set()

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._token.is_set


@contextmanager
def cancellable(cancel: Cancel) -> Iterator[None]:
    """Let ``cancel`` stop what runs inside the block; an inner block's Cancel takes the place of an outer one's."""
    from wordferry import _native

    before = _native.current_token.set(cancel._token)
    try:
        yield
    finally:
        _native.current_token.reset(before)


def check_cancelled() -> None:
    """Raise ``Cancelled`` when the work of this context was cancelled."""
    from wordferry import _native

    token = _native.current_token.get()
    if token is not None and token.is_set:
        raise Cancelled("The work was cancelled before it was done.")
