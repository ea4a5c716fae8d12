"""One sample of the running daemon for alerts (core.sample): what it counts anyway, and two questions to indexes."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.core.alert import Cause
from postroom.core.alertrules import cause_of
from postroom.core.breaker import Breaker
from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.instant import SECOND, Instant, Moment
from postroom.core.mailbox import Lane, LaneShares
from postroom.core.pace import Meter
from postroom.core.sample import (
    ConsumerSample,
    Counted,
    DiskSample,
    MailboxSample,
    RelaySample,
    Sample,
)
from postroom.core.world import World
from postroom.ops.clocktrust import ClockTrust
from postroom.ops.depth import Depth
from postroom.ops.histogram import ATTEMPT, Histogram
from postroom.ops.signals import Signals
from postroom.ports.desk import Reader
from postroom.ports.host import Clock
from postroom.ports.leasing import Leases
from postroom.store.sqlite.space import Space


_NONE: Final = Histogram(ATTEMPT).spread()
_WAITING: Final = UNSETTLED - {DeliveryState.HELD}  # a probe that is just made waits like the rest


@dataclass(frozen=True, slots=True)
class SampleParts:
    """Where figures come from."""

    reader: Reader
    leases: Leases
    depth: Depth
    signals: Signals
    worlds: Mapping[str, World]
    space: Space
    trust: ClockTrust
    clock: Clock


class Sampler:
    """Looks."""

    def __init__(self, parts: SampleParts) -> None:
        self._parts = parts

    async def take(self) -> Sample:
        """Everything as it stands. Raises: StoreUnavailable, StoreBroken."""
        parts = self._parts
        now = Moment(parts.clock.now(), parts.clock.monotonic())
        oldest = await parts.reader.oldest_due(now.at)
        consumers = await parts.leases.find_waiting(now.at)
        room = parts.space.look()
        signals = parts.signals
        return Sample(
            now=now,
            mailboxes=self._mailboxes(now, oldest),
            relays=self._relays(now.mono),
            starts={lane: found.spread() for lane, found in signals.start_wait.items()},
            settling={lane: found.spread() for lane, found in signals.settle_time.items()},
            clusters=signals.clusters.within_hour(now.at),
            consumers={
                one.consumer or "": ConsumerSample(_age_s(one.oldest_at, now.at), one.leased > 0)
                for one in consumers
            },
            disk=DiskSample(room.free, room.kept, room.inodes.free, room.files_kept),
            is_clock_doubted=parts.trust.is_doubted(),
        )

    def _mailboxes(
        self, now: Moment, oldest: Mapping[tuple[str, Lane], Instant]
    ) -> dict[str, MailboxSample]:
        waiting, uncertain = Counter[str](), Counter[str]()
        for (mailbox_id, _, state), count in self._parts.depth.counts().items():
            waiting[mailbox_id] += count if state in _WAITING else 0
            uncertain[mailbox_id] += count if state is DeliveryState.UNCERTAIN else 0
        due_s: defaultdict[str, float] = defaultdict(float)
        for (mailbox_id, _), due_at in oldest.items():
            due_s[mailbox_id] = max(due_s[mailbox_id], _age_s(due_at, now.at))
        counted = self._counted()
        boxes: dict[str, MailboxSample] = {}
        for mailbox_id, world in self._parts.worlds.items():
            box = world.mailbox
            boxes[mailbox_id] = MailboxSample(
                relay_id=world.relay.relay.id,
                waiting=waiting[mailbox_id],
                uncertain=uncertain[mailbox_id],
                oldest_due_s=due_s[mailbox_id],
                counted=counted[mailbox_id],
                is_paused=box.paused_by is not None,
                blocked=_open(box.breaker),
                day_share=_day_share(box.meter, now.mono),
            )
        return {id_: box for id_, box in boxes.items() if not box.is_idle}

    def _counted(self) -> dict[str, Counted]:
        sent: Counter[str] = Counter()
        retries: defaultdict[str, Counter[Cause]] = defaultdict(Counter)
        failed: defaultdict[str, Counter[Cause]] = defaultdict(Counter)
        signals = self._parts.signals
        for ended, count in signals.outcomes.items():
            match ended.state:
                case DeliveryState.SENT:
                    sent[ended.mailbox_id] += count
                case DeliveryState.RETRY_SCHEDULED:
                    retries[ended.mailbox_id][cause_of(ended.reason_code)] += count
                case DeliveryState.FAILED:
                    failed[ended.mailbox_id][cause_of(ended.reason_code)] += count
                case _:
                    pass
        attempts = {id_: found.spread() for id_, found in signals.attempt_time.items()}
        return {
            id_: Counted(sent[id_], retries[id_], failed[id_], attempts.get(id_, _NONE))
            for id_ in self._parts.worlds
        }

    def _relays(self, mono: int) -> dict[str, RelaySample]:
        states = {world.relay.relay.id: world.relay for world in self._parts.worlds.values()}
        return {
            id_: RelaySample(
                down=_open(relay.breaker),
                is_slowed=relay.total.slowed(mono) is not None or bool(relay.slow_domains(mono)),
                day_share=_day_share(relay.meter, mono),
            )
            for id_, relay in states.items()
        }


def _open(breaker: Breaker) -> Cause | None:
    return None if breaker.is_closed else cause_of(breaker.reason)


def _day_share(meter: Meter, mono: int) -> float | None:
    """What is used of `per_day`: all of it is high's."""
    if meter.day is None:
        return None
    bound = meter.day.bound(Lane.HIGH, LaneShares(), mono)
    return bound.used / bound.allowed


def _age_s(since: Instant | None, now: Instant) -> float:
    return 0.0 if since is None else max(0, now - since) / SECOND
