"""The way in, joined over an open store: keys, addresses, parser processes, intake, listener."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from postroom.config.settings import Settings
from postroom.core.inaddress import AddressBook
from postroom.core.listening import Listening
from postroom.core.refusal import Wanted
from postroom.inbound.filing import Filing
from postroom.inbound.intake import Intake, IntakeMailbox, IntakeParts
from postroom.inbound.limits import Limits
from postroom.inbound.listener import Listener
from postroom.inbound.nursery import Nursery
from postroom.inbound.parts import Parts
from postroom.inbound.rawfiles import RawFiles
from postroom.inbound.verify.authresults import Servers
from postroom.inbound.verify.resolver import DnsResolver
from postroom.inbound.verify.verifier import MailVerifier
from postroom.ops.chronicle import Chronicle
from postroom.ops.descriptors import Shares, take_descriptors
from postroom.ops.inwardsignals import InwardSignals
from postroom.ops.tokenkeys import KeyRing
from postroom.ports.arriving import Doubled, Publication, PublishResult
from postroom.ports.errors import StoreError
from postroom.ports.host import Clock
from postroom.service.files import Files
from postroom.service.live import Live
from postroom.service.tools import Tools
from postroom.store.sqlite.outbox import Outbox


_PARSERS: Final = 2  # processes: as many as the cores of a small machine


class IntakeTold:
    """Implements ports.inbox.IntakeAccount."""

    def __init__(self, chronicle: Chronicle, signals: InwardSignals) -> None:
        self._chronicle = chronicle
        self._signals = signals

    def published(self, publication: Publication, result: PublishResult) -> None:
        """A message is an event now, or was one before."""
        self._signals.published(publication, result)
        if isinstance(result, Doubled):
            self._chronicle.mail_doubled(
                publication.received.number, publication.mailbox_id, result.seq
            )
        else:
            self._chronicle.mail_published(
                publication.received.number, publication.mailbox_id, result
            )

    def mail_set_aside(self, number: int, error: Exception) -> None:
        """It stays stored, unpublished."""
        self._signals.set_aside += 1
        self._chronicle.mail_set_aside(number, error)

    def verifier_failed(self, error: Exception) -> None:
        """A fault of ours, not of the mail."""
        self._chronicle.request_failed("verify", error)

    def store_refused(self, error: StoreError) -> None:
        """The store takes nothing at the moment."""
        self._chronicle.store_refused(error)


@dataclass(frozen=True, slots=True)
class Inward:
    """The way in at work. `sockets` are listening sockets that systemd handed over."""

    intake: Intake
    listener: Listener
    nursery: Nursery
    verifier: MailVerifier
    filing: Filing
    sockets: Sequence[socket.socket]
    book: AddressBook
    mailboxes: Live[IntakeMailbox]
    clock: Clock

    def switch(
        self,
        settings: Settings,
        listening: Listening,
        ring: KeyRing,
        context: ssl.SSLContext | None,
    ) -> None:
        """Go on with these settings, in one step; it listens where it did."""
        if listening.resolvers != self.listener.parts.settings.resolvers:
            self.verifier.ask_at(_resolver(listening, self.clock))
        self.verifier.trust(_servers(listening))
        self.book.become(_book(settings, listening, ring))
        self.mailboxes.become(_of_intake(settings))
        self.listener.switch(listening, context)

    def know(self, settings: Settings) -> None:
        """Go on as it is with these mailboxes, where how it listens waits for a restart."""
        self.book.know(settings.mailboxes)
        self.mailboxes.become(_of_intake(settings))

    async def start(self) -> None:
        """Take mail. Raises: ConfigError, AlreadyRunning where an address can not be listened on."""
        await self.listener.start(self.sockets)

    async def close(self) -> None:
        """Hang up and end the parsers; what is received stays so until the next start."""
        await self.listener.close()
        await self.nursery.close()
        self.verifier.close()


def join_inward(
    settings: Settings,
    tools: Tools,
    outbox: Outbox,
    files: Files,
    ring: KeyRing,
    group: asyncio.TaskGroup,
) -> Inward | None:
    """Build it; None where the settings have no listener. `group` is for commits that outlive their client."""
    listening = settings.listener
    if listening is None:
        return None
    book = _book(settings, listening, ring)
    mailboxes = Live(_of_intake(settings))
    nursery = Nursery(_PARSERS)
    verifier = MailVerifier(_resolver(listening, tools.clock), tools.clock, _servers(listening))
    filing = Filing(
        root=Path(settings.daemon.state_dir) / "parsing",
        spool=files.spool,
        files=files.mails,
        clock=tools.clock,
        entropy=tools.entropy,
    )
    filing.open()
    intake = Intake(
        IntakeParts(
            inbox=outbox.inbox,
            parse=nursery.parse,
            filing=filing,
            tokens=book,
            mailboxes=mailboxes,
            account=IntakeTold(tools.chronicle, tools.arrivals),
            clock=tools.clock,
            verifier=verifier,
            at_once=_PARSERS,
        )
    )
    parts = Parts(
        settings=listening,
        book=book,
        inbox=outbox.inbox,
        raws=RawFiles(files.spool, files.mails),
        clock=tools.clock,
        chronicle=tools.chronicle,
        refused=tools.arrivals.refused,
        limits=_limits(tools.limits, take_descriptors()),
    )
    return Inward(
        intake=intake,
        listener=Listener(parts, group),
        nursery=nursery,
        verifier=verifier,
        filing=filing,
        sockets=tools.smtp_sockets,
        book=book,
        mailboxes=mailboxes,
        clock=tools.clock,
    )


def _book(settings: Settings, listening: Listening, ring: KeyRing) -> AddressBook:
    return AddressBook(
        settings.mailboxes, listening.domains, listening.postmaster, ring.keys, ring.lost_ids
    )


def _of_intake(settings: Settings) -> dict[str, IntakeMailbox]:
    return {
        box.id: IntakeMailbox(box.address, Wanted(box.accept_new, box.require))
        for box in settings.mailboxes.values()
    }


def _limits(limits: Limits, shares: Shares) -> Limits:
    """As many clients as there are descriptors for."""
    connections = min(limits.connections, shares.listener)
    kept = min(limits.kept_for_others, connections // 2)
    return replace(limits, connections=connections, kept_for_others=kept)


def _resolver(listening: Listening, clock: Clock) -> DnsResolver:
    servers = [(one.host, one.port) for one in listening.resolvers]
    return DnsResolver(clock, servers or None)


def _servers(listening: Listening) -> Servers:
    return Servers(frozenset({listening.hostname}), frozenset(listening.trusted_authserv_ids))
