"""Running a child that the person should not have to read, and ending it for sure."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What a person or a system ends us with."""
Handler = Callable[[int, FrameType | None], object]
_POLL_SECONDS = 0.05
_GRACE_SECONDS = 10.0


@contextlib.contextmanager
def handling(numbers: Iterable[signal.Signals], handler: Handler) -> Iterator[None]:
    """Has the handler in place inside the block.

    A signal that was ignored when we started stays so, for us and for what we
    start: that is how `nohup` and a shell's background jobs are meant.
    """
    heard = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Signals wait until the block is left, and are raised then.

    Starting a child and remembering it must not be torn apart: the child would
    be left behind. Masking would not do, for a mask is inherited by children.
    """
    held: list[int] = []
    try:
        with handling(SIGNALS, lambda number, _: held.append(number)):
            yield
    finally:
        if held:
            signal.raise_signal(held[0])


def end(
    child: subprocess.Popen[bytes], *, group: bool = False, grace: float = _GRACE_SECONDS
) -> None:
    """Ends a child by its pid and waits for it: asks first, then insists.

    With `group` its own children go with it; it must lead a process group then.
    """
    if child.poll() is not None:
        return
    with signals_held():
        _send(child, signal.SIGTERM, group)
        try:
            child.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            _send(child, signal.SIGKILL, group)
            child.wait()


def _send(child: subprocess.Popen[bytes], number: signal.Signals, group: bool) -> None:
    if group:
        # Not waited for yet, so the number still belongs to the group of this child.
        os.killpg(child.pid, number)
    else:
        child.send_signal(number)


def run_quietly(
    argv: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    log: IO[bytes],
    tick: Callable[[float], None],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> int:
    """Runs a command to its end and returns its exit code.

    stderr goes to `log`. stdin is empty, since ours may hold the answers meant
    for soong-agent's permission prompts. `tick` gets the seconds so far. If we
    are interrupted, the command and its children (cargo has many) are ended
    before the interruption goes on.
    """
    started = time.monotonic()
    child: subprocess.Popen[bytes] | None = None
    try:
        with signals_held():
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=log,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        while True:
            try:
                return child.wait(timeout=_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                tick(time.monotonic() - started)
    finally:
        if child is not None:
            end(child, group=True)


def run_shown(
    argv: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    show: Callable[[bytes], None],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> int:
    """Like `run_quietly`, but what comes on stderr goes to `show`, as it comes."""
    child: subprocess.Popen[bytes] | None = None
    try:
        with signals_held():
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        assert child.stderr is not None
        pipe = child.stderr.fileno()
        # What the command leaves running (a cache's server) may hold the pipe open for ever.
        while True:
            over = child.poll() is not None
            if select.select([pipe], [], [], 0 if over else _POLL_SECONDS)[0]:
                piece = os.read(pipe, 65_536)
                if piece:
                    show(piece)
                    continue
                return child.wait()
            if over:
                return child.wait()
    finally:
        if child is not None:
            end(child, group=True)
            if child.stderr is not None:
                child.stderr.close()


def tail(path: Path, lines: int = 15, limit: int = 16_384) -> str:
    """The last lines of a log, from at most `limit` bytes of it."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - limit, 0))
        text = file.read().decode("utf-8", errors="replace")
    return "\n".join(text.splitlines()[-lines:])
