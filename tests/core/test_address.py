"""Which addresses are accepted, and in which form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.address import read_address, read_named_address
from postroom.core.job import Address


ACCEPTED = {
    "plain": ("ann@one.example", "ann@one.example"),
    "domain is folded, local part is not": ("Ann.B@One.EXAMPLE", "Ann.B@one.example"),
    "plus and specials": (
        "ann+tag!#$%&'*/=?^_`{|}~-@one.example",
        "ann+tag!#$%&'*/=?^_`{|}~-@one.example",
    ),
    "a test domain": ("ann@x.test", "ann@x.test"),
    "an intranet domain": ("ann@printer.local", "ann@printer.local"),
    "one label": ("root@localhost", "root@localhost"),
    "an international domain": ("ann@Bücher.example", "ann@xn--bcher-kva.example"),
    "an international domain of an intranet": ("ann@bücher.local", "ann@xn--bcher-kva.local"),
    "a domain as A-labels": ("ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"),
    "an international local part": ("jörg@one.example", "jörg@one.example"),
    "a local part that is not in NFC": ("jo\u0308rg@one.example", "jörg@one.example"),
    "an ideographic full stop": ("ann@one。example", "ann@one.example"),
    "a simple quoted local part": ('"ann..b"@one.example', '"ann..b"@one.example'),
    "64 octets": ("a" * 64 + "@one.example", "a" * 64 + "@one.example"),
    "254 octets": ("a" * 60 + "@" + "b" * 63 + "." + "c" * 63 + "." + "d" * 63 + ".e", None),
    "a role with capitals": ("POSTMASTER@bücher.example", "POSTMASTER@xn--bcher-kva.example"),
}

REFUSED = {
    "nothing": "",
    "no at": "ann",
    "no local part": "@one.example",
    "no domain": "ann@",
    "two ats": "ann@bob@one.example",
    "a name": "Ann <ann@one.example>",
    "brackets": "<ann@one.example>",
    "a list": "ann@one.example, bob@one.example",
    "a semicolon": "ann@one.example;bob@one.example",
    "a group": "team: ann@one.example;",
    "a route": "@two.example:ann@one.example",
    "a comment": "ann(x)@one.example",
    "a literal": "ann@[192.0.2.1]",
    "a number": "ann@192.0.2.1",
    "a space": "an n@one.example",
    "a space around": " ann@one.example",
    "a quoted space": '"an n"@one.example',
    "a quoted at": '"a@b"@one.example',
    "a quoted bracket": '"a>b"@one.example',
    "a line end": "ann@one.example\r\nRCPT TO:<x@x.example>",
    "a parameter": "ann@one.example> AUTH=<",
    "a NUL": "a\0@one.example",
    "a line separator": "a\u2028@one.example",
    "half a pair": "a\ud800@one.example",
    "two dots": "ann..b@one.example",
    "a dot at the end": "ann.@one.example",
    "a dot after the domain": "ann@one.example.",
    "an empty label": "ann@one..example",
    "a hyphen first": "ann@-one.example",
    "an underscore": "ann@on_e.example",
    "a false A-label": "ann@xn--a.example",
    "a false A-label behind another label": "ann@mail.xn--a.example",
    "65 octets": "a" * 65 + "@one.example",
    "65 octets beside an international domain": "a" * 65 + "@bücher.example",
    "65 octets of 33 characters": "ö" * 33 + "@one.example",
    "a label of 64": "a@" + "b" * 64 + ".example",
    "255 octets in fewer characters": "ö" * 32 + "@" + "b" * 63 + "." + "c" * 63 + "." + "d" * 63,
    "255 octets": "a" * 61 + "@" + "b" * 63 + "." + "c" * 63 + "." + "d" * 63 + ".e",
    "a domain that grows": "a@" + ".".join(["ü" * 40] * 5) + ".example",
    "a megabyte": "a" * 1_000_000 + "@one.example",
}


@pytest.mark.parametrize(("given_text", "stored"), ACCEPTED.values(), ids=ACCEPTED)
def test_an_address_is_accepted(given_text: str, stored: str | None) -> None:
    assert read_address(given_text) == Address(stored or given_text)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_an_address_is_refused_in_a_safe_sentence(text: str) -> None:
    found = read_address(text)
    assert isinstance(found, str)
    assert found.isprintable()
    assert len(found) < 300


@given(st.text(max_size=300))
def test_what_is_accepted_can_be_put_in_a_command(text: str) -> None:
    found = read_address(text)
    if isinstance(found, Address):
        local, _, domain = found.address.rpartition("@")
        assert not set(found.address) & set(" \t\r\n\0<>,;:()[]\\")
        assert domain.isascii()
        assert domain == domain.lower()
        assert len(local.encode()) <= 64
        assert len(found.address.encode()) <= 254
        assert read_address(found.address) == found


def test_a_display_name_is_kept_in_single_spaces() -> None:
    assert read_address("ann@one.example", " Ann  Example ") == Address(
        "ann@one.example", "Ann Example"
    )


def test_a_display_name_has_at_most_256_characters() -> None:
    assert read_address("ann@one.example", "x" * 256) == Address("ann@one.example", "x" * 256)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ann", "The address 'ann' must be user@domain."),
        ("@one.example", "The address '@one.example' must be user@domain."),
        ("ann@", "The address 'ann@' must be user@domain."),
        (
            "an n@one.example",
            "The address 'an n@one.example' must be one bare user@domain, without names, brackets, lists or spaces.",
        ),
        (
            '"a b"@one.example',
            "The address '\"a b\"@one.example' must be one bare user@domain, without names, brackets, lists or spaces.",
        ),
        (
            '"a@b"@one.example',
            "The quoted part before the @ holds characters that are not accepted there.",
        ),
        ("a\r@one.example", "The address holds a line end (U+000D)."),
        ("a" * 255, "The address is longer than 254 octets."),
        ("a" * 65 + "@one.example", "The part before the @ is longer than 64 octets."),
        (
            "ann@192.0.2.1",
            "The part after the @ is a number or an IP address, not a domain.",
        ),
    ],
)
def test_what_is_wrong_with_an_address_is_said(text: str, sentence: str) -> None:
    assert read_address(text) == sentence


@pytest.mark.parametrize(
    "name", ["a\r\nBcc: x@x.example", "\0", "x" * 257], ids=["line end", "NUL", "too long"]
)
def test_a_display_name_is_refused(name: str) -> None:
    assert isinstance(read_address("ann@one.example", name), str)


NAMED = {
    "bare": ("ann@one.example", Address("ann@one.example")),
    "plain name": ("Support Team <ann@one.example>", Address("ann@one.example", "Support Team")),
    "quoted name": (
        r'"Support, \"A\" <x>" <ann@one.example>',
        Address("ann@one.example", 'Support, "A" <x>'),
    ),
    "a name with a tilde": ("A~B <ann@one.example>", Address("ann@one.example", "A~B")),
    "international name": (
        "Jörg <jörg@Bücher.example>",
        Address("jörg@xn--bcher-kva.example", "Jörg"),
    ),
    "no name": (" <ann@one.example> ", Address("ann@one.example")),
    "a quoted name with brackets": (
        '"a <b@x.example>" <ann@one.example>',
        Address("ann@one.example", "a <b@x.example>"),
    ),
}


@pytest.mark.parametrize(("text", "stored"), NAMED.values(), ids=NAMED)
def test_an_address_with_a_name_is_read(text: str, stored: Address) -> None:
    assert read_named_address(text) == stored


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Support",
        "A <b> <ann@one.example>",
        "a@x.example, b@x.example",
        "A\n <a@x.example>",
        'A "b" <ann@one.example>',
        '"A" b <ann@one.example>',
        "A <ann@one.example> b",
        "A <ann@one.example>>",
        "A> <ann@one.example>",
    ],
)
def test_what_is_no_named_address_is_refused(text: str) -> None:
    assert isinstance(read_named_address(text), str)
