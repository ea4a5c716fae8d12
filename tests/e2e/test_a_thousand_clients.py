"""A thousand clients at once, more than there may be and more than there are descriptors for."""

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postroom.inbound.words import Reply
from postroom.ops.descriptors import share
from postroom.selftest.nursery import Nursery
from support.hostile import Rude, Scene, rude, scene
from support.inward import SUPPORT, came_in, mail, mail_to


COUNT = 1000
DESCRIPTORS = 400
SHARES = share(DESCRIPTORS)
ASKED = {
    "idle": b"",
    "half a head": b"GET /v1/jobs HT",
    "streams": b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n",
    "bodies": b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n{",
}


async def _crowd(stack: AsyncExitStack, said: bytes, *where: str | int) -> list[Rude]:
    crowd = []
    for _ in range(COUNT):
        crowd.append(await stack.enter_async_context(rude(*where)))
        await crowd[-1].say(said)
    return crowd


async def _is_served(made: Scene, who: str) -> None:
    """An honest client, that tries again as it is told to."""
    while True:
        try:
            status, told = await made.house.ask("POST", "/jobs", _job(who))
        except OSError:
            continue
        if status == 202:
            break
        assert (status, told["code"], told["retryable"]) == (503, "too_many_connections", True)
    await made.relay.until(lambda: made.relay.copies(who) == 1, 10)


def _job(who: str) -> dict[str, object]:
    return {
        "mailbox_id": "support",
        "to": [who],
        "subject": "s",
        "text": "t",
        "idempotency_key": who,
    }


@pytest.mark.parametrize("kind", ASKED)
async def test_a_thousand_clients_of_the_api_keep_nobody_out(
    kind: str, tmp_path: Path, nursery: Nursery
) -> None:
    bounds = {"body_time": 1, "linger": 0.1}
    async with scene(tmp_path, nursery, descriptors=DESCRIPTORS, bounds=bounds) as made:
        async with AsyncExitStack() as stack:
            crowd = await _crowd(stack, ASKED[kind], str(tmp_path / "api.sock"))
            await _is_served(made, "beside@one.example")
            assert made.count() <= made.descriptors + SHARES.api + 2
            if kind == "streams":
                heard = Counter([await one.status() for one in crowd])
                assert heard[b"200"] == SHARES.api // 2
                # The rest are told, or hung up on without a word where too many came at once (decision 0025).
                assert {b"200", b"503"} <= heard.keys() <= {b"200", b"503", b""}
        await _is_served(made, "after@one.example")
        await made.is_as_before()


async def test_a_thousand_clients_of_the_listener_hear_who_may_stay_and_the_api_goes_on(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with scene(tmp_path, nursery, descriptors=DESCRIPTORS) as made:
        async with AsyncExitStack() as stack:
            crowd = await _crowd(stack, b"", "127.0.0.1", made.port)
            heard = Counter([(await one.hear(b"\r\n"))[:3] for one in crowd])
            # More of them where that took longer than an idle one may stay.
            assert heard[b"220"] >= SHARES.listener - 20
            assert heard[b"421"] == COUNT - heard[b"220"]
            await made.honest("beside@one.example")
            assert made.count() <= made.descriptors + SHARES.listener + 2
        await made.house.until(lambda: made.count() <= made.descriptors)
        assert (await mail_to(made.port, mail("Hi.", Subject="Hi"), SUPPORT)).startswith("250")
        assert len(await came_in(made.house, 2)) == 2
        assert Reply.TOO_BUSY in made.house.log
        await made.is_as_before()
