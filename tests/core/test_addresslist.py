"""Which addresses a list of the settings covers."""

import pytest

from postroom.core.addresslist import matches, may_write_to, read_entry
from postroom.core.job import Address


COVERED = {
    "an address without regard to case": ("Ann@One.example", "aNN@one.example", True),
    "another address": ("ann@one.example", "bob@one.example", False),
    "a domain": ("one.example", "bob@one.example", True),
    "a domain with an at": ("@One.Example", "bob@one.example", True),
    "not below a domain": ("one.example", "bob@sub.one.example", False),
    "not beside a domain": ("one.example", "bob@someone.example", False),
    "below a domain": ("*.one.example", "bob@a.sub.one.example", True),
    "not the domain itself": ("*.one.example", "bob@one.example", False),
    "not a name that ends alike": ("*.one.example", "bob@someone.example", False),
    "an international domain": ("bücher.example", "ann@xn--bcher-kva.example", True),
    "nothing that is wrong": ("no such thing", "bob@one.example", False),
}


@pytest.mark.parametrize(("entry", "address", "is_covered"), COVERED.values(), ids=COVERED)
def test_an_entry_covers(entry: str, address: str, is_covered: bool) -> None:  # noqa: FBT001 - a column of the table
    local, _, domain = address.rpartition("@")
    assert matches([entry], Address(f"{local}@{domain}")) is is_covered


@pytest.mark.parametrize("text", ["", "@", "*.", "a b", "*", "*.x y", "a@", "*@one.example "])
def test_what_is_no_entry_is_told(text: str) -> None:
    assert read_entry(text) is None


RULES = {
    "no lists allow all": ((), (), True),
    "allowed": (("one.example",), (), True),
    "not among the allowed": (("two.example",), (), False),
    "denied": ((), ("ann@one.example",), False),
    "deny wins": (("one.example",), ("ann@one.example",), False),
}


@pytest.mark.parametrize(("allow", "deny", "may"), RULES.values(), ids=RULES)
def test_lists_decide(allow: tuple[str, ...], deny: tuple[str, ...], may: bool) -> None:  # noqa: FBT001 - a column of the table
    assert may_write_to(Address("ann@one.example"), allow=allow, deny=deny) is may
