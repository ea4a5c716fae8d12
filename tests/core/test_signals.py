"""Facts about a mail that follow from its header and from who vouches for it."""

from typing import Any

import pytest

from postroom.core.authentication import Dkim, Outcome
from postroom.core.inmail import Person, ReaderSigns
from postroom.core.signals import ElsewhereReplyTo, find_elsewhere, find_unsigned
from support.arrivals import in_mail
from support.verifying import judged, signature


HOME = "alice@customer.example"
ELSEWHERE: dict[str, tuple[tuple[str, ...], dict[str, Any], tuple[str, ...] | None]] = {
    "none": ((), {}, None),
    "the same": ((HOME,), {}, None),
    "the same domain": (("Office@CUSTOMER.example",), {}, None),
    "another domain": (("eve@elsewhere.example",), {}, ("elsewhere.example",)),
    "one of two": ((HOME, "eve@elsewhere.example"), {}, ("elsewhere.example",)),
    "a quoted at": (('"eve@customer.example"@elsewhere.example',), {}, ("elsewhere.example",)),
    "nobody beside": (("", "eve@elsewhere.example"), {}, ("elsewhere.example",)),
    "two": (("a@x.example", "b@y.example", "c@x.example"), {}, ("x.example", "y.example")),
    "a domain below, nobody knows whose": (
        ("a@mail.customer.example",),
        {},
        ("mail.customer.example",),
    ),
    "a domain below of the same organisation": (
        ("a@mail.customer.example",),
        {"reply_to_organisation": "customer.example"},
        None,
    ),
    "of another organisation": (
        ("a@other.example",),
        {"reply_to_organisation": "other.example"},
        ("other.example",),
    ),
    "of no known organisation": (
        ("a@other.example",),
        {"from_organisation": None},
        ("other.example",),
    ),
}


@pytest.mark.parametrize(("reply_to", "more", "found"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_where_answers_are_asked_for_is_told_when_it_is_elsewhere(
    reply_to: tuple[str, ...], more: dict[str, Any], found: tuple[str, ...] | None
) -> None:
    mail = in_mail(HOME, reply_to=tuple(Person("", one) for one in reply_to))
    told = find_elsewhere(mail, judged(**more))
    assert told == (None if found is None else ElsewhereReplyTo("customer.example", found))


def test_who_has_no_address_asks_for_nothing_elsewhere() -> None:
    reply_to = (Person("", "eve@elsewhere.example"),)
    assert find_elsewhere(in_mail(None, reply_to=reply_to), judged()) is None


FIELDS = ("from", "subject", "reply-to")
UNSIGNED: dict[str, tuple[tuple[Dkim, ...], tuple[str, ...] | None]] = {
    "no signature": ((), None),
    "a broken one": ((signature("from", result=Outcome.FAIL),), None),
    "another's": ((signature("from", is_aligned=False),), None),
    "one over all": ((signature("from", "subject", "reply-to", "to"),), ()),
    "one over some": ((signature("from"),), ("subject", "reply-to")),
    "two that share": ((signature("from", "subject"), signature("from", "reply-to")), ()),
    "another's does not help": (
        (signature("from"), signature(*FIELDS, is_aligned=False)),
        ("subject", "reply-to"),
    ),
}


@pytest.mark.parametrize(("dkim", "found"), UNSIGNED.values(), ids=UNSIGNED.keys())
def test_fields_that_were_used_and_that_nobody_signed_are_told(
    dkim: tuple[Dkim, ...], found: tuple[str, ...] | None
) -> None:
    mail = in_mail(signs=ReaderSigns(fields=FIELDS))
    assert find_unsigned(mail, judged(dkim=dkim)) == found
