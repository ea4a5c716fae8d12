"""What a DMARC record says, tag by tag, and where the walk to it ends (RFC 9989)."""

from dataclasses import astuple

import pytest

from postroom.core.dmarc import DmarcRecord, Walk, is_last, may_align, read_record


def _record(text: str) -> DmarcRecord:
    found = read_record([text])
    assert found is not None
    return found


@pytest.mark.parametrize(("psd", "ends"), [("y", True), ("n", True), ("u", False)])
def test_a_walk_ends_where_a_record_says_whose_suffix_it_is(psd: str, ends: bool) -> None:  # noqa: FBT001
    assert is_last(_record(f"v=DMARC1; psd={psd}")) is ends


def test_an_organisation_that_says_so_is_one_whatever_lies_above_it() -> None:
    above = ("b.example", _record("v=DMARC1; p=reject"))
    walk = Walk("a.b.example", (("a.b.example", _record("v=DMARC1; psd=n")), above), is_whole=True)
    assert walk.organisation == "a.b.example"


def test_the_record_of_a_top_level_domain_that_is_no_suffix_applies_to_nobody_below() -> None:
    walk = Walk("a.b.test", (("test", _record("v=DMARC1; p=reject")),), is_whole=True)
    assert walk.applying is None
    assert Walk("a.b.test", (), is_whole=True).applying is None


def test_a_record_has_at_most_4096_characters() -> None:
    start = "v=DMARC1; p=reject; rua=mailto:"
    assert read_record([start + "a" * (4096 - len(start))]) is not None
    assert read_record([start + "a" * (4097 - len(start))]) is None


RECORDS = {
    "nothing but its version": ("v=DMARC1", ("none", "none", "none", False, False, "u", False)),
    "everything said": (
        "v=DMARC1; p=reject; sp=quarantine; np=none; adkim=s; aspf=s; psd=y",
        ("reject", "quarantine", "none", True, True, "y", True),
    ),
    "one strict, the other not": (
        "v=DMARC1; p=none; adkim=s; aspf=r",
        ("none", "none", "none", True, False, "u", False),
    ),
    "a test, which asks for one step less": (
        "v=DMARC1; p=quarantine; sp=reject; np=quarantine; t=y",
        ("none", "quarantine", "none", False, False, "u", True),
    ),
    "values that nobody knows": (
        "v=DMARC1; p=maybe; sp=perhaps; adkim=x; aspf=y; psd=x; t=z",
        ("none", "none", "none", False, False, "u", False),
    ),
    "a tag without a value": (
        "v=DMARC1; p; p=reject",
        ("reject", "reject", "reject", False, False, "u", False),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "record"), RECORDS.values(), ids=RECORDS)
def test_every_tag_of_a_record_is_read(text: str, record: tuple[object, ...]) -> None:
    assert astuple(_record(text)) == record


@pytest.mark.parametrize(
    ("domain", "other", "may"),
    [
        ("a.example", "a.example", True),
        ("a.b.example", "c.b.example", True),
        ("b.example", "a.b.example", True),
        ("b.example", "c.example", False),
        ("b.example", "b.test", False),
        ("example", "a.example", False),
    ],
)
def test_domains_with_other_last_labels_are_never_one(domain: str, other: str, may: bool) -> None:  # noqa: FBT001
    assert may_align(domain, other) is may


@pytest.mark.parametrize(
    ("domain", "suffix", "organisation"),
    [
        ("x.a.b.example", "example", "b.example"),
        ("x.a.b.co.example", "co.example", "b.co.example"),
        ("x.b.city.co.example", "city.co.example", "b.city.co.example"),
    ],
)
def test_an_organisation_is_one_label_longer_than_its_suffix(
    domain: str, suffix: str, organisation: str
) -> None:
    walk = Walk(domain, ((suffix, _record("v=DMARC1; psd=y")),), is_whole=True)
    assert walk.organisation == organisation
