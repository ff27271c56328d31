"""The cache folder: where it is, who may use it, its locks."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from local_model.cache import Cache, cache_root

from .support import Case


class CacheRoot(Case):
    def check(self, expected: str, **environ: str) -> None:
        self.assertEqual(cache_root(environ), Path(expected))

    def test_the_own_variable_wins_then_xdg_then_the_home(self) -> None:
        home = str(Path.home())
        self.check("/a/b", SOONG_AGENT_CACHE="/a/b", XDG_CACHE_HOME="/x")
        self.check("/x/soong-agent", XDG_CACHE_HOME="/x")
        self.check(f"{home}/.cache/soong-agent", XDG_CACHE_HOME="relative")
        self.check(f"{home}/.cache/soong-agent", SOONG_AGENT_CACHE="", XDG_CACHE_HOME="")


class CacheFolder(Case):
    def test_it_is_for_its_owner_only(self) -> None:
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        cache = Cache(self.folder / "fresh")
        cache.prepare()
        self.assertEqual(stat.S_IMODE(cache.root.stat().st_mode), 0o700)

    def test_one_that_others_can_write_is_refused(self) -> None:
        self.cache.root.chmod(0o777)
        with self.fails("another user", "SOONG_AGENT_CACHE"):
            self.cache.prepare()

    def test_one_that_cannot_be_made_is_named(self) -> None:
        (self.folder / "file").touch()
        with self.fails(str(self.folder / "file"), "SOONG_AGENT_CACHE"):
            Cache(self.folder / "file" / "cache").prepare()

    def test_homes_are_shared_by_nobody_and_used_again(self) -> None:
        with self.cache.claimed_home() as first, self.cache.claimed_home() as second:
            self.assertEqual((first.name, second.name), ("home", "home-2"))
            self.assertEqual(stat.S_IMODE(first.stat().st_mode), 0o700)
        with self.cache.claimed_home() as again:
            self.assertEqual(again, first)

    def test_a_session_is_found_in_the_home_that_holds_it(self) -> None:
        with self.cache.claimed_home(), self.cache.claimed_home() as second:
            (second / "sessions" / "sess_1").mkdir(parents=True)
        with self.cache.claimed_home("sess_1") as found:
            self.assertEqual(found, second)
        for unknown in ("sess_2", "../home", ""):
            with self.fails("no session"), self.cache.claimed_home(unknown):
                self.fail("claimed")

    def test_the_lock_is_free_after_a_failure(self) -> None:
        with self.assertRaises(ZeroDivisionError), self.cache.locked(self.screen):
            raise ZeroDivisionError
        with self.cache.locked(self.screen):
            self.assertNotIn("waiting", self.said.getvalue())
