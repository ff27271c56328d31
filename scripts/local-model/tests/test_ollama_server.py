"""An Ollama that the tests start and stop."""

from __future__ import annotations

import os
import sys
import unittest.mock

from local_model.ollama_server import _answers, running

from .support import Case, FakeOllama, until
from .test_ollama import closed_address

_PROGRAM = """#!{python}
import http.server, json, os, sys
assert sys.argv[1:] == ["serve"], sys.argv
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = json.dumps({{"version": "0"}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
host, port = os.environ["OLLAMA_HOST"].split(":")
http.server.HTTPServer((host, int(port)), Handler).serve_forever()
"""


class Running(Case):
    """TST-3, TST-7: what is up is used and left alone; what is started is awaited and stopped."""

    def path_with(self, program: str | None) -> unittest.mock._patch_dict:
        folder = self.folder / "bin"
        folder.mkdir()
        if program is not None:
            file = folder / "ollama"
            file.write_text(program.format(python=sys.executable))
            file.chmod(0o755)
        return unittest.mock.patch.dict(os.environ, {"PATH": str(folder)})

    def test_one_that_is_up_is_left_alone(self) -> None:
        with FakeOllama({}) as address:
            with self.path_with(None), running(address, self.cache.logs, self.screen):
                self.assertTrue(_answers(address))
            self.assertTrue(_answers(address))

    def test_one_is_started_and_stopped(self) -> None:
        address = closed_address()
        with self.path_with(_PROGRAM), running(address, self.cache.logs, self.screen):
            self.assertTrue(_answers(address))
        until(lambda: not _answers(address), "the Ollama ends")

    def test_there_is_none_to_start(self) -> None:
        address = closed_address()
        with self.path_with(None), self.fails(address, "no `ollama` in PATH"):
            with running(address, self.cache.logs, self.screen):
                self.fail("nothing runs")

    def test_one_elsewhere_is_not_started(self) -> None:
        with self.path_with(_PROGRAM), self.fails("192.0.2.1", "elsewhere"):
            with unittest.mock.patch("local_model.ollama_server._answers", return_value=False):
                with running("http://192.0.2.1:11434", self.cache.logs, self.screen):
                    self.fail("nothing runs")

    def test_one_that_dies_is_told(self) -> None:
        address = closed_address()
        with self.path_with("#!{python}\nimport sys\nsys.exit('no GPU')\n"):
            with self.fails("exit code 1", "log"), running(address, self.cache.logs, self.screen):
                self.fail("nothing runs")
