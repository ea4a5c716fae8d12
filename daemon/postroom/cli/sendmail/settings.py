"""The settings of `postroom-sendmail`, a small file of its own: its callers may not be able to read those of the daemon.

mailbox = "system"              # who sends what no mailbox has the address of
local_to = "ops@example.com"    # who gets what is for root and other names without a domain
socket = "/run/postroom/api.sock"
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.unfit import Unfit, harmless


USUAL: Final = "/etc/postroom/sendmail.toml"
MAILBOX_ENV: Final = "POSTROOM_MAILBOX"
SOCKET_ENV: Final = "POSTROOM_SOCKET"


@dataclass(frozen=True, slots=True)
class Settings:
    """None = not set; what the environment says comes first."""

    mailbox: str | None = None
    local_to: str | None = None
    socket: str | None = None


def read_settings(named: str | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in the file that is named, or in the usual one where there is one.

    Raises: Unfit for a file that can not be used.
    """
    written = _read(Path(named or USUAL), is_needed=named is not None)
    known = {one.name for one in fields(Settings)}
    for name, value in written.items():
        if name not in known:
            raise _wrong(named, f"there is no setting {name}")
        if not isinstance(value, str) or not value:
            raise _wrong(named, f"{name} must be a string")
    return Settings(
        mailbox=environ.get(MAILBOX_ENV) or written.get("mailbox"),
        local_to=written.get("local_to"),
        socket=environ.get(SOCKET_ENV) or written.get("socket"),
    )


def _read(path: Path, *, is_needed: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as fault:
        if is_needed:
            raise _wrong(str(path), "there is no such file") from fault
        return {}
    except OSError as fault:
        raise _wrong(str(path), f"it can not be read ({fault.strerror})") from fault
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise _wrong(str(path), f"it is not TOML ({fault})") from fault


def _wrong(path: str | None, what: str) -> Unfit:
    return Unfit(Exit.CONFIG, harmless(f"{path or USUAL}: {what}."))
