"""What has to be on the machine before anything is fetched or built."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .errors import Failure

RUST_MINIMUM = (1, 95)


def require_toolchain(environ: Mapping[str, str], repository: Path) -> None:
    """cargo, a rustc that is new enough, and a C compiler for the bundled SQLite."""
    needed = ".".join(map(str, RUST_MINIMUM))
    path = environ.get("PATH")
    for program in ("cargo", "rustc"):
        if shutil.which(program, path=path) is None:
            raise Failure(
                f"{program} is missing: install Rust {needed} or newer, "
                "for example with rustup (https://rustup.rs)",
                code=2,
            )
    found = _rust_version(environ, repository)
    if found < RUST_MINIMUM:
        raise Failure(
            f"Rust {needed} or newer is needed and rustc is {'.'.join(map(str, found))}: "
            "`rustup update stable` brings a newer one",
            code=2,
        )
    compilers = [*(environ.get("CC") or "cc").split()[:1], "gcc", "clang"]
    if not any(shutil.which(compiler, path=path) for compiler in compilers):
        raise Failure(
            "a C compiler is missing (SQLite is built from source): install one, for example "
            "`apt-get install gcc libc6-dev` or `dnf install gcc`",
            code=2,
        )


def require_embedded_platform(
    system: str | None = None, processor: str | None = None, libc: str | None = None
) -> None:
    """The model server comes as a wheel for x86-64 Linux with glibc only."""
    system = platform.system() if system is None else system
    processor = platform.machine() if processor is None else processor
    libc = platform.libc_ver()[0] if libc is None else libc
    if system == "Linux" and processor in ("x86_64", "amd64") and libc == "glibc":
        return
    here = f"{system} on {processor}" + (" without glibc" if libc != "glibc" else "")
    raise Failure(
        f"the embedded model needs x86-64 Linux with glibc and this is {here}: start an Ollama "
        "that has a model with tools (for example `ollama pull gemma4`) and it is used instead",
        code=2,
    )


def _rust_version(environ: Mapping[str, str], repository: Path) -> tuple[int, int]:
    """rustc's own word, asked in the repository, where a toolchain file may choose another."""
    try:
        answer = subprocess.run(
            ["rustc", "--version"],
            cwd=repository,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"`rustc --version` does not answer: {error}", code=2) from error
    match = re.match(r"rustc (\d+)\.(\d+)", answer.stdout)
    if match is None:
        raise Failure(
            "`rustc --version` does not say its version: repair the Rust installation",
            detail=answer.stderr.strip(),
            code=2,
        )
    return int(match[1]), int(match[2])


def repository_root() -> Path:
    """The folder of `./quickstart`."""
    return Path(__file__).resolve().parents[3]
