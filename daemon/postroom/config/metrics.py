"""`[metrics]`: the TCP address on which a Prometheus of this machine may read the metrics, and its token.

Rules: loopback only, and never without a token: every user of this machine can connect there.
"""

import re
from ipaddress import ip_address
from typing import Final

from postroom.config.listener import find_place
from postroom.config.reference import NoSecret, Secret
from postroom.config.relay import FindSecret
from postroom.config.settings import MetricsSettings
from postroom.config.table import Table
from postroom.core.words import shown


_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{32,}", re.ASCII)  # RFC 6750 §2.1, and 128 bits
_EXAMPLE: Final = 'Write listen = "127.0.0.1:9464".'
_HOW_TO_MAKE: Final = "Make one with: openssl rand -hex 32."


def read_metrics(table: Table, find_secret: FindSecret) -> MetricsSettings | None:
    """The address and the token; None where they are wrong."""
    written = table.required("listen", _EXAMPLE)
    place = find_place(written) if written else None
    if written and place is None:
        table.wrong("listen", f"is '{shown(written)}', no address and port.", _EXAMPLE)
    elif place is not None and not ip_address(place.host).is_loopback:
        wrong = f"is '{shown(written)}', which is not on loopback."
        table.wrong("listen", wrong, f"{_EXAMPLE} For others, put a proxy with TLS in front.")
    token = _read_token(table, find_secret)
    table.close()
    return None if place is None or token is None else MetricsSettings(place, token)


def _read_token(table: Table, find_secret: FindSecret) -> str | None:
    reference = table.required("token", "Refer to it: credential:NAME, file:PATH or env:NAME.")
    if not reference:
        return None
    match find_secret(reference, table.file.parent.absolute()):
        case Secret(value) if _TOKEN.fullmatch(value):
            return value
        case Secret():
            wrong = "is no token: at least 32 letters, digits and any of . _ ~ + / = -"
            table.wrong("token", f"{wrong}.", _HOW_TO_MAKE)
        case NoSecret(wrong, fix):
            table.wrong("token", wrong, fix)
    return None
