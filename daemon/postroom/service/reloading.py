"""The settings are read again while the daemon runs: read, check, compare, switch, tell.

Rules: whatever is wrong changes nothing. Everything that can fail, or waits for something, comes before the switch; the
switch is one step without an await, so nobody ever sees half of it. What is under way ends as it began. One at a time.
"""

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from postroom.config.changes import Difference, compare, in_force
from postroom.config.settings import Settings
from postroom.core.instant import Moment
from postroom.core.listening import Listening
from postroom.core.mailbox import Mailbox
from postroom.inbound.listener import make_context
from postroom.ops.tokenkeys import KeyRing, check_keys, open_keys
from postroom.outbound.assemble import Signing
from postroom.outbound.dispatch import Dispatcher
from postroom.outbound.submit import JobSubmitter
from postroom.ports.errors import ConfigError, SettingProblem, StateRefused, StoreError
from postroom.ports.looping import LoopState
from postroom.ports.reloading import Draining, NotReloaded, Reloaded
from postroom.service.absent import AbsentKeeper
from postroom.service.current import Current
from postroom.service.digesting import DigestKeeper
from postroom.service.doubting import DoubtKeeper
from postroom.service.inward import Inward
from postroom.service.live import Live
from postroom.service.tools import Tools
from postroom.service.way import Way
from postroom.store.sqlite.outbox import Outbox


