"""How far a long job is: told to a callable of the caller's, or shown as a bar on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from wordferry.errors import InputError

_EVERY = 0.1
"""Seconds between two pictures of a bar."""
_LINES_EVERY = 10.0
"""Seconds between two lines of a log, where there is neither a terminal nor a notebook."""
_SHORTEST = 8
"""The shortest bar that is drawn, in characters."""
_SOON = 1.0
"""Seconds of work before what is left of it is guessed."""
_PAGE = (
    "<div>{} <progress value='{}' max='{}' style='width:16em'></progress> "
    "<span style='font-variant-numeric:tabular-nums'>{}</span></div>"
)
"""A bar in a notebook: the label, how much is done and of how much, and the text."""


Progress = Callable[[int, int], object]
"""A callable told how much of a long job is done: ``progress(done, total)``."""
ShowProgress = Progress | bool | None
"""What ``progress=`` takes: a callable, True for a bar, or None (also False) for nothing."""


def no_progress(done: int, total: int, /) -> Any:
    """The progress of a caller who did not ask for any."""


def progress_for(given: ShowProgress, label: str = "") -> Progress | None:
    """The callable for what a caller passed as ``progress=``."""
    if given is None or given is False:
        return None
    if given is True:
        return Bar(label)
    if not callable(given):
        raise InputError(f"progress must be True, or a callable that is told (done, total); got {given!r}.")
    return given


class Bar:
    """A bar that shows itself: on the standard error, or under the cell of a notebook.

    A job may have several parts, each counting in its own way; a bar begins again when what it is told does. Where the
    standard error is neither a terminal nor a notebook, a job that takes long writes a line now and then.
    """

    def __init__(self, label: str = "", *, keep: bool = True) -> None:
        self.label, self.keep = label, keep
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()  # nothing is imported to find out
        self._stream: TextIO | None = sys.stderr if getattr(shell, "kernel", None) is None else None
        """None in a notebook."""
        self._cell: Any = None
        """What a notebook shows, once there is something."""
        self._watched = self._stream is None or self._stream.isatty()
        self._reset(0)

    def _reset(self, total: int) -> None:
        self.total, self.done = total, 0
        self._began = time.monotonic()
        self._shown = self._began - _EVERY if self._watched else self._began
        self._open = False

    def __call__(self, done: int, total: int, /) -> None:
        if total != self.total or done < self.done:
            self.close()
            self._reset(total)
        elif self._ended:
            return
        self.done = done
        now = time.monotonic()
        last = self._ended and (self._watched or self._open)
        if last or now - self._shown >= (_EVERY if self._watched else _LINES_EVERY):
            self._shown, self._open = now, True
            self._show(self.text())
        if self._ended:
            self.close()

    @property
    def _ended(self) -> bool:
        return 0 < self.total <= self.done

    def _show(self, text: str) -> None:
        """Draw the bar in the place of the one before, or write a line of a log."""
        from html import escape

        most = max(self.total, 1)
        if self._stream is None:  # the outputs of a notebook's cell, which need IPython alone, and no widgets
            page = _PAGE.format(escape(self.label), self.done, most, escape(text))
            data = {"text/html": page, "text/plain": f"{self.label}  {text}".strip()}
            if self._cell is None:
                self._cell = sys.modules["IPython"].display.display(data, raw=True, display_id=True)
            else:
                self._cell.update(data, raw=True)
        elif self._watched:
            self._write("\r\x1b[K" + _drawn(self.label, min(self.done / most, 1.0), text))
        else:
            self._write(f"{self.label}  {text}\n".lstrip())

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()

    def close(self) -> None:
        """Leave the line, or clear it; nothing more is shown of this part."""
        if self._open and self._watched:
            self._write("\n" if self.keep else "\r\x1b[K")
        self._open = False

    def __del__(self) -> None:
        """A job that was stopped leaves a line of its own to what is written next."""
        with suppress(AttributeError, OSError, ValueError, ImportError):  # the stream has gone, or Python is ending
            self.close()

    def text(self) -> str:
        """How far it is, in words."""
        share = min(self.done / self.total, 1.0) if self.total else 0.0
        seconds = time.monotonic() - self._began
        parts = [f"{share:.0%}", f"{self.done:,} of {self.total:,}"]
        if self._ended:
            parts.append(f"in {_duration(seconds)}")
        elif seconds >= _SOON and share > 0:
            if self.done >= seconds:
                parts.append(f"{self.done / seconds:,.0f} a second")
            parts.append(f"{_duration(seconds / share - seconds)} left")
        return "  ".join(parts)


def _drawn(label: str, share: float, text: str) -> str:
    """A line for a terminal: the label, a bar, and as much of the text as there is room for."""
    import io

    from rich.console import Console
    from rich.progress_bar import ProgressBar

    console = Console(file=io.StringIO(), force_terminal=True)
    room = console.width - 1
    percent, *rest, left = text.split("  ")
    shorter = "  ".join([percent, *rest[:1], left]), f"{percent}  {left}"
    text = next((one for one in (text, *shorter) if len(label) + len(one) + _SHORTEST + 4 <= room), shorter[1])
    if len(label) > (most := max(1, room - len(text) - 2)):
        label = label[: most - 1] + "…"
    parts = [label] if label else []
    if (width := min(24, room - len(label) - len(text) - 4)) >= _SHORTEST:
        with console.capture() as drawn:
            console.print(ProgressBar(total=1.0, completed=share, width=width))
        parts.append(drawn.get().strip())
    return "  ".join([*parts, text])


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
