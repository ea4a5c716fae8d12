"""Headers as they come: dates, people, ids, subjects."""

import pytest

from postroom.core.inmail import Person
from support.mails import read


DATES = {
    "a date": ("Mon, 30 Nov 2026 10:00:00 +0200", "2026-11-30T08:00:00.000000Z"),
    "A13 no such hour": ("Mon, 30 Nov 2026 99:00:00 +0200", None),
    "A13 before all": ("Mon, 30 Nov 1926 10:00:00 GMT", None),
}


@pytest.mark.parametrize("case", DATES)
def test_a_date_is_read_or_none(case: str) -> None:
    value, date = DATES[case]
    parsed = read(f"Date: {value}\n\nwords\n")
    assert parsed.date == date
    assert ("date_unreadable" in parsed.defects) == (date is None)


SENDERS = {
    "one": (
        "From: Alice <alice@Customer.Example>",
        Person("Alice", "alice@customer.example"),
        False,
    ),
    "none": ("Subject: x", None, True),
    "A16 two people": ("From: a@x.example, b@y.example", Person("", "a@x.example"), True),
    "A16 two fields": ("From: a@x.example\nFrom: b@y.example", Person("", "a@x.example"), True),
    "an encoded name": (
        "From: =?utf-8?q?Ali=C3=A7e?= <a@x.example>",
        Person("Aliçe", "a@x.example"),
        False,
    ),
    "an encoded comma": (
        "From: =?utf-8?q?Doe=2C_A?= <a@x.example>",
        Person("Doe, A", "a@x.example"),
        False,
    ),
    "a quoted name": (
        'From: "Doe, \\"A\\"" <a@x.example>',
        Person('Doe, "A"', "a@x.example"),
        False,
    ),
    "a comment": ("From: a@x.example (Alice)", Person("Alice", "a@x.example"), False),
    "A1 a parenthesis": (
        "From: alice@x.example)bob@y.example",
        Person("alice@x.example)bob@y.example", ""),
        True,
    ),
    "A1 an address for a name": (
        'From: "ceo@bank.example" <evil@y.example>',
        Person("ceo@bank.example", "evil@y.example"),
        False,
    ),
    "a route": ("From: <@a.example,@b.example:c@d.example>", Person("", "c@d.example"), False),
    "A28 international": (
        "From: Пётр <пётр@пример.example>",
        Person("Пётр", "пётр@пример.example"),
        False,
    ),
    "raw octets": (b"From: J\xfcrgen <j@x.example>", Person("Jürgen", "j@x.example"), False),
    "no address": ("From: nobody at all", Person("nobody at all", ""), True),
    "a bidi trick": ("From: a\u202eb <a@x.example>", Person("a b", "a@x.example"), False),
}


@pytest.mark.parametrize("case", SENDERS)
def test_the_sender_is_one_person_or_ambiguous(case: str) -> None:
    field, sender, is_ambiguous = SENDERS[case]
    octets = field if isinstance(field, bytes) else field.encode()
    parsed = read(octets + b"\n\nwords\n")
    assert parsed.sender == sender
    assert parsed.is_sender_ambiguous is is_ambiguous


RECIPIENTS = {
    "A14 a group": (
        "friends: a@x.example, B <b@x.example>;, c@x.example",
        ("a@x.example", "b@x.example", "c@x.example"),
    ),
    "semicolons": ("a@x.example; b@x.example", ("a@x.example", "b@x.example")),
}


@pytest.mark.parametrize("case", RECIPIENTS)
def test_recipients_are_read_however_they_are_written(case: str) -> None:
    field, addresses = RECIPIENTS[case]
    assert read(f"To: {field}\n\nwords\n").header_recipients == addresses


def test_forwarders_leave_the_address_they_served() -> None:
    parsed = read(
        "Delivered-To: r-token@reply.example.com\nX-Original-To: <b@x.example>\nX-Forwarded-To: c@x.example\n\nwords\n"
    )
    assert parsed.forwarded_for == ("r-token@reply.example.com", "b@x.example", "c@x.example")


IDS = {
    "A22 empty": ("", ()),
    "A22 nothing in it": ("<>", ()),
    "E05 commas": ("<a@x.example>,<b@x.example>", ("<a@x.example>", "<b@x.example>")),
    "E05 one of them broken": (
        "<a@x.example> <invalid. <b@x.example>",
        ("<a@x.example>", "<b@x.example>"),
    ),
    "folded": ("<a@x.example>\n\t<b@x.example>", ("<a@x.example>", "<b@x.example>")),
    "folded within": ("<a\n @x.example>", ("<a@x.example>",)),
    "E02 encoded": (
        "=?utf-8?q?=3Ca=40x=2Eexample=3E?=\n =?utf-8?q?_=3Cb=40x=2Eexample=3E?=",
        ("<a@x.example>", "<b@x.example>"),
    ),
    "no brackets": ("a@x.example", ("<a@x.example>",)),
    "a sentence": ("Your message of Monday to a@x.example", ()),
    "A28 international": ("<ä@пример.example>", ("<ä@пример.example>",)),
    "E08 twice": ("<a@x.example> <a@x.example>", ("<a@x.example>",)),
    "by the hundred": (
        "\n ".join(f"<{at}@x.example>" for at in range(400)),
        tuple(f"<{at}@x.example>" for at in [*range(20), *range(220, 400)]),
    ),
}


@pytest.mark.parametrize("case", IDS)
def test_ids_are_read_and_broken_ones_skipped(case: str) -> None:
    field, ids = IDS[case]
    assert read(f"References: {field}\n\nwords\n").references == ids


def test_all_in_reply_to_fields_count() -> None:
    parsed = read("In-Reply-To: <a@x.example>\nIn-Reply-To: <b@x.example>\n\nwords\n")
    assert parsed.in_reply_to == ("<a@x.example>", "<b@x.example>")


SUBJECTS = {
    "encoded": ("=?utf-8?b?R3LDvMOfZQ==?=", "Grüße"),
    "two words": ("=?utf-8?q?a?=\n =?utf-8?q?b?= c", "ab c"),
    "two charsets": ("=?utf-8?q?=C3=A4?= =?iso-8859-1?q?=E4?=", "ää"),
    "split between words": ("=?utf-8?q?=C3?= =?utf-8?q?=A4?=", "ä"),
    "a language": ("=?utf-8*de?q?=C3=A4?=", "ä"),
    "A2 an injection": ("=?utf-8?q?evil=0D=0AX-Inj:_1?=", "evil X-Inj: 1"),
    "folded": ("one\n two", "one two"),
    "too long": ("a" * 3000, "a" * 1000),
}


@pytest.mark.parametrize("case", SUBJECTS)
def test_a_subject_is_one_harmless_line(case: str) -> None:
    field, subject = SUBJECTS[case]
    assert read(f"Subject: {field}\n\nwords\n").subject == subject


def test_an_undecodable_subject_is_told() -> None:
    assert "encoded_word_damaged" in read("Subject: =?x-no-such?q?caf=E9?=\n\nwords\n").defects


def test_the_index_of_a_thread_is_handed_on() -> None:
    assert read("Thread-Index: AdEx\n\nwords\n").thread_index == "AdEx"
