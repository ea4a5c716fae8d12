"""Settings files for tests: written, loaded, and what was wrong with them."""

import re
from collections.abc import Mapping
from pathlib import Path

from postroom.config.loading import load
from postroom.config.settings import Settings
from postroom.ports.errors import ConfigError, SettingProblem


ROOT = Path(__file__).resolve().parent.parent.parent

_SETTING = re.compile(r"#(?=[a-z\[])")

MAILBOX = """
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
relay = { host = "127.0.0.1", tls = "none" }
"""
LOGIN = 'auth = "password"\nusername = "u"\n'


def write_settings(folder: Path, text: str, **others: str) -> Path:
    """`postroom.toml` in `folder`, and each of `others` as mailboxes.d/NAME.toml."""
    path = folder / "postroom.toml"
    path.write_text(text, "utf-8")
    for name, content in others.items():
        (folder / "mailboxes.d").mkdir(exist_ok=True)
        (folder / "mailboxes.d" / f"{name}.toml").write_text(content, "utf-8")
    return path


def load_text(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    return load(write_settings(folder, text), environ or {})


def problems_of(path: Path, environ: Mapping[str, str] | None = None) -> tuple[SettingProblem, ...]:
    """What `load` finds wrong; nothing where it loads."""
    try:
        load(path, environ or {})
    except ConfigError as error:
        return error.problems
    return ()


def with_every_setting(path: Path) -> str:
    """A shipped file with all its commented settings taken into use."""
    lines = path.read_text("utf-8").splitlines()
    return "\n".join(_SETTING.sub("", line, count=1) for line in lines)


def relay_with(line: str) -> str:
    return f'[relay.r]\nhost = "smtp.example.net"\n{line}'
