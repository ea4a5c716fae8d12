"""Who is told of which alert, and how often: one mail for all that moved in one minute, and never a storm.

An alert of a mailbox is told to its owner, one of a relay to the owners of its mailboxes, any other to every owner. No
owner gets more than six such mails in an hour; what is too much waits, and after an hour it is in the log alone.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.alert import AlertKey, AlertKind, AlertScope, Raised
from postroom.core.alertletter import alert_letter
from postroom.core.instant import MINUTE, Instant
from postroom.ports.host import Clock
from postroom.service.ownermail import OwnerMail, Posting


MAILS_AN_HOUR: Final = 6
_HOUR: Final = 60 * MINUTE
# What says that a mailbox's own way out is the trouble.
_WAY: Final = frozenset(
    {
        AlertKind.DEPTH_RISING,
        AlertKind.RETRIES_GROWING,
        AlertKind.ATTEMPTS_DRIFTING,
        AlertKind.DOUBT_WAITING,
        AlertKind.CAP_NEAR,
        AlertKind.RELAY_DOWN,
        AlertKind.MAILBOX_BLOCKED,
    }
)


@dataclass(frozen=True, slots=True)
class _Notice:
    """What one owner is to be told. `noted` is on the monotonic clock; `is_again`: a run before this one may have told it."""

    owner: str
    at: Instant
    noted: int
    raised: tuple[Raised, ...]
    cleared: tuple[Raised, ...]
    is_again: bool


class AlertTeller:
    """Tells."""

    def __init__(self, mail: OwnerMail, clock: Clock, host: Callable[[], str]) -> None:
        self._mail = mail
        self._clock = clock
        self._host = host
        self._notices: list[_Notice] = []
        self._told: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=MAILS_AN_HOUR))

    def restore(self, raised: Sequence[Raised]) -> None:
        """What was raised within the last hour is told, unless it was."""
        now = self._clock.now()
        by_time: defaultdict[Instant, list[Raised]] = defaultdict(list)
        for one in raised:
            if now - _HOUR <= one.raised_at <= now:
                by_time[one.raised_at].append(one)
        for at, some in by_time.items():
            self._note(at, some, (), is_again=True)

    def note(self, at: Instant, raised: Sequence[Raised], cleared: Sequence[Raised]) -> None:
        """It is to be told."""
        self._note(at, raised, cleared, is_again=False)

    async def tell(self) -> None:
        """Tell whoever may be told now. Raises: StoreError; what is not told is told the next time."""
        now = self._clock.monotonic()
        self._notices = [one for one in self._notices if now - one.noted < _HOUR]
        for notice in tuple(self._notices):
            if not self._has_room(notice.owner, now):
                continue
            if notice.is_again and await self._mail.is_posted(self._key(notice)):
                self._notices.remove(notice)
            elif await self._mail.post(self._posting(notice)):
                self._notices.remove(notice)
                self._told[notice.owner].append(now)

    def _note(
        self, at: Instant, raised: Iterable[Raised], cleared: Iterable[Raised], *, is_again: bool
    ) -> None:
        noted = self._clock.monotonic()
        begun, over = self._by_owner(raised), self._by_owner(cleared)
        for owner in sorted(begun.keys() | over.keys()):
            told = tuple(begun[owner]), tuple(over[owner])
            self._notices.append(_Notice(owner, at, noted, *told, is_again))

    def _by_owner(self, alerts: Iterable[Raised]) -> defaultdict[str, list[Raised]]:
        """What each owner is told of: every alert is looked at once, however many owners there are."""
        found: defaultdict[str, list[Raised]] = defaultdict(list)
        for one in alerts:
            for owner in self._owners(one.alert.key):
                found[owner].append(one)
        return found

    def _owners(self, key: AlertKey) -> frozenset[str]:
        mail = self._mail
        if key.mailbox_id is None and key.scope is not AlertScope.RELAY:
            return frozenset(mail.owners)
        boxes = mail.boxes_of(key.name) if key.mailbox_id is None else (key.mailbox_id,)
        owners = (mail.owner_of(mailbox_id) for mailbox_id in boxes)
        return frozenset(owner for owner in owners if owner is not None)

    def _posting(self, notice: _Notice) -> Posting:
        letter = alert_letter(notice.raised, notice.cleared, self._host())
        keys = [one.alert.key for one in (*notice.raised, *notice.cleared)]
        about = frozenset(key.mailbox_id for key in keys if key.mailbox_id is not None)
        return Posting(
            letter, notice.owner, self._key(notice), about, self._troubled(notice.raised)
        )

    def _key(self, notice: _Notice) -> str:
        return self._mail.key("alert", f"{notice.at} {notice.owner}")

    def _troubled(self, raised: Sequence[Raised]) -> frozenset[str]:
        """Relays that this is about."""
        keys = [one.alert.key for one in raised if one.alert.key.kind in _WAY]
        relays = {key.name for key in keys if key.scope is AlertScope.RELAY}
        boxes = {key.mailbox_id for key in keys if key.mailbox_id is not None}
        relays |= {relay for box in boxes if (relay := self._mail.relay_of(box)) is not None}
        return frozenset(relays)

    def _has_room(self, owner: str, now: int) -> bool:
        told = self._told[owner]
        return len(told) < MAILS_AN_HOUR or now - told[0] >= _HOUR
