"""A host that has no files or memory left for a while: nothing is given up for that, and nobody is told a lie."""

import errno
import os
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.core.reason import ReasonCode
from postroom.ports.errors import StoreUnavailable
from support.post import open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold


class Short:
    """The module os of a process that may open no more."""

    def __init__(self, code: int) -> None:
        self._code = code

    def open(self, *_: object, **__: object) -> int:
        raise OSError(self._code, os.strerror(self._code))

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize("stage", ["connect", "mail"])
@pytest.mark.parametrize("kind", ["copied", "pinned"])
async def test_a_file_that_can_not_be_opened_for_want_of_resources_is_no_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, stage: str, kind: str
) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n1,100\n")
    attachment = {"path": str(report), "pin": kind == "pinned"}
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        hold = Hold()
        relay.on("mail", hold, Default(), times=1)
        later = format_instant(Instant(post.clock.now() + 60 * SECOND))
        job = await post.submit(to=["ann@example.com"], attachments=[attachment], send_at=later)
        with monkeypatch.context() as patched:
            if stage == "mail":
                post.clock.advance(61)
                await post.until(lambda: bool(relay.connections and relay.connections[0].commands))
            patched.setattr("postroom.outbound.compose.os", Short(code))
            hold.release()
            await post.run(61)
            waiting = await post.only(job)
            assert waiting.state is DeliveryState.RETRY_SCHEDULED
            assert waiting.reason_code is ReasonCode.STORE_UNAVAILABLE
            assert waiting.attempts == 0
        await post.run(11)
        assert await post.states(job) == {"ann@example.com": "sent"}
        assert relay.copies("ann@example.com") == 1


async def test_a_job_with_a_file_is_asked_for_again_when_the_host_has_no_files_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n1,100\n")
    job = {"to": ["ann@example.com"], "attachments": [{"path": str(report)}]}
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        with monkeypatch.context() as patched:
            patched.setattr("postroom.outbound.beneath.os", Short(errno.EMFILE))
            with pytest.raises(StoreUnavailable):
                await post.hand_in(**job)
        await post.submit(**job)
