"""All parts of a running daemon, joined over an open store."""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from postroom import __version__
from postroom.api.parts import Bounds, Parts
from postroom.api.tasks import Kept
from postroom.config.settings import Settings
from postroom.core.instant import MINUTE, Instant, Moment
from postroom.core.world import Host
from postroom.ops.bells import CommitBells
from postroom.ops.chronicle import Chronicle
from postroom.ops.clocktrust import ClockTrust
from postroom.ops.depth import Depth, Settled
from postroom.ops.descriptors import Shares, take_descriptors
from postroom.ops.host import find_host_name, find_machine_name
from postroom.ops.lastminute import LastMinute
from postroom.ops.signals import Signals
from postroom.ops.sockets import find_peer
from postroom.ops.tokenkeys import KeyRing, open_keys
from postroom.outbound.attempt import Attempts
from postroom.outbound.backlog import Backlog
from postroom.outbound.compose import SpoolComposer, StoredMessages
from postroom.outbound.dispatch import Dispatcher
from postroom.outbound.flight import Flights
from postroom.outbound.judge import Judge
from postroom.outbound.pool import Pool
from postroom.outbound.staging import SpoolStaging, StagingParts
from postroom.outbound.submit import JobSubmitter, SubmitParts
from postroom.ports.host import Clock
from postroom.service.absent import AbsentKeeper
from postroom.service.account import LoopAccount, ToldIntake
from postroom.service.alerting import AlertKeeper
from postroom.service.alerttelling import AlertTeller
from postroom.service.backups import DaemonBackups
from postroom.service.current import Current
from postroom.service.digesting import DigestKeeper, Letters
from postroom.service.doubting import DoubtKeeper
from postroom.service.figures import Counts, SignalsView
from postroom.service.files import Files
from postroom.service.holding import HoldKeeper
from postroom.service.inward import Inward, join_inward
from postroom.service.leasing import LeaseKeeper
from postroom.service.live import Live
from postroom.service.ownermail import OwnerMail
from postroom.service.reloading import Reloader, ReloadParts, served, signing
from postroom.service.sampling import SampleParts, Sampler
from postroom.service.tools import Tools
from postroom.service.views import LoopView
from postroom.service.way import Way
from postroom.store.sqlite.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Joined:
    """What the daemon's life needs of its parts."""

    api: Parts
    dispatcher: Dispatcher
    staging: SpoolStaging
    signals: Signals
    way: Way
    keeper: LeaseKeeper
    doubts: DoubtKeeper
    inward: Inward | None
    current: Current
    reloads: Reloader
    absent: AbsentKeeper
    holds: HoldKeeper
    backups: DaemonBackups
    trust: ClockTrust
    alerts: AlertKeeper
    digests: DigestKeeper


async def find_keys(settings: Settings, tools: Tools, outbox: Outbox) -> KeyRing:
    """The keys of reply addresses; none where no mail comes in.

    Raises: StateRefused.
    """
    if settings.listener is None:
        return KeyRing((), frozenset())
    return await open_keys(
        settings.tokens,
        settings.daemon.state_dir,
        outbox.inbox,
        tools.entropy,
        tools.clock.now(),
        accepts_lost=tools.accepts_lost_keys,
    )


