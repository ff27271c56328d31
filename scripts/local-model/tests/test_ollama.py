"""Choosing a model of an Ollama that is running."""

from __future__ import annotations

import socket
from typing import Any

from local_model.ollama import address_from, find

from .support import Case, FakeOllama, shown

_TOOLS = {"show": shown("completion", "tools")}
_TEXT = {"show": shown("completion")}
_REMOTE = {"show": shown("completion", "tools"), "tag": {"remote_host": "https://ollama.com:443"}}


def closed_address() -> str:
    """An address that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


class Address(Case):
    def check(self, value: str, expected: str) -> None:
        self.assertEqual(address_from({"OLLAMA_HOST": value}), expected)

    def test_every_form_of_ollama_host(self) -> None:
        self.assertEqual(address_from({}), "http://127.0.0.1:11434")
        self.check("", "http://127.0.0.1:11434")
        self.check("box", "http://box:11434")
        self.check("box:8080", "http://box:8080")
        self.check(":8080", "http://127.0.0.1:8080")
        self.check("0.0.0.0", "http://127.0.0.1:11434")
        self.check("0.0.0.0:8080", "http://127.0.0.1:8080")
        self.check("[::]:8080", "http://127.0.0.1:8080")
        self.check("[::1]", "http://[::1]:11434")
        self.check("http://box", "http://box:80")
        self.check("https://box/ollama/", "https://box:443/ollama")
        self.check(' "box" ', "http://box:11434")

    def test_an_address_that_is_none(self) -> None:
        with self.fails("OLLAMA_HOST", "box:port"):
            address_from({"OLLAMA_HOST": "box:port"})


class Choice(Case):
    def check(
        self, models: dict[str, dict[str, Any]], expected: str | None, wanted: str | None = None
    ) -> None:
        with FakeOllama(models) as address:
            chosen = find(address, wanted)
        self.assertEqual(None if chosen is None else chosen.model.name, expected)

    def check_fails(self, models: dict[str, dict[str, Any]], wanted: str, *fragments: str) -> None:
        with FakeOllama(models) as address, self.fails(address, *fragments):
            find(address, wanted)

    def test_the_first_that_can_call_tools(self) -> None:
        self.check({"text:1b": _TEXT, "able:1b": _TOOLS, "other:1b": _TOOLS}, "able:1b")
        self.check({"text:1b": _TEXT}, None)
        self.check({}, None)

    def test_the_default_configs_model_goes_first(self) -> None:
        self.check({"able:1b": _TOOLS, "gemma4:12b": _TOOLS}, "gemma4:12b")
        self.check({"able:1b": _TOOLS, "gemma4:12b": _TEXT}, "able:1b")

    def test_a_model_elsewhere_only_by_name(self) -> None:
        self.check({"big-cloud": _REMOTE}, None)
        self.check({"big-cloud": _REMOTE}, "big-cloud", wanted="big-cloud")

    def test_one_that_cannot_be_described_is_passed_over(self) -> None:
        self.check({"broken:1b": {}, "able:1b": _TOOLS}, "able:1b")

    def test_a_name_without_a_tag_means_latest(self) -> None:
        self.check({"able:1b": _TOOLS, "able:latest": _TOOLS}, "able:latest", wanted="able")
        self.check({"able:1b": _TOOLS}, "able:1b", wanted="able:1b")

    def test_a_wanted_model_that_is_not_there(self) -> None:
        models = {"able:1b": _TOOLS, "text:1b": _TEXT}
        self.check_fails(models, "absent", "no model absent", "able:1b, text:1b", "ollama pull")
        self.check_fails({}, "absent", "it has none")

    def test_a_wanted_model_without_tools(self) -> None:
        models = {"text:1b": _TEXT, "able:1b": _TOOLS, "broken:1b": {}}
        self.check_fails(models, "text:1b", "cannot call tools", "able:1b")

    def test_no_ollama_matters_only_if_one_was_asked_for(self) -> None:
        address = closed_address()
        self.assertIsNone(find(address, None))
        with self.fails(address, "ollama serve"):
            find(address, "able")

    def test_the_window_is_the_models_within_bounds(self) -> None:
        for context, expected in ((4096, 4096), (131072, 16384), (512, 2048)):
            with FakeOllama({"m": {"show": shown("tools", context=context)}}) as address:
                chosen = find(address, "m")
            assert chosen is not None
            self.assertEqual(chosen.model.context_window, expected)
