"""The real-model tests: a model's server around `cargo test` and the probe.

A suite of its own, asked for by name (`scripts/real-model-suite`). It never
skips: where the model cannot be had, it fails and says why.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import agent, machine, ollama, pins
from .cache import Cache, cache_root
from .cli import DEFAULT_MODEL, Quickstart, guarded
from .ollama_server import running
from .screen import Screen
from .server import CONTEXT_TOKENS

PROVIDER_VARIABLE = "SOONG_AGENT_TEST_PROVIDER"
BASE_URL_VARIABLE = "SOONG_AGENT_TEST_BASE_URL"
MODEL_VARIABLE = "SOONG_AGENT_TEST_MODEL"
LIMIT_VARIABLE = "SOONG_AGENT_TEST_LIMIT"
ROOT_VARIABLE = "SOONG_AGENT_TEST_ROOT"
OLLAMA_MODEL_VARIABLE = "SOONG_AGENT_TEST_OLLAMA_MODEL"

PROBED = (
    "answer,usage,stop-reason,max-tokens,unicode,tool-call,parallel-results,odd-history,"
    "cancel,wrong-model,overflow"
)
"""What a small model on a CPU gets through in a minute or two, and hardly by luck."""


@dataclass(frozen=True)
class Target:
    """A model as one adapter reaches it."""

    provider: str
    base_url: str
    model: str
    context_window: int


def main(argv: Sequence[str]) -> int:
    """Runs the suite and returns the first exit code that is not 0."""
    screen = Screen()
    return guarded("real-model-suite", screen, lambda: _run(argv, screen))


def _run(argv: Sequence[str], screen: Screen) -> int:
    known = pins.load()
    parser = argparse.ArgumentParser(
        prog="scripts/real-model-suite",
        description="Runs soong-agent's tests, and the probe, against a real model on this machine.",
        allow_abbrev=False,
    )
    parser.add_argument("--model", choices=list(known.models), default=DEFAULT_MODEL)
    parser.add_argument(
        "--ollama",
        action="store_true",
        help=f"through Ollama instead, with gemma4 or ${OLLAMA_MODEL_VARIABLE}; nothing is pulled",
    )
    parser.add_argument("--no-probe", action="store_true", help="only the tests")
    parser.add_argument(
        "cargo_arguments", nargs=argparse.REMAINDER, help="go to `cargo test` as they are"
    )
    options = parser.parse_args(list(argv))
    repository = machine.repository_root()
    machine.require_toolchain(os.environ, repository)
    os.chdir(repository)
    targets = (
        _of_ollama(screen) if options.ollama else _of_llama(screen, known, options.model)
    )
    with targets as those:
        for target in those:
            screen.note(f"Real model through `{target.provider}`: {target.model}")
            code = _test(target, options.cargo_arguments or BRIEF)
            if code == 0 and not options.no_probe:
                code = _probe(target)
            if code != 0:
                return code
    return 0


# What takes many minutes on two cores is run by its name: `scripts/real-model-suite --no-probe a_session_longer`.
BRIEF = ("--", "--skip", "a_session_longer_than_its_window")


def _plain_root(environ: Mapping[str, str]) -> Path:
    """A folder whose path a small model copies without a mistake: one with a date in it was written as another date.

    What an earlier suite left in it goes.
    """
    root = Path(environ.get("HOME") or str(Path.home())) / ".soong-agent" / "test-runs" / "real-model"
    shutil.rmtree(root, ignore_errors=True)
    return root


def _test(target: Target, cargo_arguments: Sequence[str]) -> int:
    environ = {
        **os.environ,
        ROOT_VARIABLE: os.environ.get(ROOT_VARIABLE) or str(_plain_root(os.environ)),
        PROVIDER_VARIABLE: target.provider,
        BASE_URL_VARIABLE: target.base_url,
        MODEL_VARIABLE: target.model,
        # A small model on a CPU takes its time; what hangs is ended all the same.
        LIMIT_VARIABLE: os.environ.get(LIMIT_VARIABLE) or "3600",
    }
    command = ["cargo", "test", "--locked", "-p", agent.PACKAGE, "--test", "real_model"]
    return agent.run([*command, *cargo_arguments], environ)


def _probe(target: Target) -> int:
    command = ["cargo", "run", "--quiet", "--locked", "-p", "xtask", "--", "probe"]
    facts = {
        "provider": target.provider,
        "base-url": target.base_url,
        "model": target.model,
        "context-window": str(target.context_window),
        "max-output-tokens": "256",
        "timeout": "300",
        "only": PROBED,
    }
    flags = [part for name, value in facts.items() for part in (f"--{name}", value)]
    return agent.run([*command, *flags], dict(os.environ))


@contextlib.contextmanager
def _of_llama(screen: Screen, known: pins.Pins, model: str) -> Iterator[list[Target]]:
    """The embedded model in both protocols that its server speaks."""
    with Quickstart(screen, known).server(model) as server:
        name = known.models[model].name
        yield [
            Target("openai", server.base_url, name, CONTEXT_TOKENS),
            Target("anthropic", server.address, name, CONTEXT_TOKENS),
        ]


@contextlib.contextmanager
def _of_ollama(screen: Screen) -> Iterator[list[Target]]:
    """A model that the Ollama of this machine has."""
    cache = Cache(cache_root(os.environ))
    cache.prepare()
    address = ollama.address_from(os.environ)
    with running(address, cache.logs, screen):
        wanted = os.environ.get(OLLAMA_MODEL_VARIABLE) or "gemma4"
        chosen = ollama.find(address, wanted)
        assert chosen is not None, "a wanted model is found, or there is a Failure"
        yield [Target("ollama", chosen.address, chosen.model.name, chosen.model.context_window)]
