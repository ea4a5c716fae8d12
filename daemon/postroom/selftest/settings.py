"""The settings of a house: mailboxes that take answers, each with a relay to itself, and a listener on loopback."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.selftest.relay import HOST


HASTY: Final = "retry = { first_s = 1, jitter = 0, cap_s = 1 }"

_SETTINGS: Final = """\
[daemon]
state_dir = "{folder}/state"
drain_s = 5
[api]
socket = "{folder}/s"
[listener]
hostname = "postroom.example.com"
listen = ["{host}:{mail_port}"]
domains = ["reply.example.com"]
resolvers = ["{host}:{names_port}"]
postmaster = "{first}"
"""
_MAILBOX: Final = """\
[[mailbox]]
id = "{id}"
address = "{id} <{id}@example.com>"
attachment_roots = ["{folder}"]
reply_address = "r-{{token}}@reply.example.com"
return_path = "b-{{token}}@reply.example.com"
accept_new = "all"
{more}
[mailbox.relay]
host = "{host}"
port = {port}
tls = "none"
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a daemon lives: its own folder, the one that attachments may come from, and its ports."""

    folder: Path
    attachments: Path
    mail_port: int
    names_port: int


def settings(place: Place, boxes: Mapping[str, tuple[str, int]]) -> str:
    """The file's text; `boxes` are lines for each mailbox, and the port of its relay."""
    text = _SETTINGS.format(
        folder=place.folder,
        host=HOST,
        mail_port=place.mail_port,
        names_port=place.names_port,
        first=next(iter(boxes)),
    )
    for box, (lines, port) in boxes.items():
        text += _MAILBOX.format(id=box, folder=place.attachments, host=HOST, port=port, more=lines)
    return text
