"""Who takes part in a conversation, and may be written to in it."""

from dataclasses import replace

import pytest

from postroom.core.address import _read_rare
from postroom.core.inmail import AutomationKind
from postroom.core.matching import SAME_MOST, quick_key
from postroom.core.replying import Answered, Target, find_outsiders, find_target
from support.conversed import EVENT, OWN, TOKEN, people
from support.mail import job


def outsiders(event: Answered = EVENT, **fields: object) -> list[str]:
    target = find_target(event, OWN)
    assert isinstance(target, Target)
    return [one.pointer for one in find_outsiders(job(**fields), event, target, OWN)]


def test_an_answer_may_go_to_whoever_takes_part() -> None:
    event = replace(EVENT, cc=people("bob@customer.example"))
    assert (
        outsiders(
            event, to=["Alice@customer.example"], cc=["ann@one.example", "BOB@customer.example"]
        )
        == []
    )


SPELLINGS = {
    "in A-labels": "bob@xn--mller-kva.example",
    "in its own letters": "bob@müller.example",
    "in capitals": "Bob@MÜLLER.example",
    "decomposed": "bob@mu\u0308ller.example",
    "in A-labels in capitals": "bob@XN--MLLER-KVA.example",
}


@pytest.mark.parametrize("typed", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("met", SPELLINGS.values(), ids=SPELLINGS)
def test_who_takes_part_does_so_in_whatever_letters_her_domain_stood(met: str, typed: str) -> None:
    earlier = replace(EVENT, participants=frozenset({quick_key(met)}))
    assert outsiders(earlier, to=[typed]) == []
    assert outsiders(replace(EVENT, cc=people(met)), to=[typed]) == []
    assert outsiders(earlier, to=["carl@müller.example"]) == ["/to/0"]


def test_a_sharp_s_is_none_of_two() -> None:
    event = replace(EVENT, cc=people("bob@straße.example"))
    assert outsiders(event, to=["bob@strasse.example"]) == ["/to/0"]
    assert outsiders(event, to=["bob@xn--strae-oqa.example"]) == []


def test_a_crowd_in_letters_of_its_own_is_not_gone_through() -> None:
    """Of those who share a local part with somebody unknown a hundred are read."""
    crowd = people(*(f"bob@mü{number:04}.example" for number in range(1_000)))
    event = replace(EVENT, cc=crowd)
    read = _read_rare.cache_info().misses
    assert outsiders(event, to=["bob@mü9999.example", "eve@mü0001.example"]) == ["/to/0", "/to/1"]
    assert _read_rare.cache_info().misses - read <= SAME_MOST + 4


def test_everybody_else_is_named() -> None:
    told = outsiders(to=["alice@customer.example", "mallory@x.example"], bcc=["eve@x.example"])
    assert told == ["/to/1", "/bcc/0"]


@pytest.mark.parametrize("own", ["support@example.com", TOKEN])
def test_we_never_take_part_ourselves(own: str) -> None:
    assert outsiders(to=[own]) == ["/to/0"]


def test_whom_a_reply_to_elsewhere_names_takes_no_part() -> None:
    event = replace(EVENT, reply_to=people("sales@elsewhere.example"))
    assert outsiders(event, to=["sales@elsewhere.example"]) == ["/to/0"]


def test_whom_a_list_was_sent_to_takes_no_part() -> None:
    listed = replace(EVENT, kind=AutomationKind.LIST, to=people("list@lists.example"))
    assert outsiders(listed, to=["list@lists.example"]) == ["/to/0"]


def test_new_people_can_be_let_in() -> None:
    fields = {"in_reply_to_event": "evt_0000000000007", "allow_new_recipients": True}
    assert outsiders(to=["mallory@x.example"], **fields) == []
