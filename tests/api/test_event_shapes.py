"""Every member of every event is in the OpenAPI document: the shapes there are held against what the store writes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postroom.api.render import render_event
from postroom.api.shapes_events import Event
from postroom.core.alertstate import Moves
from postroom.core.authentication import Dmarc, Outcome, Verdict
from postroom.core.bouncereason import BounceClass, BounceReason, Sense
from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind, Person, Removed, RemovedWhy
from postroom.core.refusal import Wanted
from postroom.core.reply import SmtpReply
from postroom.core.token import TokenKind
from support.arrivals import ALICE, PostOffice, block, in_mail, report_mail, stored, token_of
from support.figures import DOWN
from support.store_host import outbox_in
from support.verifying import judged, signature, trusted


FILE = "0" * 64
ELSEWHERE = (Person("Alice", "alice@elsewhere.example"),)
GONE = Sense(BounceClass.PERMANENT, BounceReason.RECIPIENT_UNKNOWN)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path, spool=frozenset({FILE})) as outbox:
        yield PostOffice(outbox)


async def written(office: PostOffice) -> list[dict[str, Any]]:
    log = await office.outbox.reader.find_events(0, 100)
    return [render_event(one, "log") for one in log]


async def all_kinds(office: PostOffice) -> None:
    """Deliveries that ended well and badly, and mail of every kind, with all that there can be in it."""
    await office.sent(state=DeliveryState.FAILED, reply=SmtpReply(550, "5.1.1", "no", b"550 no"))
    one, two = [(await office.sent()).deliveries[0].number for _ in range(2)]
    found = judged(
        Verdict.PASS,
        dkim=(signature("from"),),
        dmarc=Dmarc(Outcome.PASS, "customer.example", "reject"),
        trusted=(trusted(Outcome.PASS, "customer.example"),),
    )
    removed = (Removed(0, 1, RemovedWhy.QUOTE),)
    letter = in_mail(reply_to=ELSEWHERE, to=ELSEWHERE, cc=ELSEWHERE, removed=removed)
    await office.published(
        letter, token_of(one), attachments=(stored(FILE, "att_1"),), authentication=found
    )
    await office.published(letter, token_of(two))
    await office.published(in_mail(subject="New", is_sender_ambiguous=True), wanted=Wanted())
    gone = replace(block(ALICE, "failed", "5.1.1"), sense=GONE, reply_code=550)
    await office.published(report_mail(gone, gone), token_of(one, TokenKind.BOUNCE))
    for turn in range(6):
        away = in_mail(subject=str(turn), automation=AutomationKind.AUTO_REPLY)
        await office.published(away, token_of(one))
    raised = await office.outbox.alerts.move(Moves((DOWN.alert,)), DOWN.raised_at)
    await office.outbox.alerts.move(Moves((), raised), DOWN.raised_at)


async def test_an_event_has_no_member_that_is_not_described(office: PostOffice) -> None:
    await all_kinds(office)
    for event in await written(office):
        whole = msgspec.to_builtins(event)
        assert msgspec.to_builtins(msgspec.convert(whole, Event)) == whole, event["type"]


async def test_every_member_that_is_described_is_there_in_some_event(office: PostOffice) -> None:
    """`relay_ip` is that of a mail behind a trusted relay: tests/e2e/test_senders_are_judged.py."""
    await all_kinds(office)
    told: set[str] = set()
    for event in await written(office):
        told |= names(msgspec.to_builtins(event))
    _, shapes = msgspec.json.schema_components([Event])
    described = {name for shape in shapes.values() for name in shape.get("properties", {})}
    assert described - told == {"relay_ip"}


def names(value: object) -> set[str]:
    """The names of all members in it."""
    if isinstance(value, dict):
        return set(value) | {name for one in value.values() for name in names(one)}
    return {name for one in value for name in names(one)} if isinstance(value, list) else set()
