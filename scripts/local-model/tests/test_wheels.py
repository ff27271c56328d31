"""The real pip, offline: its index is a folder."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from local_model.pins import Wheel
from local_model.wheels import pip_command, pip_download

from .support import Case, make_wheel


class PipDownload(Case):
    def setUp(self) -> None:
        super().setUp()
        self.index = self.folder / "index"
        self.wheel = make_wheel(self.index, "tiny-part", {"tiny_part/data/part.bin": b"abc"})
        self.staging = self.folder / "staging"
        self.staging.mkdir()

    def download(self, wheel: Wheel, **environ: str) -> Path:
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index), **environ}
        with mock.patch.dict(os.environ, offline):
            return pip_download(wheel, self.staging, lambda size: None)

    def test_a_wheel_comes_into_the_folder_as_it_is(self) -> None:
        path = self.download(self.wheel)
        self.assertEqual(path, self.staging / self.wheel.file)
        self.assertEqual(path.read_bytes(), (self.index / self.wheel.file).read_bytes())

    def test_a_guard_against_installing_does_not_matter(self) -> None:
        self.assertTrue(self.download(self.wheel, PIP_REQUIRE_VIRTUALENV="true").is_file())

    def test_a_wheel_that_is_not_to_be_had(self) -> None:
        missing = Wheel("tiny-absent", "1.0", "tiny_absent-1.0-py3-none-any.whl", "0" * 64, 1)
        with self.fails("pip could not fetch tiny-absent==1.0", "No matching distribution"):
            self.download(missing)

    def test_a_full_disk_is_said_though_pip_could_not_write_it_down(self) -> None:
        missing = Wheel("tiny-absent", "1.0", "tiny_absent-1.0-py3-none-any.whl", "0" * 64, 1 << 60)
        with self.fails("the disk of", "is full"):
            self.download(missing)

    def test_no_network_is_told_from_a_missing_wheel(self) -> None:
        # Port 9 of loopback refuses at once; one retry keeps the test short.
        environ = {
            "PIP_NO_INDEX": "false",
            "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": "",
            "NO_PROXY": "127.0.0.1",
            "PIP_RETRIES": "1",
            "PIP_DEFAULT_TIMEOUT": "2",
        }
        with self.fails("could not reach the package registry", "tiny-part==1.0"):
            self.download(self.wheel, **environ)


class PipCommand(Case):
    def test_the_copy_that_python_brings_stands_in_for_a_missing_pip(self) -> None:
        bundled = self.folder / "ensurepip" / "_bundled"
        bundled.mkdir(parents=True)
        (bundled / "pip-99.0-py3-none-any.whl").touch()
        found = mock.Mock(origin=str(self.folder / "ensurepip" / "__init__.py"))
        with mock.patch("importlib.util.find_spec", lambda name: found if name != "pip" else None):
            self.assertTrue(pip_command()[1].endswith("/pip-99.0-py3-none-any.whl/pip"))

    def test_no_pip_at_all(self) -> None:
        with (
            mock.patch("importlib.util.find_spec", lambda name: None),
            self.fails("has no pip", "ensurepip", "python3-pip"),
        ):
            pip_command()
