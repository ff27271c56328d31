"""`./quickstart` as a person starts it: a fake cargo, a fake Ollama, a fake soong-agent."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

from .support import REPOSITORY, Case, FakeOllama, alive, executable, shown, until

_MODELS = {"able:1b": {"show": shown("completion", "tools")}}


class Quickstart(Case):
    def setUp(self) -> None:
        super().setUp()
        self.bin = self.folder / "bin"
        self.command = self.folder / "target" / "soong-agent"
        built = json.dumps({"executable": str(self.command), "target": {"name": "soong-agent"}})
        executable(self.bin / "cargo", f"#!/bin/sh\necho '{built}'\n")
        executable(self.bin / "rustc", "#!/bin/sh\necho 'rustc 1.95.0 (abc 2026-01-01)'\n")
        executable(self.bin / "cc", "#!/bin/sh\n")
        self.command_is('printf "%s\\n" "$@" > "$SEEN/args"; cat "$SOONG_AGENT_HOME/config.toml"')

    def command_is(self, text: str) -> None:
        executable(self.command, f"#!/bin/sh\n{text}\n")

    def environ(self, ollama: str) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SOONG_AGENT_CACHE": str(self.folder / "own-cache"),
            "OLLAMA_HOST": ollama,
            "SEEN": str(self.folder),
        }

    def start(self, *arguments: str, ollama: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(REPOSITORY / "quickstart"), *arguments],
            env=self.environ(ollama),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_to_end(self, *arguments: str, ollama: str, stdin: str = "") -> tuple[int, str, str]:
        with self.start(*arguments, ollama=ollama) as process:
            out, err = process.communicate(stdin, timeout=60)
        return process.returncode, out, err

    def test_from_a_message_to_the_command(self) -> None:
        with FakeOllama(_MODELS) as address:
            code, out, err = self.run_to_end("create", "a file", ollama=address)
        self.assertEqual(code, 0, err)
        project = self.folder / "own-cache" / "sample-project"
        self.assertEqual(
            (self.folder / "args").read_text().splitlines(),
            ["run", "--path", str(project), "--", "create a file"],
        )
        self.assertIn(f'base_url = "{address}"', out)
        self.assertIn('name = "able:1b"', out)
        self.assertTrue((project / "README.md").is_file())
        self.assertIn(str(project), err)
        home = self.folder / "own-cache" / "home"
        self.assertEqual(stat.S_IMODE(home.stat().st_mode), 0o700)

    def test_stdout_holds_the_commands_output_only(self) -> None:
        self.command_is("echo answer; echo note >&2")
        with FakeOllama(_MODELS) as address:
            _, out, err = self.run_to_end("x", ollama=address)
        self.assertEqual(out, "answer\n")
        self.assertIn("note\n", err)

    def test_the_answer_to_the_permission_prompt_reaches_the_command(self) -> None:
        self.command_is('read line; echo "got $line"; exit 3')
        with FakeOllama(_MODELS) as address:
            code, out, _ = self.run_to_end("x", ollama=address, stdin="2\n")
        self.assertEqual((code, out), (3, "got 2\n"))

    def test_what_the_command_did_to_the_sample_stays(self) -> None:
        self.command_is('echo more >> "$3/README.md"; wc -l < "$3/README.md"')
        with FakeOllama(_MODELS) as address:
            _, first, _ = self.run_to_end("x", ollama=address)
            _, second, _ = self.run_to_end("x", ollama=address)
        self.assertEqual(int(second), int(first) + 1)

    def test_an_unknown_ollama_model_is_one_sentence(self) -> None:
        with FakeOllama(_MODELS) as address:
            code, out, err = self.run_to_end("--ollama-model", "absent", "x", ollama=address)
        self.assertEqual((code, out, err.count("\n")), (1, "", 1))
        self.assertIn("it has able:1b", err)

    def test_a_project_that_is_not_there_is_one_sentence(self) -> None:
        with FakeOllama(_MODELS) as address:
            code, _, err = self.run_to_end("--path", "/absent", "x", ollama=address)
        self.assertEqual((code, err), (2, "quickstart: there is no project at /absent\n"))

    def test_a_failed_build_ends_it(self) -> None:
        executable(self.bin / "cargo", "#!/bin/sh\necho 'error: broken' >&2\nexit 101\n")
        with FakeOllama(_MODELS) as address:
            code, _, err = self.run_to_end("x", ollama=address)
        self.assertEqual(code, 1)
        self.assertIn("error: broken", err)

    def test_a_termination_while_building_ends_cargo_and_its_children(self) -> None:
        pid_file = self.folder / "cargo-pid"
        # A rustc goes on for minutes if only cargo is ended.
        executable(self.bin / "cargo", f"#!/bin/sh\nsleep 600 & echo $! > {pid_file}\nwait\n")
        with FakeOllama(_MODELS) as address, self.start("x", ollama=address) as process:
            until(lambda: pid_file.exists() and pid_file.read_text(), "cargo runs")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        until(lambda: not alive(int(pid_file.read_text())), "what cargo had started ends too")

    def test_a_termination_during_the_run_is_the_commands_to_answer(self) -> None:
        ready = self.folder / "ready"
        self.command_is(f"trap 'exit 143' TERM; touch {ready}; while :; do sleep 0.05; done")
        with FakeOllama(_MODELS) as address, self.start("x", ollama=address) as process:
            until(ready.exists, "the command runs")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_what_nohup_ignores_stays_ignored(self) -> None:
        self.command_is("kill -HUP $PPID; kill -HUP $$; echo still here")
        argv = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", str(REPOSITORY / "quickstart"), "x"]
        with FakeOllama(_MODELS) as address:
            done = subprocess.run(
                argv, env=self.environ(address), capture_output=True, text=True, check=False
            )
        self.assertEqual((done.returncode, done.stdout), (0, "still here\n"))

    def test_a_ctrl_c_in_the_terminal_is_the_commands_to_answer(self) -> None:
        ready = self.folder / "ready"
        count = self.folder / "count"
        self.command_is(
            f"trap 'echo x >> {count}' INT; [ -t 0 ] && [ -t 1 ] && touch {ready}\n"
            f"while [ ! -e {count} ]; do sleep 0.05; done; sleep 0.5; exit 130"
        )
        master, slave = os.openpty()
        # A session leader that opens a terminal gets it as its controlling one.
        argv = ["sh", "-c", 'exec <>"$0" >&0 2>&0; exec "$@"', os.ttyname(slave)]
        with (
            FakeOllama(_MODELS) as address,
            subprocess.Popen(
                [*argv, str(REPOSITORY / "quickstart"), "x"],
                env=self.environ(address),
                start_new_session=True,
            ) as process,
        ):
            until(ready.exists, "the command runs and sees a terminal")
            os.write(master, b"\x03")
            process.wait(timeout=60)
        os.close(slave)
        os.close(master)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(count.read_text(), "x\n")
