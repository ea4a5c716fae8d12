"""The daemon's life: open and recover the store, join the parts, answer, deliver, drain, close.

Order matters: recovery comes before READY and before the socket answers; the lock on the state directory before the
socket; at the end the API first, then what is under way, then the relays, then the store.
"""

import asyncio
import os
import signal
from datetime import timedelta
from functools import partial
from typing import Final

from postroom import __version__
from postroom.api.scraping import ScrapeServer
from postroom.api.server import ApiServer
from postroom.config.settings import Settings
from postroom.core.instant import SECOND
from postroom.ops.heartbeat import Heartbeat
from postroom.ops.looplag import LoopWatch
from postroom.ops.sockets import OwnSocket, bind_loopback, bind_own_socket
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.reloading import Draining
from postroom.service.files import Files
from postroom.service.housekeeping import Housekeeping
from postroom.service.joined import Joined, find_keys, join
from postroom.service.tools import Tools
from postroom.store.sqlite.opening import OpeningRules
from postroom.store.sqlite.outbox import Outbox


_STDERR: Final = 2
_STOPS: Final = (signal.SIGTERM, signal.SIGINT)
_IGNORED: Final = (signal.SIGUSR1, signal.SIGUSR2)
SIGNALS: Final = (*_STOPS, *_IGNORED, signal.SIGHUP)  # that the daemon hears
_LAST_WORDS: Final = timedelta(seconds=5)  # for what was interrupted to be stored
_GUESTS: Final = timedelta(seconds=5)  # for mail that is just coming in
_NOTICE: Final = timedelta(seconds=10)  # a drain that goes on tells systemd this often


