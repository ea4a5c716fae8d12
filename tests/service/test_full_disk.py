"""A disk without room, seen from outside: what is refused, what is told, and that it ends."""

from pathlib import Path

import aiohttp
import pytest

from postroom.core.alert import AlertKind, Cause
from postroom.store.sqlite.space import Inodes
from support.post import FREE, open_post, setting, settings
from support.relay import ScriptedRelay


JOB = {"mailbox_id": "support", "to": ["ann@example.com"], "subject": "Hello", "text": "Hello.\n"}


async def test_a_full_disk_is_told_to_whoever_asks_and_in_the_log_and_ends_by_itself(
    tmp_path: Path,
) -> None:
    free = [FREE]
    disk = setting(disk_free=lambda _: free[0])
    path = tmp_path / "api.sock"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port), store=disk) as post,
        post.serve(path),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
    ):

        async def answered(method: str, call: str, **more: object) -> tuple[int, str]:
            async with session.request(method, f"http://localhost{call}", **more) as answer:  # type: ignore[arg-type]
                return answer.status, await answer.text()

        assert (await answered("GET", "/readyz"))[0] == 200
        free[0] = FREE - 1
        await post.run(2)
        status, said = await answered("POST", "/v1/jobs", json=JOB)
        assert (status, "storage_full" in said) == (507, True)
        status, said = await answered("GET", "/readyz")
        assert (status, "the disk is full" in said) == (503, True)
        assert (await answered("GET", "/healthz"))[0] == 200
        assert post.log.getvalue().count("store.refused") == 1
        await answered("POST", "/v1/jobs", json=JOB)
        assert post.log.getvalue().count("store.refused") == 1  # seldom
        free[0] = FREE
        await post.run(2)
        assert (await answered("GET", "/readyz"))[0] == 200
        assert (await answered("POST", "/v1/jobs", json=JOB))[0] == 202


@pytest.mark.parametrize(
    ("inodes", "told", "causes"),
    [
        pytest.param(Inodes(0, 100_000), (0, 1_000), [Cause.FILES], id="no file can be made"),
        pytest.param(Inodes(2_000, 100_000), (2_000, 1_000), [], id="enough are left"),
        pytest.param(Inodes(0, 0), (None, None), [], id="the file system counts none"),
    ],
)
async def test_a_disk_without_room_for_files_is_told_by_figures_and_an_alert(
    tmp_path: Path, inodes: Inodes, told: tuple[int | None, int | None], causes: list[Cause]
) -> None:
    looks = 0

    def look(_: Path) -> Inodes:
        nonlocal looks
        looks += 1
        return inodes

    disk = setting(min_free_bytes=1 << 20, disk_inodes=look)
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port), store=disk) as post,
    ):
        keeper = post.loop.get_loop().create_task(post.joined.alerts.run())
        try:
            await post.pass_until(
                lambda: bool(post.joined.alerts.raised()) if causes else looks > 8, step=15
            )
        finally:
            keeper.cancel()
        stats = await post.joined.api.signals.stats()
        assert (stats.store.files_free, stats.store.files_kept) == told
        alerts = [one.alert for one in stats.alerts if one.alert.key.kind is AlertKind.DISK_LOW]
        assert [one.cause for one in alerts] == causes
        is_counted = "\npostroom_disk_free_files " in await post.joined.api.signals.metrics_text()
        assert is_counted == (told[0] is not None)
