"""Mailboxes and relays that come, go and change while their mail is under way: every copy at the relays is counted.

All parts are real; a scripted relay holds the dialogue at each of its stages while the settings are read again.
"""

from pathlib import Path

import pytest

from postroom.core.instant import Instant
from postroom.ports.desk import Actor, WrongState
from postroom.ports.submitting import Prepared, Refused, Submitted
from support.post import UID, Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold, Reply


STAGES = ("connect", "ehlo", "mail", "rcpt", "data", "body", "dot")
BEFORE_MARK = STAGES[:-1]
QUICK = "retry = { first_s = 1, jitter = 0, cap_s = 1 }"
WHO = "a@example.com"


def other(folder: Path) -> str:
    """The mailbox that comes and goes."""
    box = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\n'
    return f'{box}{QUICK}\nattachment_roots = ["{folder}"]\n'


async def held_at(stage: str, relay: ScriptedRelay, post: Post, mailbox: str) -> tuple[int, Hold]:
    """A job whose dialogue stands still at this stage; for "body" it is too large to fit between two sockets."""
    hold = Hold()
    relay.on(stage, hold, Default(), times=1)
    files = []
    if stage == "body":
        big = post.settings.daemon.state_dir.parent / "big"
        big.write_bytes(bytes(8 << 20))
        files = [{"path": str(big), "pin": True}]
    job = await post.submit(mailbox_id=mailbox, to=[WHO], attachments=files)
    await post.until(lambda: relay._rules[stage][-1].left == 0)
    return job, hold


async def reason_of(post: Post, job: int) -> tuple[str, str | None]:
    found = await post.only(job)
    return str(found.state), found.hold_reason


