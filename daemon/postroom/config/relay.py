"""`[relay.NAME]`, or a mailbox's inline `relay = { … }`: an SMTP server, how to reach it, how fast and how it knows us.

Rules: without TLS there is no login, except to this machine itself (HAZARDS S5); the port never decides about TLS.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from postroom.config.reference import NoSecret, Secret
from postroom.config.table import Span, Table
from postroom.core.mailbox import Pace, Relay, Tls
from postroom.ops.plainfile import check_plain


FindSecret = Callable[[str, Path], Secret | NoSecret]

RATE: Final = Span(0, 100_000, is_open=True)  # a second; beyond it a bound bounds nothing
COUNT: Final = Span(1, 100_000_000)
CONNECTIONS: Final = Span(1, 1_000)

_PORTS: Final = {Tls.IMPLICIT: 465, Tls.STARTTLS: 587, Tls.NONE: 25}
_LONGEST_HOST: Final = 253  # RFC 1035 §2.3.4
_DEFAULT: Final = Relay(id="", host="", port=0, tls=Tls.STARTTLS)


class Auth(StrEnum):
    """How we log in."""

    NONE = "none"
    PASSWORD = "password"  # noqa: S105 - the word itself


@dataclass(frozen=True, slots=True)
class _Login:
    username: str | None = None
    password: str | None = None


def read_relay(relay_id: str, table: Table, find_secret: FindSecret) -> Relay:
    """The relay of this table, with defaults where it is wrong."""
    tls = table.choice("tls", _DEFAULT.tls)
    host = _read_host(table)
    login = _read_login(table, find_secret)
    if login.username and tls is Tls.NONE and not _is_loopback(host):
        table.wrong(
            "tls",
            "is 'none', so the password would cross the network readable.",
            "Use 'starttls' or 'implicit', or auth = 'none'.",
        )
    relay = replace(
        _DEFAULT,
        id=relay_id,
        host=host,
        port=table.integer("port", _PORTS[tls], Span(1, 65_535)),
        tls=tls,
        tls_ca=_read_authority(table, tls),
        username=login.username,
        password=login.password,
        pace=read_pace(table.table("pace")),
        concurrency=table.integer("concurrency", _DEFAULT.concurrency, CONNECTIONS),
        max_per_connection=table.integer("max_per_connection", _DEFAULT.max_per_connection, COUNT),
        idle_close=table.seconds("idle_close_s", _DEFAULT.idle_close, Span(0, 3_600)),
    )
    table.close()
    return relay


def read_pace(table: Table) -> Pace:
    """`pace = { per_second, burst, per_minute, per_day }`, all optional."""
    pace = Pace(
        per_second=table.number("per_second", None, RATE),
        burst=table.integer("burst", Pace().burst, COUNT),
        per_minute=table.integer("per_minute", None, COUNT),
        per_day=table.integer("per_day", None, COUNT),
    )
    close_pace(table)
    return pace


def close_pace(table: Table) -> None:
    """What is left in a table that knows `per_second` and `burst`."""
    if table.has("burst") and not table.has("per_second"):
        table.wrong(
            "burst", "means nothing without per_second.", "Add per_second, or leave it out."
        )
    table.close()


def _read_host(table: Table) -> str:
    host = table.required("host", 'Name the server: host = "smtp.example.net".')
    is_named = len(host) <= _LONGEST_HOST and set(host).isdisjoint(" :/@[]<>")
    if not (is_named or _is_address(host)):
        table.wrong("host", "is not a host name.", "Write the bare name or address.")
    return host


def _is_loopback(host: str) -> bool:
    """Whether this is this machine itself, as far as can be said without asking DNS."""
    return ip_address(host).is_loopback if _is_address(host) else host.lower() == "localhost"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _read_authority(table: Table, tls: Tls) -> str | None:
    if not table.text("tls_ca"):
        return None
    path = table.path("tls_ca", Path())
    if tls is Tls.NONE:
        table.wrong("tls_ca", "means nothing with tls = 'none'.", "Leave it out.")
        return None
    try:
        check_plain(path)
        ssl.create_default_context(cafile=str(path))
    except OSError as error:
        why = "holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        table.wrong("tls_ca", f"can not be used: {why}.", "Name a file of PEM certificates.")
    return str(path)


def _read_login(table: Table, find_secret: FindSecret) -> _Login:
    if table.values.get("auth") == "xoauth2":
        table.wrong("auth", "is 'xoauth2', which comes with a later version.", "Use 'password'.")
        table.known.extend(("auth", "username", "password"))
        return _Login()
    auth = table.choice("auth", Auth.NONE)
    if auth is Auth.PASSWORD:
        username = table.required("username", "Say who logs in, or leave out auth.")
        return _Login(username, _read_password(table, find_secret))
    for name in ("username", "password"):
        if table.text(name) and "auth" not in table.faulty:
            table.wrong(name, "is not used without a login.", 'Write auth = "password" with it.')
    return _Login()


def _read_password(table: Table, find_secret: FindSecret) -> str | None:
    reference = table.required("password", "Refer to it: credential:NAME, file:PATH or env:NAME.")
    if not reference:
        return None
    match find_secret(reference, table.file.parent.absolute()):
        case Secret(value):
            return value
        case NoSecret(wrong, fix):
            table.wrong("password", wrong, fix)
            return None
