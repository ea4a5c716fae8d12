"""Deliveries that are under way, end in doubt or go again, and mail that names them."""

from typing import Any

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import InMail
from postroom.core.reason import ReasonCode
from postroom.core.record import DeliveryRecord
from support.arrivals import ALICE, PostOffice, in_mail
from support.store_host import NOON
from support.store_jobs import new_job, outcome_of, start_of


S, R = DeliveryState, ReasonCode


async def under_way(office: PostOffice, *to: str, is_marked: bool = True, **more: Any) -> int:
    """The first of some deliveries that are being sent."""
    new = new_job(office.outbox.intake, *(to or (ALICE,)), **more)
    await office.outbox.intake.accept(new)
    for one in new.deliveries:
        await office.outbox.loop.start(start_of(one.number))
        if is_marked:
            await office.outbox.loop.mark(one.number, 1, NOON)
    return new.deliveries[0].number


async def finish(office: PostOffice, number: int, after: S, **more: Any) -> DeliveryState:
    claim = await claim_of(office, number)
    return await office.outbox.loop.finish(outcome_of(number, claim, after, due_at=NOON, **more))


async def claim_of(office: PostOffice, number: int) -> int:
    sql = "SELECT claim FROM delivery WHERE number = ?"
    claim: int = await office.outbox.database.read(
        lambda conn: conn.execute(sql, (number,)).fetchone()[0]
    )
    return claim


async def in_doubt(office: PostOffice, *to: str, **more: Any) -> int:
    number = await under_way(office, *to, **more)
    await finish(office, number, S.UNCERTAIN, reason_code=R.DOUBT_NO_ANSWER)
    return number


async def read(office: PostOffice, number: int) -> DeliveryRecord:
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    return found


def names(message_id: str, sender: str = ALICE, **more: Any) -> InMail:
    return in_mail(sender, in_reply_to=(message_id,), references=(message_id,), **more)
