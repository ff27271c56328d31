"""Building soong-agent and running it as if it had been started by hand."""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from .errors import Failure
from .process import SIGNALS, end, handling, run_shown
from .screen import Screen

PACKAGE = "soong-agent"
PROFILE = "quickstart"
"""Cargo's profile for the quick start's build; the workspace's Cargo.toml says what it leaves out."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def build(repository: Path, logs: Path, screen: Screen) -> Path:
    """Builds the command and returns its path as cargo names it.

    Asking cargo rather than guessing `target/release` keeps a target folder
    that was set in the environment or in a cargo config working.
    """
    messages_path = logs / f"cargo-{os.getpid()}.json"
    argv = ["cargo", "build", "--profile", PROFILE, "--locked", "-p", PACKAGE]
    said = _CargoSays(screen)
    try:
        with messages_path.open("wb") as messages:
            code = run_shown(
                [*argv, "--message-format=json-render-diagnostics"],
                stdout=messages,
                show=said.piece,
                env={**_with_progress(screen), **os.environ},
                cwd=repository,
            )
        said.over(code)
        if code != 0:
            raise Failure(f"`{' '.join(argv)}` failed with exit code {code}: cargo says why above")
        return _executable(messages_path)
    finally:
        messages_path.unlink(missing_ok=True)


def _with_progress(screen: Screen) -> dict[str, str]:
    """Has cargo draw its progress on a terminal, though it writes to a pipe."""
    if not screen.is_terminal:
        return {}
    shown = {
        "CARGO_TERM_PROGRESS_WHEN": "always",
        "CARGO_TERM_PROGRESS_WIDTH": str(shutil.get_terminal_size().columns),
    }
    if not os.environ.get("NO_COLOR"):
        shown["CARGO_TERM_COLOR"] = "always"
    return shown


class _CargoSays:
    """What cargo says, as it is, but nothing if it only says that there was nothing to build."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held: str | None = ""

    def piece(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        if self._held is None:
            self._screen.copy(text)
            return
        self._held += text
        # Cargo draws no progress before half a second is over, so the first line tells.
        if ("\n" in self._held or "\r" in self._held) and not self._is_finished():
            self._show()

    def over(self, code: int) -> None:
        if self._held and (code != 0 or not self._is_finished()):
            self._show()

    def _is_finished(self) -> bool:
        plain = _ESCAPES.sub("", self._held or "").splitlines()
        return len(plain) == 1 and plain[0].strip().startswith("Finished")

    def _show(self) -> None:
        self._screen.note("Building soong-agent; the first time takes some minutes.")
        self._screen.copy(self._held or "")
        self._held = None


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
