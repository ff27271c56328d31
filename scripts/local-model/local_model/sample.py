"""The sample project that soong-agent works on when no other is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .cache import Cache
from .screen import Screen

_SOURCE = Path("examples") / "sample-project"


def ensure(repository: Path, cache: Cache, screen: Screen) -> Path:
    """A copy in the cache, so that the repository stays as it was cloned.

    A copy that is there is left alone, since it holds what the model has done
    so far; removing the folder brings a fresh one.
    """
    target = cache.root / "sample-project"
    if not target.is_dir():
        with cache.locked(screen):
            if not target.is_dir():
                fresh = cache.empty_staging() / "sample-project"
                shutil.copytree(repository / _SOURCE, fresh)
                os.rename(fresh, target)
                cache.drop_staging()
    screen.note(f"Project: {target} (a sample; --path chooses another).")
    return target
