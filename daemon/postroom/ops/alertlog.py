"""An alert as the fields of its log lines."""

from postroom.core.alert import Raised
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import format_instant
from postroom.ops.logline import Value


def fields_of(one: Raised) -> dict[str, Value]:
    """What is told of it, raised or cleared."""
    alert, key = one.alert, one.alert.key
    return {
        "kind": key.kind,
        "scope": key.scope,
        "name": key.name or None,
        "mailbox_id": key.mailbox_id,
        "figure": round(alert.figure, 3),
        "threshold": round(alert.threshold, 3),
        "cause": alert.cause,
        "since_at": format_instant(alert.since),
        "event_id": encode_id(Kind.EVENT, one.seq),
    }
