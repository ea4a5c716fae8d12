"""A log line: fields become one line that no text from a stranger can break out of (HAZARDS L1).

Rules: data stands in fields only; a text has at most 512 characters; control and bidirectional characters are
escaped; addresses are cut to their domains, since a relay likes to repeat them in its replies.
"""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from postroom.ops.logwords import LogLevel


Value = str | int | float | bool | None

_MOST: Final = 512  # characters of one text
_HASH: Final = 12  # hex digits: enough to tell the recipients of one site apart
# Tried once for each word and never taken back, so that a long line without addresses costs no more than its length.
_ADDRESS: Final = re.compile(
    r"(?<![^\s<>()\[\],;:\"@])[^\s<>()\[\],;:\"@]++@(?=[^\s<>()\[\],;:\"@])"
)
_BARE: Final = re.compile(r"[\w.:/+-]+", re.ASCII)
_PRIORITY: Final = {  # sd-daemon(3)
    LogLevel.DEBUG: "<7>",
    LogLevel.INFO: "<6>",
    LogLevel.WARNING: "<4>",
    LogLevel.ERROR: "<3>",
}


def json_line(level: LogLevel, event: str, at: str, fields: Mapping[str, Value]) -> str:
    """One JSON object, in ASCII. Fields without a value stay, as null."""
    line = {"at": at, "level": level, "event": event}
    return json.dumps(line | {name: capped(value) for name, value in fields.items()})


def console_line(level: LogLevel, event: str, at: str, fields: Mapping[str, Value]) -> str:
    """The time of day, the level, the event and `field=value` for a person. Fields without a value are left out."""
    clock = at[11:23]
    told = (f"{name}={_shown(value)}" for name, value in fields.items() if value is not None)
    return " ".join((clock, f"{level:7}", event, *told))


def journal_prefix(level: LogLevel) -> str:
    """How the journal learns the priority of a line on stderr."""
    return _PRIORITY[level]


def capped(value: Value) -> Value:
    """A text cut to what a line has room for; everything else as it is. JSON escapes all but DEL by itself."""
    if not isinstance(value, str):
        return value
    text = value if len(value) <= _MOST else value[: _MOST - 1] + "…"
    return text.replace("\x7f", "?")


def recipient_hash(address: str) -> str:
    """What tells recipients apart in the log, the same in every line and after every restart."""
    return sha256(address.casefold().encode("utf-8", "replace")).hexdigest()[:_HASH]


def without_addresses(text: str, recipient: str = "") -> str:
    """The text with every address cut to `…@domain`, and with the recipient's local part gone."""
    local = recipient.rpartition("@")[0]
    # Few replies name the recipient; to look costs a hundredth of a pattern of its own for each.
    if local and local.casefold() in text.casefold():
        whole_word = rf"(?<![\w.+-]){re.escape(local)}(?![\w+-]|\.\w)"
        text = re.sub(whole_word, "…", text, flags=re.IGNORECASE)
    return _ADDRESS.sub("…@", text) if "@" in text else text


def _shown(value: Value) -> str:
    text = str(capped(value))
    if _BARE.fullmatch(text):
        return text
    safe = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text
    )
    return '"' + safe.replace('"', '\\"') + '"'