@pytest.mark.parametrize("stage", BEFORE_MARK)
async def test_mail_of_a_mailbox_that_goes_is_stopped_before_its_mark_and_goes_once_it_is_back(
    stage: str, tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay:
        async with open_post(settings(tmp_path, relay.port, more=other(tmp_path))) as post:
            job, hold = await held_at(stage, relay, post, "other")
            settings(tmp_path, relay.port)
            await post.reload()
            hold.release()
            await post.quiet()
            assert await reason_of(post, job) == ("held", "mailbox_removed")
            assert relay.copies(WHO) == 0
            assert isinstance(await post.hand_in(mailbox_id="other", to=[WHO]), Refused)
            settings(tmp_path, relay.port, more=other(tmp_path))
            await post.reload()
            await post.quiet()
            assert (await post.only(job)).state == "sent"
        assert relay.copies(WHO) == 1


async def test_mail_that_is_past_its_mark_ends_as_it_would_have(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        async with open_post(settings(tmp_path, relay.port, more=other(tmp_path))) as post:
            job, hold = await held_at("dot", relay, post, "other")
            settings(tmp_path, relay.port)
            await post.reload()
            hold.release()
            await post.quiet()
            assert (await post.only(job)).state == "sent"
        assert relay.copies(WHO) == 1


async def test_mail_that_is_put_off_after_its_mailbox_went_is_held(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        hold = Hold()
        relay.on("rcpt", hold, Reply("451 4.3.0 later"), times=1)
        async with open_post(settings(tmp_path, relay.port, more=other(tmp_path))) as post:
            job = await post.submit(mailbox_id="other", to=[WHO])
            await post.until(lambda: relay._rules["rcpt"][0].left == 0)
            settings(tmp_path, relay.port)
            await post.reload()
            hold.release()
            await post.quiet()
            found = await post.only(job)
            assert (found.state, found.hold_reason) == ("held", "mailbox_removed")
            assert [step.after for step in found.history][-2:] == ["retry_scheduled", "held"]


async def test_a_job_that_is_just_being_taken_while_its_mailbox_goes_is_held(
    tmp_path: Path,
) -> None:
    job = {"mailbox_id": "other", "to": [WHO], "subject": "s", "text": "t"}
    async with ScriptedRelay() as relay:
        async with open_post(settings(tmp_path, relay.port, more=other(tmp_path))) as post:
            submitter = post.joined.api.submitter
            made = await submitter.prepare(job, UID)
            assert isinstance(made, Prepared)
            settings(tmp_path, relay.port)
            await post.reload()
            submitter.settle(made, await post.outbox.intake.accept(made.new))
            await post.quiet()
            assert await reason_of(post, made.new.number) == ("held", "mailbox_removed")
        assert relay.copies(WHO) == 0


async def test_what_failed_is_not_sent_again_without_its_mailbox(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        relay.on("rcpt", Reply("550 5.1.1 no such user"), times=1)
        async with open_post(settings(tmp_path, relay.port, more=other(tmp_path))) as post:
            job = await post.submit(mailbox_id="other", to=[WHO])
            await post.quiet()
            settings(tmp_path, relay.port)
            await post.reload()
            number = (await post.only(job)).number
            said = await post.outbox.admin.retry(number, Actor(0), post.clock.now())
            assert isinstance(said, WrongState)
        assert relay.copies(WHO) == 0


@pytest.mark.parametrize("stage", STAGES)
async def test_mail_under_way_ends_at_the_old_relay_and_the_next_goes_to_the_new_one(
    stage: str, tmp_path: Path
) -> None:
    async with ScriptedRelay() as old, ScriptedRelay() as new:
        async with open_post(settings(tmp_path, old.port, mailbox=QUICK)) as post:
            job, hold = await held_at(stage, old, post, "support")
            settings(tmp_path, new.port, mailbox=QUICK)
            told = await post.reload()
            assert [one.path for one in told.changed] == ["relay.main.port"]
            second = await post.submit(to=["b@example.com"])
            await post.quiet(under_way=1)
            assert (await post.only(second)).state == "sent"
            hold.release()
            await post.quiet()
            assert (await post.only(job)).state == "sent"
            await old.until(lambda: not any(one.is_open for one in old.connections))
        assert (old.copies(WHO), new.copies(WHO)) == (1, 0)
        assert (old.copies("b@example.com"), new.copies("b@example.com")) == (0, 1)


async def test_a_mailbox_moves_to_a_relay_of_its_own_and_back(tmp_path: Path) -> None:
    own = 'relay = {{ host = "127.0.0.1", port = {port}, tls = "none" }}'
    box = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\n{relay}\n'
    async with ScriptedRelay() as shared, ScriptedRelay() as private:
        ours = box.format(relay=own.format(port=private.port))
        theirs = box.format(relay='relay = "main"')
        async with open_post(settings(tmp_path, shared.port, more=theirs)) as post:
            job, hold = await held_at("rcpt", shared, post, "other")
            settings(tmp_path, shared.port, more=ours)
            told = await post.reload()
            assert [(one.path, one.before, one.after) for one in told.changed] == [
                ("mailbox.other.relay", "main", "its own")
            ]
            await post.submit(mailbox_id="other", to=["b@example.com"])
            await post.quiet(under_way=1)
            hold.release()
            await post.quiet()
            assert (await post.only(job)).state == "sent"
            settings(tmp_path, shared.port, more=theirs)
            await post.reload()
            await post.submit(mailbox_id="other", to=["c@example.com"])
            await post.quiet()
            await private.until(lambda: not any(one.is_open for one in private.connections))
        assert [shared.copies(f"{one}@example.com") for one in "abc"] == [1, 0, 1]
        assert [private.copies(f"{one}@example.com") for one in "abc"] == [0, 1, 0]


async def test_a_mailbox_with_a_relay_of_its_own_comes_and_goes(tmp_path: Path) -> None:
    box = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = {{ host = "127.0.0.1", port = {port}, tls = "none" }}\n'
    async with ScriptedRelay() as main, ScriptedRelay() as private:
        async with open_post(settings(tmp_path, main.port)) as post:
            assert isinstance(await post.hand_in(mailbox_id="other", to=[WHO]), Refused)
            settings(tmp_path, main.port, more=box.format(port=private.port))
            await post.reload()
            assert isinstance(await post.hand_in(mailbox_id="other", to=[WHO]), Submitted)
            await post.quiet()
            settings(tmp_path, main.port)
            await post.reload()
            await private.until(lambda: not any(one.is_open for one in private.connections))
            assert set(post.joined.way.pools) == {"main"}
        assert private.copies(WHO) == 1


async def test_a_mailbox_that_is_back_before_its_mail_was_held_goes_on(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        paused = other(tmp_path) + "pace = { per_second = 0.1 }\n"
        async with open_post(settings(tmp_path, relay.port, more=paused)) as post:
            await post.fill(3, mailbox_id="other")
            await post.quiet()

            async def too_slow(mailbox_id: str, at: Instant) -> None:
                return

            post.outbox.admin.settle_mailbox = too_slow  # type: ignore[method-assign]
            settings(tmp_path, relay.port)
            await post.reload()
            await post.run(60)
            assert len(relay.transactions) == 1
            settings(tmp_path, relay.port, more=paused)
            await post.reload()
            await post.run(60, step=10)
            assert len(relay.transactions) == 3
