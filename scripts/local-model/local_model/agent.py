"""Building soong-agent and running it as if it had been started by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from .errors import Failure
from .process import SIGNALS, end, handling, run_quietly, tail
from .screen import Screen

PACKAGE = "soong-agent"


def build(repository: Path, logs: Path, screen: Screen) -> Path:
    """Builds the command and returns its path as cargo names it.

    Asking cargo rather than guessing `target/release` keeps a target folder
    that was set in the environment or in a cargo config working.
    """
    screen.note("Building soong-agent (release; the first time takes a few minutes).")
    log_path = logs / f"cargo-{os.getpid()}.log"
    messages_path = logs / f"cargo-{os.getpid()}.json"
    argv = ["cargo", "build", "--release", "--locked", "-p", PACKAGE]
    argv.append("--message-format=json-render-diagnostics")
    try:
        with log_path.open("wb") as log, messages_path.open("wb") as messages:
            code = run_quietly(
                argv,
                stdout=messages,
                log=log,
                cwd=repository,
                tick=lambda seconds: screen.live(f"  cargo build, {seconds:.0f} s"),
            )
        screen.done()
        if code != 0:
            raise Failure(
                f"`{' '.join(argv[:-1])}` failed with exit code {code}:",
                detail=tail(log_path, lines=40),
            )
        return _executable(messages_path)
    finally:
        log_path.unlink(missing_ok=True)
        messages_path.unlink(missing_ok=True)


def _executable(messages: Path) -> Path:
    for line in messages.read_text(encoding="utf-8", errors="replace").splitlines():
        # cargo's own messages are objects, but a build script may print between them.
        if not line.startswith("{"):
            continue
        try:
            message = json.loads(line)
        except ValueError:
            continue
        path = message.get("executable")
        if path and message.get("target", {}).get("name") == PACKAGE:
            return Path(path)
    raise Failure(f"cargo built {PACKAGE} but named no executable: is it still a binary crate?")


def run_argv(binary: Path, project: Path, session: str | None, message: str | None) -> list[str]:
    """`soong-agent run …`. Without a message it reads one from stdin itself.

    A lone `-` goes through as it is and means stdin too. `--` keeps a message
    that begins with a dash from being taken for an option.
    """
    argv = [str(binary), "run", "--path", str(project)]
    if session is not None:
        argv += ["--session-id", session]
    if message is not None:
        argv += ["--", message]
    return argv


def run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs a command on our own stdin, stdout and stderr; returns its exit code.

    The permission prompt reads stdin and looks whether it is a terminal, so all
    three are handed on untouched. Signals are the command's to answer: it
    cancels its run, says how to resume, and only then do we go on.
    """
    forwarder = _Forwarder()
    with handling(SIGNALS, forwarder.forward):
        try:
            child = subprocess.Popen(list(argv), env=dict(environ))
        except OSError as error:
            raise Failure(f"{argv[0]} cannot be run: {error.strerror}") from error
        forwarder.attach(child)
        try:
            code = child.wait()
        finally:
            end(child)
    return code if code >= 0 else 128 - code


class _Forwarder:
    """Hands our signals on to a child; those that come before it is there wait for it."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        while self._early:
            child.send_signal(self._early.pop(0))

    def forward(self, number: int, _frame: FrameType | None) -> None:
        # A terminal sends Ctrl-C to the child as well, and a second one means "quit at once".
        if number == signal.SIGINT and _terminal_sends_to_us():
            return
        if self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)


def _terminal_sends_to_us() -> bool:
    """Whether we are in the foreground of a terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
