"""What the words in the tables mean, said where they appear: reasons, and the gates that mail waits at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from postroom.cli.paper import Json, talk
from postroom.core.delivery import HoldReason
from postroom.core.reason import EXPLANATIONS, Explanation


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why mail waits at a gate, and what a person can do about it."""

    because: str
    to_do: str


_ROOM: Final = "Nothing, or raise it."

# docs/operating.md is held against it by a test.
GATES: Final[Mapping[str, Waiting]] = {
    "send_time": Waiting(
        "its `send_at` is not there yet",
        "Nothing; a program can move it (`POST /v1/jobs/{id}/reschedule`).",
    ),
    "hold": Waiting(
        "it is held, or a person paused its mailbox",
        "Its value says what holds it: see the table below.",
    ),
    "mailbox_pace": Waiting(
        "the mailbox has used up its `per_second` or `per_minute`, or the part of it that is not for high",
        "Nothing, or raise `mailbox.pace`.",
    ),
    "relay_pace": Waiting(
        "all mailboxes of the relay together have used up its `per_second` or `per_minute`, or the part that is not for high",
        "Nothing, or raise `relay.NAME.pace`.",
    ),
    "relay_slowed": Waiting(
        "the relay said that we are too fast, so all mail through it goes slower for a while",
        "Nothing: it speeds up by itself. If it comes back, set the relay's `pace` and `concurrency` to what it allows.",
    ),
    "daily_cap": Waiting(
        "the mailbox has used up its `per_day` within 24 hours, or the part of it that is not for high",
        "Nothing, or raise `per_day`.",
    ),
    "relay_daily_cap": Waiting(
        "all mailboxes of the relay together have used up its `per_day` within 24 hours, or the part that is not for high",
        "Nothing, or raise `per_day`.",
    ),
    "domain_pause": Waiting(
        "the recipient's domain said that it takes no more from us for a while", "Nothing."
    ),
    "domain_pace": Waiting("`domain_pace` of the recipient's domain is used up", _ROOM),
    "domain_slowed": Waiting(
        "the recipient's domain said that we are too fast, so mail for it goes slower for a while",
        "Nothing: it speeds up by itself. If it comes back, set `domain_pace` for it.",
    ),
    "mailbox_breaker": Waiting(
        "the relay refuses this mailbox (sender, quota, a storm of refusals or doubts)",
        "Do what its reason says; `postroom mailboxes` names it.",
    ),
    "relay_breaker": Waiting(
        "the relay can not be reached, or refuses us",
        "Do what its reason says; `postroom mailboxes` names it.",
    ),
    "backoff": Waiting(
        "the last try failed for the moment",
        "Nothing; a program can move it (`POST /v1/jobs/{id}/reschedule`).",
    ),
    "lane_share": Waiting("bulk has used up `lanes.bulk_per_second`", "Nothing."),
    "mailbox_bulk_share": Waiting(
        "bulk has all connections or slots of the mailbox but the one that is never for bulk",
        "Nothing.",
    ),
    "relay_bulk_share": Waiting(
        "bulk has all connections of the relay but the one that is never for bulk", "Nothing."
    ),
    "mailbox_attachment_share": Waiting(
        "attachments have all connections or slots of the mailbox but the one that is never for them",
        "Nothing.",
    ),
    "relay_attachment_share": Waiting(
        "attachments have all connections of the relay but the one that is never for them",
        "Nothing.",
    ),
    "mailbox_connections": Waiting("the mailbox has its `concurrency` under way", _ROOM),
    "relay_connections": Waiting("the relay has its `concurrency` under way", _ROOM),
    "mailbox_slots": Waiting(
        "the mailbox has half of the daemon's slots, two at least; with an open breaker, one",
        "Nothing.",
    ),
    "attachment_slots": Waiting("mails with attachments have half of the slots", "Nothing."),
    "suspect_slots": Waiting(
        "two crashes found it under way, so it is tried alone, and another one is being tried",
        "Nothing.",
    ),
    "slots": Waiting("`daemon.slots` deliveries are under way", _ROOM),
    "slow_slots": Waiting(
        "as many wait for a relay's last word for more than 30 s", "See what the relays do."
    ),
    "drain": Waiting("the daemon is stopping", "Nothing."),
    "precondition": Waiting("its `not_after` is over", "Nothing."),
}

_PAUSED: Final = "mailbox paused"
# By the first words of the gate's value; docs/operating.md is held against it, too.
HOLDS: Final[Mapping[str, Waiting]] = {
    _PAUSED: Waiting(
        "a person paused its mailbox", "`postroom mailboxes resume ID` when all is well."
    ),
    HoldReason.OPERATOR: Waiting(
        "a person holds it", "`postroom release ID`, or `postroom cancel JOB`."
    ),
    HoldReason.MAILBOX_REMOVED: Waiting(
        "its mailbox is not in the settings",
        "Bring the mailbox back into the settings, or `postroom cancel JOB`; it can not be released before.",
    ),
    HoldReason.RESTORED: Waiting(
        "it may have gone before the restore",
        "`postroom release ID` where it had not, else `postroom cancel JOB`.",
    ),
    HoldReason.UNREADABLE: Waiting(
        "its row can not be read", "`postroom release ID` tries again, or `postroom cancel JOB`."
    ),
    HoldReason.LOOP: Waiting(
        "machines answer each other in its thread",
        "`postroom thread ID --resume`, or wait for a person's mail there.",
    ),
}

# Not a gate of the loop: what is in doubt waits for no turn.
_DOUBT: Final = Waiting(
    "the relay may have it, and nobody knows",
    "Nothing where OPENS says when its mailbox's `on_uncertain` settles it; else `postroom resolve ID --as sent`, or `--as resend`.",
)

_MEANINGS: Final[Mapping[str, Explanation]] = {
    str(code): meaning for code, meaning in EXPLANATIONS.items()
}


def waiting_at(gate: str, value: object) -> Waiting | None:
    """What it means to wait at this gate, which measured this; None for one of a newer daemon."""
    if gate == "doubt":
        return _DOUBT
    held = _hold_of(str(value)) if gate == "hold" else None
    return held or GATES.get(gate)


def _hold_of(value: str) -> Waiting | None:
    """`mailbox paused by uid:0`, `mailbox removed`, `held: loop in thr_1`."""
    if value.startswith(_PAUSED):
        return HOLDS[_PAUSED]
    if value == "mailbox removed":
        return HOLDS[HoldReason.MAILBOX_REMOVED]
    return HOLDS.get(value.removeprefix("held: ").partition(" ")[0])


def meaning_of(reason_code: object) -> Explanation | None:
    """What a reason code means; None for none, or one of a newer daemon."""
    return _MEANINGS.get(str(reason_code))


def tell_reasons(rows: Iterable[Json]) -> None:
    """Say what the reasons in a table mean and what to do about each, once."""
    codes = dict.fromkeys(str(row.get("reason_code")).partition(" ")[0] for row in rows)
    known = {code: _MEANINGS[code] for code in codes if code in _MEANINGS}
    width = max(map(len, known), default=0)
    for code, meaning in known.items():
        talk(f"{code.ljust(width)}  {meaning.means}")
        talk(f"{' ' * width}  What to do: {meaning.to_do}")
