"""The real-model tests: the embedded model's server around one `cargo test`.

A suite of its own, asked for by name (`scripts/real-model-suite`). It never
skips: where the model cannot be had, it fails and says why.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from . import agent, machine, pins
from .cli import DEFAULT_MODEL, Quickstart, guarded
from .screen import Screen

BASE_URL_VARIABLE = "SOONG_AGENT_TEST_BASE_URL"
MODEL_VARIABLE = "SOONG_AGENT_TEST_MODEL"


def main(argv: Sequence[str]) -> int:
    """Runs the suite and returns cargo's exit code."""
    screen = Screen()
    return guarded("real-model-suite", screen, lambda: _run(argv, screen))


def _run(argv: Sequence[str], screen: Screen) -> int:
    known = pins.load()
    parser = argparse.ArgumentParser(
        prog="scripts/real-model-suite",
        description="Runs soong-agent's tests against a real model served on this machine.",
        allow_abbrev=False,
    )
    parser.add_argument("--model", choices=list(known.models), default=DEFAULT_MODEL)
    parser.add_argument(
        "cargo_arguments", nargs=argparse.REMAINDER, help="go to `cargo test` as they are"
    )
    options = parser.parse_args(list(argv))
    repository = machine.repository_root()
    machine.require_toolchain(os.environ, repository)
    os.chdir(repository)
    with Quickstart(screen, known).server(options.model) as server:
        environ = {
            **os.environ,
            BASE_URL_VARIABLE: server.base_url,
            MODEL_VARIABLE: known.models[options.model].name,
        }
        command = ["cargo", "test", "--locked", "-p", agent.PACKAGE, "--test", "real_model"]
        return agent.run([*command, *options.cargo_arguments], environ)
