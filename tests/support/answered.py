"""A job that went out, its event, and answers to it."""

from dataclasses import replace

from postroom.core.job import LeaseClaim
from postroom.ports.accepting import Accepted, AcceptResult
from support.arrivals import PostOffice, in_mail, thread_of, token_of
from support.store_jobs import new_job


async def asked(office: PostOffice) -> tuple[Accepted, int]:
    """A job that went out to Alice, and the seq of her answer."""
    done = await office.sent()
    event = await office.published(in_mail(message_id="<9@customer.example>"), token_of(1))
    return done, event["seq"]


async def answer(
    office: PostOffice,
    done: Accepted,
    seq: int | None,
    lease: LeaseClaim | None = None,
    **more: object,
) -> AcceptResult:
    new = new_job(office.outbox.intake, thread_number=thread_of(done))
    return await office.outbox.intake.accept(replace(new, answers=seq, lease=lease, **more))  # type: ignore[arg-type]
