"""Children that are not left behind, whenever a signal comes."""

from __future__ import annotations

import os
import signal
import subprocess

from local_model.errors import Stopped
from local_model.process import SIGNALS, end, run_quietly, signals_held, tail

from .support import Case, until


class Held(Case):
    def test_a_signal_waits_for_the_end_of_the_block(self) -> None:
        seen: list[int] = []

        def note(number: int, _frame: object) -> None:
            seen.append(number)
            raise Stopped(number)

        for number in SIGNALS:
            self.addCleanup(signal.signal, number, signal.signal(number, note))
            with self.assertRaises(Stopped) as caught:
                with signals_held():
                    os.kill(os.getpid(), number)
                    self.assertNotIn(number, seen)
                self.fail("it went on")
            self.assertEqual(caught.exception.exit_code, 128 + number)
        self.assertEqual(seen, list(SIGNALS))

    def test_a_signal_to_us_while_a_child_is_ended_does_not_leave_it(self) -> None:
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        child = subprocess.Popen(
            # It answers the request to end by asking us to end, and then stays.
            ["sh", "-c", "trap 'kill -TERM $PPID' TERM; echo; while :; do sleep 0.05; done"],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        child.stdout.readline()

        def stop(number: int, _frame: object) -> None:
            raise Stopped(number)

        signal.signal(signal.SIGTERM, stop)
        with self.assertRaises(Stopped):
            end(child, grace=0.5)
        child.stdout.close()
        self.assertEqual(child.returncode, -signal.SIGKILL)


class Quietly(Case):
    def test_exit_code_and_log(self) -> None:
        with (self.folder / "log").open("wb") as log:
            argv = ["sh", "-c", "echo out; echo err >&2; sleep 0.2; exit 7"]
            ticks: list[float] = []
            self.assertEqual(run_quietly(argv, stdout=log, log=log, tick=ticks.append), 7)
        self.assertEqual((self.folder / "log").read_text(), "out\nerr\n")
        self.assertTrue(ticks)

    def test_a_failing_tick_does_not_leave_the_command(self) -> None:
        path = self.folder / "log"

        def fail(_seconds: float) -> None:
            until(path.read_text, "the command has said its number")
            raise ZeroDivisionError

        with path.open("wb") as log, self.assertRaises(ZeroDivisionError):
            argv = ["sh", "-c", "echo $$; exec sleep 600"]
            run_quietly(argv, stdout=log, log=log, tick=fail)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)


class Tail(Case):
    def test_the_last_lines_of_a_long_log(self) -> None:
        log = self.folder / "log"
        log.write_bytes(b"".join(b"line %d\n" % n for n in range(5000)) + b"\xff\n")
        self.assertEqual(tail(log, lines=2), "line 4999\n\ufffd")
        self.assertLessEqual(len(tail(log, lines=5000)), 16_384)
