"""What a job says about the conversation that it belongs to: the event it answers, its lease, its preconditions."""

from dataclasses import dataclass
from typing import Final

from postroom.core.faults import Faults, read_flag, read_object
from postroom.core.ids import Kind, decode_id
from postroom.core.job import Condition, LeaseClaim, OnDuplicate


_CONDITIONS: Final = frozenset({"thread_version", "no_inbound_since"})
_LEASE: Final = frozenset({"id", "fence"})
_NAMES: Final = ("thread_id", "conversation_id", "in_reply_to_event")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a conversation the job belongs, and what it needs there."""

    answers: int | None
    condition: Condition | None
    lease: LeaseClaim | None
    allows_new_recipients: bool


def is_in_thread(job: dict[str, object]) -> bool:
    """Whether the job speaks of one thread, so that all its recipients must share it."""
    return any(job.get(name) is not None for name in ("thread_id", "in_reply_to_event", "if"))


def read_place(job: dict[str, object], faults: Faults) -> Place:
    """What was understood of in_reply_to_event, if, lease and allow_new_recipients."""
    event, condition, lease = job.get("in_reply_to_event"), job.get("if"), job.get("lease")
    allows = job.get("allow_new_recipients")
    _check_thread(job, faults)
    where = "/allow_new_recipients"
    return Place(
        answers=None if event is None else _read_event(event, "/in_reply_to_event", faults),
        condition=None if condition is None else _read_condition(condition, faults),
        lease=None if lease is None else _read_lease(lease, faults),
        allows_new_recipients=allows is not None and read_flag(allows, where, faults),
    )


def _read_event(given: object, where: str, faults: Faults) -> int | None:
    """The seq of the event that is named."""
    seq = decode_id(Kind.EVENT, given) if isinstance(given, str) else None
    if seq is None:
        faults.add(where, "This must be the id of an event.")
    return seq


def _read_condition(given: object, faults: Faults) -> Condition | None:
    """What must still be so when the job goes out."""
    where = "/if"
    fields = read_object(given, where, faults, _CONDITIONS)
    if fields is None:
        return None
    if not fields:
        faults.add(where, "This must name thread_version, no_inbound_since or both.")
        return None
    version = since = None
    if "thread_version" in fields:
        version = _read_number(fields["thread_version"], f"{where}/thread_version", faults)
    if "no_inbound_since" in fields:
        since = _read_event(fields["no_inbound_since"], f"{where}/no_inbound_since", faults)
    return Condition(version, since)


def _read_lease(given: object, faults: Faults) -> LeaseClaim | None:
    """The lease that the caller holds."""
    where = "/lease"
    fields = read_object(given, where, faults, _LEASE)
    if fields is None:
        return None
    id_ = fields.get("id")
    number = decode_id(Kind.LEASE, id_) if isinstance(id_, str) else None
    if number is None:
        faults.add(f"{where}/id", "This must be the id of a lease.")
    fence = _read_number(fields.get("fence"), f"{where}/fence", faults)
    return None if number is None or fence is None else LeaseClaim(number, fence)


def _check_thread(job: dict[str, object], faults: Faults) -> None:
    """Note what does not go together."""
    named = [name for name in _NAMES if job.get(name) is not None]
    for name in named[1:]:
        faults.add(f"/{name}", f"The thread is named by {named[0]} already: leave one of them out.")
    if job.get("if") is not None and not named:
        faults.add("/if", f"A precondition needs a thread: give one of {', '.join(_NAMES)}.")
    if job.get("lease") is not None and not {"thread_id", "in_reply_to_event"} & set(named):
        faults.add("/lease", "A lease goes with in_reply_to_event or thread_id.")
    if job.get("on_duplicate") == OnDuplicate.MERGE and job.get("in_reply_to_event") is not None:
        faults.add("/on_duplicate", "An event is answered once: recipients can not be merged in.")
    if job.get("allow_new_recipients") is True and job.get("in_reply_to_event") is None:
        faults.add("/allow_new_recipients", "This goes with in_reply_to_event.")


def _read_number(given: object, where: str, faults: Faults) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 1 << 63:
        return given
    faults.add(where, "This must be a whole number from 0 on.")
    return None
