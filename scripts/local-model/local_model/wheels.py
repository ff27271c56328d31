"""One wheel, by pip, as the user has set pip up.

pip is only a downloader here: `download --no-deps --only-binary=:all:` runs no
code of a package, and nothing is installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from .errors import Failure
from .pins import Wheel
from .process import run_quietly

_NETWORK_SIGNS = ("Retrying (Retry(", "Max retries exceeded", "NewConnectionError", "timed out")


class Download(Protocol):
    """Brings one wheel into a folder; the caller checks what came."""

    def __call__(self, wheel: Wheel, folder: Path, tick: Callable[[int], None]) -> Path: ...


def pip_download(wheel: Wheel, folder: Path, tick: Callable[[int], None]) -> Path:
    """Downloads the wheel into `folder` and returns its path, unchecked.

    pip's own temporary file is put there too: the system's may be a small
    memory disk, and the folder's size is what `tick` reports while we wait.
    """
    log_path = folder / "pip.log"
    argv = [
        *pip_command(),
        "download",
        "--no-deps",
        "--only-binary=:all:",
        # pip would keep a second copy of half a gigabyte for a reinstall that never comes.
        "--no-cache-dir",
        "--progress-bar=off",
        "--no-input",
        f"--dest={folder}",
        wheel.requirement,
    ]
    # That guard is against installing outside a virtual environment; this installs nothing.
    env = {**os.environ, "TMPDIR": str(folder), "PIP_REQUIRE_VIRTUALENV": "false", "LC_ALL": "C"}
    with log_path.open("wb") as log:
        code = run_quietly(
            argv, stdout=log, log=log, env=env, tick=lambda _: tick(_size_of(folder))
        )
    path = folder / wheel.file
    if code == 0 and path.is_file():
        return path
    raise _explain(wheel, log_path.read_text(encoding="utf-8", errors="replace"), folder)


def pip_command() -> list[str]:
    """pip as installed, else the copy that Python brings along for ensurepip."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    ensurepip = importlib.util.find_spec("ensurepip")
    if ensurepip is not None and ensurepip.origin is not None:
        bundled = Path(ensurepip.origin).parent / "_bundled"
        for candidate in sorted(bundled.glob("pip-*.whl")):
            return [sys.executable, str(candidate / "pip")]
    raise Failure(
        f"{sys.executable} has no pip, which fetches the model: install it with "
        "`python3 -m ensurepip --user` or your system's package python3-pip"
    )


def _size_of(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                # pip removes its temporary files while we look.
                continue
    return total


def _explain(wheel: Wheel, output: str, folder: Path) -> Failure:
    # A disk that is full may have kept pip from saying so in its log.
    full = shutil.disk_usage(folder).free < wheel.size
    if full or "No space left on device" in output or "Disk quota exceeded" in output:
        return Failure(f"the disk of {folder} is full: free some space and start again")
    errors = [line for line in output.splitlines() if line.startswith("ERROR: ")]
    if any(sign in output for sign in _NETWORK_SIGNS):
        return Failure(
            f"pip could not reach the package registry for {wheel.requirement}: check the network "
            "(or pip's proxy and index settings) and start again; what came so far is kept"
        )
    reason = errors[-1].removeprefix("ERROR: ") if errors else "it brought no such file"
    return Failure(f"pip could not fetch {wheel.requirement}: {reason}")
