"""The command line."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from local_model.options import Options, checked_project, parse

from .support import Case

_NONE = Options(
    message=None,
    path=None,
    model=None,
    ollama_model=None,
    session_id=None,
    prepare=False,
    serve=False,
)


class Parsing(Case):
    def check(self, argv: list[str], terminal: bool = True, **expected: object) -> None:
        found = parse(argv, ["small", "medium"], terminal)
        self.assertEqual(vars(found), {**vars(_NONE), **expected})

    def check_usage(self, fragment: str, argv: list[str], terminal: bool = True) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as caught:
            parse(argv, ["small", "medium"], terminal)
        self.assertEqual(caught.exception.code, 2)
        self.assertIn(fragment, said.getvalue())

    def test_everything_after_the_options_is_the_message(self) -> None:
        self.check(["do it"], message="do it")
        self.check(["--path", "/p", "do", "it"], message="do it", path=Path("/p"))
        self.check(["--", "say", "--model", "medium"], message="say --model medium")
        self.check(["--", "--help", "me"], message="--help me")
        self.check(["--model", "medium", "x"], message="x", model="medium")
        self.check(["--ollama-model", "m:1b", "x"], message="x", ollama_model="m:1b")
        self.check(["--session-id", "s1", "x"], message="x", session_id="s1")

    def test_stdin_can_bring_the_message(self) -> None:
        self.check(["-"], message="-")
        self.check([], terminal=False, message=None)

    def test_modes(self) -> None:
        self.check(["--prepare"], prepare=True)
        self.check(["--serve", "--model", "medium"], serve=True, model="medium")

    def test_usage_errors(self) -> None:
        self.check_usage("a message is missing", [])
        self.check_usage("a message is missing", ["  "])
        self.check_usage("invalid choice", ["--model", "huge", "x"])
        self.check_usage("not allowed with", ["--prepare", "--serve"])
        self.check_usage("not allowed with", ["--model", "small", "--ollama-model", "m", "x"])
        self.check_usage("take no message", ["--serve", "x"])
        self.check_usage("take no message", ["--prepare", "--path", "/p"])
        self.check_usage("takes no --ollama-model", ["--serve", "--ollama-model", "m"])
        self.check_usage("expected one argument", ["--path"])
        self.check_usage("--path comes after the message", ["do it", "--path", "/p"])
        self.check_usage("--help comes after the message", ["do it", "--help"])
        self.check_usage("--model=medium comes after the message", ["say", "--model=medium"])

    def test_a_project_that_is_not_there(self) -> None:
        with self.fails("no project at", "absent"):
            checked_project(self.folder / "absent")
