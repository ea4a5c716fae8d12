"""Ready queues: waiting rows read ahead of their turn, in bounded memory.

A row here stays `pending` or `retry_scheduled` in the store; this daemon is the only one that takes rows, so reading
is reserving, and what a crash finds in `sending` was really started. A feed is one query of the store: a mailbox's
lane without its throttled domains, or one throttled domain of it. It goes on from a cursor (due_at, number) and is
told of every commit that puts a row in, so a row is never missed and never read in a loop. Rows that are not due yet
are not kept: only the instant of the first of them is. Rows with attachments for which there is no room are left in the
store and read once more when there is, so that plain mail is found behind any number of them.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from postroom.core.clockdoubt import find_doubtful
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.looping import WaitingRow


BATCH: Final = 256  # rows a read; its cost (0.3 ms) is paid once for all of them
LOW: Final = 64  # read on while a batch's worth of starts can still be served
ASIDE: Final = 1024  # rows set aside for their attachments; further ones are left in the store

AT_ONCE: Final = Instant(0)

Cursor = tuple[Instant, int]


@dataclass(slots=True)
class Feed:
    """The due rows of one query, as far as they were read.

    `plain`, `attached` and `suspects` are kept apart because a gate that stops one of them must not stop the others.
    `more_at` is when the next row that was not read is due: None = there is none. `not_after` is no later than that of
    any row here. `_left_from` is where the first row with attachments lies that found no room: None = there is none.
    """

    mailbox_id: str
    lane: Lane
    domain: str | None
    plain: deque[WaitingRow] = field(default_factory=deque)
    attached: deque[WaitingRow] = field(default_factory=deque)
    suspects: deque[WaitingRow] = field(default_factory=deque)
    more_at: Instant | None = AT_ONCE
    cursor: Cursor | None = None
    is_reading: bool = False
    not_after: Instant | None = None
    doubtful_at: Instant | None = None
    _known: set[int] = field(default_factory=set)
    _noted_at: Instant | None = None
    _left_from: Cursor | None = None
    _goes_back: bool = False
    _refused_until: Instant = AT_ONCE

    @property
    def queues(self) -> tuple[deque[WaitingRow], ...]:
        """Every queue, each with a head of its own."""
        return (self.plain, self.attached, self.suspects)

    def wants_read(self, now: Instant) -> bool:
        """Whether rows that are due lie unread and there is room for them."""
        is_due = self.more_at is not None and self.more_at <= now
        wants_left = self._wants_left and now >= self._refused_until
        return not self.is_reading and (wants_left or (is_due and len(self.plain) < LOW))

    def begin_read(self) -> Cursor | None:
        """Mark a read as under way; the cursor to read from."""
        self.is_reading = True
        self._noted_at = None
        self._goes_back = self._wants_left
        return self._left_from if self._goes_back else self.cursor

    def end_read(
        self,
        rows: Iterable[WaitingRow],
        now: Instant,
        taken: set[int],
        believed_at: Instant | None = None,
    ) -> None:
        """Keep what was read and is due; `taken` are the rows under way, or in other feeds.

        `believed_at`: the clock is doubted, and what only it says is due is passed over, until that says so too (`doubtful_at`).
        """
        self.is_reading = False
        self._refused_until = AT_ONCE
        if self._goes_back:
            self._end_read_of_left(rows, now, taken, believed_at)
            return
        self.more_at = None
        count = 0
        for row in rows:
            if row.due_at > now:
                self.more_at = row.due_at
                break
            count += 1
            self.cursor = (row.due_at, row.number)
            self._keep(row, now, taken, believed_at)
        if count >= BATCH:
            self.more_at = now
        if self._noted_at is not None:
            self.note(self._noted_at)

    def pass_over(self, until: Instant) -> None:
        """Something is out of here that only a doubted clock says to be due; by the believed time it is from then on."""
        self.doubtful_at = until if self.doubtful_at is None else min(self.doubtful_at, until)

    def look_again(self, believed_at: Instant | None) -> None:
        """Read what was passed over, where the believed time is there or the clock is believed (None)."""
        if self.doubtful_at is None:
            return
        if believed_at is None or believed_at >= self.doubtful_at:
            self.doubtful_at = None
            self.note(AT_ONCE)

    def fail_read(self, again_at: Instant) -> None:
        """The store did not answer: read again at this instant."""
        self.is_reading = False
        self.more_at = self._refused_until = again_at

    def note(self, due_at: Instant) -> None:
        """A commit put a row in that is due then."""
        if self.is_reading:
            self._noted_at = due_at if self._noted_at is None else min(self._noted_at, due_at)
        self.more_at = due_at if self.more_at is None else min(self.more_at, due_at)
        if self.cursor is not None and due_at <= self.cursor[0]:
            self.cursor = (Instant(due_at - 1), 0)

    def pop(self, queue: deque[WaitingRow]) -> WaitingRow:
        """Take the head of one of the queues."""
        row = queue.popleft()
        self._known.discard(row.number)
        return row

    def forget(self, number: int) -> None:
        """The row waits no more, or for something else."""
        if number not in self._known:
            return
        self._known.discard(number)
        for queue in self.queues:
            for place, row in enumerate(queue):
                if row.number == number:
                    del queue[place]
                    return

    def take_expired(self, now: Instant) -> list[WaitingRow]:
        """Take out what is past its not_after, whatever else holds it back."""
        if self.not_after is None or now <= self.not_after:
            return []
        past, self.not_after = [], None
        for row in [row for queue in self.queues for row in queue]:
            if row.not_after is not None and row.not_after < now:
                past.append(row)
                self.forget(row.number)
            else:
                self._bound(row.not_after)
        return past

    def drop_domain(self, domain: str) -> None:
        """Forget the rows of a domain that has a feed of its own from now on."""
        for queue in self.queues:
            gone = {row.number for row in queue if row.domain == domain}
            left = [row for row in queue if row.number not in gone]
            queue.clear()
            queue.extend(left)
            self._known -= gone

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits in it, due or not, as far as the store has told."""
        is_read = self.more_at is None and not self.is_reading and self.doubtful_at is None
        return is_read and self._left_from is None and not self._known

    @property
    def _wants_left(self) -> bool:
        return self._left_from is not None and len(self.attached) < LOW

    def _end_read_of_left(
        self, rows: Iterable[WaitingRow], now: Instant, taken: set[int], believed_at: Instant | None
    ) -> None:
        """The same of rows that were passed by before, up to where there is no room again or all was read anew."""
        self._left_from = None
        for count, row in enumerate(rows, 1):
            place = (row.due_at, row.number)
            if self.cursor is None or place > self.cursor:
                return
            self._keep(row, now, taken, believed_at)
            if self._left_from is not None:
                return
            if count == BATCH:
                self._left_from = place

    def _keep(
        self, row: WaitingRow, now: Instant, taken: set[int], believed_at: Instant | None
    ) -> None:
        doubtful_at = find_doubtful(row.planned_since, row.due_at, row.not_after, now, believed_at)
        if doubtful_at is not None:
            self.pass_over(doubtful_at)
            return
        if row.number in taken or row.number in self._known:
            return
        queue = self._queue_for(row)
        if queue is self.attached and len(queue) >= ASIDE:
            place = (row.due_at, row.number - 1)
            self._left_from = place if self._left_from is None else min(self._left_from, place)
            return
        self._known.add(row.number)
        queue.append(row)
        self._bound(row.not_after)

    def _bound(self, not_after: Instant | None) -> None:
        if not_after is not None:
            self.not_after = not_after if self.not_after is None else min(self.not_after, not_after)

    def _queue_for(self, row: WaitingRow) -> deque[WaitingRow]:
        if row.is_suspect:
            return self.suspects
        return self.attached if row.has_attachments else self.plain
