"""Starting, watching and ending a server, with something smaller than a model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence

from local_model.errors import Failure
from local_model.process import end
from local_model.server import ModelServer

from .support import PACKAGE_FOLDER, Case, alive, until

_HEALTHY = """
import http.server, os, sys, threading

class Handler(http.server.BaseHTTPRequestHandler):
    answers = iter([503, 200, 200])
    def do_GET(self):
        self.send_response(next(self.answers))
        self.end_headers()
    def log_message(self, *_):
        pass

threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with os.fdopen(int(sys.argv[1]), "w") as report:
    report.write(f"http://127.0.0.1:{server.server_address[1]}")
server.serve_forever()
"""


class Program:
    """A `Starter` of a Python program."""

    def __init__(self, text: str) -> None:
        self._text = text

    def argv(self, report_fd: int) -> Sequence[str]:
        return [sys.executable, "-I", "-c", self._text, str(report_fd)]


class Serving(Case):
    def server(self, text: str, seconds: float = 20.0) -> ModelServer:
        return ModelServer(Program(text), self.cache.logs, self.screen, seconds)

    def test_it_is_healthy_inside_the_block_and_gone_after_it(self) -> None:
        with self.server(_HEALTHY) as server:
            self.assertRegex(server.base_url, r"^http://127\.0\.0\.1:\d+/v1$")
            self.assertIn(f"ready at {server.address}", self.said.getvalue())
            pid = _pid(server)
            self.assertNotEqual(os.getsid(pid), os.getsid(0), "Ctrl-C must not reach it")
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_it_ends_when_the_block_fails(self) -> None:
        with self.assertRaises(ZeroDivisionError), self.server(_HEALTHY) as server:
            pid = _pid(server)
            raise ZeroDivisionError
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_one_that_dies_at_once_shows_the_end_of_its_log(self) -> None:
        dying = "import sys; print('first'); sys.exit('cannot load the model')"
        with (
            self.fails("the model server ended with exit code 1", str(self.cache.logs)),
            self.server(dying),
        ):
            self.fail("it never started")
        with self.assertRaises(Failure) as caught, self.server(dying):
            self.fail("it never started")
        self.assertIn("cannot load the model", caught.exception.detail)

    def test_one_that_never_gets_ready_is_ended_at_the_deadline(self) -> None:
        hanging = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
        with self.fails("was not ready after 1 s"), self.server(hanging, seconds=1.0):
            self.fail("it never started")
        (log,) = self.cache.logs.glob("server-*.log")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(log.read_text()), 0)

    def test_one_that_dies_while_serving_is_noticed(self) -> None:
        with (
            self.fails("ended with exit code -9"),
            self.server(_HEALTHY) as server,
        ):
            os.kill(_pid(server), signal.SIGKILL)
            server.wait()

    def test_one_that_ignores_the_request_to_end_is_killed(self) -> None:
        stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _HEALTHY
        with self.server(stubborn) as server:
            child = server._running
            assert child is not None
            pid = child.child.pid
            started = time.monotonic()
            end(child.child, grace=0.2)
            self.assertLess(time.monotonic() - started, 10)
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_it_does_not_outlive_a_starter_that_was_killed(self) -> None:
        starter = textwrap.dedent(f"""
            import sys, time
            sys.dont_write_bytecode = True
            sys.path.insert(0, {str(PACKAGE_FOLDER)!r})
            from pathlib import Path
            from local_model.screen import Screen
            from local_model.server import ModelServer
            from tests.test_server import Program, _HEALTHY
            with ModelServer(Program(_HEALTHY), Path({str(self.cache.logs)!r}), Screen()) as server:
                print(server._running.child.pid, flush=True)
                time.sleep(600)
        """)
        with subprocess.Popen(
            [sys.executable, "-c", starter],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            process.kill()
        until(lambda: not alive(pid), "the server ends with its starter")

    def test_only_a_few_logs_are_kept(self) -> None:
        for number in range(9):
            (self.cache.logs / f"server-20200101-00000{number}-x.log").touch()
        with self.server(_HEALTHY):
            names = sorted(path.name for path in self.cache.logs.glob("server-*.log"))
        self.assertEqual(len(names), 5)
        self.assertEqual(names[0], "server-20200101-000005-x.log")


def _pid(server: ModelServer) -> int:
    running = server._running
    assert running is not None
    return running.child.pid
