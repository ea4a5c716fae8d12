"""What a whole run shows to others: modes of files at any moment, and what stands in log, answers and names."""

import asyncio
import base64
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from postroom.ops.tokenkeys import FILE
from postroom.selftest.nursery import Nursery
from support.clock import breathe
from support.house import house_in
from support.inward import (
    LISTENER,
    TEMPLATES,
    answer_to,
    came_in,
    free_port,
    listening_at,
    mail,
    mail_to,
    reply_to,
)
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


Ask = Callable[..., Awaitable[None]]

PASSWORD = "correct-horse-battery"
LOGIN = 'auth = "password"\nusername = "box"\npassword = "file:{folder}/password"'
WRITTEN = {  # by callers and strangers: it stands in mails and answers, and nowhere else
    "subject": "Subject-of-a-secret-merger",
    "body": "body-of-the-merger",
    "file": "merger-plan-final.txt",
    "recipient": "alice.confidential",
    "in subject": "Answer-about-the-merger",
    "in body": "answer-in-confidence",
    "in name": "Alice Confidential Person",
    "conversation": "conversation-of-the-merger",
    "key": "key-of-the-merger",
}
WHO = f"{WRITTEN['recipient']}@one.example"


def modes_under(folder: Path) -> dict[str, int]:
    """Everything that lies there now, with its mode; what vanishes meanwhile is left out."""
    found = {}
    for path in folder.rglob("*"):
        try:
            held = path.lstat()
        except FileNotFoundError:
            continue
        found[str(path.relative_to(folder))] = held.st_mode
    return found


def umask_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("Umask:")[2].split()[0], 8)


async def test_at_no_moment_of_a_run_can_others_open_what_the_daemon_makes(
    tmp_path: Path, nursery: Nursery
) -> None:
    """Under an umask that takes nothing away."""
    seen: set[tuple[str, int]] = set()
    port = free_port()

    async def watch() -> None:
        while True:
            seen.update(modes_under(tmp_path).items())
            await breathe()

    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
        asyncio.TaskGroup() as group,
    ):
        watching = group.create_task(watch())
        pid = await house.start(umask=0)
        text = "A line of a long letter.\n" * 4_000
        job = await house.post(to=[WHO], text=text, attachments=[{"path": str(house.config)}])
        await house.settled(job["id"])
        content = answer_to(relay.transactions[0], text, sender=WHO)
        assert (await mail_to(port, content, reply_to(relay.transactions[0]))).startswith("250")
        await came_in(house)
        seen.update(modes_under(tmp_path).items())
        assert umask_of(pid) == 0, (
            "it is the whole process's, so no file of another thread finds it changed"
        )
        assert await house.stop(pid) == 0
        watching.cancel()
    made = {(name, mode) for name, mode in seen if name.startswith(("state", "api.sock"))}
    assert {name for name, mode in made if stat.S_ISREG(mode)} >= {
        "state/postroom.db-wal",
        "state/lock",
    }
    assert any(name.startswith("state/spool/") and stat.S_ISREG(mode) for name, mode in made)
    for name, mode in made:
        if stat.S_ISSOCK(mode):
            assert stat.S_IMODE(mode) in (0o600, 0o660), name
        elif name != "state":
            assert not mode & 0o077, f"{name} {mode:o}"
    state = {stat.S_IMODE(mode) for name, mode in made if name == "state"}
    assert state == {0o700}


async def test_no_secret_is_shown_anywhere_and_no_text_of_others_but_where_it_belongs(
    tmp_path: Path,
) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    (tmp_path / "password").chmod(0o600)
    (tmp_path / WRITTEN["file"]).write_text("plan")
    port, api, answers = free_port(), tmp_path / "api.sock", list[str]()
    async with ScriptedRelay(credentials=("box", PASSWORD)) as relay:
        said = settings(
            tmp_path,
            relay.port,
            mailbox=TEMPLATES + "retry = { first_s = 60, jitter = 0 }",
            relay=LOGIN.format(folder=tmp_path),
            more=LISTENER.format(port=port),
        )
        async with (
            open_post(said) as post,
            post.serve(api),
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(api))) as session,
        ):

            async def ask(method: str, path: str, body: Any = None) -> None:
                async with session.request(method, f"http://localhost{path}", json=body) as answer:
                    answers.append(await answer.text())

            await hand_in(relay, post, ask, tmp_path)
            await come_in(relay, post, port)
            for path in ("jobs", "deliveries", "events", "mailboxes", "dead-letters", "stats"):
                await ask("GET", f"/v1/{path}")
            await ask("GET", "/metrics")
            key = (said.daemon.state_dir / FILE).read_bytes()
            log, names = post.log.getvalue(), "\n".join(modes_under(said.daemon.state_dir))
    told = "\n".join(answers)
    assert WRITTEN["in body"] in told
    assert log.count("delivery.sent") == 1
    for secret in (PASSWORD, key.hex(), base64.b64encode(key).decode(), str(key)):
        assert all(secret not in text for text in (log, told, names)), secret
    for what, text in WRITTEN.items():
        assert text not in log, what
        assert text not in names, what


async def hand_in(relay: ScriptedRelay, post: Post, ask: Ask, folder: Path) -> None:
    """Jobs that are sent, refused by the relay, refused by us; a login that fails at first."""
    relay.on("auth", Reply("535 5.7.8 wrong password"), times=1)
    relay.on("rcpt", Reply(f"550 5.1.1 <{WHO}>: no such user"), recipient="b@one.example")
    job = {
        "mailbox_id": "support",
        "to": [WHO, "b@one.example"],
        "subject": WRITTEN["subject"],
        "text": WRITTEN["body"],
        "attachments": [{"path": str(folder / WRITTEN["file"])}],
        "conversation_id": WRITTEN["conversation"],
        "idempotency_key": WRITTEN["key"],
    }
    await ask("POST", "/v1/jobs", job)
    await ask("POST", "/v1/jobs", {**job, "subject": "other"})
    await ask("POST", "/v1/jobs", {**job, "to": [f"{WRITTEN['recipient']} <"]})
    await post.run(3600, step=60)


async def come_in(relay: ScriptedRelay, post: Post, port: int) -> None:
    """An answer, mail to nobody, and what is no mail."""
    sent = next(one for one in relay.transactions if one.is_whole)
    head = {
        "From": f'"{WRITTEN["in name"]}" <{WHO}>',
        "Subject": WRITTEN["in subject"],
        "To": reply_to(sent),
    }
    content = mail(WRITTEN["in body"], **head)
    assert (await mail_to(port, content, reply_to(sent), sender=WHO)).startswith("250")
    await mail_to(port, content, "nobody@example.com", sender=WHO)
    await mail_to(port, b"\xff\x00 no mail at all", "support@example.com", sender=WHO)
    await post.until(lambda: post.log.getvalue().count("mail.published") == 2)
    await post.quiet()
