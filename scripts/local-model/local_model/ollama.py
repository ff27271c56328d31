"""An Ollama that is already running, if it has a model that can call tools.

Nothing is pulled and no Ollama is started: whoever runs one decides what is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .errors import Failure
from .loopback import get_json

_DEFAULT_PORT = 11434
_DEFAULT_ADDRESS = f"http://127.0.0.1:{_DEFAULT_PORT}"
_ANSWER_SECONDS = 2.0
_SHOW_SECONDS = 10.0
_PREFERRED = "gemma4"
"""The model of the default config; taken first where it is there."""
_MAX_CONTEXT = 16_384
_MIN_CONTEXT = 2_048


@dataclass(frozen=True)
class OllamaModel:
    """A model that is pulled."""

    name: str
    tools: bool
    remote: bool
    """Runs on somebody else's machine, behind the local Ollama."""
    context_window: int


@dataclass(frozen=True)
class Chosen:
    """The model to use, and where."""

    address: str
    model: OllamaModel


def address_from(environ: Mapping[str, str]) -> str:
    """The base URL that OLLAMA_HOST means, in every form its own client takes.

    A server's catch-all address is no address to call, so it becomes loopback.
    """
    value = environ.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not value:
        return _DEFAULT_ADDRESS
    explicit_scheme = "://" in value
    try:
        parts = urlsplit(value if explicit_scheme else f"http://{value}")
        port = parts.port
    except ValueError as error:
        raise Failure(f"OLLAMA_HOST is not an address: {value}", code=2) from error
    host = parts.hostname or "127.0.0.1"
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    if port is None:
        schemes = {"http": 80, "https": 443} if explicit_scheme else {}
        port = schemes.get(parts.scheme, _DEFAULT_PORT)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}"


def find(address: str, wanted: str | None) -> Chosen | None:
    """The model to use; None where no Ollama answers or none of its models fits.

    With `wanted` there is no None: a Failure says what is there instead.
    """
    try:
        names = _pulled(address)
    except (OSError, ValueError) as error:
        if wanted is None:
            return None
        raise Failure(
            f"no Ollama answers at {address}: start it with `ollama serve`, or set OLLAMA_HOST"
        ) from error
    if wanted is None:
        return _first_fit(address, names)
    name = _named(names, wanted)
    if name is None:
        raise Failure(
            f"the Ollama at {address} has no model {wanted}; it has {_list(names)}: "
            f"`ollama pull {wanted}`, or name one of these"
        )
    model = _show(address, name, remote=names[name])
    if not model.tools:
        fitting = [other for other in names if _has_tools(address, other)]
        raise Failure(
            f"the model {name} cannot call tools, which soong-agent needs; "
            f"those at {address} that can: {_list(fitting)}"
        )
    return Chosen(address, model)


def _first_fit(address: str, names: Mapping[str, bool]) -> Chosen | None:
    ordered = sorted(names, key=lambda name: name.split(":")[0] != _PREFERRED)
    for name in ordered:
        # The project's files leave the machine only when asked for by name.
        if not names[name] and _has_tools(address, name):
            return Chosen(address, _show(address, name, remote=False))
    return None


def _has_tools(address: str, name: str) -> bool:
    """A model that cannot even be described is none to choose or to recommend."""
    try:
        return _show(address, name, remote=False).tools
    except Failure:
        return False


def _pulled(address: str) -> dict[str, bool]:
    """Names in Ollama's own order, each with whether it is remote."""
    answer = get_json(f"{address}/api/tags", _ANSWER_SECONDS)
    if not isinstance(answer, dict):
        raise ValueError("not an Ollama")
    return {
        str(entry["name"]): bool(entry.get("remote_host"))
        for entry in answer.get("models") or []
        if isinstance(entry, dict) and "name" in entry
    }


def _named(names: Mapping[str, bool], wanted: str) -> str | None:
    """`gemma4` means `gemma4:latest`, as for Ollama itself."""
    for candidate in (wanted, f"{wanted}:latest"):
        if candidate in names:
            return candidate
    return None


def _show(address: str, name: str, *, remote: bool) -> OllamaModel:
    try:
        answer = get_json(f"{address}/api/show", _SHOW_SECONDS, {"model": name})
    except (OSError, ValueError) as error:
        raise Failure(f"the Ollama at {address} does not describe its model {name}") from error
    facts: dict[str, Any] = answer if isinstance(answer, dict) else {}
    capabilities = facts.get("capabilities") or []
    return OllamaModel(
        name=name,
        tools="tools" in capabilities,
        remote=remote,
        context_window=_window(facts.get("model_info") or {}),
    )


def _window(info: Mapping[str, Any]) -> int:
    """What the model was made for, within what a laptop's memory bears."""
    for key, value in info.items():
        if key.endswith(".context_length") and isinstance(value, int):
            return max(_MIN_CONTEXT, min(value, _MAX_CONTEXT))
    return 8192


def _list(names: Mapping[str, bool] | list[str]) -> str:
    return ", ".join(names) if names else "none"
