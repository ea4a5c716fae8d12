"""The figures of a daemon as tables for people: what `stats` prints once, and `top` again and again.

Built from the answer of GET /v1/stats alone; what an older daemon does not tell yet is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.cli.alerts import ALERTS
from postroom.cli.paper import Column, Json, column, dig, plain
from postroom.cli.wording import short


class Sort(StrEnum):
    """In which order mailboxes stand: by name, or those first that have most of it."""

    NAME = "name"
    WAITING = "waiting"
    DUE = "longest due"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Board:
    """Rows of one kind, and how they are shown."""

    rows: Sequence[Json]
    columns: Sequence[Column]


_WAITS: Final = ("pending", "retry_scheduled", "sending", "held")
_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024


def headline(found: Json) -> dict[str, object]:
    """What concerns the daemon as a whole."""
    store, inbound = found.get("store"), found.get("inbound")
    return {
        "since": short(found["started_at"]),
        "under way": f"{plain(found['in_flight'])} of {plain(found['slots'])}",
        "deliveries": found["depth"],
        "longest due": _seconds(found["oldest_due_age_s"]),
        "last minute": _deliveries(found.get("last_minute")),
        "outcomes": found["outcomes"],
        "came in": _inbound(inbound) if isinstance(inbound, Mapping) else None,
        "consumers": _consumers(found),
        "store": _store(store) if isinstance(store, Mapping) else None,
        "loop late by": _seconds(found.get("loop_lag_max_s"), places=3),
    }


def boards(found: Json, sort: Sort = Sort.NAME) -> tuple[Board, ...]:
    """What there is to say of mailboxes, alerts, breakers, pace, relays and consumers; none of them empty."""
    boxes = _in_order(found["mailboxes"], sort)
    consumers = [
        {"consumer": name, **waits} for name, waits in (found.get("consumers") or {}).items()
    ]
    relays = [
        {"relay": name, "connections": count}
        for name, count in (found.get("connections") or {}).items()
    ]
    every = (
        Board(_depths(boxes), _DEPTHS),
        Board(found.get("alerts") or [], ALERTS),
        Board([{"mailbox": name, **box} for name, box in boxes if _is_moving(box)], _MOVES),
        Board(found.get("breakers") or [], _BREAKERS),
        Board(found.get("pace") or [], _PACE),
        Board(relays, _RELAYS),
        Board(consumers, _CONSUMERS),
    )
    return tuple(one for one in every if one.rows)


def _deliveries(minute: object) -> str:
    """Says what is counted: a job may have many."""
    return f"{plain(minute)} deliveries" if isinstance(minute, Mapping) and minute else ""


def _in_order(mailboxes: Mapping[str, Json], sort: Sort) -> list[tuple[str, Json]]:
    """By name, and then by what there is most of."""
    measures: dict[Sort, Callable[[Json], float]] = {
        Sort.WAITING: lambda box: sum(
            count
            for lane in box["depth"].values()
            for state, count in lane.items()
            if state in _WAITS
        ),
        Sort.DUE: lambda box: max(box["oldest_due_age_s"].values(), default=0.0),
        Sort.SENT: lambda box: float((box.get("last_minute") or {}).get("sent") or 0),
    }
    named = sorted(mailboxes.items())
    measure = measures.get(sort)
    return named if measure is None else sorted(named, key=lambda one: -measure(one[1]))


def _depths(boxes: list[tuple[str, Json]]) -> list[Json]:
    return [
        {"mailbox": name, "priority": lane, **depth, "age": dig(box, "oldest_due_age_s", lane)}
        for name, box in boxes
        for lane, depth in box["depth"].items()
    ]


def _is_moving(box: Json) -> bool:
    minute = box.get("last_minute")
    moves = any(minute.values()) if isinstance(minute, Mapping) else False
    return moves or bool(box.get("paused_by"))


def _inbound(inbound: Mapping[str, object]) -> str:
    """Nothing where no mail comes in."""
    if inbound.get("sessions") is None and not inbound.get("waiting"):
        return ""
    told = {name: inbound.get(name) for name in ("received", "refused", "waiting", "set_aside")}
    oldest = _seconds(inbound.get("oldest_age_s"))
    return plain({**told, **({"oldest": oldest} if oldest else {})})


def _consumers(found: Json) -> str:
    """What went wrong with them, if anything did."""
    told = {
        "unclaimed": dig(found, "unclaimed", "events"),
        "lease_expiries": found.get("lease_expiries"),
        "events_dead": found.get("events_dead"),
    }
    return plain({name: count for name, count in told.items() if count})


def _store(store: Mapping[str, object]) -> str:
    sizes = {
        "write-ahead log": _size(store.get("wal_bytes")),
        "free": _size(store.get("disk_free_bytes")),
        "kept": _size(store.get("disk_kept_bytes")),
    }
    counts = {
        "free files": store.get("disk_free_files"),
        "kept files": store.get("disk_kept_files"),
    }
    known = {name: size for name, size in sizes.items() if size}
    known |= {name: f"{count:,}" for name, count in counts.items() if isinstance(count, int)}
    return plain({"commits": store.get("commits"), "waiting": store.get("waiting"), **known})


def _seconds(value: object, places: int = 1) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{value:.{places}f} s"


def _size(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    left, unit = float(value), 0
    while left >= _STEP and unit < len(_SIZES) - 1:
        left, unit = left / _STEP, unit + 1
    return f"{left:.0f} {_SIZES[unit]}" if unit == 0 else f"{left:.1f} {_SIZES[unit]}"


_DEPTHS: Final = (
    column("MAILBOX", "mailbox"),
    column("LANE", "priority"),
    column("PENDING", "pending"),
    column("RETRY", "retry_scheduled"),
    column("SENDING", "sending"),
    column("HELD", "held"),
    column("UNCERTAIN", "uncertain"),
    column("FAILED", "failed"),
    column("SENT", "sent"),
    Column("LONGEST DUE", lambda row: _seconds(row.get("age"))),
)
_MOVES: Final = (
    column("LAST MINUTE OF", "mailbox"),
    column("ACCEPTED", "last_minute", "accepted"),
    column("SENT", "last_minute", "sent"),
    column("FAILED", "last_minute", "failed"),
    column("DEFERRED", "last_minute", "deferred"),
    column("PAUSED BY", "paused_by"),
)
_BREAKERS: Final = (
    column("BREAKER OF", "scope"),
    column("ID", "id"),
    column("STATE", "state"),
    column("WHY", "reason"),
    Column("NEXT PROBE", lambda row: short(row.get("probe_at"))),
)
_PACE: Final = (
    column("PACE OF", "scope"),
    column("ID", "id"),
    column("PER", "per"),
    column("USED", "used"),
    column("OF", "allowed"),
)
_RELAYS: Final = (column("RELAY", "relay"), column("CONNECTIONS", "connections"))
_CONSUMERS: Final = (
    column("CONSUMER", "consumer"),
    column("EVENTS", "events"),
    column("LEASED", "leased"),
    Column("OLDEST UNLEASED", lambda row: _seconds(row.get("oldest_age_s"))),
)
