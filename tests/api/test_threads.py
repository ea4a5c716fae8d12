"""A conversation tells its history and what holds it; what was received is given to the byte."""

from postroom.core.ids import Kind, encode_id
from postroom.core.instant import format_instant
from postroom.core.record import HoldRecord, ThreadRecord
from postroom.core.velocity import HoldScope
from postroom.ports.arriving import RawFile
from support.api_server import Api
from support.lease_fakes import MAIL, MAIL_ID
from support.records import NOW, delivery


async def test_a_thread_tells_its_history(api: Api) -> None:
    number = encode_id(Kind.THREAD, 3)
    assert (await api.get(f"/threads/{number}")).status == 404
    api.conversations.threads[3] = ThreadRecord(
        3, 2, "support", None, {}, NOW, (delivery(1),), (MAIL,), is_whole=True
    )
    said = (await api.get(f"/threads/{number}")).json
    assert (said["version"], said["whole"], said["conversation_id"]) == (2, True, None)
    assert said["deliveries"][0]["id"] == encode_id(Kind.DELIVERY, 1)
    assert said["events"][0]["id"] == MAIL_ID
    assert (said["held"], said["held_at"], said["holds"]) == (False, None, [])


async def test_a_thread_that_a_loop_holds_says_so_and_is_resumed(api: Api) -> None:
    number = encode_id(Kind.THREAD, 3)
    hold = HoldRecord(HoldScope.DOMAIN, "desk.example", "velocity_domain", 7, NOW)
    held = ThreadRecord(3, 2, "support", None, {}, NOW, (), (), is_whole=True, holds=(hold,))
    api.conversations.threads[3] = held
    said = (await api.get(f"/threads/{number}")).json
    assert (said["held"], said["held_at"]) == (True, format_instant(NOW))
    assert said["holds"] == [
        {
            "scope": "domain",
            "name": "desk.example",
            "evidence": "velocity_domain",
            "event_id": MAIL_ID,
            "held_at": format_instant(NOW),
        }
    ]
    answer = await api.post(f"/threads/{number}/resume")
    assert (answer.status, answer.json["id"]) == (200, number)
    assert api.outbox.did[-1][:2] == ("resume_thread", 3)
    assert (await api.post(f"/threads/{encode_id(Kind.THREAD, 4)}/resume")).status == 404
    assert (await api.post("/threads/x/resume")).status == 404


async def test_what_was_received_is_given_to_the_byte(api: Api) -> None:
    api.conversations.raw = {7: b"Subject: x\r\n\r\n\x00\xff", 8: RawFile("aa", 4)}
    api.uploads.spool["aa"] = b"many"
    said = await api.get(f"/events/{MAIL_ID}/raw")
    assert (said.status, said.body) == (200, b"Subject: x\r\n\r\n\x00\xff")
    assert said.headers["content-type"] == "message/rfc822"
    assert (await api.get(f"/events/{encode_id(Kind.EVENT, 8)}/raw")).body == b"many"
    assert (await api.get(f"/events/{encode_id(Kind.EVENT, 9)}/raw")).status == 404
    assert (await api.get("/events/x/raw")).status == 404
