"""What the person sees while they wait. All of it goes to stderr.

stdout belongs to soong-agent (`./quickstart … > answer.md` must hold the answer
and nothing else) and, with `--serve`, to the config to paste.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

_BAR_CELLS = 24
_REDRAW_SECONDS = 0.1


def megabytes(count: int) -> str:
    """`491 MB`: decimal, as download pages and disks count."""
    return f"{count / 1_000_000:.0f} MB"


class Screen:
    """Notes, a line that redraws itself on a terminal, and nothing else."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._live = False
        self._drawn_at = 0.0

    def note(self, text: str) -> None:
        """One line that stays."""
        self._erase()
        print(text, file=self._stream, flush=True)

    def live(self, text: str) -> None:
        """A line that the next one replaces; says nothing on a pipe or in a log file."""
        now = time.monotonic()
        if not self.is_terminal or now - self._drawn_at < _REDRAW_SECONDS:
            return
        self._drawn_at = now
        self._live = True
        self._stream.write(f"\r\x1b[K{text}")
        self._stream.flush()

    def copy(self, text: str) -> None:
        """What a command that we run says itself, as it is."""
        self._erase()
        self._stream.write(text)
        self._stream.flush()

    def done(self) -> None:
        """Removes the live line, if there is one."""
        self._erase()

    def _erase(self) -> None:
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._live = False


class Progress:
    """Bytes out of a known total: a bar on a terminal, a line for each step elsewhere."""

    def __init__(self, screen: Screen, total: int) -> None:
        self._screen = screen
        self._total = max(total, 1)
        self._started = time.monotonic()

    def at(self, done: int) -> None:
        """Redraws the bar; `done` beyond the total counts as the total."""
        done = min(done, self._total)
        filled = _BAR_CELLS * done // self._total
        rate = done / max(time.monotonic() - self._started, 0.001)
        self._screen.live(
            f"  [{'#' * filled}{'-' * (_BAR_CELLS - filled)}] {100 * done // self._total:3d}%"
            f"  {megabytes(done)} of {megabytes(self._total)}  {megabytes(int(rate))}/s"
        )

    def step(self, done: int, what: str) -> None:
        """A step is behind us. A terminal has the bar, so only a log gets a line."""
        if not self._screen.is_terminal:
            self._screen.note(f"  {what}: {megabytes(done)} of {megabytes(self._total)}")
