"""Settings read again while everything is at work: what they change counts from the next decision on; what is wrong changes nothing."""

import asyncio
from pathlib import Path

import pytest

from postroom.core.instant import SECOND
from postroom.ports.errors import StoreUnavailable
from postroom.ports.reloading import Draining, NotReloaded, Reloaded
from postroom.ports.submitting import RefusalCode, Refused
from postroom.service.housekeeping import Housekeeping
from support.post import open_post, setting, settings
from support.relay import ScriptedRelay
from support.relay_script import Drop, Hold, Reply
from support.slow_commit import SlowCommit


HOUR = 3600
OTHER = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\n'
LOGIN = 'auth = "password"\nusername = "us"\npassword = "file:secret"\n'


def secret(folder: Path, text: str) -> None:
    (folder / "secret").write_text(text)
    (folder / "secret").chmod(0o600)


async def test_a_retry_a_limit_and_a_list_count_from_the_next_time_on(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        relay.on("rcpt", Reply("451 4.3.0 later"))
        async with open_post(settings(tmp_path, relay.port)) as post:
            job = await post.submit(to=["a@example.com"])
            new = 'retry = { first_s = 7, jitter = 0 }\nrecipients_allow = ["b@example.com"]\nlimits = { queued = 2 }'
            settings(tmp_path, relay.port, mailbox=new)
            await post.quiet()
            before = await post.only(job)
            assert before.due_at is not None
            assert (before.due_at - post.clock.now()) // SECOND == 300
            told = await post.reload()
            assert {one.path for one in told.changed} >= {
                "mailbox.support.retry.first_s",
                "mailbox.support.recipients_allow",
                "mailbox.support.limits.queued",
            }
            refused = await post.hand_in(to=["a@example.com"])
            assert isinstance(refused, Refused)
            assert "/to/0" in {one.pointer for one in refused.problems}
            second = await post.submit(to=["b@example.com"])
            await post.quiet()
            found = await post.only(second)
            assert found.due_at is not None
            assert (found.due_at - post.clock.now()) // SECOND == 7
            full = await post.hand_in(to=["b@example.com"])
            assert isinstance(full, Refused)
            assert full.code is RefusalCode.MAILBOX_QUEUE_FULL


async def test_a_reload_that_the_end_overtakes_switches_nothing(tmp_path: Path) -> None:
    slow = SlowCommit()
    store = setting(factory=slow.faults.factory())
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port), store=store) as post,
        asyncio.TaskGroup() as group,
    ):
        await post.quiet()
        settings(tmp_path, relay.port, mailbox="concurrency = 2", more=OTHER)
        reloads = post.joined.reloads
        with slow.held():
            told = group.create_task(reloads.reload("uid:0", is_dry_run=False))
            await slow.reached()
            reloads.close()
        assert isinstance(await told, Draining)
        assert set(post.joined.api.mailboxes) == {"support"}
        assert post.joined.way.worlds["support"].mailbox.mailbox.concurrency == 4


