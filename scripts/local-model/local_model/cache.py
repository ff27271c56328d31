"""The folder outside the repository that holds everything fetched and made.

Layout:

    lock                 held while something is fetched or copied
    staging/             downloads under way; emptied under the lock
    models/NAME.gguf     complete and checked: it got its name by a rename
    models/….partial     whole checked parts joined so far (see `fetch`)
    server/PKG-VERSION/  the unpacked server wheel
    home/, home-2/, …    homes of soong-agent, one for each start at a time
    logs/                what the servers wrote
    sample-project/      what soong-agent works on when no --path is given
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from .errors import Failure
from .pins import ModelPin, ServerPin
from .screen import Screen, megabytes

_MAX_HOMES = 16


def cache_root(environ: Mapping[str, str]) -> Path:
    """SOONG_AGENT_CACHE, else soong-agent/ in the user's cache folder."""
    chosen = environ.get("SOONG_AGENT_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG rules ask that a relative value be treated as if it were not set.
    if base and Path(base).is_absolute():
        return Path(base) / "soong-agent"
    return Path.home() / ".cache" / "soong-agent"


class Cache:
    """The folder's names, its lock, and room on its disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.models = root / "models"
        self.server = root / "server"
        self.staging = root / "staging"
        self.logs = root / "logs"

    def model_path(self, model: ModelPin) -> Path:
        """Where the model lies once it is complete."""
        return self.models / model.file

    def server_path(self, server: ServerPin) -> Path:
        """The folder that holds the server's Python package once it is complete."""
        return self.server / f"{server.wheel.package}-{server.wheel.version}"

    def prepare(self) -> None:
        """Makes the folder, or refuses one that someone else could put code into."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.models, self.server, self.logs):
                folder.mkdir(mode=0o700, exist_ok=True)
            facts = self.root.stat()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Failure(
                f"the cache folder {self.root} cannot be used ({error.strerror}): "
                "set SOONG_AGENT_CACHE to a folder of your own"
            ) from error
        if facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise Failure(
                f"the cache folder {self.root} belongs to, or can be written by, another user, "
                "and code is run from it: set SOONG_AGENT_CACHE to a folder of your own"
            )

    @contextlib.contextmanager
    def locked(self, screen: Screen) -> Iterator[None]:
        """One fetch at a time. The lock goes with the process, so none is ever stale."""
        with _open_lock(self.root / "lock") as descriptor:
            if not _try_lock(descriptor):
                screen.note("Another start is fetching into the cache; waiting for it.")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield

    def empty_staging(self) -> Path:
        """A fresh staging folder; call it under the lock only."""
        self.drop_staging()
        self.staging.mkdir(mode=0o700)
        return self.staging

    def drop_staging(self) -> None:
        """Removes the staging folder with all that is in it."""
        shutil.rmtree(self.staging, ignore_errors=True)

    def require_room(self, needed: int) -> None:
        """Better said before half a gigabyte came than after."""
        free = shutil.disk_usage(self.root).free
        if free < needed:
            raise Failure(
                f"the disk of {self.root} has {megabytes(free)} free and {megabytes(needed)} are "
                "needed: free some, or set SOONG_AGENT_CACHE to a folder on another disk"
            )

    @contextlib.contextmanager
    def claimed_home(self, session_id: str | None = None) -> Iterator[Path]:
        """A home for one soong-agent, kept for the next start.

        With a session it is the home that holds it, whichever that is.

        Each start writes a config with a port of its own into it, so two starts
        at a time must not share one. The first is `home`, so that a single user
        finds all sessions in one place.
        """
        for number in range(1, _MAX_HOMES + 1):
            name = "home" if number == 1 else f"home-{number}"
            if session_id is not None and not self._holds(name, session_id):
                continue
            with _open_lock(self.root / f"{name}.lock") as descriptor:
                if not _try_lock(descriptor):
                    continue
                home = self.root / name
                home.mkdir(mode=0o700, exist_ok=True)
                home.chmod(0o700)
                yield home
                return
        if session_id is not None:
            raise Failure(
                f"there is no session {session_id} in {self.root}, or another start is using it",
                code=2,
            )
        raise Failure(f"{_MAX_HOMES} starts are running in {self.root}: end one of them first")

    def _holds(self, name: str, session_id: str) -> bool:
        # An id is a folder's name there; anything else names no session.
        return session_id.startswith("sess_") and (self.root / name / "sessions" / session_id).is_dir()


@contextlib.contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
