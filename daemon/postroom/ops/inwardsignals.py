"""What came in and what consumers made of it, counted in memory since the daemon's start.

Rules as in `ops.signals`: nothing here grows with the mail that passes. Mailboxes, types, classes and reasons are closed
lists, and so are the listener's replies; consumers are named by whoever likes, so what is counted here never names one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from postroom.core.bouncereason import BounceClass
from postroom.ports.arriving import Doubled, Publication, PublishResult
from postroom.ports.changes import (
    Change,
    EventPublished,
    EventsDied,
    LeaseExpired,
    LogGrew,
    MailDone,
    MailReceived,
)


@dataclass(slots=True)
class InwardSignals:
    """Counters; an Observer of commits. `waiting` is how many mails are received and no events yet."""

    waiting: int = 0
    received: int = 0
    set_aside: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    reads: Counter[tuple[str, str]] = field(default_factory=Counter)
    doubled: Counter[str] = field(default_factory=Counter)
    bounces: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    events: Counter[tuple[str, str]] = field(default_factory=Counter)
    expiries: Counter[str] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)

    def committed(self, changes: Sequence[Change]) -> None:
        """Count what came, what was published, and whom nobody answered."""
        for change in changes:
            match change:
                case MailReceived():
                    self.received += 1
                    self.waiting += 1
                case MailDone():
                    self.waiting -= 1
                case EventPublished() | LogGrew():
                    self.events[change.mailbox_id, change.type] += 1
                case LeaseExpired():
                    self.expiries[change.mailbox_id] += 1
                case EventsDied():
                    self.dead[change.mailbox_id] += len(change.seqs)
                case _:
                    pass

    def refused(self, reason: str) -> None:
        """A client, a command or a mail was refused."""
        self.refusals[reason] += 1

    def published(self, publication: Publication, result: PublishResult) -> None:
        """A mail was read for a mailbox; what a report in it says counts once, whether it is believed or not."""
        mailbox_id, mail = publication.mailbox_id, publication.mail
        if isinstance(result, Doubled):
            self.doubled[mailbox_id] += 1
            return
        self.reads[mailbox_id, mail.parse] += 1
        for block in mail.report.recipients if mail.report else ():
            if block.sense.class_ is not BounceClass.NONE:
                self.bounces[mailbox_id, block.sense.class_, block.sense.reason] += 1
