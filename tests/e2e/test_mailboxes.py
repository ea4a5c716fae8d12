"""Mailboxes that come and go, are resumed, or divert: what becomes of their mail."""

from pathlib import Path

from postroom.api.mailboxes import find_mailbox
from postroom.ports.desk import Actor
from postroom.ports.submitting import Merged, Repeated
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


OTHER = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\n'
LATER = "2031-01-01T00:00:00Z"


async def held_by(post: Post, job: int) -> list[tuple[str, str | None]]:
    found = await post.joined.api.loop.explain((await post.only(job)).number)
    assert found is not None
    assert found.earliest is None
    return [(gate.name, str(gate.value)) for gate in found.gates if gate.verdict == "blocked"]


async def test_mail_of_a_removed_mailbox_is_held_says_why_and_goes_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay:
        both = settings(tmp_path, relay.port, more=OTHER)
        async with open_post(both) as post:
            job = await post.submit(mailbox_id="other", to=["a@example.com"], send_at=LATER)
        async with open_post(settings(tmp_path, relay.port), clock=post.clock) as post:
            found = await post.only(job)
            assert (found.state, found.hold_reason) == ("held", "mailbox_removed")
            assert await held_by(post, job) == [("hold", "mailbox removed")]
        async with open_post(settings(tmp_path, relay.port, more=OTHER), clock=post.clock) as post:
            assert (await post.only(job)).state == "pending"
            await post.quiet()  # the loop sleeps before time jumps, and so hears of it
            await post.run(6 * 365 * 86_400)
            assert (await post.only(job)).state == "sent"


async def test_a_rerun_in_a_mailbox_that_diverts_is_known_by_whom_the_job_names(
    tmp_path: Path,
) -> None:
    people = ["a@example.com", "b@example.com"]
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox='divert_to = "all@dev.example"')
        async with open_post(said) as post:
            report = {"to": people, "copies": "individual", "idempotency_key": "report"}
            job = await post.submit(**report, on_duplicate="merge")
            await post.quiet()
            assert await post.hand_in(**report) == Repeated(
                job, is_expired=False, duplicates_dropped=0, merged=None
            )
            again = await post.hand_in(**report, on_duplicate="merge")
            assert again == Repeated(
                job, is_expired=False, duplicates_dropped=0, merged=Merged(0, 2)
            )
            await post.quiet()
            assert relay.copies("all@dev.example") == 2


async def test_a_relay_that_is_mended_is_tried_at_once_when_a_mailbox_of_it_is_resumed(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, more=OTHER)
        async with open_post(said) as post:
            relay.on("mail", Reply("535 5.7.8 no"))
            await post.submit(mailbox_id="other", to=["a@example.com"])
            await post.run(2 * 3600)
            box = await find_mailbox(post.joined.api, "support")
            assert (box.state, box.relay_breaker and box.relay_breaker.state) == ("blocked", "open")
            relay.clear()
            await post.quiet()
            assert relay.copies("a@example.com") == 0, "the next probe is far away"
            await post.outbox.admin.resume("support", Actor(0), post.clock.now())
            await post.quiet()
            assert relay.copies("a@example.com") == 1
            box = await find_mailbox(post.joined.api, "support")
            assert (box.state, box.relay_breaker and box.relay_breaker.probe_at) == ("active", None)
