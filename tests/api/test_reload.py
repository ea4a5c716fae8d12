"""Reading the settings again, by those who could write them anyway."""

import asyncio
from pathlib import Path

import pytest

from postroom.ports.errors import SettingProblem, StoreUnavailable
from postroom.ports.reloading import ChangeKind, Draining, NotReloaded, Reloaded, SettingChange
from support.api_fakes import FakeReloads
from support.api_server import UID, running
from support.clock import settle


CHANGED = SettingChange("mailbox.new", ChangeKind.ADDED, None, "new@example.com")
WAITS = SettingChange("daemon.state_dir", ChangeKind.CHANGED, "/a", "/b")
DOUBT = SettingProblem("postroom.toml", "listener.postmaster", "is missing.", "Name a mailbox.")
ODD = SettingProblem("mailboxes.d/\udcff\x1b.toml", "", "is \udcff.", "Mend it.")
WRONG = SettingProblem("postroom.toml", "", "is not TOML.", "Mend that line.")


@pytest.mark.parametrize("body", [None, {}, {"dry_run": True}], ids=str)
async def test_what_changed_and_what_waits_is_told(tmp_path: Path, body: object) -> None:
    is_dry_run = bool(body)
    reloads = FakeReloads(Reloaded((CHANGED,), (WAITS,), (DOUBT,), 2))
    async with running(tmp_path, reloads=reloads) as api:
        said = await api.post("/reload", body)
        assert said.status == 200
        assert said.json == {
            "changed": [
                {"path": "mailbox.new", "kind": "added", "before": None, "after": "new@example.com"}
            ],
            "needs_restart": [
                {"path": "daemon.state_dir", "kind": "changed", "before": "/a", "after": "/b"}
            ],
            "warnings": [
                {
                    "file": "postroom.toml",
                    "key": "listener.postmaster",
                    "wrong": "is missing.",
                    "fix": "Name a mailbox.",
                }
            ],
            "mailboxes": 2,
            "dry_run": is_dry_run,
        }
    assert reloads.asked == [(f"uid:{UID}", is_dry_run)]


async def test_settings_that_are_wrong_are_told_with_file_and_key(tmp_path: Path) -> None:
    async with running(tmp_path, reloads=FakeReloads(NotReloaded((DOUBT, WRONG)))) as api:
        said = await api.post("/reload")
        assert (said.status, said.code) == (422, "settings_wrong")
        assert [(one["file"], one["key"]) for one in said.json["problems"]] == [
            ("postroom.toml", "listener.postmaster"),
            ("postroom.toml", ""),
        ]
        assert said.json["retryable"] is False


@pytest.mark.parametrize("told", [NotReloaded((ODD,)), Reloaded((), (), (ODD,), 2)])
async def test_a_file_whose_name_is_no_text_is_named_as_well_as_it_can_be(
    told: Reloaded | NotReloaded, tmp_path: Path
) -> None:
    async with running(tmp_path, reloads=FakeReloads(told)) as api:
        said = await api.post("/reload")
        (fault,) = said.json.get("problems") or said.json["warnings"]
        assert (fault["file"], fault["wrong"]) == ("mailboxes.d/??.toml", "is ?.")


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (Draining(), 503, "draining"),
        (StoreUnavailable("busy"), 503, "store_unavailable"),
        (RuntimeError("a bug"), 500, "internal"),
    ],
    ids=["a stop", "no store", "a bug"],
)
async def test_what_else_can_come_of_it(
    tmp_path: Path, answer: Draining | Exception, status: int, code: str
) -> None:
    async with running(tmp_path, reloads=FakeReloads(answer)) as api:
        said = await api.post("/reload")
        assert (said.status, said.code) == (status, code)


async def test_nobody_else_has_settings_read(tmp_path: Path) -> None:
    reloads = FakeReloads()
    async with running(tmp_path, reloads=reloads, is_operator=lambda uid: False) as api:
        said = await api.post("/reload", {"dry_run": True})
        assert (said.status, said.code) == (403, "not_allowed")
    assert reloads.asked == []


async def test_a_daemon_that_stops_reads_none(tmp_path: Path) -> None:
    reloads = FakeReloads()
    async with running(tmp_path, reloads=reloads) as api:
        api.parts.stopping.set()
        assert (await api.post("/reload")).code == "draining"
    assert reloads.asked == []


async def test_who_hangs_up_does_not_stop_it(tmp_path: Path) -> None:
    class Slow(FakeReloads):
        begun = asyncio.Event()
        go_on = asyncio.Event()
        done = asyncio.Event()

        async def reload(self, by: str, *, is_dry_run: bool) -> Reloaded | NotReloaded | Draining:
            self.begun.set()
            await self.go_on.wait()
            self.done.set()
            return await super().reload(by, is_dry_run=is_dry_run)

    reloads = Slow()
    async with running(tmp_path, reloads=reloads) as api:
        async with api.raw() as (_, writer):
            writer.write(b"POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            await reloads.begun.wait()
        await settle()
        reloads.go_on.set()
        async with asyncio.timeout(5):
            await reloads.done.wait()
