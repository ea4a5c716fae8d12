"""What is a domain, and what only looks like one (HAZARDS D2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.domainname import domain_of, read_domain


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Good.Example", "good.example"),
        ("good.example-evil.example", "good.example-evil.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("example.net(.example.com", None),
        ("good.example\0.evil.example", None),
        ("good.example.", None),
        ("good..example", None),
        (".good.example", None),
        ("-good.example", None),
        ("good_one.example", None),
        ("[192.0.2.1]", None),
        ("192.0.2.1", None),
        ("good.example evil.example", None),
        ("good.example\n", None),
        ("a" * 64 + ".example", None),
        ("a." * 127 + "example", None),
        ("a." * 126 + "a", "a." * 126 + "a"),
        ("a." * 126 + "aa", None),
        ("", None),
        ("g\u043e\u043ed\u2024example", None),
        ("good。example", "good.example"),
    ],
)
def test_a_domain_is_letters_digits_and_hyphens(text: str, domain: str | None) -> None:
    assert read_domain(text) == domain


@pytest.mark.parametrize(
    ("address", "domain"),
    [
        ("alice@good.example", "good.example"),
        ('"a@good.example"@evil.example', "evil.example"),
        ("a@good.example@evil.example", "evil.example"),
        ("good.example", None),
        ("", None),
    ],
)
def test_the_domain_of_an_address_is_behind_its_last_at(address: str, domain: str | None) -> None:
    assert domain_of(address) == domain


@given(st.text(max_size=300))
def test_any_text_is_a_plain_domain_or_none(text: str) -> None:
    found = read_domain(text)
    assert found is None or (found.isascii() and found == found.lower() and " " not in found)
