"""One clear sentence for each thing that is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from local_model.machine import require_embedded_platform, require_toolchain

from .support import REPOSITORY, Case, executable


class Toolchain(Case):
    def setUp(self) -> None:
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        # The scripts need a shell's `echo`, which is a builtin, and nothing else of a PATH.
        self.environ = {"PATH": str(self.bin)}

    def install(self, *names: str, rustc: str = "rustc 1.95.0 (abc 2026-01-01)") -> None:
        for name in names:
            text = rustc if name == "rustc" else "?"
            executable(self.bin / name, f"#!/bin/sh\necho '{text}'\n")

    def require(self) -> None:
        require_toolchain(self.environ, REPOSITORY)

    def test_all_there(self) -> None:
        self.install("cargo", "rustc", "cc")
        self.require()
        self.install(rustc="rustc 2.0.0-nightly (abc)")
        self.require()

    def test_each_missing_program(self) -> None:
        with self.fails("cargo is missing", "Rust 1.95", "rustup"):
            self.require()
        self.install("cargo")
        with self.fails("rustc is missing"):
            self.require()
        self.install("rustc")
        with self.fails("C compiler is missing", "apt-get install gcc"):
            self.require()
        self.install("clang")
        self.require()

    def test_the_compiler_can_be_named(self) -> None:
        self.install("cargo", "rustc", "zig")
        self.environ["CC"] = "zig cc"
        self.require()

    def test_rust_too_old_or_broken(self) -> None:
        self.install("cargo", "cc", "rustc", rustc="rustc 1.94.1 (abc 2026-01-01)")
        with self.fails("Rust 1.95 or newer", "1.94", "rustup update"):
            self.require()
        self.install("rustc", rustc="error: no default toolchain")
        with self.fails("does not say its version"):
            self.require()


class Platform(Case):
    def test_the_embedded_model_needs_x86_64_linux_with_glibc(self) -> None:
        require_embedded_platform("Linux", "x86_64", "glibc")
        with self.fails("Darwin on arm64", "ollama pull"):
            require_embedded_platform("Darwin", "arm64", "")
        with self.fails("Linux on aarch64"):
            require_embedded_platform("Linux", "aarch64", "glibc")
        with self.fails("without glibc"):
            require_embedded_platform("Linux", "x86_64", "")


class Script(Case):
    """`./quickstart` itself, before there is a Python to speak of."""

    def run_with(self, python: str | None) -> tuple[int, str]:
        tools = self.folder / "tools"
        for name in ("bash", "env", "dirname", "readlink", "cut"):
            found = shutil.which(name)
            assert found is not None
            tools.mkdir(exist_ok=True)
            (tools / name).symlink_to(found)
        if python is not None:
            executable(tools / "python3", python)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(write, 2)
            script = str(REPOSITORY / "quickstart")
            os.execve(script, [script, "hello"], {"PATH": str(tools)})
        os.close(write)
        with os.fdopen(read) as file:
            said = file.read()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said

    def test_no_python(self) -> None:
        code, said = self.run_with(None)
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("python3 is missing: install Python 3.10", said)

    def test_python_too_old(self) -> None:
        old = '#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.18\nexit 1\n'
        code, said = self.run_with(old)
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("Python 3.10 or newer is needed and python3 is 3.9.18", said)

    def test_quickstart_is_executable(self) -> None:
        self.assertTrue(os.access(REPOSITORY / "quickstart", os.X_OK))
        self.assertTrue(os.access(Path(REPOSITORY, "scripts", "real-model-suite"), os.X_OK))
