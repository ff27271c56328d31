"""An Ollama for the tests: the one that is running, or one that is started and stopped here.

Only tests start one. The quickstart and soong-agent itself use what is there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from .errors import Failure
from .loopback import get_json
from .process import end, signals_held, tail
from .screen import Screen

_START_SECONDS = 60.0
_ANSWER_SECONDS = 2.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@contextlib.contextmanager
def running(
    address: str, logs: Path, screen: Screen, start_seconds: float = _START_SECONDS
) -> Iterator[None]:
    """An Ollama answers at `address` inside the block. What was started here ends with it; what was
    there stays."""
    if _answers(address):
        yield
        return
    if urlsplit(address).hostname not in _LOOPBACK:
        raise Failure(f"no Ollama answers at {address}, and one elsewhere cannot be started from here")
    program = shutil.which("ollama")
    if program is None:
        raise Failure(f"no Ollama answers at {address}, and there is no `ollama` in PATH to start")
    descriptor, name = tempfile.mkstemp(prefix="ollama-", suffix=".log", dir=logs)
    child: subprocess.Popen[bytes] | None = None
    try:
        with os.fdopen(descriptor, "wb") as log, signals_held():
            child = subprocess.Popen(
                [program, "serve"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "OLLAMA_HOST": urlsplit(address).netloc},
                start_new_session=True,
            )
        _await(address, child, Path(name), start_seconds)
        screen.note(f"Ollama started at {address}; it ends with the tests.")
        yield
    finally:
        if child is not None:
            end(child, group=True)


def _await(address: str, child: subprocess.Popen[bytes], log: Path, limit: float) -> None:
    started = time.monotonic()
    while not _answers(address):
        if child.poll() is not None:
            raise Failure(
                f"`ollama serve` ended with exit code {child.returncode}: its log is {log}",
                detail=tail(log),
            )
        if time.monotonic() - started > limit:
            raise Failure(f"`ollama serve` gave no answer at {address} within {limit:.0f} s: its log is {log}")
        time.sleep(0.05)


def _answers(address: str) -> bool:
    try:
        return isinstance(get_json(f"{address}/api/version", _ANSWER_SECONDS), dict)
    except (OSError, ValueError):
        return False
