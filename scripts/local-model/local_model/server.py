"""A model server that we start and that never outlives us."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

from .errors import Failure
from .loopback import get_status
from .process import end, signals_held, tail
from .screen import Screen

CONTEXT_TOKENS = 8192
"""soong-agent's default window; a CPU reads that much in about a minute."""

_CHILD = Path(__file__).with_name("llama_child.py")
_TEMPLATE = Path(__file__).resolve().parent.parent / "chat-template.jinja"
_START_SECONDS = 180.0
_KEPT_LOGS = 5


class Starter(Protocol):
    """What to start: tests start something smaller than a model."""

    def argv(self, report_fd: int) -> Sequence[str]:
        """The command line; the process writes its base address to `report_fd`, then closes it."""
        ...


@dataclass(frozen=True)
class Llama:
    """The llama.cpp server with one model."""

    package: Path
    model: Path
    alias: str

    def argv(self, report_fd: int) -> Sequence[str]:
        """See `Starter`."""
        settings = {
            "package": str(self.package),
            "model": str(self.model),
            "template": str(_TEMPLATE),
            "alias": self.alias,
            "context": CONTEXT_TOKENS,
            "report_fd": report_fd,
        }
        # -I: no PYTHONPATH and no user packages, only the wheel that was checked.
        return [sys.executable, "-I", "-B", str(_CHILD), json.dumps(settings)]


class ModelServer:
    """`with ModelServer(...) as server:` a healthy server at `server.address`.

    The process is a session of its own: Ctrl-C in the terminal is for
    soong-agent, which needs the model to end its run in order.
    """

    def __init__(
        self, starter: Starter, logs: Path, screen: Screen, start_seconds: float = _START_SECONDS
    ) -> None:
        self._starter = starter
        self._logs = logs
        self._screen = screen
        self._start_seconds = start_seconds
        self._running: _Running | None = None
        self.address = ""
        """`http://127.0.0.1:PORT`, without a path."""

    @property
    def base_url(self) -> str:
        """The base URL for the `openai` provider."""
        return f"{self.address}/v1"

    def __enter__(self) -> ModelServer:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the server and waits for it; harmless if there is none."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def wait(self) -> None:
        """Ends only by an exception: the server died, or a signal told us to stop."""
        if self._running is not None:
            self._running.child.wait()
            raise self._running.died()

    def _start(self) -> None:
        clock = _Clock(self._start_seconds)
        report_read, report_write = os.pipe()
        try:
            with signals_held():
                running = self._running = _spawn(self._starter, self._logs, report_write)
        finally:
            os.close(report_write)
        try:
            self.address = self._await_address(running, report_read, clock)
        finally:
            os.close(report_read)
        self._await_health(running, clock)
        self._screen.note(f"Model server ready at {self.address} after {clock.elapsed():.1f} s.")

    def _await_address(self, running: _Running, report_read: int, clock: _Clock) -> str:
        text = b""
        while True:
            self._tick(running, clock)
            readable, _, _ = select.select([report_read], [], [], 0.1)
            if not readable:
                continue
            chunk = os.read(report_read, 4096)
            if chunk:
                text += chunk
            elif text:
                return text.decode("ascii")
            else:
                # The pipe closed unwritten: the process is dead or about to be.
                raise running.died()

    def _await_health(self, running: _Running, clock: _Clock) -> None:
        while True:
            self._tick(running, clock)
            # 503 while it loads and no answer at all are the same here: not yet.
            with contextlib.suppress(OSError):
                if get_status(f"{self.address}/health", timeout=2.0) == 200:
                    return
            time.sleep(0.05)

    def _tick(self, running: _Running, clock: _Clock) -> None:
        if running.child.poll() is not None:
            raise running.died()
        if clock.elapsed() >= clock.limit:
            raise running.failure(f"was not ready after {clock.limit:.0f} s")
        self._screen.live(f"  loading the model, {clock.elapsed():.0f} s")


class _Clock:
    """Seconds since the start, and how many there may be."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._started = time.monotonic()

    def elapsed(self) -> float:
        return time.monotonic() - self._started


@dataclass(frozen=True)
class _Running:
    """The process and where it writes what it has to say."""

    child: subprocess.Popen[bytes]
    log_path: Path

    def end(self) -> None:
        end(self.child)
        if self.child.stdin is not None:
            self.child.stdin.close()

    def died(self) -> Failure:
        try:
            return self.failure(f"ended with exit code {self.child.wait(timeout=5)}")
        except subprocess.TimeoutExpired:
            return self.failure("gave no address")

    def failure(self, what: str) -> Failure:
        return Failure(
            f"the model server {what}: its log is {self.log_path}", detail=tail(self.log_path)
        )


def _spawn(starter: Starter, logs: Path, report_fd: int) -> _Running:
    _drop_old_logs(logs)
    descriptor, name = tempfile.mkstemp(
        prefix=time.strftime("server-%Y%m%d-%H%M%S-"), suffix=".log", dir=logs
    )
    with os.fdopen(descriptor, "wb") as log:
        child = subprocess.Popen(
            list(starter.argv(report_fd)),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=(report_fd,),
            start_new_session=True,
        )
    return _Running(child, Path(name))


def _drop_old_logs(folder: Path) -> None:
    """Keeps the newest few; one that vanishes meanwhile was dropped by another start."""
    for path in sorted(folder.glob("server-*.log"))[: -(_KEPT_LOGS - 1)]:
        path.unlink(missing_ok=True)
