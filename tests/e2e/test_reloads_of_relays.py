"""Relays that mailboxes change between them, and mail in doubt whose mailbox goes and comes back: every copy is counted."""

from pathlib import Path

import pytest

from postroom.config.settings import Settings
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.ports.desk import Actor, Verdict
from support.post import open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Drop, Hold


QUICK = "retry = { first_s = 1, jitter = 0, cap_s = 1 }"
WHO = "a@example.com"


def box(name: str, port: int) -> str:
    """A mailbox, and the relay of its name at this port."""
    relay = f'[relay.{name}]\nhost = "127.0.0.1"\nport = {port}\ntls = "none"\n'
    return f'{relay}[[mailbox]]\nid = "{name}"\naddress = "{name}@example.com"\nrelay = "{name}"\n{QUICK}\n'


def crossed(folder: Path, ports: tuple[int, int, int]) -> Settings:
    """`left` at the relay of `right`, and the other way round."""
    text = (box("left", ports[1]) + box("right", ports[2])).replace("relay = ", "relay = =")
    swapped = text.replace('= ="left"', '= "right"').replace('= ="right"', '= "left"')
    return settings(folder, ports[0], more=swapped.replace("relay = =", "relay = "))


@pytest.mark.parametrize("stage", ["connect", "mail", "data", "dot"])
async def test_two_mailboxes_that_change_relays_in_one_reload_lose_nothing_and_send_nothing_twice(
    stage: str, tmp_path: Path
) -> None:
    async with ScriptedRelay() as main, ScriptedRelay() as one, ScriptedRelay() as two:
        straight = box("left", one.port) + box("right", two.port)
        async with open_post(settings(tmp_path, main.port, more=straight)) as post:
            holds = {relay: Hold() for relay in (one, two)}
            for relay, hold in holds.items():
                relay.on(stage, hold, Default(), times=1)
            under_way = [
                await post.submit(mailbox_id=name, to=[f"{name}@customer.example"])
                for name in ("left", "right")
            ]
            await post.until(lambda: all(each._rules[stage][0].left == 0 for each in holds))
            crossed(tmp_path, (main.port, one.port, two.port))
            told = await post.reload()
            assert [each.path for each in told.changed] == [
                "mailbox.left.relay",
                "mailbox.right.relay",
            ]
            later = [
                await post.submit(mailbox_id=name, to=[f"later.{name}@customer.example"])
                for name in ("left", "right")
            ]
            for hold in holds.values():
                hold.release()
            await post.quiet()
            for job in (*under_way, *later):
                assert (await post.only(job)).state == "sent"
        for name, first, then in (("left", one, two), ("right", two, one)):
            assert first.copies(f"{name}@customer.example") == 1
            assert then.copies(f"{name}@customer.example") == 0
            assert then.copies(f"later.{name}@customer.example") == 1
            assert first.copies(f"later.{name}@customer.example") == 0


async def test_doubt_outlives_its_mailbox_and_a_resend_goes_to_the_relay_that_it_comes_back_with(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as main, ScriptedRelay() as old, ScriptedRelay() as new:
        old.on("dot", Drop(), times=1)
        async with open_post(settings(tmp_path, main.port, more=box("left", old.port))) as post:
            job = await post.submit(mailbox_id="left", to=[WHO])
            await post.quiet()
            later = format_instant(Instant(post.clock.now() + 1_800 * SECOND))
            waits = await post.submit(mailbox_id="left", to=["b@example.com"], send_at=later)
            settings(tmp_path, main.port)
            await post.reload()
            await post.quiet()
            assert (await post.only(job)).state == "uncertain"
            assert (await post.only(waits)).hold_reason == "mailbox_removed"
            settings(tmp_path, main.port, more=box("left", new.port))
            await post.reload()
            await post.quiet()
            number = (await post.only(job)).number
            admin, now = post.outbox.admin, post.clock.now()
            await admin.resolve(number, Verdict.RESEND, Actor(0), now)
            await post.quiet()
            assert (await post.only(job)).state == "sent"
            await post.run(3_600, step=600)
            assert (await post.only(waits)).state == "sent"
        assert (old.copies(WHO), new.copies(WHO)) == (1, 1), "the copy in doubt, and the resend"
        assert (old.copies("b@example.com"), new.copies("b@example.com")) == (0, 1)
