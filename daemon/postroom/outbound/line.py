"""The line in front of one mailbox: its feeds, and which row of them goes next.

Every head that could go is asked of `core/admit`; among the lanes that have one, shares decide. A gate that holds back
more than a row saves the questions behind it. A recipient domain that is held back gets a feed of its own, and the
common feed of its lane skips it, so nobody waits behind it.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from postroom.core.admit import Finding, Go, Wait, admit, find_block
from postroom.core.gates import Reach
from postroom.core.instant import Instant, Moment
from postroom.core.lanes import Wheel
from postroom.core.mailbox import Lane
from postroom.core.world import World
from postroom.outbound.ready import Feed
from postroom.ports.looping import WaitingRow


ORDINARY: Final = frozenset(
    {
        "send_time",
        "backoff",
        "mailbox_bulk_share",
        "relay_bulk_share",
        "mailbox_connections",
        "relay_connections",
        "mailbox_slots",
        "mailbox_attachment_share",
        "relay_attachment_share",
        "attachment_slots",
        "suspect_slots",
        "slots",
        "drain",
        "precondition",
    }
)  # gates that block all day long on a healthy machine: explain tells of them, the log does not


@dataclass(frozen=True, slots=True)
class Candidate:
    """A head that may go now."""

    feed: Feed
    queue: deque[WaitingRow]

    @property
    def row(self) -> WaitingRow:
        """The row itself."""
        return self.queue[0]


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue of the line as it stands: its first row and what holds that back (None = it may go).

    `read` = rows of it in memory, which are the next to go and seldom all; `next_at` = where none is due, when the first
    will be; `doubtful_at` = only a clock that is not believed says that something is due, until then.
    """

    mailbox_id: str
    lane: Lane
    domain: str | None
    first: WaitingRow | None
    finding: Finding | None
    read: int
    next_at: Instant | None
    doubtful_at: Instant | None


