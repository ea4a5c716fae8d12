"""An answer to what went out after the backup finds its delivery in the daemon that was restored."""

import io
from pathlib import Path
from typing import Any

from postroom.service.archiving import Archiver, Room
from postroom.service.restoring import Backup, restore
from support.inward import ALICE, answer_to, free_port, listening_at, mail_to, reply_to
from support.post import open_post, settings
from support.relay import ScriptedRelay


async def test_an_answer_to_what_went_out_after_the_backup_finds_its_delivery(
    tmp_path: Path,
) -> None:
    """Its token names a delivery of the restored store, with a key that was in the backup."""
    port = free_port()
    more = listening_at(port).partition("[listener]")
    templates, listener = more[0], more[1] + more[2]
    async with ScriptedRelay() as relay:
        (tmp_path / "one").mkdir()
        said = settings(tmp_path / "one", relay.port, mailbox=templates, more=listener)
        async with open_post(said) as post:
            number = await post.submit(to=[ALICE])
            archiver = Archiver(said.daemon.state_dir, post.clock.now(), Room(0))
            archiver.open()
            content = b"".join(archiver.pieces())
            archiver.close()
            await post.quiet()
            assert await post.states(number) == {ALICE: "sent"}
        (sent,) = relay.transactions
        (tmp_path / "two").mkdir()
        said = settings(tmp_path / "two", relay.port, mailbox=templates, more=listener)
        put = restore(
            Backup(io.BytesIO(content), len(content)),
            said.daemon.state_dir,
            post.clock.now(),
            replaces=False,
            room=Room(0),
        )
        assert put.replaced is None
        async with open_post(said, clock=post.clock) as post:
            await post.run(600, step=60)
            assert await post.states(number) == {ALICE: "held"}
            assert len(relay.transactions) == 1
            assert (await mail_to(port, answer_to(sent, "Yes."), reply_to(sent)))[:3] == "250"

            async def is_there() -> bool:
                return bool([one for one in await answers(post) if "envelope" in one.data])

            await post.until_answered(is_there)
            (event,) = [one for one in await answers(post) if "envelope" in one.data]
            delivery = await post.only(number)
            assert event.seq > 1 << 32
            assert event.data["answers"]["delivery_id"].endswith(str(delivery.number))


async def answers(post: Any) -> Any:
    return await post.outbox.reader.find_events(0, 100)
