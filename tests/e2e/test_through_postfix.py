"""Through a real Postfix to a second server: what arrives there is what we say that we sent, byte by byte."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.core.ids import Kind, encode_id
from support.post import Post, open_post, settings
from support.postfix import Postfix, postfix
from support.relay import ScriptedRelay


ANN, BOB, GONE = (f"{who}@agent.test" for who in ("ann", "bob", "gone"))
RECEIVED = re.compile(rb"\AReceived: [^\r\n]*\r\n(?:[ \t][^\r\n]*\r\n)*")
TEXT = "Every line\n.of this\n..begins with dots\n.\nZeilen mit Umlauten äöü\n"


@pytest.fixture(scope="module")
def relay() -> Iterator[Postfix]:
    with postfix() as running:
        yield running


async def test_mail_arrives_behind_postfix_as_it_was_written_and_a_refusal_is_kept(
    relay: Postfix, tmp_path: Path
) -> None:
    (tmp_path / "report.pdf").write_bytes(bytes(range(256)) * 500)
    sink = ScriptedRelay()
    sink.port = relay.next_hop
    async with sink, open_post(settings(tmp_path, relay.port)) as post:
        job = await post.submit(
            to=[ANN, {"address": BOB, "name": "Böb"}, GONE],
            subject="Bericht für Žofie 報告",
            text=TEXT,
            attachments=[{"path": str(tmp_path / "report.pdf"), "filename": "Bericht ü.pdf"}],
        )
        await post.quiet()
        assert await post.states(job) == {ANN: "sent", BOB: "sent", GONE: "failed"}
        found = await post.deliveries(job)
        gone = found[GONE]
        assert (gone.reply_code, gone.enhanced_status, gone.attempts) == (550, "5.1.1", 1)
        assert "User unknown" in (gone.reply_text or "")
        await sink.until(lambda: sink.copies(ANN) == sink.copies(BOB) == 1, 20)
        for who in (ANN, BOB):
            await _assert_same(post, sink, who, found[who].number)
            handed_on = f" {found[who].relay_message_id}: to=<{who}>"
            await post.until(lambda line=handed_on: line in relay.log)  # type: ignore[misc]
        assert sink.copies(GONE) == 0


async def _assert_same(post: Post, sink: ScriptedRelay, who: str, number: int) -> None:
    (arrived,) = [one for one in sink.transactions if who in one.recipients]
    content, count = RECEIVED.subn(b"", arrived.content or b"", count=1)
    assert count == 1
    assert f"X-Postroom-Delivery: {encode_id(Kind.DELIVERY, number)}\r\n".encode() in content
    pieces = await post.joined.api.messages.find_message(number)
    assert pieces is not None
    assert content == b"".join([piece async for piece in pieces])


async def test_a_hundred_mails_go_over_few_connections(relay: Postfix, tmp_path: Path) -> None:
    to = [f"r{n}@agent.test" for n in range(100)]
    sink = ScriptedRelay()
    sink.port = relay.next_hop
    async with sink, open_post(settings(tmp_path, relay.port)) as post:
        job = await post.submit(to=to, copies="individual")
        await post.quiet()
        assert set((await post.states(job)).values()) == {"sent"}
        assert len(re.findall(r"smtpd\[\d+\]: connect from", relay.log)) <= 10
        await sink.until(lambda: all(sink.copies(who) == 1 for who in to), 20)