class Daemon:
    """One run."""

    def __init__(self, settings: Settings, tools: Tools, rules: OpeningRules) -> None:
        self._settings = settings
        self._tools = tools
        self._rules = rules
        self._stop = asyncio.Event()
        self._hung_up = asyncio.Event()

    async def serve(self) -> None:
        """Run until a signal says stop. Raises PostroomError when it can not start or not go on."""
        began = self._tools.clock.monotonic()
        settings = self._settings
        self._tools.chronicle.starting(
            __version__, os.getpid(), settings.daemon.state_dir, len(settings.mailboxes)
        )
        self._listen_to_signals()
        try:
            await self._serve(began)
        finally:
            self._turn_deaf()

    async def _serve(self, began: int) -> None:
        settings, tools = self._settings, self._tools
        state_dir = settings.daemon.state_dir
        files = Files(state_dir, tools.clock)
        async with tools.open_outbox(
            state_dir, tools.clock, tools.entropy, files.spool.has, self._rules
        ) as outbox:
            tools.chronicle.recovered(outbox.opened.recovered)
            if outbox.opened.restored is not None:
                tools.chronicle.store_restored(outbox.opened.restored)
            for warning in outbox.warnings:
                tools.chronicle.store_warned(warning)
            with files.opened(outbox.space):
                ring = await find_keys(settings, tools, outbox)
                async with asyncio.TaskGroup() as group:
                    joined = await join(settings, tools, outbox, files, ring, group)
                    await self._live(outbox, joined, group, began)

    def _listen_to_signals(self) -> None:
        """No signal that people and tools send may end the daemon unasked, and leave doubt behind.

        A terminal that hangs up stops what it started; without one SIGHUP means "reload". What came earlier is heard
        now, and obeyed when the daemon is ready.
        """
        loop = asyncio.get_running_loop()
        for number in _STOPS:
            loop.add_signal_handler(number, self._stop.set)
        for number in _IGNORED:
            loop.add_signal_handler(number, self._tools.chronicle.signal_ignored, number.name)
        reload = self._stop if os.isatty(_STDERR) else self._hung_up
        loop.add_signal_handler(signal.SIGHUP, reload.set)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _turn_deaf(self) -> None:
        """It is over: the loop would give signals back to the kernel, which makes another end of a clean one."""
        loop = asyncio.get_running_loop()
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for number in SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    async def _live(
        self, outbox: Outbox, joined: Joined, group: asyncio.TaskGroup, began: int
    ) -> None:
        tools = self._tools
        server = ApiServer(joined.api)
        scrapes: ScrapeServer | None = None
        own = self._bind()
        helpers = [
            group.create_task(self._fail_with(outbox)),
            group.create_task(self._heartbeat(outbox, joined).run()),
            group.create_task(self._watch_loop(outbox, joined).run()),
            group.create_task(self._housekeeping(outbox, joined).run()),
            group.create_task(joined.keeper.run()),
            group.create_task(joined.doubts.run()),
            group.create_task(joined.alerts.run()),
            group.create_task(joined.digests.run()),
            group.create_task(joined.absent.run()),
            group.create_task(joined.holds.run()),
        ]
        loop = group.create_task(joined.dispatcher.run())
        if joined.inward is not None:
            helpers.append(group.create_task(joined.inward.intake.run()))
        try:
            scrapes = await self._open_scrapes(joined)
            if joined.inward is not None:
                await joined.inward.start()
            await server.start(tools.sockets or (own.socket,) if own else tools.sockets)
            took = timedelta(microseconds=tools.clock.monotonic() - began)
            tools.supervisor.ready(f"{len(self._settings.mailboxes)} mailboxes")
            tools.chronicle.ready(took)
            helpers.append(group.create_task(self._reload_when_told(joined)))
            await self._stop.wait()
            await self._drain(server, joined, loop)
        finally:
            await server.close()
            for helper in helpers:
                helper.cancel()
            if joined.inward is not None:
                await joined.inward.close()
            await joined.way.close()
            if scrapes is not None:
                await scrapes.close()
            if own is not None:
                own.remove()

    async def _open_scrapes(self, joined: Joined) -> ScrapeServer | None:
        metrics, chronicle = self._settings.metrics, self._tools.chronicle
        if metrics is None:
            return None
        listening = bind_loopback(metrics.listen.host, metrics.listen.port)
        server = ScrapeServer(joined.api, metrics.token, partial(chronicle.peer_refused, None))
        await server.start(listening)
        return server

    def _bind(self) -> OwnSocket | None:
        if self._tools.sockets:
            return None
        api = self._settings.api
        return bind_own_socket(api.socket, api.mode, api.group)

    async def _drain(self, server: ApiServer, joined: Joined, loop: asyncio.Task[None]) -> None:
        """Take nothing more, let what is under way end, interrupt what has not ended in time."""
        joined.reloads.close()
        tools, limit = self._tools, joined.current.settings.daemon.drain
        began = tools.clock.monotonic()
        tools.supervisor.stopping("draining")
        tools.chronicle.draining("signal", joined.way.under_way, limit)
        await server.drain()
        joined.dispatcher.drain()
        if joined.inward is not None:
            await joined.inward.listener.drain(_GUESTS.total_seconds())
        end = began + limit.total_seconds() * SECOND
        while not loop.done() and (left := end - tools.clock.monotonic()) > 0:
            tools.supervisor.extend(_NOTICE + _LAST_WORDS)
            await asyncio.wait([loop], timeout=min(left / SECOND, _NOTICE.total_seconds()))
        left_under_way = joined.way.under_way
        if not loop.done():
            joined.dispatcher.interrupt()
            await asyncio.wait([loop], timeout=_LAST_WORDS.total_seconds())
            loop.cancel()
        took = timedelta(microseconds=tools.clock.monotonic() - began)
        tools.chronicle.stopped(left_under_way, took)

    async def _reload_when_told(self, joined: Joined) -> None:
        """SIGHUP: what comes of it stands in the log. Several at once are one."""
        name = signal.SIGHUP.name
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            try:
                told = await joined.reloads.reload(name, is_dry_run=False)
                if isinstance(told, Draining):
                    self._tools.chronicle.signal_ignored(name)
            except StoreBroken:
                raise
            except StoreError as error:
                self._tools.chronicle.store_refused(error)

    def _heartbeat(self, outbox: Outbox, joined: Joined) -> Heartbeat:
        async def is_well() -> bool:
            await outbox.database.probe()
            return True

        return Heartbeat(
            self._tools.clock,
            self._tools.supervisor,
            is_well=is_well,
            on_lag=joined.signals.loop_lagged,
            on_withheld=self._tools.chronicle.watchdog_withheld,
        )

    def _watch_loop(self, outbox: Outbox, joined: Joined) -> LoopWatch:
        watch = LoopWatch(self._tools.clock, joined.signals.loop_lagged)
        outbox.database.watch(watch)
        return watch

    def _housekeeping(self, outbox: Outbox, joined: Joined) -> Housekeeping:
        return Housekeeping(self._tools, outbox, joined)

    async def _fail_with(self, outbox: Outbox) -> None:
        """End the daemon when the store can not be trusted any more."""
        why = await outbox.database.wait_broken()
        message = f"the store can not be written any more: {why}"
        raise StoreBroken(message)
