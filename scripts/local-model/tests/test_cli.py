"""How a start ends: exit codes and sentences."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
from collections.abc import Callable
from unittest import mock

from local_model import home, pins
from local_model.cli import Quickstart, guarded
from local_model.errors import Failure
from local_model.server import CONTEXT_TOKENS

from .support import Case


class Endings(Case):
    def check(self, work: Callable[[], int], code: int, said: str) -> None:
        self.said.truncate(0)
        self.said.seek(0)
        with mock.patch.dict(os.environ, {"SOONG_AGENT_CACHE": "/c"}):
            self.assertEqual(guarded("quickstart", self.screen, work), code)
        self.assertEqual(self.said.getvalue(), said)

    def test_every_expected_end(self) -> None:
        self.check(lambda: 3, 3, "")
        self.check(_raising(Failure("no")), 1, "quickstart: no\n")
        self.check(_raising(Failure("no", code=2, detail="log")), 2, "quickstart: no\nlog\n")
        self.check(_raising(KeyboardInterrupt()), 130, "")
        self.check(_signalled(signal.SIGTERM), 143, "")
        self.check(_signalled(signal.SIGHUP), 129, "")

    def test_a_disk_that_fails(self) -> None:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.check(
            _raising(full),
            1,
            "quickstart: the disk of /c is full: free some space and start again, "
            "what came so far is kept\n",
        )
        broken = OSError(errno.EIO, "Input/output error", "/c/models/x")
        self.check(
            _raising(broken), 1, "quickstart: /c/models/x cannot be used: Input/output error\n"
        )

    def test_a_mistake_of_ours_is_not_dressed_up(self) -> None:
        with self.assertRaises(ValueError):
            guarded("quickstart", self.screen, _raising(ValueError("bug")))
        with self.assertRaises(OSError):
            guarded("quickstart", self.screen, _raising(OSError(errno.EBADF, "bad")))


class Serving(Case):
    def test_what_is_printed_can_be_pasted(self) -> None:
        """FND-66: the section that a config.toml needs, and nothing else, is on stdout before it serves."""
        server = mock.MagicMock()
        server.__enter__.return_value = server
        server.base_url = "http://127.0.0.1:4001/v1"
        printed = io.StringIO()
        seen: list[str] = []
        server.wait.side_effect = lambda: seen.append(printed.getvalue())
        quickstart = Quickstart(self.screen, pins.load())
        with (
            mock.patch.object(quickstart, "server", return_value=server),
            contextlib.redirect_stdout(printed),
        ):
            self.assertEqual(quickstart.serve("small"), 0)
        wanted = home.embedded(server.base_url, "qwen2.5-coder-0.5b-instruct", CONTEXT_TOKENS)
        self.assertEqual(seen, [home.model_section(wanted)])
        self.assertTrue(printed.getvalue().startswith("[model]\nprovider = "))
        self.assertIn("config.toml", self.said.getvalue())


def _raising(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


def _signalled(number: signal.Signals) -> Callable[[], int]:
    def work() -> int:
        os.kill(os.getpid(), number)
        return 0

    return work
