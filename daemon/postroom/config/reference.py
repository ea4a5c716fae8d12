"""Secrets by reference: `credential:NAME`, `file:PATH`, `env:NAME`. A secret itself is never written in a settings file.

Rules: a file with a secret may be read by its owner alone, who is this user or root; no problem tells what a secret is.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from postroom.core.words import find_line_fault, shown


_NAME: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,128}", re.ASCII)
_LARGEST: Final = 4_096  # bytes; more is not a password but the wrong file
_LONGEST_PATH: Final = 1_024  # characters of it that a problem shows
_WAYS: Final = "Write credential:NAME, file:PATH or env:NAME and keep the secret there."


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that was found."""

    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoSecret:
    """Why there is none, and what to do."""

    wrong: str
    fix: str


def find_secret(reference: str, folder: Path, environ: Mapping[str, str]) -> Secret | NoSecret:
    """What a reference stands for; a relative `file:` starts at `folder`."""
    way, colon, name = reference.partition(":")
    match way if colon else "":
        case "credential":
            return _from_credential(name, environ)
        case "file":
            return _from_file(folder / name, is_private=True) if name else _unusable("file:")
        case "env":
            return _from_environment(name, environ)
        case _:
            return NoSecret("is not a reference; a secret itself is never written here.", _WAYS)


def _from_credential(name: str, environ: Mapping[str, str]) -> Secret | NoSecret:
    if not _NAME.fullmatch(name):
        return _unusable("credential:")
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        return NoSecret(
            f"names the credential '{name}', but $CREDENTIALS_DIRECTORY is not set.",
            "systemd sets it for the service; by hand, set it to the folder that holds the file.",
        )
    for path in (Path(folder, name), Path(folder, f"relay_{name}")):
        if _is_there(path):
            return _from_file(path, is_private=False)
    return NoSecret(
        f"names the credential '{name}', which is not in $CREDENTIALS_DIRECTORY.",
        f"Put it into the file {name} of the folder that LoadCredential= names, and restart.",
    )


def _is_there(path: Path) -> bool:
    """What can not be looked at is not missing: to read it says why."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _from_environment(name: str, environ: Mapping[str, str]) -> Secret | NoSecret:
    if not _NAME.fullmatch(name):
        return _unusable("env:")
    value = environ.get(name)
    if value is None:
        return NoSecret(f"names ${name}, which is not set.", "Set it where the daemon is started.")
    return _checked(value, f"${name}")


def _from_file(path: Path, *, is_private: bool) -> Secret | NoSecret:
    # Non-blocking, so that a FIFO in its place can not hold up the start.
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            held = os.fstat(file.fileno())
            if not stat.S_ISREG(held.st_mode):
                return NoSecret(f"names {_named(path)}, which is not a file.", "Name a file.")
            if is_private and (problem := _find_exposure(path, held)):
                return problem
            content = file.read(_LARGEST + 1)
    except OSError as error:
        return NoSecret(
            f"names {_named(path)}, which can not be read: {error.strerror}.",
            "Make it readable for the daemon's user, and for nobody else.",
        )
    if len(content) > _LARGEST:
        return NoSecret(f"names {_named(path)}, which is no password: it is too big.", _WAYS)
    return _checked(content.decode("utf-8", "replace"), _named(path))


def _find_exposure(path: Path, held: os.stat_result) -> NoSecret | None:
    if held.st_uid not in {os.geteuid(), 0}:
        return NoSecret(
            f"names {_named(path)}, which belongs to another user.",
            "Give it to the daemon's user (chown) or to root.",
        )
    if stat.S_IMODE(held.st_mode) & 0o077:
        return NoSecret(f"names {_named(path)}, which others may read.", "chmod 600 it.")
    return None


def _checked(content: str, where: str) -> Secret | NoSecret:
    value = content.removesuffix("\n").removesuffix("\r")
    if not value:
        return NoSecret(f"names {where}, which is empty.", "Put the secret there.")
    if find_line_fault(value) or "\N{REPLACEMENT CHARACTER}" in value:
        return NoSecret(
            f"names {where}, which holds more than one line or characters that are no text.",
            "Put the secret there alone, as UTF-8, on one line.",
        )
    return Secret(value)


def _unusable(prefix: str) -> NoSecret:
    return NoSecret(f"has nothing usable after '{prefix}'.", _WAYS)


def _named(path: Path) -> str:
    return shown(str(path), _LONGEST_PATH)
