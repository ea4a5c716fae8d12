"""DMARC records, the tree walk and whose domain is whose (RFC 9989), without DNS."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.dmarc import (
    DmarcRecord,
    Walk,
    is_aligned,
    is_last,
    may_align,
    names_to_ask,
    policy_for,
    read_record,
)


def _record(text: str) -> DmarcRecord:
    found = read_record([text])
    assert found is not None
    return found


def _walk(domain: str, published: dict[str, str]) -> Walk:
    """The walk of a domain where these names have these records."""
    found = []
    for name in names_to_ask(domain):
        record = read_record([published[name]] if name in published else [])
        if record is not None:
            found.append((name, record))
            if is_last(record):
                break
    return Walk(domain, tuple(found), is_whole=True)


@pytest.mark.parametrize(
    ("domain", "names"),
    [
        ("example", ("example",)),
        ("a.example", ("a.example", "example")),
        ("a.b.example", ("a.b.example", "b.example", "example")),
        (
            "a.b.c.d.e.f.g.example",
            (
                "a.b.c.d.e.f.g.example",
                "b.c.d.e.f.g.example",
                "c.d.e.f.g.example",
                "d.e.f.g.example",
                "e.f.g.example",
                "f.g.example",
                "g.example",
                "example",
            ),
        ),
        (
            "a.b.c.d.e.f.g.h.i.example",
            (
                "a.b.c.d.e.f.g.h.i.example",
                "d.e.f.g.h.i.example",
                "e.f.g.h.i.example",
                "f.g.h.i.example",
                "g.h.i.example",
                "h.i.example",
                "i.example",
                "example",
            ),
        ),
    ],
    ids=["one label", "two", "three", "eight", "ten: those between are left out"],
)
def test_a_walk_asks_for_at_most_eight_names(domain: str, names: tuple[str, ...]) -> None:
    assert names_to_ask(domain) == names


ORGANISATIONS = {
    "nobody publishes: itself": ("a.b.example", {}, "a.b.example"),
    "its own record": ("b.example", {"b.example": "v=DMARC1; p=none"}, "b.example"),
    "the shortest name with a record": (
        "a.b.example",
        {"a.b.example": "v=DMARC1", "b.example": "v=DMARC1; p=reject"},
        "b.example",
    ),
    "psd=n ends it": (
        "a.b.example",
        {"a.b.example": "v=DMARC1; psd=n", "b.example": "v=DMARC1"},
        "a.b.example",
    ),
    "below a public suffix": (
        "a.b.co.example",
        {"b.co.example": "v=DMARC1", "co.example": "v=DMARC1; psd=y"},
        "b.co.example",
    ),
    "below a public suffix, without a record of its own": (
        "a.b.co.example",
        {"co.example": "v=DMARC1; psd=y; p=reject"},
        "b.co.example",
    ),
    "a public suffix itself": ("co.example", {"co.example": "v=DMARC1; psd=y"}, "co.example"),
    "a top-level domain that leaves it out is none": (
        "a.b.test",
        {"test": "v=DMARC1; p=none"},
        "a.b.test",
    ),
    "unless it says that it is one organisation": (
        "a.brand",
        {"brand": "v=DMARC1; p=none; psd=n"},
        "brand",
    ),
}


@pytest.mark.parametrize(
    ("domain", "published", "organisation"), ORGANISATIONS.values(), ids=ORGANISATIONS
)
def test_the_organisation_of_a_domain(
    domain: str, published: dict[str, str], organisation: str
) -> None:
    assert _walk(domain, published).organisation == organisation


def test_where_an_answer_is_missing_the_organisation_is_unknown() -> None:
    walk = Walk("a.b.example", (("a.b.example", _record("v=DMARC1")),), is_whole=False)
    assert walk.organisation is None


def test_its_own_record_applies_even_where_a_later_answer_is_missing() -> None:
    walk = Walk("a.b.example", (("a.b.example", _record("v=DMARC1; p=reject")),), is_whole=False)
    assert walk.applying is not None
    assert walk.applying[0] == "a.b.example"


@pytest.mark.parametrize(
    ("domain", "published", "name", "policy"),
    [
        ("b.example", {"b.example": "v=DMARC1; p=reject; sp=none"}, "b.example", "reject"),
        ("a.b.example", {"b.example": "v=DMARC1; p=reject; sp=none"}, "b.example", "none"),
        ("a.b.example", {"b.example": "v=DMARC1; p=reject"}, "b.example", "reject"),
        (
            "a.b.co.example",
            {"co.example": "v=DMARC1; psd=y; p=none; sp=quarantine"},
            "co.example",
            "quarantine",
        ),
    ],
    ids=["its own", "for subdomains", "the same for subdomains", "of the public suffix"],
)
def test_the_policy_that_applies(
    domain: str, published: dict[str, str], name: str, policy: str
) -> None:
    walk = _walk(domain, published)
    assert walk.applying is not None
    assert walk.applying[0] == name
    assert policy_for(walk, *walk.applying) == policy


def test_a_subdomain_that_does_not_exist_has_a_policy_of_its_own() -> None:
    walk = _walk("a.b.example", {"b.example": "v=DMARC1; p=none; np=reject"})
    assert walk.applying is not None
    assert policy_for(walk, *walk.applying, is_domain_missing=True) == "reject"
    assert policy_for(walk, *walk.applying) == "none"


@pytest.mark.parametrize(
    ("texts", "is_record"),
    [
        (["v=DMARC1; p=none"], True),
        (["V = dmarc1 ;p=none"], True),
        (["v=DMARC1"], True),
        (["v=spf1 -all", "v=DMARC1; p=none"], True),
        (["v=DMARC1; p=none", "v=DMARC1; p=reject"], False),
        (["v=DMARC12; p=none"], False),
        (["p=none; v=DMARC1"], False),
        (["v=DMARC1; p=none" + "x" * 5000], False),
        ([], False),
    ],
    ids=[
        "plain",
        "odd case and space",
        "without a policy",
        "beside another text",
        "two records",
        "another version",
        "the version is not first",
        "longer than is read",
        "none",
    ],
)
def test_there_is_a_record_or_not(texts: list[str], is_record: bool) -> None:  # noqa: FBT001
    assert (read_record(texts) is not None) is is_record


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("v=DMARC1", "none"),
        ("v=DMARC1; p=REJECT", "reject"),
        ("v=DMARC1; p=quarantine; t=y", "none"),
        ("v=DMARC1; p=reject; t=y", "quarantine"),
        ("v=DMARC1; p=soon", "none"),
        ("v=DMARC1; p=reject; p=none", "reject"),
    ],
    ids=["no p", "capitals", "quarantine in a test", "reject in a test", "unknown", "twice"],
)
def test_what_a_record_asks_for(text: str, policy: str) -> None:
    assert _record(text).policy == policy


def test_strict_alignment_wants_the_same_domain() -> None:
    published = {"b.example": "v=DMARC1; adkim=s"}
    one, other = _walk("a.b.example", published), _walk("b.example", published)
    assert is_aligned(one, other, is_strict=False)
    assert not is_aligned(one, other, is_strict=True)
    assert is_aligned(one, one, is_strict=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("evil.test", "ex.test"),
        ("good.example-evil.example", "good.example"),
        ("evilgood.example", "good.example"),
        ("my-company.example", "my.example"),
        ("a.co.test", "b.co.test"),
    ],
)
@pytest.mark.parametrize("published", [{}, {"test": "v=DMARC1", "example": "v=DMARC1"}])
def test_strangers_never_align(one: str, other: str, published: dict[str, str]) -> None:
    assert not is_aligned(_walk(one, published), _walk(other, published), is_strict=False)


_LABEL = st.from_regex(r"[a-c]{1,2}", fullmatch=True)
_DOMAIN = st.lists(_LABEL, min_size=1, max_size=10).map(".".join)
_PUBLISHED = st.dictionaries(
    _DOMAIN, st.sampled_from(["v=DMARC1", "v=DMARC1; psd=y", "v=DMARC1; psd=n"]), max_size=8
)


@given(_DOMAIN, _DOMAIN, _PUBLISHED)
def test_who_aligns_could_align(one: str, other: str, published: dict[str, str]) -> None:
    """The cheap question never hides what the walk would have found."""
    found = is_aligned(_walk(one, published), _walk(other, published), is_strict=False)
    brands = {name for name, text in published.items() if "." not in name and text.endswith("n")}
    if found and not brands:
        assert may_align(one, other)


@given(st.text(max_size=300))
def test_any_text_is_a_record_or_none(text: str) -> None:
    read_record([text])
    read_record([f"v=DMARC1; {text}"])
