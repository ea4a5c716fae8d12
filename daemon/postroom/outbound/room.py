"""How much a mailbox still takes: its queue, and what it accepted within the hour (CONTRACT §8 `limits`).

Both count deliveries. Room is reserved in memory before a job is stored and given back when it was not, so that many
callers at once can not together go over a limit. The hour is counted in memory; whoever starts the daemon seeds it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from postroom.core.hourly import HourlyCount
from postroom.core.instant import MINUTE, Instant
from postroom.core.job import Problem
from postroom.core.mailbox import Mailbox
from postroom.ports.host import Clock
from postroom.ports.submitting import RefusalCode, RefusalKind, Refused, Reserved


# A full queue drains at the mailbox's pace: asking again sooner is of no use, later is for the caller to choose.
_QUEUE_RETRY_S: Final = 30


class Room:
    """What is left of each mailbox's limits. `depth` says how many deliveries of a mailbox wait in the store."""

    def __init__(self, depth: Callable[[str], int], clock: Clock) -> None:
        self._depth = depth
        self._clock = clock
        self._under_way: Counter[str] = Counter()
        self._hours: defaultdict[str, HourlyCount] = defaultdict(HourlyCount)

    def seed(self, mailbox_id: str, accepted: Iterable[tuple[Instant, int]]) -> None:
        """Count what was accepted before this process began, oldest first."""
        now = self._clock.now()
        for at, count in accepted:
            self._hours[mailbox_id].add(self._minute() - max(0, now - at) // MINUTE, count)

    def reserve(self, mailbox: Mailbox, count: int) -> Reserved | Refused:
        """Room for `count` more deliveries, or why there is none."""
        minute = self._minute()
        hour = self._hours[mailbox.id]
        hour.forget(minute)
        refused = (
            _find_too_many(mailbox, count)
            or self._find_full(mailbox, count)
            or _find_hour_full(mailbox, hour, count, minute)
        )
        if refused is not None:
            return refused
        self._under_way[mailbox.id] += count
        hour.add(minute, count)
        return Reserved(mailbox.id, count, minute)

    def settle(self, reserved: Reserved, accepted: int) -> None:
        """End a reservation of which `accepted` deliveries were stored: the store's depth counts them from now on."""
        self._under_way[reserved.mailbox_id] -= reserved.count
        self._hours[reserved.mailbox_id].add(reserved.minute, accepted - reserved.count)

    def _find_full(self, mailbox: Mailbox, count: int) -> Refused | None:
        limit = mailbox.limits.queued
        waiting = self._depth(mailbox.id) + self._under_way[mailbox.id]
        if not limit or waiting + count <= limit:
            return None
        return Refused(
            RefusalKind.TOO_MUCH,
            RefusalCode.MAILBOX_QUEUE_FULL,
            f"The mailbox {mailbox.id} has {waiting:,} deliveries waiting and takes {limit:,}.",
            retry_after_s=_QUEUE_RETRY_S,
        )

    def _minute(self) -> int:
        return self._clock.monotonic() // MINUTE


def _find_too_many(mailbox: Mailbox, count: int) -> Refused | None:
    """For what never finds room: to say "later" would have the caller try for ever."""
    limits = mailbox.limits.queued, mailbox.limits.accepted_per_hour
    most = min((limit for limit in limits if limit), default=count)
    if count <= most:
        return None
    detail = f"The mailbox {mailbox.id} never takes {count:,} recipients at once: its limits allow {most:,}."
    return Refused(RefusalKind.WRONG, RefusalCode.INVALID_JOB, detail, (Problem("/to", detail),))


def _find_hour_full(mailbox: Mailbox, hour: HourlyCount, count: int, minute: int) -> Refused | None:
    limit = mailbox.limits.accepted_per_hour
    if not limit or hour.total + count <= limit:
        return None
    wait_s = 60 * max(1, hour.minutes_until(minute, max(0, limit - count)))
    return Refused(
        RefusalKind.TOO_MUCH,
        RefusalCode.MAILBOX_HOURLY_LIMIT,
        f"The mailbox {mailbox.id} accepted {hour.total:,} deliveries within the hour and takes {limit:,}.",
        retry_after_s=wait_s,
    )
