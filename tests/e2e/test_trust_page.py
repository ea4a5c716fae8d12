"""The events that docs/trust.md shows are what a daemon of this version writes."""

import json
import re
from pathlib import Path
from typing import Any

from postroom.inbound.newtext import find_new
from postroom.selftest.nursery import Nursery
from support.inward import SUPPORT, came_in, mail, mail_to
from support.judged import ALICE, letter, office
from support.signing import sign


PAGE = (Path(__file__).parents[2] / "docs" / "trust.md").read_text("utf-8")
ANSWER, REPORT = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[:2])
BOUNCE = """\
--b

Sorry.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.good.example

Final-Recipient: rfc822; gone@good.example
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 User unknown

--b--
"""
# what belongs to an answer with a quotation alone, or to what the job said
OWN = {"metadata", "removed"}


def names_in(value: Any) -> Any:
    """The names in a value, at every depth; of a list those of its first item."""
    if isinstance(value, dict):
        return {name: None if name in OWN else names_in(one) for name, one in value.items()}
    return names_in(value[0]) if isinstance(value, list) and value else None


async def test_the_page_shows_every_field_of_an_event_and_no_other(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery, 'accept_new = "all"') as (house, _, _, port):
        signed = sign(letter("The northern ones."), "good.example")
        await mail_to(port, signed, SUPPORT, sender=ALICE)
        (event,) = await came_in(house)
        shown = {**ANSWER, "answers": None, "type": "message.received"}
        assert event["authentication"]["verdict"] == ANSWER["authentication"]["verdict"]
        lists = ("in_reply_to", "references")  # this mail answers nothing
        assert names_in({**event, "message": {**event["message"], **dict.fromkeys(lists)}}) == (
            names_in({**shown, "message": {**ANSWER["message"], **dict.fromkeys(lists)}})
        )


async def test_the_page_shows_every_field_of_a_report_and_what_it_says(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery, 'accept_new = "all"') as (house, _, _, port):
        kind = 'multipart/report; report-type=delivery-status; boundary="b"'
        content = mail(
            BOUNCE, To=SUPPORT, From="mailer-daemon@good.example", **{"Content-Type": kind}
        )
        await mail_to(port, content, SUPPORT, sender="")
        (event,) = await came_in(house)
        told, shown = event["delivery_report"], REPORT["delivery_report"]
        assert names_in(told) == names_in(shown)
        said = ("class", "reason", "hard", "action", "status", "reply_code", "diagnostic")
        assert {name: told[name] for name in said} == {name: shown[name] for name in said}


def test_the_new_text_of_the_page_is_that_of_its_text() -> None:
    shown = ANSWER["message"]
    found = find_new(shown["text"])
    assert (found.text, found.confidence) == (shown["new_text"], shown["new_text_confidence"])
    assert [{"from": one.start, "to": one.end, "why": one.why} for one in found.removed] == shown[
        "removed"
    ]
