"""Authentication-Results as strangers and servers write them (HAZARDS D1, CASES A31)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.authentication import Outcome
from postroom.inbound.verify.authresults import Servers, find_forged, find_trusted, read_results


SERVERS = Servers(frozenset({"mx.ours.example"}), frozenset({"mx.provider.example"}))

NAMED = {
    "plain": b"mx.ours.example; spf=pass",
    "in capitals": b"MX.Ours.Example; spf=pass",
    "quoted": b'"mx.ours.example"; spf=pass',
    "quoted with escapes": b'"mx.\\ours.example"; spf=pass',
    "behind a comment": b"(nested (comment) ; here) mx.ours.example (x); spf=pass",
    "with a version": b"mx.ours.example 1; spf=pass",
    "with another version": b"mx.ours.example 2; spf=pass",
    "with a version behind a slash": b"mx.ours.example/1; spf=pass",
    "with a dot at its end": b"mx.ours.example.; spf=pass",
    "folded": b"\r\n\tmx.ours.example\r\n\t;spf=pass",
    "with nothing": b"mx.ours.example; none",
    "without a semicolon": b"mx.ours.example",
    "in an ARC set": b"i=1; mx.ours.example; spf=pass",
    "in an ARC set, oddly": b" i = 1 ; (x) MX.ours.example; spf=pass",
}


@pytest.mark.parametrize("value", NAMED.values(), ids=NAMED)
def test_our_name_is_seen_however_it_is_written(value: bytes) -> None:
    assert read_results(value).authserv_id == "mx.ours.example"


@pytest.mark.parametrize(
    "value",
    [b"mx.ours.example.evil.example; spf=pass", b"evil; mx.ours.example", b"", b";", b"(", b'"'],
    ids=repr,
)
def test_what_is_not_our_name_is_not(value: bytes) -> None:
    assert read_results(value).authserv_id != "mx.ours.example"


def test_results_are_read_with_their_properties() -> None:
    read = read_results(
        b"mx.provider.example 1; dkim=pass (2048-bit key; x=y) header.d=Good.Example header.i=@good.example"
        b' reason="a; b" ; spf = softfail smtp.mailfrom = prvs=1=alice@good.example ; dmarc/1=fail (p=NONE)'
        b" header.from=good.example; iprev=hardfail policy.iprev=192.0.2.1; x-odd=nonsense"
    )
    assert [(one.method, one.outcome) for one in read.results] == [
        ("dkim", Outcome.PASS),
        ("spf", Outcome.SOFTFAIL),
        ("dmarc", Outcome.FAIL),
        ("iprev", Outcome.FAIL),
        ("x-odd", Outcome.ABSENT),
    ]
    assert read.results[0].properties == {
        "header.d": "good.example",
        "header.i": "@good.example",
        "reason": "a; b",
    }
    assert read.results[1].properties == {"smtp.mailfrom": "prvs=1=alice@good.example"}


FIELDS = (
    ("authentication-results", b"mx.ours.example; dmarc=pass header.from=good.example"),
    ("received", b"from somewhere"),
    ("authentication-results", b"elsewhere.example; spf=fail"),
    ("authentication-results", b"MX.OURS.EXAMPLE (again); dkim=pass"),
    ("arc-authentication-results", b"i=1; mx.ours.example; spf=pass"),
    ("authentication-results", b"mx.provider.example; spf=pass"),
    ("authentication-results", b"mx.ours.example/1; spf=pass"),
    ("x-authentication-results", b"mx.ours.example; spf=pass"),
)


def test_all_that_bear_our_name_are_forged_and_not_only_the_first() -> None:
    """OpenDKIM#185 took away the first of several."""
    assert find_forged(FIELDS, SERVERS, is_trusted=False) == {0, 3, 4, 5, 6}


def test_from_a_trusted_relay_those_of_trusted_servers_are_not_forged() -> None:
    assert find_forged(FIELDS, SERVERS, is_trusted=True) == {0, 3, 4, 6}


def test_a_relay_of_our_own_name_is_believed_where_that_name_is_trusted() -> None:
    servers = Servers(SERVERS.own, frozenset({"mx.ours.example"}))
    assert find_forged(FIELDS, servers, is_trusted=True) == set()
    assert find_forged(FIELDS, servers, is_trusted=False) == {0, 3, 4, 6}


def test_names_are_the_same_in_capitals() -> None:
    servers = Servers(frozenset({"MX.ours.example"}), frozenset({"MX.Provider.example"}))
    assert find_forged(FIELDS, servers, is_trusted=False) == {0, 3, 4, 5, 6}
    assert [one.authserv_id for one in find_trusted(FIELDS, servers)] == ["mx.provider.example"]


RECEIVED = ("received", b"from a.example by mx.provider.example; Mon, 30 Nov 2026 09:00:00 +0000")
FILTERED = [
    ("authentication-results", b"elsewhere.example; spf=pass"),
    ("authentication-results", b"mx.provider.example; spf=fail"),
    ("authentication-results", b"MX.provider.example; dkim=pass header.d=a.example"),
]
BELOW = [
    ("authentication-results", b"mx.provider.example; dmarc=pass header.from=bank.example"),
    ("arc-authentication-results", b"i=1; mx.provider.example; spf=pass"),
]


def test_of_a_trusted_server_every_field_above_its_received_counts() -> None:
    (found,) = find_trusted([*FILTERED, RECEIVED, *BELOW], SERVERS)
    assert [(one.method, one.outcome) for one in found.results] == [
        ("spf", Outcome.FAIL),
        ("dkim", Outcome.PASS),
    ]


def test_below_its_received_only_the_topmost_counts() -> None:
    (found,) = find_trusted([RECEIVED, *FILTERED, *BELOW], SERVERS)
    assert [(one.method, one.outcome) for one in found.results] == [("spf", Outcome.FAIL)]


def test_a_version_that_is_unknown_is_not_used() -> None:
    fields = [("authentication-results", b"mx.provider.example 2; spf=pass")]
    assert find_trusted(fields, SERVERS) == ()


@given(st.binary(max_size=400))
def test_any_value_can_be_read(value: bytes) -> None:
    read_results(value)
    read_results(b"mx.ours.example; " + value)


@given(st.lists(st.sampled_from(['"', "\\", "(", ")", ";", "=", "a", " ", "/", "."]), max_size=60))
def test_any_mixture_of_marks_can_be_read(marks: list[str]) -> None:
    read_results("".join(marks).encode())


@pytest.mark.parametrize(
    "unit", [b"(", b'"', b"\\", b'"\\', b'\\"', b"=", b"a=", b"; ", b" ", b"(\\)"]
)
def test_a_hostile_value_is_no_trouble(unit: bytes) -> None:
    for _ in range(50):
        read_results(unit * (100_000 // len(unit)))
