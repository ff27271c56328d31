"""What every test has: a limit of time, the usual signals, folders that do not pile up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .support import PACKAGE_FOLDER, Case


class Tests(Case):
    """Tests in a Python of their own."""

    def run_tests(
        self, *names: str, ignored: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        wrapped = ["sh", "-c", f'trap "" {ignored}; exec "$@"', "sh"] if ignored else []
        return subprocess.run(
            [*wrapped, sys.executable, "-B", "-m", "unittest", *names],
            cwd=PACKAGE_FOLDER,
            env={**os.environ, "SOONG_AGENT_TEST_ROOT": "", "HOME": str(self.folder), **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def test_the_signal_tests_pass_whatever_signals_are_ignored(self) -> None:
        """FND-60: under `nohup ./test &` in a script as well."""
        done = self.run_tests(
            "tests.test_agent.Running.test_signals_are_the_commands_to_answer",
            "tests.test_process.Held",
            "tests.test_quickstart.Quickstart.test_a_ctrl_c_in_the_terminal_is_the_commands_to_answer",
            "tests.test_quickstart.Quickstart.test_a_termination_during_the_run_is_the_commands_to_answer",
            ignored="HUP INT QUIT TERM",
            SOONG_AGENT_TEST_LIMIT="60",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 5 tests", done.stderr)

    def test_a_test_that_hangs_is_ended_and_named(self) -> None:
        """FND-60: every test has a limit."""
        done = self.run_tests("tests.test_support.Samples.hangs", SOONG_AGENT_TEST_LIMIT="0.3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("in hangs", done.stderr)

    def test_folders_of_failed_tests_are_named_and_bounded(self) -> None:
        """FND-67: over many runs the newest few stay."""
        runs = self.folder / ".soong-agent" / "test-runs"
        for number in range(9):
            old = runs / f"local-model-old-{number}"
            old.mkdir(parents=True)
            os.utime(old, (number, number))
        (runs / "foreign").mkdir()
        done = self.run_tests("tests.test_support.Samples.fails")
        self.assertNotEqual(done.returncode, 0)
        there = {path.name for path in runs.iterdir()}
        named = Path(done.stderr.split("what it made is in ", 1)[1].splitlines()[0])
        self.assertEqual(named.parent, runs)
        old_ones = {f"local-model-old-{number}" for number in range(4, 9)}
        self.assertEqual(there, {"foreign", named.name, *old_ones})


class Samples(Case):
    """Run by name only, by the tests above."""

    def hangs(self) -> None:
        import time

        time.sleep(600)

    def fails(self) -> None:
        self.fail("as it should")
