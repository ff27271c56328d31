"""config.toml for one start."""

from __future__ import annotations

import os
import stat

from local_model import home

from .support import Case


class Config(Case):
    def test_the_embedded_model(self) -> None:
        model = home.embedded("http://127.0.0.1:4001/v1", "tiny", 8192)
        body = home.config_text(model).split("\n\n", 1)[1]
        self.assertEqual(
            body,
            "[model]\n"
            'provider = "openai"\n'
            'base_url = "http://127.0.0.1:4001/v1"\n'
            'api_key_env = ""\n'
            'name = "tiny"\n'
            "context_window = 8192\n"
            "max_output_tokens = 1024\n"
            "temperature = 0.0\n"
            "\n"
            "[runtime]\n"
            "max_turns = 20\n"
            "\n"
            "[tools]\n"
            'disabled = ["agent.create_sub_agent", "agent.fork_agent", "agent.list_agent_definitions"]\n',
        )

    def test_an_ollama_keeps_the_default_settings(self) -> None:
        text = home.config_text(home.ollama("http://127.0.0.1:11434", "gemma4:latest", 4096))
        self.assertIn('provider = "ollama"\n', text)
        self.assertIn("max_output_tokens = 2048\n", text)
        self.assertNotIn("temperature", text)
        self.assertNotIn("[runtime]", text)

    def test_a_name_cannot_break_out_of_its_string(self) -> None:
        text = home.config_text(home.ollama("http://x", 'a"\n[hooks]\\\x7f', 8192))
        self.assertIn('name = "a\\"\\n[hooks]\\\\\\u007f"\n', text)

    def test_only_the_owner_can_read_it_whatever_the_umask(self) -> None:
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        model = home.embedded("http://127.0.0.1:1/v1", "tiny", 8192)
        (self.folder / home.CONFIG_NAME).write_text("old")
        (self.folder / f".{home.CONFIG_NAME}.new").write_text("left by a crash")
        path = home.write_config(self.folder, model)
        self.assertEqual(path.read_text(), home.config_text(model))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.is_file()], ["config.toml"])
