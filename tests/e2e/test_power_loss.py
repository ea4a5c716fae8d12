"""Power that fails at any moment (HAZARDS §1.1): what was answered is there, and nothing is there by half.

SQLite's own files are cut where a disk may have stopped: the log at every frame behind the last one that a COMMIT
synced, in the middle of it, with a hole, with rubbish; the database at every page while the log is copied into it.
Our own files are looked at through a model of what a disk keeps (support.power).
Known limits: that a COMMIT has synced when it returns is SQLite's word (`synchronous=FULL`, which is read back).
"""

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.listening import TokenRules
from postroom.ops.spool import Spool
from postroom.ops.tokenkeys import FILE, open_keys
from postroom.store.sqlite.state_dir import make_file, make_private
from support.clock import CountedEntropy, FakeClock
from support.inward import LISTENER, TEMPLATES, answer_to, free_port, mail_to, reply_to
from support.post import open_post, setting, settings
from support.power import PowerCuts
from support.relay import ScriptedRelay
from support.relay_script import Reply
from support.store_host import NOON, Faults, outbox_at, outbox_in


WHO = "alice@customer.example"
HEADER, FRAME_HEADER = 32, 24  # of a write-ahead log, sqlite.org/walformat.html


@dataclass
class Moments:
    """After each COMMIT: how long the log is, what the store holds, what the relay has."""

    path: Path
    relay: ScriptedRelay
    sizes: list[int] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    is_over: bool = False

    def faults(self) -> Faults:
        return Faults(after=self._committed)

    def _committed(self, conn: sqlite3.Connection, sql: str) -> None:
        if sql == "COMMIT" and not self.is_over:
            self.sizes.append(self.path.with_name("postroom.db-wal").stat().st_size)
            self.holds.append(held_in(self.path))
            self.copies.append(self.relay.copies(WHO))


def held_in(path: Path) -> str:
    """All that a database holds, in a few letters."""
    with closing(sqlite3.connect(path)) as conn:
        return hashlib.sha256("\n".join(conn.iterdump()).encode()).hexdigest()


@dataclass
class Recorded:
    """A life of a store: its files as they lay, and its moments."""

    database: bytes
    log: bytes
    moments: Moments

    @property
    def frame(self) -> int:
        return FRAME_HEADER + int.from_bytes(self.log[8:12], "big")


async def record(folder: Path) -> Recorded:
    """A mail goes out at the second try, and an answer to it comes in."""
    port = free_port()
    async with ScriptedRelay() as relay:
        said = settings(folder, relay.port, mailbox=TEMPLATES, more=LISTENER.format(port=port))
        path = said.daemon.state_dir / "postroom.db"
        moments = Moments(path, relay)
        async with open_post(said):
            pass  # the schema is in the file, the log is empty
        database = path.read_bytes()
        store = setting(factory=moments.faults().factory())
        async with open_post(said, store=store) as post:
            relay.on("rcpt", Reply("451 4.3.0 later"), times=1)
            job = await post.submit(to=[WHO], idempotency_key="k")
            await post.quiet()
            await post.run(70)
            assert await post.states(job) == {WHO: "sent"}
            (sent,) = [one for one in relay.transactions if one.is_whole]
            told = await mail_to(port, answer_to(sent, "Yes.", sender=WHO), reply_to(sent))
            assert told.startswith("250")
            await post.until(lambda: len(events_in(path)) > 0)
            await post.quiet()
            assert path.read_bytes() == database, "nothing was copied into the file meanwhile"
            log = path.with_name("postroom.db-wal").read_bytes()
            moments.is_over = True
    return Recorded(database, log, moments)


