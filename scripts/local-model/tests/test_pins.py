"""`pins.json` as it is, and what `pins.load` refuses."""

from __future__ import annotations

import json
from typing import Any

from local_model import pins

from .support import Case


class ShippedPins(Case):
    def test_every_wheel_is_pinned_once_and_the_parts_are_in_order(self) -> None:
        known = pins.load()
        wheels = [known.server.wheel]
        for model in known.models.values():
            for number, part in enumerate(model.parts, start=1):
                self.assertTrue(part.member.endswith(f"/part{number:02d}.bin"), part.member)
                self.assertEqual(part.wheel.version, model.parts[0].wheel.version)
                wheels.append(part.wheel)
        self.assertEqual(len({wheel.sha256 for wheel in wheels}), len(wheels))
        self.assertEqual([len(m.parts) for m in known.models.values()], [6, 22])

    def test_licences_are_named(self) -> None:
        known = pins.load()
        self.assertEqual(known.server.license, "MIT")
        self.assertEqual({m.license for m in known.models.values()}, {"Apache-2.0"})


class RefusedPins(Case):
    def check_refused(self, fragment: str, *path: str | int, value: Any) -> None:
        raw = json.loads(pins.PINS_FILE.read_text(encoding="utf-8"))
        *parents, last = path
        place = raw
        for step in parents:
            place = place[step]
        place[last] = value
        file = self.folder / "pins.json"
        file.write_text(json.dumps(raw), encoding="utf-8")
        with self.assertRaisesRegex(ValueError, fragment):
            pins.load(file)

    def test_a_pin_that_protects_nothing(self) -> None:
        self.check_refused("sha256", "server", "sha256", value="")
        self.check_refused("sha256", "models", "small", "parts", 0, "sha256", value="A" * 64)
        self.check_refused("file name", "models", "small", "file", value="../model.gguf")
        self.check_refused("size", "server", "size", value=-1)
        self.check_refused("bytes, not", "models", "small", "parts", 0, "member_size", value=1)
