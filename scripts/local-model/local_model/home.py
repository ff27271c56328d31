"""The home and the config that soong-agent gets for one start, and a config for people to paste."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

CONFIG_NAME = "config.toml"

_HEADER = """\
# Written by ./quickstart at every start: changes made here do not last.
# Every key that is not here keeps its default (see `soong-agent config template`).
"""


@dataclass(frozen=True)
class ModelConfig:
    """The keys in which the config differs from the defaults."""

    provider: str
    base_url: str
    name: str
    context_window: int
    max_output_tokens: int
    temperature: float | None = None
    """None keeps the default."""
    max_turns: int | None = None
    """None keeps the default. A small model loops, and a person waits for each turn."""
    disabled_tools: tuple[str, ...] = ()
    """Tools that the model has no use for."""


def embedded(base_url: str, name: str, context_window: int) -> ModelConfig:
    """The small model served here: no randomness, short answers, few turns."""
    return ModelConfig(
        provider="openai",
        base_url=base_url,
        name=name,
        context_window=context_window,
        max_output_tokens=1024,
        temperature=0.0,
        max_turns=20,
        # It answers plain requests with calls that make agents, and has no use for one.
        disabled_tools=("agent.create_sub_agent", "agent.fork_agent", "agent.list_agent_definitions"),
    )


def ollama(address: str, name: str, context_window: int) -> ModelConfig:
    """A model in the person's own Ollama, at the default settings."""
    return ModelConfig(
        provider="ollama",
        base_url=address,
        name=name,
        context_window=context_window,
        max_output_tokens=min(4096, context_window // 2),
    )


def config_text(model: ModelConfig) -> str:
    """config.toml as text."""
    text = f"{_HEADER}\n{model_section(model)}"
    if model.max_turns is not None:
        text += f"\n[runtime]\nmax_turns = {model.max_turns}\n"
    if model.disabled_tools:
        text += f"\n[tools]\ndisabled = [{', '.join(_text(name) for name in model.disabled_tools)}]\n"
    return text


def model_section(model: ModelConfig) -> str:
    """The part of config.toml that names the model."""
    lines = [
        "[model]",
        f"provider = {_text(model.provider)}",
        f"base_url = {_text(model.base_url)}",
        'api_key_env = ""',
        f"name = {_text(model.name)}",
        f"context_window = {model.context_window}",
        f"max_output_tokens = {model.max_output_tokens}",
    ]
    if model.temperature is not None:
        lines.append(f"temperature = {model.temperature}")
    return "\n".join(lines) + "\n"


def write_config(home: Path, model: ModelConfig) -> Path:
    """Puts config.toml into the home, whole or not at all, readable by its owner only."""
    path = home / CONFIG_NAME
    fresh = home / f".{CONFIG_NAME}.new"
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(config_text(model))
    os.replace(fresh, path)
    return path


def _text(value: str) -> str:
    """A TOML basic string. JSON's escapes are a subset of TOML's, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
