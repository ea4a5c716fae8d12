"""What the end of a try means: the outcome to store, and what it says about the relay, the mailbox and the domain.

The rules are the core's (`outcome`, `retry`, `storm`, `health`); here they meet what this attempt was. Memory changes
first: a breaker that opens a moment before its row is stored errs on the safe side.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.breaker import Breaker, trip
from postroom.core.delivery import DeliveryState
from postroom.core.health import domain_pause, goes_back, mailbox_after, relay_after
from postroom.core.instant import SECOND, Instant, Moment, later
from postroom.core.outcome import Verdict, classify, unfit
from postroom.core.reason import ReasonCode
from postroom.core.relayid import relay_message_id
from postroom.core.replytable import Class
from postroom.core.retry import GivenUp, next_attempt
from postroom.core.speed import SpeedMoved, speed_after
from postroom.core.storm import CALM, Storm, is_slow_storm, observe
from postroom.core.world import Reservation, World
from postroom.outbound.attempt import Ended
from postroom.ports.account import Account
from postroom.ports.host import Clock, Entropy
from postroom.ports.looping import Bucket, DomainPause, Outcome, Started


_STARVED: Final = timedelta(seconds=10)  # until this host may have files and memory again


@dataclass(frozen=True, slots=True)
class _Moved:
    """What moved with an outcome; None = it did not."""

    relay: Breaker | None = None
    mailbox: Breaker | None = None
    pause: DomainPause | None = None
    speeds: tuple[SpeedMoved, ...] = ()


@dataclass(frozen=True, slots=True)
class _Fate:
    """Where the delivery goes."""

    after: DeliveryState
    reason: ReasonCode | None
    due_at: Instant | None = None
    counts_attempt: bool = True
    counts_series: bool = True
    is_deferral: bool = False


class Judge:
    """Remembers the rows that make a storm; everything else it is told."""

    def __init__(self, account: Account, clock: Clock, entropy: Entropy) -> None:
        self._account = account
        self._clock = clock
        self._entropy = entropy
        self._storms: dict[str, Storm] = defaultdict(lambda: CALM)
        self._slow: dict[str, dict[int, int]] = defaultdict(dict)

    def outcome(
        self,
        world: World,
        held: Reservation,
        started: Started,
        ended: Ended,
        give_back: tuple[Bucket, ...],
    ) -> Outcome:
        """The outcome of a try that the mark did not stop; breakers and pauses of the world have moved with it."""
        now = self._clock.now()
        if ended.file_reason is not None:
            fate = _Fate(DeliveryState.FAILED, ended.file_reason, counts_attempt=False)
            return self._written(world, started, ended, give_back, fate, _Moved())
        if ended.is_starved:
            due_at = later(now, _STARVED)
            fate = _waits(ReasonCode.STORE_UNAVAILABLE, due_at, counts_attempt=False)
            return self._written(world, started, ended, give_back, fate, _Moved())
        if ended.is_interrupted or ended.is_mark_refused:
            fate = _stopped_by_us(ended, now)
            return self._written(world, started, ended, give_back, fate, _Moved())
        verdict = _verdict(ended)
        was_storm = verdict is not None and goes_back(world.mailbox.breaker, verdict)
        before = world.relay.breaker, world.mailbox.breaker
        self._move_breakers(world, held, started, ended, verdict)
        moved = _Moved(
            relay=world.relay.breaker if world.relay.breaker != before[0] else None,
            mailbox=world.mailbox.breaker if world.mailbox.breaker != before[1] else None,
            pause=self._pause_domain(world, started, verdict, now),
            speeds=self._move_speeds(world, held, started, verdict),
        )
        fate = self._fate(world, started, ended, verdict, is_probe_refused=was_storm)
        return self._written(world, started, ended, give_back, fate, moved)

    def waits_long(self, world: World, number: int) -> bool:
        """A final reply has been awaited for a minute: three of them at once are a storm. Whether it opened the breaker."""
        mailbox_id = world.mailbox.mailbox.id
        mono = self._clock.monotonic()
        self._slow[mailbox_id][number] = mono - 61 * SECOND
        breaker = world.mailbox.breaker
        if not breaker.is_closed or not is_slow_storm(self._slow[mailbox_id].values(), mono):
            return False
        self._set_mailbox(world, trip(breaker, ReasonCode.DOUBT_STORM, self._clock.now()))
        return True

    def resumed(self, mailbox_id: str) -> None:
        """A person says that all is well: a storm begins to be counted anew."""
        self._storms[mailbox_id] = CALM

    def landed(self, world: World, number: int) -> None:
        """This attempt is over."""
        self._slow[world.mailbox.mailbox.id].pop(number, None)

    def _move_breakers(
        self,
        world: World,
        held: Reservation,
        started: Started,
        ended: Ended,
        verdict: Verdict | None,
    ) -> None:
        """What began before relay or mailbox became another says nothing about it any more."""
        if world.is_about_relay(held):
            self._move_relay(world, ended, verdict)
        if not world.is_about_mailbox(held):
            return
        now, mailbox = self._clock.now(), world.mailbox
        storm = observe(self._storms[mailbox.mailbox.id], ended.stage, verdict, started.domain)
        self._storms[mailbox.mailbox.id] = CALM if storm.reason is not None else storm
        self._set_mailbox(world, mailbox_after(mailbox.breaker, storm.reason, verdict, now))
        is_refused = verdict is not None and verdict.class_ is Class.PERMANENT
        if held.is_mailbox_probe:
            mailbox.avoid = started.domain if is_refused else None

    def _move_relay(self, world: World, ended: Ended, verdict: Verdict | None) -> None:
        relay, cap = world.relay, world.mailbox.mailbox.retry.cap
        after = relay_after(relay.breaker, ended.stage, verdict, self._clock.now(), cap)
        if after != relay.breaker:
            self._account.breaker_moved("relay", relay.relay.id, relay.breaker, after)
            relay.breaker = after

    def _set_mailbox(self, world: World, after: Breaker) -> None:
        before = world.mailbox.breaker
        if after != before:
            world.mailbox.breaker = after
            self._account.breaker_moved("mailbox", world.mailbox.mailbox.id, before, after)

    def _pause_domain(
        self, world: World, started: Started, verdict: Verdict | None, now: Instant
    ) -> DomainPause | None:
        span = None if verdict is None else domain_pause(verdict)
        if span is None or verdict is None:
            return None
        pause = DomainPause(started.mailbox_id, started.domain, later(now, span), verdict.reason)
        world.pause_domain(pause.domain, pause.until_at, pause.reason_code, now)
        self._account.domain_paused(pause)
        return pause

    def _move_speeds(
        self, world: World, held: Reservation, started: Started, verdict: Verdict | None
    ) -> tuple[SpeedMoved, ...]:
        now = Moment(self._clock.now(), self._clock.monotonic())
        speeds = speed_after(world, held, started.domain, verdict, now)
        for moved in speeds:
            self._account.speed_moved(moved)
        return speeds

    def _fate(
        self,
        world: World,
        started: Started,
        ended: Ended,
        verdict: Verdict | None,
        *,
        is_probe_refused: bool,
    ) -> _Fate:
        now = self._clock.now()
        if verdict is None:
            return _Fate(DeliveryState.SENT, None)
        if verdict.class_ is Class.TEMPORARY and not ended.reached_mail:
            return _waits(verdict.reason, now, counts_attempt=False)
        if verdict.class_ is Class.OURS or is_probe_refused:
            return _waits(verdict.reason, now, counts_attempt=ended.is_connected)
        if verdict.class_ is Class.IN_DOUBT:
            return _Fate(DeliveryState.UNCERTAIN, verdict.reason)
        if verdict.class_ is Class.PERMANENT:
            return _Fate(DeliveryState.FAILED, verdict.reason)
        return self._again(world, started, verdict, now)

    def _again(self, world: World, started: Started, verdict: Verdict, now: Instant) -> _Fate:
        due_at = next_attempt(
            world.mailbox.mailbox.retry,
            started.series_attempts + 1,
            started.series_started_at,
            now,
            self._entropy.fraction(),
            verdict,
        )
        if isinstance(due_at, GivenUp) or due_at > (started.not_after or due_at):
            return _Fate(DeliveryState.FAILED, ReasonCode.EXPIRED)
        return _Fate(DeliveryState.RETRY_SCHEDULED, verdict.reason, due_at)

    def _written(
        self,
        world: World,
        started: Started,
        ended: Ended,
        give_back: tuple[Bucket, ...],
        fate: _Fate,
        moved: _Moved,
    ) -> Outcome:
        relay_id, mailbox_id = world.relay.relay.id, world.mailbox.mailbox.id
        return Outcome(
            number=started.number,
            claim=started.claim,
            after=fate.after,
            reason_code=fate.reason,
            at=self._clock.now(),
            stage=ended.stage,
            reply=ended.reply,
            due_at=fate.due_at,
            counts_attempt=fate.counts_attempt,
            counts_series=fate.counts_series,
            is_deferral=fate.is_deferral,
            withdraws_mark=ended.is_marked and not ended.is_dotted,
            relay_message_id=(
                relay_message_id(ended.reply) if fate.after is DeliveryState.SENT else None
            ),
            give_back=give_back,
            relay_breaker=None if moved.relay is None else (relay_id, moved.relay),
            mailbox_breaker=None if moved.mailbox is None else (mailbox_id, moved.mailbox),
            domain_pause=moved.pause,
            speeds=moved.speeds,
        )


def _verdict(ended: Ended) -> Verdict | None:
    if ended.unfit is not None:
        return unfit(is_too_big=ended.unfit.is_too_big)
    return classify(ended.stage, ended.reply, is_marked=ended.is_marked, is_dotted=ended.is_dotted)


def _waits(reason: ReasonCode, due_at: Instant, *, counts_attempt: bool) -> _Fate:
    """What is not the delivery's fault leaves its series alone: due at once where a breaker holds it back."""
    return _Fate(
        DeliveryState.RETRY_SCHEDULED,
        reason,
        due_at,
        counts_attempt=counts_attempt,
        counts_series=False,
        is_deferral=not counts_attempt,
    )


def _stopped_by_us(ended: Ended, now: Instant) -> _Fate:
    """A drain, or a store that could not take the mark: in doubt only if the terminator may have gone."""
    if ended.is_dotted:
        return _Fate(DeliveryState.UNCERTAIN, ReasonCode.DOUBT_NO_ANSWER)
    reason = ReasonCode.DRAIN if ended.is_interrupted else ReasonCode.STORE_UNAVAILABLE
    return _Fate(
        DeliveryState.PENDING,
        reason,
        now,
        counts_attempt=False,
        counts_series=False,
        is_deferral=True,
    )
