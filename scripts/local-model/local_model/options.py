"""The command line of `./quickstart`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import Failure

_DESCRIPTION = """\
Builds soong-agent, finds or fetches a model that runs on this machine, and has
it work on a project. Nothing is installed and ~/.soong-agent is not touched:
all that is fetched or made lies in ~/.cache/soong-agent (SOONG_AGENT_CACHE
chooses another folder).

The model is, in this order: the one named by --ollama-model; the one named by
--model; one that can call tools in an Ollama that is running; the small model.
"""
_EXAMPLES = """\
examples:
  ./quickstart "Create a file named hello.txt that contains the line: hello world"
  ./quickstart --path ~/src/thing "What does this project do?"
  printf '2\\n' | ./quickstart "Create notes/today.md"    # allows writes in a script
"""


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    message: str | None
    """None: soong-agent reads it from stdin."""
    path: Path | None
    model: str | None
    ollama_model: str | None
    session_id: str | None
    prepare: bool
    serve: bool


def parse(argv: Sequence[str], models: Sequence[str], stdin_is_terminal: bool) -> Options:
    """Parses the arguments; exits 2 with the usage, or 0 for --help, as argparse does."""
    parser = argparse.ArgumentParser(
        prog="./quickstart",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--model", choices=list(models), help="use this embedded model, even beside an Ollama"
    )
    source.add_argument("--ollama-model", metavar="NAME", help="use this model of the Ollama")
    parser.add_argument(
        "--path", type=Path, metavar="DIR", help="the project (default: a sample project)"
    )
    parser.add_argument(
        "--session-id", metavar="ID", help="go on with a session of an earlier start"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--prepare", action="store_true", help="only fetch, check and build")
    mode.add_argument(
        "--serve",
        action="store_true",
        help="only start the embedded model's server, print the [model] section for a config.toml "
        "and keep running",
    )
    parser.add_argument(
        "message",
        nargs=argparse.REMAINDER,
        help="everything after the options; `-`, or nothing and a pipe, means stdin",
    )
    found = parser.parse_args(list(argv))
    explicit = found.message[:1] == ["--"]
    words = found.message[1:] if explicit else found.message
    # Whoever types an option behind the message means the option, not a word of the message.
    options = [word for word in words if word.split("=")[0] in parser._option_string_actions]
    if options and not explicit:
        parser.error(f"{options[0]} comes after the message: options go before it (or put -- there)")
    message = " ".join(words).strip() or None
    only = found.prepare or found.serve
    if only and (message is not None or found.path is not None or found.session_id is not None):
        parser.error("--prepare and --serve take no message, --path or --session-id")
    if found.serve and found.ollama_model is not None:
        parser.error("--serve starts the embedded model's server: it takes no --ollama-model")
    if not only and message is None and stdin_is_terminal:
        parser.error("what should be done? (a message is missing)")
    return Options(
        message=message,
        path=found.path,
        model=found.model,
        ollama_model=found.ollama_model,
        session_id=found.session_id,
        prepare=found.prepare,
        serve=found.serve,
    )


def checked_project(path: Path) -> Path:
    """Said before half a gigabyte is fetched rather than after."""
    if not path.exists():
        raise Failure(f"there is no project at {path}", code=2)
    return path
