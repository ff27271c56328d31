"""Building and running the command, with a cargo and a command of our own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

from local_model import agent
from local_model.process import SIGNALS

from .support import PACKAGE_FOLDER, REPOSITORY, Case, alive, executable, until


_OURS = json.dumps({"executable": "/t/soong-agent", "target": {"name": "soong-agent"}})


class Building(Case):
    def build(self, cargo: str) -> Path:
        executable(self.folder / "bin" / "cargo", f"#!/bin/sh\n{cargo}\n")
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        with mock.patch.dict(os.environ, {"PATH": path}):
            return agent.build(self.folder, self.cache.logs, self.screen)

    def test_cargo_names_the_command(self) -> None:
        other = json.dumps({"executable": "/t/other", "target": {"name": "other"}})
        cargo = f"""
            echo "$@" > args
            echo Compiling >&2
            echo 'warning from a build script'
            echo '{{"executable":null,"target":{{"name":"soong-agent"}}}}'
            echo '{other}'
            echo '{_OURS}'"""
        self.assertEqual(self.build(cargo), Path("/t/soong-agent"))
        args = f"build --profile {agent.PROFILE} --locked -p soong-agent"
        self.assertIn(args, (self.folder / "args").read_text())
        self.assertEqual(list(self.cache.logs.iterdir()), [])

    def test_the_profile_is_one_of_the_workspace(self) -> None:
        manifest = (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8")
        self.assertIn(f"\n[profile.{agent.PROFILE}]\n", manifest)

    def test_cargos_own_progress_is_shown_as_it_comes(self) -> None:
        """FND-68: what cargo writes reaches the person while it builds."""
        self.screen.is_terminal = True
        seen = self.folder / "seen"
        copy = self.screen.copy

        def note(text: str) -> None:
            copy(text)
            seen.touch()

        with mock.patch.object(self.screen, "copy", note):
            self.build(
                "printf '   Compiling a\\n\\r 1/3 \\303' >&2\n"
                f"while [ ! -e {seen} ]; do sleep 0.01; done\n"
                "printf '\\251 2/3' >&2\n"
                'echo "$CARGO_TERM_PROGRESS_WHEN $CARGO_TERM_PROGRESS_WIDTH" > terminal\n'
                f"echo '{_OURS}'"
            )
        building, rest = self.said.getvalue().split("\n", 1)
        self.assertIn("Building soong-agent", building)
        self.assertEqual(rest, "   Compiling a\n\r 1/3 \u00e9 2/3")
        self.assertRegex((self.folder / "terminal").read_text(), r"^always [1-9]\d*$")

    def test_nothing_is_said_where_nothing_is_built(self) -> None:
        finished = "    Finished `release` profile [optimized] target(s) in 0.09s"
        self.build(f"echo '{finished}' >&2; echo '{_OURS}'")
        self.build(f"printf '\\033[1m{finished}\\033[0m\\n' >&2; echo '{_OURS}'")
        self.assertEqual(self.said.getvalue(), "")
        self.build(f"echo 'warning: odd' >&2; echo '{finished}' >&2; echo '{_OURS}'")
        self.assertIn(f"warning: odd\n{finished}\n", self.said.getvalue())

    def test_a_failed_build_shows_what_cargo_said(self) -> None:
        with self.fails("failed with exit code 101"):
            self.build("echo 'error[E0001]: broken' >&2; exit 101")
        self.assertIn("error[E0001]: broken\n", self.said.getvalue())

    def test_what_cargo_leaves_running_is_not_waited_for(self) -> None:
        """A cache's server has our pipe and stays, since the next build wants it."""
        self.build(f"sleep 600 & echo $! > pid; echo '{_OURS}'")
        pid = int((self.folder / "pid").read_text())
        self.assertTrue(alive(pid))
        os.kill(pid, signal.SIGKILL)

    def test_a_build_without_a_command(self) -> None:
        with self.fails("named no executable"):
            self.build("exit 0")

    def test_cargo_cannot_read_what_is_meant_for_the_permission_prompt(self) -> None:
        self.build(f"cat > stdin; echo '{_OURS}'")
        self.assertEqual((self.folder / "stdin").read_text(), "")