@dataclass(frozen=True, slots=True)
class ReloadParts:
    """Whatever goes by the settings. `mailboxes` is the mapping that everybody reads."""

    tools: Tools
    outbox: Outbox
    current: Current
    mailboxes: Live[Mailbox]
    way: Way
    dispatcher: Dispatcher
    submitter: JobSubmitter
    doubts: DoubtKeeper
    absent: AbsentKeeper
    digests: DigestKeeper
    inward: Inward | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was read: the settings to go on with, and how they differ from what was in force.

    `listening` None = there is no way in, or it stays as it is until a restart; `context` is for its STARTTLS.
    """

    settings: Settings
    difference: Difference
    listening: Listening | None
    context: ssl.SSLContext | None


class Reloader:
    """Implements ports.reloading.Reloads."""

    def __init__(self, parts: ReloadParts) -> None:
        self._parts = parts
        self._lock = asyncio.Lock()
        # Of its own: those of the loop may all wait for a name server, when somebody corrects a relay's name.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="settings")
        self._is_closed = False

    def close(self) -> None:
        """The daemon stops: read nothing any more."""
        self._is_closed = True

    async def reload(self, by: str, *, is_dry_run: bool) -> Reloaded | NotReloaded | Draining:
        """Go on with the settings as they are written now, or only say what would change.

        Raises: StoreError: nothing changed.
        """
        async with self._lock:
            if self._is_closed:
                return Draining()
            return await (self._look() if is_dry_run else self._reload(by))

    async def _look(self) -> Reloaded | NotReloaded:
        try:
            plan = await self._read()
            if self._signs_anew(plan):
                await self._check_keys(plan.settings)
        except (ConfigError, StateRefused) as error:
            return NotReloaded(_problems(error))
        return _told(plan)

    async def _reload(self, by: str) -> Reloaded | NotReloaded | Draining:
        tools = self._parts.tools
        began = tools.clock.monotonic()
        tools.supervisor.reloading(began)
        try:
            told = await self._go_on()
        except StoreError as error:
            tools.chronicle.config_refused(by, [str(error)])
            raise
        finally:
            if not self._is_closed:
                tools.supervisor.ready(f"{len(self._parts.mailboxes)} mailboxes")
        if isinstance(told, Reloaded):
            took = timedelta(microseconds=tools.clock.monotonic() - began)
            changed, waits = (
                [one.path for one in each] for each in (told.changed, told.needs_restart)
            )
            tools.chronicle.config_reloaded(by, changed, waits, took)
        elif isinstance(told, NotReloaded):
            tools.chronicle.config_refused(by, [problem.line for problem in told.problems])
        return told

    async def _go_on(self) -> Reloaded | NotReloaded | Draining:
        parts = self._parts
        try:
            plan = await self._read()
            ring = await self._open_keys(plan) if self._signs_anew(plan) else parts.current.ring
        except (ConfigError, StateRefused) as error:
            return NotReloaded(_problems(error))
        stored = await parts.outbox.loop.load()
        now = parts.tools.clock.now()
        # From this commit on nothing leaves for a mailbox that is gone: the mark says no.
        await parts.outbox.admin.note_mailboxes(frozenset(plan.settings.mailboxes), now)
        if self._is_closed:
            return Draining()
        self._switch(plan, ring, stored)
        return _told(plan)

    async def _read(self) -> _Plan:
        """All of it in a thread: a thousand mailboxes take half a second to read and compare. Raises: ConfigError."""
        parts = self._parts
        has_way_in = parts.inward is not None
        read, before = parts.tools.read_settings, parts.current.settings
        work = partial(_plan, read, before, has_way_in=has_way_in)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _signs_anew(self, plan: _Plan) -> bool:
        tokens = self._parts.current.settings.tokens
        return plan.listening is not None and plan.settings.tokens != tokens

    async def _open_keys(self, plan: _Plan) -> KeyRing:
        """Raises: StateRefused."""
        tools, settings = self._parts.tools, plan.settings
        return await open_keys(
            settings.tokens,
            settings.daemon.state_dir,
            self._parts.outbox.inbox,
            tools.entropy,
            tools.clock.now(),
            accepts_lost=tools.accepts_lost_keys,
        )

    async def _check_keys(self, settings: Settings) -> None:
        """Raises: StateRefused."""
        tools, inbox = self._parts.tools, self._parts.outbox.inbox
        if not tools.accepts_lost_keys:
            state_dir = settings.daemon.state_dir
            await check_keys(settings.tokens, state_dir, inbox, tools.clock.now())

    def _switch(self, plan: _Plan, ring: KeyRing, stored: LoopState) -> None:
        """The one step in which everybody goes on with other settings; nothing in it fails or waits."""
        parts, settings = self._parts, plan.settings
        clock, daemon = parts.tools.clock, settings.daemon
        before = frozenset(parts.mailboxes)
        parts.tools.chronicle.log_as(daemon.log_level, daemon.log_format)
        parts.mailboxes.become(settings.mailboxes)
        parts.way.switch(settings, stored, Moment(clock.now(), clock.monotonic()))
        parts.dispatcher.switch(parts.way.worlds)
        parts.submitter.switch(signing(settings, ring), served(settings))
        parts.doubts.switch(settings.mailboxes)
        parts.digests.switch(settings.digest.at)
        if parts.inward is not None and plan.listening is not None:
            parts.inward.switch(settings, plan.listening, ring, plan.context)
        elif parts.inward is not None:
            parts.inward.know(settings)
        parts.current.settings, parts.current.ring = settings, ring
        parts.absent.settle(before ^ frozenset(settings.mailboxes))


def signing(settings: Settings, ring: KeyRing) -> Signing | None:
    """How tokens are made; None where no answers come in."""
    return Signing(ring.keys[0], settings.tokens.expiry) if ring.keys else None


def served(settings: Settings) -> tuple[str, ...]:
    """The domains whose postmaster is one of us."""
    return settings.listener.domains if settings.listener else ()


def _plan(read: Callable[[], Settings], before: Settings, *, has_way_in: bool) -> _Plan:
    found = read()
    listening = found.listener if has_way_in else None
    context = make_context(listening) if listening else None
    return _Plan(in_force(before, found), compare(before, found), listening, context)


def _told(plan: _Plan) -> Reloaded:
    difference, settings = plan.difference, plan.settings
    return Reloaded(
        difference.changed, difference.needs_restart, settings.warnings, len(settings.mailboxes)
    )


def _problems(error: ConfigError | StateRefused) -> tuple[SettingProblem, ...]:
    if isinstance(error, ConfigError):
        return error.problems
    return (SettingProblem("[tokens]", "keys", str(error), ""),)