async def test_doubts_are_settled_by_the_policy_that_is_in_force_now(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        relay.on("dot", Drop(), times=1)
        async with open_post(settings(tmp_path, relay.port)) as post:
            job = await post.submit(to=["a@example.com"])
            await post.quiet()
            await post.run(HOUR, step=600)
            assert (await post.only(job)).state == "uncertain"
            policy = 'on_uncertain = { policy = "assume_sent", after_s = 60 }'
            settings(tmp_path, relay.port, mailbox=policy)
            await post.reload()
            await post.quiet()
            assert (await post.only(job)).state == "sent"


@pytest.mark.parametrize("reference", ["file:secret", "credential:secret"])
async def test_a_password_that_is_another_one_is_used_by_the_next_login_and_told_nowhere(
    tmp_path: Path, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    login = LOGIN.replace("file:secret", reference)
    async with ScriptedRelay(credentials=("us", "hunter2")) as relay:
        secret(tmp_path, "hunter2")
        async with open_post(settings(tmp_path, relay.port, relay=login)) as post:
            await post.fill(1)
            await post.quiet()
            relay.credentials = ("us", "correct horse battery")
            secret(tmp_path, "correct horse battery")
            told = await post.reload()
            assert [(one.path, one.before, one.after) for one in told.changed] == [
                ("relay.main.password", None, None)
            ]
            await relay.until(lambda: not relay.connections[0].is_open)
            await post.fill(1)
            await post.quiet()
            assert [one.username for one in relay.connections] == ["us", "us"]
            assert len(relay.transactions) == 2
            assert "horse" not in post.log.getvalue()


async def test_a_relay_that_refused_the_password_is_asked_at_once_with_the_new_one(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay(credentials=("us", "correct horse battery")) as relay:
        secret(tmp_path, "hunter2")
        async with open_post(settings(tmp_path, relay.port, relay=LOGIN)) as post:
            first = await post.fill(1)
            await post.quiet()
            assert await post.blocked(first[0]) == ["relay_breaker"]
            await post.run(15 * 60)  # the probe fails: half an hour until the next one
            hold = Hold()
            relay.on("auth", hold, Reply("535 5.7.8 wrong password"), times=1)
            await post.run(30 * 60, under_way=1)
            secret(tmp_path, "correct horse battery")
            await post.reload()
            hold.release()  # the old password is refused after the new one is there
            await post.quiet()
            assert (await post.only(first[0])).state == "sent"
            await post.fill(3)
            await post.quiet()
            assert post.joined.way.worlds["support"].relay.breaker.is_closed


WRONG = {
    "syntax": ("[daemon\n", "postroom.toml", ""),
    "unknown key": ("[retention]\nsent = 5\n", "postroom.toml", "retention.sent"),
    "no credential": (
        '[relay.two]\nhost = "h"\nauth = "password"\nusername = "u"\npassword = "file:none"\n',
        "postroom.toml",
        "relay.two.password",
    ),
    "open mode": (
        '[relay.two]\nhost = "h"\nauth = "password"\nusername = "u"\npassword = "file:open"\n',
        "postroom.toml",
        "relay.two.password",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_wrong_settings_change_nothing_and_say_what_is_wrong(
    case: str, tmp_path: Path
) -> None:
    more, file, key = WRONG[case]
    (tmp_path / "open").write_text("hunter2")
    (tmp_path / "open").chmod(0o644)
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)
        async with open_post(said) as post:
            path = tmp_path / "postroom.toml"
            path.write_text(path.read_text().replace("300", "7") + OTHER + more)
            for is_dry_run in (True, False):
                told = await post.joined.reloads.reload("uid:0", is_dry_run=is_dry_run)
                assert isinstance(told, NotReloaded)
                (problem,) = told.problems
                assert (Path(problem.file).name, problem.key) == (file, key)
            assert post.joined.current.settings is said
            assert isinstance(await post.hand_in(mailbox_id="other", to=["a@example.com"]), Refused)
            job = await post.submit(to=["a@example.com"])
            await post.quiet()
            assert (await post.only(job)).state == "sent"
            (line,) = [one for one in post.log.getvalue().splitlines() if "config." in one]
            assert '"config.refused"' in line
            assert '"error"' in line
            assert "hunter2" not in line


async def test_a_store_that_says_no_changes_nothing(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)
        async with open_post(said) as post:
            settings(tmp_path, relay.port, more=OTHER)

            async def refuse(*_: object) -> None:
                msg = "the disk is busy"
                raise StoreUnavailable(msg)

            noting = post.outbox.admin.note_mailboxes
            post.outbox.admin.note_mailboxes = refuse  # type: ignore[method-assign]
            with pytest.raises(StoreUnavailable):
                await post.reload()
            assert post.joined.current.settings is said
            assert "other" not in post.joined.api.mailboxes
            post.outbox.admin.note_mailboxes = noting  # type: ignore[method-assign]
            await post.reload()
            assert "other" in post.joined.api.mailboxes


async def test_what_needs_a_restart_is_told_each_time_and_stays_as_it_is(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)
        async with open_post(said) as post:
            path = tmp_path / "postroom.toml"
            path.write_text(
                path.read_text().replace(f"{tmp_path}/state", f"{tmp_path}/elsewhere")
                + f'[api]\nsocket = "{tmp_path}/x"\nmode = "0600"\n'
            )
            for _ in range(2):
                told = await post.reload()
                assert [one.path for one in told.needs_restart] == [
                    "api.mode",
                    "api.socket",
                    "daemon.state_dir",
                ]
                assert told.changed == ()
            assert post.joined.current.settings == said


async def test_a_dry_run_only_says_what_would_change(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        settings(tmp_path, relay.port, more=OTHER)
        told = await post.joined.reloads.reload("uid:0", is_dry_run=True)
        assert isinstance(told, Reloaded)
        assert [(one.path, one.kind) for one in told.changed] == [("mailbox.other", "added")]
        assert "other" not in post.joined.api.mailboxes
        assert "config." not in post.log.getvalue()
        assert (await post.reload()).changed == told.changed


async def test_reloads_at_once_come_one_after_another(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        settings(tmp_path, relay.port, more=OTHER)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(post.reload()) for _ in range(5)]
        assert [len(one.result().changed) for one in tasks] == [1, 0, 0, 0, 0]


async def test_with_another_address_what_waits_keeps_its_from(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await post.submit(to=["a@example.com"], send_at="2030-01-01T00:00:00Z")
        path = tmp_path / "postroom.toml"
        path.write_text(path.read_text().replace("support@example.com", "help@example.com"))
        await post.reload()
        await post.submit(to=["b@example.com"])
        await post.quiet()
        await post.run(5 * 365 * 86_400)
        new, old = relay.transactions
        assert (new.sender, old.sender) == ("help@example.com", "help@example.com")
        assert b"From: Support <help@example.com>" in (new.content or b"")
        assert b"From: Support <support@example.com>" in (old.content or b"")


async def test_how_much_is_logged_and_kept_follows(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        keeping = Housekeeping(post.tools, post.outbox, post.joined)
        path = tmp_path / "postroom.toml"
        retention = "[retention]\nsent_s = 60\n"
        path.write_text(path.read_text().replace('"debug"', '"error"') + retention)
        told = await post.reload()
        assert [one.path for one in told.changed] == ["daemon.log_level", "retention.sent_s"]
        logged = len(post.log.getvalue())
        job = await post.submit(to=["a@example.com"])
        await post.quiet()
        await post.run(3600)
        await keeping._once()
        assert len(post.log.getvalue()) == logged
        found = await post.outbox.reader.find_job(job)
        assert found is None or found.deliveries == ()
