"""What waits on what, in one screen: every lane with its queues, what is held, what is tried again."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

from postroom.cli.admin import mailboxes_table
from postroom.cli.desk import Desk
from postroom.cli.doubts import tell_doubts
from postroom.cli.held import tell_holds
from postroom.cli.known import no_mailbox
from postroom.cli.meanings import tell_reasons, waiting_at
from postroom.cli.paper import Column, Json, column, data, dig, emit, plain, table, talk
from postroom.cli.wording import short
from postroom.client.errors import NotFound


_KINDS: Final = {"mailbox_id": "mailbox", "relay": "relay"}
# Of a queue that no gate stops: whether none of it is due.
_WAITS: Final = {True: "its time", False: "nothing"}


def _count(state: str) -> Column:
    return column(state.partition("_")[0].upper(), "depth", state)


_LANES: Final = (
    column("MAILBOX", "mailbox_id"),
    column("LANE", "priority"),
    _count("pending"),
    _count("retry_scheduled"),
    _count("held"),
    _count("sending"),
    _count("uncertain"),
    Column(
        "LONGEST DUE", lambda row: f"{plain(age)} s" if (age := row["oldest_due_age_s"]) else ""
    ),
)
_QUEUES: Final = (
    column("MAILBOX", "mailbox_id"),
    column("LANE", "priority"),
    column("DOMAIN", "domain"),
    Column(
        "WAITS FOR", lambda row: plain(row.get("blocked_by")) or _WAITS[row["first_id"] is None]
    ),
    column("VALUE", "value"),
    column("THRESHOLD", "threshold"),
    Column("UNTIL", lambda row: short(row.get("until_at") or row.get("next_at"))),
    column("NEXT", "first_id"),
)
_RETRIES: Final = (
    column("MAILBOX", "mailbox_id"),
    column("LANE", "priority"),
    column("TRIED AGAIN", "deliveries"),
    column("REASON", "reason_code"),
    Column("NEXT TRY", lambda row: short(row["next_at"]) if row["is_later"] else "due"),
)


def tell_waiting(desk: Desk, **asked: str | None) -> None:
    """Print what waits on what, of a mailbox, a relay, a lane or everything."""
    with _known(asked):
        found = desk.client.waiting(**asked)
    if desk.is_json:
        emit(found)
        return
    lanes = found["items"]
    boxes = {one["mailbox_id"] for one in lanes} | {asked.get("mailbox_id")}
    shown = [one for one in desk.client.mailboxes()["items"] if _is_meant(one, asked, boxes)]
    if shown:
        mailboxes_table(shown)
        data("")
    data(f"{plain(found['in_flight'])} of {plain(found['slots'])} slots are under way.")
    if not lanes:
        talk("Nothing waits.")
        return
    data("")
    table(lanes, _LANES)
    queues = [{**lane, **queue} for lane in lanes for queue in lane["queues"]]
    if queues:
        data("")
        table(queues, _QUEUES)
        _tell_gates(queues)
    doubts = tell_doubts(desk, lanes)
    # a breaker's value is its state and its reason: "open: relay.unreachable"
    stopped = [{"reason_code": plain(dig(row, "value")).partition(": ")[2]} for row in queues]
    if found["holds"]:
        data("")
        tell_holds(found["holds"])
    if found["retries"]:
        data("")
        table(
            [{**one, "is_later": one["next_at"] > found["at"]} for one in found["retries"]],
            _RETRIES,
        )
    tell_reasons([*stopped, *doubts, *found["retries"]])


@contextlib.contextmanager
def _known(asked: Mapping[str, str | None]) -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        named = [f"{kind} '{asked[key]}'" for key, kind in _KINDS.items() if asked.get(key)]
        raise no_mailbox(" of ".join(named)) from error


def _is_meant(box: Json, asked: Mapping[str, str | None], boxes: set[str | None]) -> bool:
    relay = asked.get("relay")
    return box["relay"] == relay if relay is not None else box["id"] in boxes


def _tell_gates(queues: list[Json]) -> None:
    """What each gate in the table means, once."""
    found = {
        (gate, waiting_at(gate, row.get("value"))): None
        for row in queues
        for gate in [plain(row.get("blocked_by"))]
    }
    for gate, waiting in found:
        if waiting is not None:
            talk(f"{gate}: {waiting.because}.")
            talk(f"{' ' * len(gate)}  What to do: {waiting.to_do}")
