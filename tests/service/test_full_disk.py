"""A disk without room, seen from outside: what is refused, what is told, and that it ends."""

from pathlib import Path

import aiohttp

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