class Line:
    """All feeds of one mailbox."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.expired: list[WaitingRow] = []
        self.wake_at: Instant | None = None
        self.waits: Wait | None = None
        self._wheel = Wheel()
        self._feeds: dict[tuple[Lane, str | None], Feed] = {}

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """Every feed there is."""
        return tuple(self._feeds.values())

    @property
    def is_quiet(self) -> bool:
        """Whether nothing waits in it, due or not, as far as the store has told."""
        return all(feed.is_empty for feed in self._feeds.values())

    def queues(self, now: Moment) -> list[Queue]:
        """Every queue in which something waits, due or not."""
        found: list[Queue] = []
        for (lane, domain), feed in self._feeds.items():
            place = (self.world.mailbox.mailbox.id, lane, domain)
            due = [queue for queue in feed.queues if queue]
            for queue in due:
                finding = find_block(queue[0], self.world, now)
                found.append(Queue(*place, queue[0], finding, len(queue), None, feed.doubtful_at))
            if not due and not feed.is_empty:
                found.append(Queue(*place, None, None, 0, feed.more_at, feed.doubtful_at))
        return found

    def note(self, lane: Lane, domain: str | None, due_at: Instant) -> None:
        """A commit put rows into this lane, the earliest due then; `domain` None = of any domain."""
        self._open(lane, None)
        if domain is None:
            for (of, _), feed in self._feeds.items():
                if of is lane:
                    feed.note(due_at)
            return
        feed = self._feeds.get((lane, domain)) or self._feeds[lane, None]
        feed.note(due_at)

    def forget(self, number: int) -> None:
        """This row waits no more."""
        for feed in self._feeds.values():
            feed.forget(number)

    def skipped(self, feed: Feed) -> frozenset[str]:
        """The domains that this feed leaves to feeds of their own."""
        if feed.domain is not None:
            return frozenset()
        return frozenset(
            domain for lane, domain in self._feeds if lane is feed.lane and domain is not None
        )

    def choose(self, now: Moment) -> Candidate | None:
        """The row to start now, or None.

        Then `wake_at` says from when on one might go, and `waits` what is worth a line in the log.
        """
        self.wake_at, self.waits = None, None
        found: dict[Lane, Candidate] = {}
        for lane in Lane:
            answer = self._admissible(lane, now)
            if isinstance(answer, Candidate):
                found[lane] = answer
            elif answer in (Reach.MAILBOX, Reach.RELAY, Reach.HOST):
                break
        if not found:
            self._look_for_expired(now.at)
            return None
        if self._is_probing:
            return self._probe(found)
        lane, self._wheel = self._wheel.turn(self.world.mailbox.mailbox.lanes, found)
        return found[lane]

    def _look_for_expired(self, now: Instant) -> None:
        """A pause or a breaker may last: what may not be sent any more is not kept waiting for its end."""
        for feed in self._feeds.values():
            self.expired += feed.take_expired(now)
            if feed.not_after is not None:
                self._wake_by(Instant(feed.not_after + 1))

    def tidy(self, now: Moment) -> None:
        """Close feeds of domains that nothing holds back any more and that are drained."""
        configured = self.world.mailbox.mailbox.domain_pace
        for key, feed in list(self._feeds.items()):
            domain = feed.domain
            if domain is None or domain in configured or not feed.is_empty:
                continue
            if not self.world.is_held_back(domain, now):
                del self._feeds[key]

    def _admissible(self, lane: Lane, now: Moment) -> Candidate | Reach | None:
        for feed, queue in self._heads(lane):
            while queue:
                answer = admit(queue[0], self.world, now)
                if isinstance(answer, Go):
                    return Candidate(feed, queue)
                self._wake_by(answer.blocked.until)
                if self.waits is None and answer.gate.name not in ORDINARY:
                    self.waits = answer
                if answer.gate.name == "precondition":
                    self.expired.append(feed.pop(queue))
                elif answer.gate.reach is Reach.DOMAIN and feed.domain is None:
                    self._split_off(feed, queue[0].domain)
                elif answer.gate.reach in (Reach.ROW, Reach.DOMAIN):
                    break
                else:
                    return answer.gate.reach
        return None

    def _heads(self, lane: Lane) -> list[tuple[Feed, deque[WaitingRow]]]:
        """Queues of the lane, suspects last; the feed that was served goes behind the others."""
        feeds = [feed for (of, _), feed in self._feeds.items() if of is lane]
        found = [(feed, queue) for feed in feeds for queue in feed.queues]
        avoid = self._avoided
        if avoid is not None:
            for feed, queue in found:
                self._put_others_first(feed, queue, avoid)
            found.sort(key=lambda head: bool(head[1]) and head[1][0].domain == avoid)
        return found

    def _put_others_first(self, feed: Feed, queue: deque[WaitingRow], avoid: str) -> None:
        """Another recipient domain to the head; where none was read yet, the feed reads on without this one."""
        other = next((row for row in queue if row.domain != avoid), None)
        if other is not None:
            queue.remove(other)
            queue.appendleft(other)
        elif queue and feed.domain is None:
            self._split_off(feed, avoid)

    def _probe(self, found: dict[Lane, Candidate]) -> Candidate:
        """High first, and another recipient domain than that of the last refused probe before all."""
        others = [one for one in found.values() if one.row.domain != self._avoided]
        return (others or list(found.values()))[0]

    @property
    def _is_probing(self) -> bool:
        return not (self.world.mailbox.breaker.is_closed and self.world.relay.breaker.is_closed)

    @property
    def _avoided(self) -> str | None:
        """The domain whose recipient refused the last probe: the odd one out, perhaps."""
        mailbox = self.world.mailbox
        return None if mailbox.breaker.is_closed else mailbox.avoid

    def served(self, candidate: Candidate) -> WaitingRow:
        """Take the chosen row; the feed goes behind the others of its lane."""
        feed = candidate.feed
        row = feed.pop(candidate.queue)
        self._feeds[feed.lane, feed.domain] = self._feeds.pop((feed.lane, feed.domain))
        return row

    def _split_off(self, feed: Feed, domain: str) -> None:
        feed.drop_domain(domain)
        self._open(feed.lane, domain)

    def _open(self, lane: Lane, domain: str | None) -> None:
        if (lane, domain) in self._feeds:
            return
        self._feeds[lane, domain] = Feed(self.world.mailbox.mailbox.id, lane, domain)
        if domain is None:
            for paced in self.world.mailbox.domains:
                self._open(lane, paced)

    def _wake_by(self, until: Instant | None) -> None:
        if until is not None and (self.wake_at is None or until < self.wake_at):
            self.wake_at = until