def events_in(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as conn:
        return conn.execute("SELECT seq FROM event WHERE type = 'reply.received'").fetchall()


def lay(state: Path, database: bytes, log: bytes) -> Path:
    """These files where a store lies."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(mode=0o700)
    (state / "postroom.db").write_bytes(database)
    (state / "postroom.db-wal").write_bytes(log)
    return state / "postroom.db"


def cuts(log: bytes, synced: int, end: int, frame: int) -> Iterator[tuple[str, bytes]]:
    """The log as a disk may have it that had synced so much of it, and was told to write up to `end`."""
    yield "nothing more came", log[:synced]
    for at in range(synced, end, frame):
        yield f"torn behind {at}", log[: at + frame // 2]
        yield f"a hole at {at}", log[:at] + bytes(frame) + log[at + frame : end]
        yield f"rubbish from {at}", log[:at] + b"\xa5" * (end - at)


async def test_whatever_a_disk_made_of_the_log_the_store_is_that_of_the_last_commit(
    tmp_path: Path,
) -> None:
    recorded = await record(tmp_path)
    moments, frame = recorded.moments, recorded.frame
    sizes = moments.sizes
    assert len(sizes) > 10
    assert sizes == sorted(sizes)
    assert all((size - HEADER) % frame == 0 for size in sizes)
    steps = list(zip(sizes, sizes[1:], moments.holds, strict=False))
    assert sizes[-1] == len(recorded.log)
    for synced, end, holds in steps:
        for what, log in cuts(recorded.log, synced, end, frame):
            path = lay(tmp_path / "cut", recorded.database, log)
            assert held_in(path) == holds, what


async def test_a_daemon_that_starts_after_a_power_cut_at_any_commit_knows_what_the_relay_may_have(
    tmp_path: Path,
) -> None:
    recorded = await record(tmp_path)
    moments = recorded.moments
    seen = []
    copies = [*moments.copies[1:], moments.copies[-1]]  # until the next commit
    for synced, at_relay in zip(moments.sizes, copies, strict=True):
        lay(tmp_path / "cut", recorded.database, recorded.log[:synced])
        async with outbox_at(tmp_path / "cut") as outbox:
            found = await outbox.reader.find_job(1)
        if found is None:
            assert at_relay == 0
            continue
        (delivery,) = found.deliveries
        seen.append(str(delivery.state))
        assert at_relay == 0 or delivery.state in ("sent", "uncertain")
    assert list(dict.fromkeys(seen)) == ["pending", "retry_scheduled", "uncertain", "sent"]


async def test_power_that_fails_while_the_log_is_copied_into_the_file_costs_nothing(
    tmp_path: Path,
) -> None:
    recorded = await record(tmp_path)
    holds = recorded.moments.holds[-1]
    path = lay(tmp_path / "whole", recorded.database, recorded.log)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        after = path.read_bytes()
    page, before = recorded.frame - FRAME_HEADER, recorded.database
    changed = [
        at for at in range(0, len(after), page) if after[at : at + page] != before[at : at + page]
    ]
    assert len(changed) > 10
    for at in changed:
        for torn in (at, at + page // 2):
            path = lay(tmp_path / "cut", after[:torn] + before[torn:], recorded.log)
            assert held_in(path) == holds, f"copied up to {torn}"
        holed = after[:at] + bytes(page) + after[at + page :]
        path = lay(tmp_path / "cut", holed, recorded.log)
        assert held_in(path) == holds, f"a hole at {at}"


def test_a_file_of_the_spool_is_whole_or_not_there_and_what_was_kept_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, int] = {}
    with PowerCuts(tmp_path, monkeypatch) as power:
        spool = Spool(tmp_path, FakeClock(), lambda: None)
        spool.open()
        for content in (b"one", b"two" * 100_000, b"one"):
            with spool.incoming() as incoming:
                incoming.write(content)
                sha256 = incoming.keep()
                kept.setdefault(sha256, len(power.images))
    for number, image in enumerate(power.images):
        for found in (image.careful, image.eager):
            whole = {name: found[name] for name in found if not name.startswith("spool/tmp")}
            for name, content in whole.items():
                assert hashlib.sha256(content).hexdigest() == Path(name).name, image.moment
            there = {Path(name).name for name in whole}
            assert there >= {one for one, since in kept.items() if number >= since}, image.moment
    assert len(kept) == 2


async def test_the_key_of_reply_addresses_is_whole_or_not_there_and_is_there_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with outbox_in(tmp_path) as outbox:
        state = tmp_path / "state"
        rules = TokenRules(expiry=timedelta(days=1))
        noted: list[int] = []
        with PowerCuts(state, monkeypatch) as power:
            inbox = Noting(outbox.inbox, lambda: noted.append(len(power.images)))
            await open_keys(rules, state, inbox, CountedEntropy(), NOON, accepts_lost=False)  # type: ignore[arg-type]
    for number, image in enumerate(power.images):
        for found in (image.careful, image.eager):
            assert len(found.get(FILE, bytes(32))) == 32, image.moment
            assert FILE in found or number < noted[0], image.moment


class Noting:
    """An inbox that says when it is told of keys."""

    def __init__(self, inner: object, note: object) -> None:
        self._inner, self._note = inner, note

    async def remember_keys(self, keys: object, *given: object) -> object:
        if keys:
            self._note()  # type: ignore[operator]
        return await self._inner.remember_keys(keys, *given)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


@pytest.mark.parametrize("depth", [1, 3])
def test_a_new_state_directory_is_there_before_anything_is_written_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    state = tmp_path.joinpath(*("deep",) * (depth - 1), "state")
    with PowerCuts(tmp_path, monkeypatch) as power:
        make_private(state)
        make_file(state / "postroom.db")
    name = str(state.relative_to(tmp_path) / "postroom.db")
    assert name in power.images[-1].careful
    assert state.stat().st_mode & 0o777 == 0o700