class Arguments(Case):
    def check(self, message: str | None, session: str | None, expected: list[str]) -> None:
        found = agent.run_argv(Path("/t/soong-agent"), Path("/p"), session, message)
        self.assertEqual(found, ["/t/soong-agent", "run", "--path", "/p", *expected])

    def test_the_message_is_never_an_option(self) -> None:
        self.check("do it", None, ["--", "do it"])
        self.check("--help", None, ["--", "--help"])
        self.check("-", None, ["--", "-"])
        self.check(None, None, [])
        self.check("more", "s1", ["--session-id", "s1", "--", "more"])


class Running(Case):
    def run_script(self, text: str) -> int:
        script = executable(self.folder / "soong-agent", f"#!/bin/sh\n{text}\n")
        return agent.run([str(script)], {"PATH": os.environ["PATH"], "DIR": str(self.folder)})

    def test_the_exit_code_is_the_commands_own(self) -> None:
        for code in (0, 1, 2, 3, 130):
            self.assertEqual(self.run_script(f"exit {code}"), code)

    def test_a_signal_that_ends_it_is_told_as_a_shell_does(self) -> None:
        self.assertEqual(self.run_script("kill -KILL $$"), 137)

    def test_a_command_that_cannot_be_run(self) -> None:
        with self.fails("/absent/soong-agent cannot be run"):
            agent.run(["/absent/soong-agent"], {})

    def check_forwarded(self, number: signal.Signals) -> None:
        ready = self.folder / f"ready-{number.name}"
        text = f"""
            trap 'exit 77' {number.name.removeprefix("SIG")}
            touch {ready}
            while :; do sleep 0.05; done"""
        us = os.getpid()

        def send() -> None:
            until(ready.exists, "the command is ready for the signal")
            os.kill(us, number)

        sender = threading.Thread(target=send)
        sender.start()
        with mock.patch.object(agent, "_terminal_sends_to_us", lambda: False):
            code = self.run_script(text)
        sender.join()
        self.assertEqual(code, 77)

    def test_signals_are_the_commands_to_answer(self) -> None:
        for number in SIGNALS:
            self.check_forwarded(number)

    def test_a_ctrl_c_that_the_terminal_sends_to_both_is_not_sent_twice(self) -> None:
        child = mock.Mock()
        for terminal, expected in ((True, []), (False, [mock.call(signal.SIGINT)])):
            child.reset_mock()
            forwarder = agent._Forwarder()
            forwarder.attach(child)
            with mock.patch.object(agent, "_terminal_sends_to_us", return_value=terminal):
                forwarder.forward(signal.SIGINT, None)
            self.assertEqual(child.send_signal.mock_calls, expected)

    def test_a_signal_before_the_command_is_there_waits_for_it(self) -> None:
        child = mock.Mock()
        forwarder = agent._Forwarder()
        forwarder.forward(signal.SIGTERM, None)
        self.assertEqual(child.send_signal.mock_calls, [])
        forwarder.attach(child)
        self.assertEqual(child.send_signal.mock_calls, [mock.call(signal.SIGTERM)])

    def test_whether_a_terminal_sends_to_us(self) -> None:
        program = (
            f"import sys; sys.path.insert(0, {str(PACKAGE_FOLDER)!r})\n"
            "from local_model.agent import _terminal_sends_to_us\n"
            "sys.exit(10 + _terminal_sends_to_us())"
        )
        argv = [sys.executable, "-B", "-c", program]
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        # A session leader that opens a terminal gets it as its controlling one.
        in_terminal = ["sh", "-c", 'exec <>"$0"; exec "$@"', os.ttyname(slave), *argv]
        for command, expected in ((argv, 10), (in_terminal, 11)):
            done = subprocess.run(command, start_new_session=True, check=False)
            self.assertEqual(done.returncode, expected)

    def test_our_own_handlers_are_back_afterwards(self) -> None:
        before = [signal.getsignal(number) for number in SIGNALS]
        self.run_script("exit 0")
        self.assertEqual([signal.getsignal(number) for number in SIGNALS], before)