async def join(
    settings: Settings,
    tools: Tools,
    outbox: Outbox,
    files: Files,
    ring: KeyRing,
    group: asyncio.TaskGroup,
) -> Joined:
    """Build the parts over a recovered store; nothing runs yet.

    `ring` holds the keys of addresses that answers come back to; `group` is for work that outlives its caller.
    """
    clock = tools.clock
    await outbox.admin.hold_missing_mailboxes(frozenset(settings.mailboxes), clock.now())
    depth, mailboxes = Depth(await outbox.reader.count_by_state()), Live(settings.mailboxes)
    settled, signals = Settled(outbox.reader), Signals()
    arrivals, minute = tools.arrivals, LastMinute(clock)
    arrivals.waiting = await outbox.inbox.count_waiting()
    staging = SpoolStaging(
        StagingParts(
            spool=files.spool,
            threads=files.threads,
            reader=outbox.reader,
            admin=outbox.admin,
            clock=clock,
            entropy=tools.entropy,
        )
    )
    composer = SpoolComposer(files.spool, files.threads)
    intake = ToldIntake(outbox.intake, tools.decisions, signals)
    submitter = JobSubmitter(
        SubmitParts(
            intake=intake,
            staging=staging,
            mailboxes=mailboxes,
            clock=clock,
            entropy=tools.entropy,
            depth=depth.depth,
            find_job=outbox.reader.find_job,
            signing=signing(settings, ring),
            domains=served(settings),
            reading=files.threads.texts,
        )
    )
    await _seed_limits(submitter, outbox, clock)
    name = find_host_name()
    way = Way(Host(settings.daemon.slots), lambda relay: Pool(relay, name, tools.timeouts))
    stored = await outbox.loop.load()
    way.switch(settings, stored, Moment(clock.now(), clock.monotonic()))
    account = LoopAccount(tools.decisions, tools.chronicle, signals)
    trust = ClockTrust(clock, outbox.opened.newest_at)
    dispatcher = _dispatcher(tools, outbox, composer, account, way, trust)
    bells, holds = CommitBells(), HoldKeeper(outbox.inbox, clock, tools.chronicle)
    keeper = LeaseKeeper(outbox.leases, clock, tools.chronicle)
    doubts = DoubtKeeper(outbox.doubts, settings.mailboxes, clock, trust, tools.chronicle)
    absent = AbsentKeeper(outbox.admin, mailboxes, clock, tools.chronicle)
    inward = join_inward(settings, tools, outbox, files, ring, group)
    told = (depth, signals, arrivals, minute, dispatcher, settled, account, bells, keeper, doubts)
    for observer in (*told, absent, holds, *(() if inward is None else (inward.intake,))):
        outbox.database.watch(observer)
    mail = OwnerMail(
        submitter, outbox.intake, way.worlds, depth, tools.chronicle, outbox.opened.instance_id
    )
    sampled = SampleParts(
        reader=outbox.reader,
        leases=outbox.leases,
        depth=depth,
        signals=signals,
        worlds=way.worlds,
        space=outbox.space,
        trust=trust,
        clock=clock,
    )
    alerts = await _alerts(tools, outbox, Sampler(sampled), mail)
    digests = DigestKeeper(
        outbox.digests,
        Letters(mail, find_machine_name),
        settings.digest.at,
        clock,
        trust,
        tools.chronicle,
    )
    current = Current(settings, ring)
    reloads = Reloader(
        ReloadParts(
            tools=tools,
            outbox=outbox,
            current=current,
            mailboxes=mailboxes,
            way=way,
            dispatcher=dispatcher,
            submitter=submitter,
            doubts=doubts,
            absent=absent,
            digests=digests,
            inward=inward,
        )
    )
    backups = DaemonBackups(settings.daemon.state_dir, clock, tools.chronicle)
    counts = Counts(
        depth, signals, arrivals, minute, inward.listener if inward else None, alerts.raised
    )
    parts = Parts(
        submitter=submitter,
        reader=outbox.reader,
        admin=outbox.admin,
        leases=outbox.leases,
        bells=bells,
        conversations=outbox.conversations,
        uploads=staging,
        backups=backups,
        reloads=reloads,
        loop=LoopView(outbox.reader, dispatcher, settled, way.worlds, clock, trust.believed_at),
        signals=SignalsView(outbox, counts, way, clock),
        messages=StoredMessages(outbox.reader, composer, clock),
        mailboxes=mailboxes,
        clock=clock,
        trust=trust,
        is_operator=_is_operator,
        kept=Kept(group),
        principal=_principal_of(tools.chronicle),
        on_fault=tools.chronicle.request_failed,
        on_store_refused=tools.chronicle.store_refused,
        on_crowded=partial(tools.chronicle.peer_refused, reason="all connections are at work"),
        on_accepted=intake.tell,
        version=__version__,
        bounds=_bounds(tools.bounds, take_descriptors()),
    )
    return Joined(
        parts,
        dispatcher,
        staging,
        signals,
        way,
        keeper,
        doubts,
        inward,
        current,
        reloads,
        absent,
        holds,
        backups,
        trust,
        alerts,
        digests,
    )


async def _alerts(tools: Tools, outbox: Outbox, sampler: Sampler, mail: OwnerMail) -> AlertKeeper:
    """The keeper of alerts, with what the last run left raised."""
    teller = AlertTeller(mail, tools.clock, find_machine_name)
    keeper = AlertKeeper(outbox.alerts, sampler, teller, tools.clock, tools.chronicle)
    keeper.restore(await outbox.alerts.find_raised())
    return keeper


async def _seed_limits(submitter: JobSubmitter, outbox: Outbox, clock: Clock) -> None:
    """What was accepted within the hour counts after a restart too."""
    accepted = await outbox.reader.count_accepted(Instant(clock.now() - 60 * MINUTE))
    for mailbox_id, minutes in accepted.items():
        submitter.room.seed(mailbox_id, minutes)


def _dispatcher(
    tools: Tools,
    outbox: Outbox,
    composer: SpoolComposer,
    account: LoopAccount,
    way: Way,
    trust: ClockTrust,
) -> Dispatcher:
    clock = tools.clock
    judge = Judge(account, clock, tools.entropy)
    attempts = Attempts(outbox.loop, composer, Backlog(clock), clock)
    flights = Flights(outbox.loop, attempts, way.pools, judge, account, clock)
    dispatcher = Dispatcher(outbox.loop, way.worlds, way.host, flights, account, clock)
    dispatcher.mind(trust.believed_at)
    return dispatcher


def _bounds(bounds: Bounds, shares: Shares) -> Bounds:
    """As many connections as there are descriptors for."""
    return replace(bounds, connections=min(bounds.connections, shares.api))


def _is_operator(uid: int) -> bool:
    """Root, and the user that the daemon runs as: they can read its files anyway."""
    return uid in {0, os.geteuid()}


def _principal_of(chronicle: Chronicle) -> Callable[[socket.socket], int | None]:
    """Reads the uid at the other end; who has none that counts is refused, and that is told."""

    def principal(connection: socket.socket) -> int | None:
        peer = find_peer(connection)
        if peer is None:
            chronicle.peer_refused(None, "its user can not be told")
            return None
        return peer.uid

    return principal
