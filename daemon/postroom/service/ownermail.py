"""Mail of the daemon to the owners of mailboxes: ordinary jobs of its own, through a mailbox whose way out is well.

The mailbox that it is about comes first, then the owner's others, then any; one that is not well is taken only where
there is no other: then the mail waits there with the rest. Not well is a mailbox that is paused or stopped, whose relay
is in trouble or answered its latest mail amiss, or that has deliveries in doubt: the mail could end there too. It is
high, so that a queue does not hold it up. Its idempotency keys can not be guessed: a job that somebody handed in under
one would pass for a mail that was posted.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from postroom.core.address import read_address
from postroom.core.addresslist import may_write_to
from postroom.core.delivery import DeliveryState
from postroom.core.fingerprint import key_hash
from postroom.core.job import Address
from postroom.core.letter import Letter
from postroom.core.world import World
from postroom.ops.chronicle import Chronicle
from postroom.ops.depth import Depth
from postroom.ports.outbox import Intake
from postroom.ports.submitting import RefusalCode, Refused, Submitter


@dataclass(frozen=True, slots=True)
class Posting:
    """A letter, whom it goes to, under which idempotency key, what it is about, and relays that it had better not take."""

    letter: Letter
    owner: str
    key: str
    about: frozenset[str] = frozenset()
    avoid: frozenset[str] = frozenset()


_NO_WAY: Final = "No mailbox may write to this owner."


class OwnerMail:
    """Hands letters in. `secret` is the store's own, the same over restarts."""

    def __init__(
        self,
        submitter: Submitter,
        intake: Intake,
        worlds: Mapping[str, World],
        depth: Depth,
        chronicle: Chronicle,
        secret: str,
    ) -> None:
        self._submitter = submitter
        self._intake = intake
        self._worlds = worlds
        self._depth = depth
        self._chronicle = chronicle
        self._secret = secret

    def key(self, kind: str, about: str) -> str:
        """The idempotency key of a letter: the same for the same, also after a restart."""
        digest = sha256(f"{self._secret} {about}".encode()).hexdigest()
        return f"postroom-{kind}-{digest[:32]}"

    @property
    def owners(self) -> tuple[str, ...]:
        """Everybody who owns a mailbox, once."""
        return tuple(sorted(set(self.owned().values())))

    def owned(self) -> dict[str, str]:
        """Mailboxes that have an owner, and who that is."""
        boxes = {id_: world.mailbox.mailbox.owner for id_, world in self._worlds.items()}
        return {id_: owner for id_, owner in boxes.items() if owner is not None}

    def boxes_of(self, relay_id: str) -> Iterator[str]:
        """The mailboxes of a relay."""
        return (id_ for id_, world in self._worlds.items() if world.relay.relay.id == relay_id)

    def owner_of(self, mailbox_id: str) -> str | None:
        """Who is told of this mailbox."""
        world = self._worlds.get(mailbox_id)
        return None if world is None else world.mailbox.mailbox.owner

    def relay_of(self, mailbox_id: str) -> str | None:
        """Which relay it goes through."""
        world = self._worlds.get(mailbox_id)
        return None if world is None else world.relay.relay.id

    async def is_posted(self, key: str) -> bool:
        """Whether any mailbox has a job under this key."""
        hashed = key_hash(key)
        for mailbox_id in self._worlds:
            if await self._intake.find_key(mailbox_id, hashed) is not None:
                return True
        return False

    async def post(self, posting: Posting) -> bool:
        """Hand it in once; whether a mailbox took it, now or before. Raises: StoreError."""
        detail = _NO_WAY
        for mailbox_id in self._carriers(posting):
            made = await self._submitter.submit(_job(posting, mailbox_id), os.geteuid())
            if not isinstance(made, Refused) or made.code is RefusalCode.IDEMPOTENCY_KEY_REUSE:
                return True
            detail = made.detail
        self._chronicle.owner_untold(posting.key, detail)
        return False

    def _carriers(self, posting: Posting) -> list[str]:
        """Mailboxes that may write to the owner, the best first."""
        owner = read_address(posting.owner)
        if not isinstance(owner, Address):
            return []
        counts = self._depth.counts()
        in_doubt = {box for box, _, state in counts if state is DeliveryState.UNCERTAIN}
        fitting = [id_ for id_, world in self._worlds.items() if _may_carry(world, owner)]
        return sorted(fitting, key=lambda id_: (*self._rank(id_, posting, in_doubt), id_))

    def _rank(self, mailbox_id: str, posting: Posting, in_doubt: set[str]) -> tuple[bool, ...]:
        world = self._worlds[mailbox_id]
        mailbox = world.mailbox.mailbox
        return (
            mailbox_id in in_doubt or not _is_well(world, posting.avoid),
            mailbox.divert_to is not None,
            mailbox_id not in posting.about,
            mailbox.owner != posting.owner,
        )


def _may_carry(world: World, owner: Address) -> bool:
    mailbox = world.mailbox.mailbox
    return may_write_to(owner, allow=mailbox.recipients_allow, deny=mailbox.recipients_deny)


def _is_well(world: World, avoid: Collection[str]) -> bool:
    relay = world.relay.breaker
    is_free = world.mailbox.breaker.is_closed and relay.is_closed and not relay.faults_in_row
    return is_free and world.mailbox.paused_by is None and world.relay.relay.id not in avoid


def _job(posting: Posting, mailbox_id: str) -> dict[str, object]:
    return {
        "mailbox_id": mailbox_id,
        "to": [posting.owner],
        "subject": posting.letter.subject,
        "text": posting.letter.text,
        "priority": "high",
        "auto_submitted": "auto-generated",
        "idempotency_key": posting.key,
        "trace_id": posting.key,
    }
