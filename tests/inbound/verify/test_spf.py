"""SPF (RFC 7208), case by case on zones of our own: outcomes, limits, and what strangers try with it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom.core.authentication import Outcome, Spf
from postroom.inbound.verify.spfcheck import check_spf, sender_of
from postroom.inbound.verify.spfdoor import evaluate
from postroom.ports.resolving import Answer, Found, Kind, Lookup
from support.zone import FakeResolver, Zone


CLIENT = "192.0.2.1"


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


async def _check(
    zone: Zone,
    threads: ThreadPoolExecutor,
    *,
    sender: str = "alice@good.example",
    helo: str = "mail.good.example",
    client: str | None = CLIENT,
) -> Spf:
    return await check_spf(FakeResolver(zone), threads, client, sender_of(sender, helo), helo)


def _zone(record: str, **others: list[str]) -> Zone:
    return Zone({"good.example TXT": [record], **others})


# The record, other data, and the outcome for 192.0.2.1.
RECORDS: dict[str, tuple[str, dict[str, list[str]], str]] = {
    "its address": ("v=spf1 ip4:192.0.2.1 -all", {}, "pass"),
    "its network": ("v=spf1 ip4:192.0.2.0/24 -all", {}, "pass"),
    "another address": ("v=spf1 ip4:192.0.2.2 -all", {}, "fail"),
    "softly": ("v=spf1 ~all", {}, "softfail"),
    "neutral": ("v=spf1 ?all", {}, "neutral"),
    "nothing fits": ("v=spf1 ip4:192.0.2.2", {}, "neutral"),
    "a name": ("v=spf1 a:mx.good.example -all", {"mx.good.example A": [CLIENT]}, "pass"),
    "an exchange": (
        "v=spf1 mx -all",
        {"good.example MX": ["10 mx.good.example"], "mx.good.example A": [CLIENT]},
        "pass",
    ),
    "no mail at all": ("v=spf1 mx -all", {"good.example MX": ["0 ."]}, "fail"),
    "another's record": (
        "v=spf1 include:spf.other.example -all",
        {"spf.other.example TXT": ["v=spf1 ip4:192.0.2.1 -all"]},
        "pass",
    ),
    "another's refusal is not its own": (
        "v=spf1 include:spf.other.example ?all",
        {"spf.other.example TXT": ["v=spf1 -all"]},
        "neutral",
    ),
    "another's missing record": ("v=spf1 include:spf.other.example -all", {}, "permerror"),
    "sent on": (
        "v=spf1 redirect=spf.other.example",
        {"spf.other.example TXT": ["v=spf1 ip4:192.0.2.1 -all"]},
        "pass",
    ),
    "a macro": (
        "v=spf1 exists:%{ir}.%{l}.spf.%{d} -all",
        {"1.2.0.192.alice.spf.good.example A": ["127.0.0.2"]},
        "pass",
    ),
    "a name by its address": (
        "v=spf1 ptr -all",
        {"1.2.0.192.in-addr.arpa PTR": ["mx.good.example"], "mx.good.example A": [CLIENT]},
        "pass",
    ),
    "an explanation is not asked for": (
        "v=spf1 -all exp=why.good.example",
        {"why.good.example TXT": ["see %{d}"]},
        "fail",
    ),
    "an unknown mechanism": ("v=spf1 pi4:192.0.2.1 -all", {}, "permerror"),
    "a damaged address": ("v=spf1 ip4:192.0.2.999 -all", {}, "permerror"),
    "no record": ("something else", {}, "none"),
    "eleven lookups": (
        "v=spf1 " + " ".join(f"a:h{number}.good.example" for number in range(11)) + " -all",
        {f"h{number}.good.example A": ["192.0.2.9"] for number in range(11)},
        "permerror",
    ),
    "ten lookups": (
        "v=spf1 " + " ".join(f"a:h{number}.good.example" for number in range(10)) + " -all",
        {f"h{number}.good.example A": ["192.0.2.9"] for number in range(10)},
        "fail",
    ),
    "three void lookups": (
        "v=spf1 a:x.good.example a:y.good.example a:z.good.example -all",
        {},
        "permerror",
    ),
    "two void lookups": ("v=spf1 a:x.good.example a:y.good.example -all", {}, "fail"),
    "eleven exchanges": (
        "v=spf1 mx -all",
        {"good.example MX": [f"10 m{number}.good.example" for number in range(11)]},
        "permerror",
    ),
    "itself again and again": ("v=spf1 redirect=good.example", {}, "permerror"),
    "octets beyond ASCII": ("v=spf1 ip4:192.0.2.1 \xe9 -all", {}, "permerror"),
}


@pytest.mark.parametrize(("record", "others", "outcome"), RECORDS.values(), ids=RECORDS)
async def test_what_a_record_says(
    threads: ThreadPoolExecutor, record: str, others: dict[str, list[str]], outcome: str
) -> None:
    found = await _check(_zone(record, **others), threads)
    assert (found.result, found.scope, found.domain) == (outcome, "mfrom", "good.example")


async def test_two_records_are_none_that_can_be_evaluated(threads: ThreadPoolExecutor) -> None:
    zone = Zone({"good.example TXT": ["v=spf1 ip4:192.0.2.1 -all", "v=spf1 -all"]})
    assert (await _check(zone, threads)).result is Outcome.PERMERROR


@pytest.mark.parametrize("client", ["2001:db8::1", "2001:DB8:0::1"])
async def test_long_addresses_are_known_too(threads: ThreadPoolExecutor, client: str) -> None:
    found = await _check(_zone("v=spf1 ip6:2001:db8::/64 -all"), threads, client=client)
    assert (found.result, found.client_ip) == (Outcome.PASS, "2001:db8::1")


async def test_a_short_address_in_a_long_one_is_the_short_one(threads: ThreadPoolExecutor) -> None:
    found = await _check(_zone("v=spf1 ip4:192.0.2.1 -all"), threads, client="::ffff:192.0.2.1")
    assert (found.result, found.client_ip) == (Outcome.PASS, CLIENT)


@pytest.mark.parametrize("client", [None, "nonsense"])
async def test_without_a_client_there_is_nothing_to_check(
    threads: ThreadPoolExecutor, client: str | None
) -> None:
    found = await _check(_zone("v=spf1 +all"), threads, client=client)
    assert (found.result, found.scope, found.client_ip) == (Outcome.ABSENT, None, None)
    assert found.why is not None


async def test_a_null_sender_is_checked_by_its_helo_name(threads: ThreadPoolExecutor) -> None:
    zone = Zone({"mail.good.example TXT": ["v=spf1 ip4:192.0.2.1 -all"]})
    found = await _check(zone, threads, sender="")
    assert (found.result, found.scope, found.domain) == ("pass", "helo", "mail.good.example")


async def test_a_helo_name_never_stands_in_for_a_sender(threads: ThreadPoolExecutor) -> None:
    """CVE-2019-20790."""
    zone = Zone({"mail.good.example TXT": ["v=spf1 +all"]})
    found = await _check(zone, threads, sender="x@nobody.example")
    assert (found.result, found.scope) == ("none", "mfrom")


@pytest.mark.parametrize(
    "sender",
    ["x@example.net(.example.com", "x@good_one.example", "x@[192.0.2.1]", "x@good..example", "x"],
)
async def test_what_is_no_domain_is_an_error(threads: ThreadPoolExecutor, sender: str) -> None:
    zone = Zone({"example.net TXT": ["v=spf1 +all"], "good.example TXT": ["v=spf1 +all"]})
    found = await _check(zone, threads, sender=sender)
    assert (found.result, found.domain) == (Outcome.PERMERROR, None)


async def test_the_domain_is_behind_the_last_at(threads: ThreadPoolExecutor) -> None:
    """pyspf takes the first one."""
    zone = Zone(
        {"good.example TXT": ["v=spf1 +all"], "evil.example TXT": ["v=spf1 ip4:192.0.2.9 -all"]}
    )
    found = await _check(zone, threads, sender='"a@good.example"@evil.example')
    assert (found.result, found.domain) == (Outcome.FAIL, "evil.example")


@pytest.mark.parametrize("name", ["good.example", "spf.other.example", "mx.other.example"])
async def test_no_answer_is_its_own_outcome(threads: ThreadPoolExecutor, name: str) -> None:
    zone = _zone(
        "v=spf1 include:spf.other.example -all",
        **{"spf.other.example TXT": ["v=spf1 a:mx.other.example -all"]},
    )
    zone.silent.add(name)
    assert (await _check(zone, threads)).result is Outcome.TEMPERROR


async def test_evaluations_at_the_same_time_do_not_meet(threads: ThreadPoolExecutor) -> None:
    """pyspf asks DNS by a function of its module."""
    zones = {
        "pass": _zone("v=spf1 a:mx.good.example -all", **{"mx.good.example A": [CLIENT]}),
        "fail": _zone("v=spf1 a:mx.good.example -all", **{"mx.good.example A": ["192.0.2.9"]}),
        "softfail": _zone("v=spf1 ~all"),
    }
    async with asyncio.TaskGroup() as group:
        asked = [
            (outcome, group.create_task(_check(zone, threads)))
            for _ in range(10)
            for outcome, zone in zones.items()
        ]
    assert all(task.result().result == outcome for outcome, task in asked)


class _Together(dict[Lookup, Answer]):
    """Answers that are given out only when the other evaluation asks as well."""

    def __init__(self, barrier: threading.Barrier, host: str) -> None:
        super().__init__(
            {
                Lookup(Kind.TXT, "good.example"): Found(("v=spf1 a:mx.good.example -all",)),
                Lookup(Kind.A, "mx.good.example"): Found((host,)),
            }
        )
        self._barrier = barrier

    def get(self, key: Lookup, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        self._barrier.wait(10)
        return super().get(key, default)


def test_evaluations_that_take_turns_keep_their_own_answers(threads: ThreadPoolExecutor) -> None:
    barrier = threading.Barrier(2)
    sender = ("alice", "good.example")
    asked = [
        threads.submit(evaluate, CLIENT, sender, "h.example", _Together(barrier, host))
        for host in (CLIENT, "192.0.2.9")
    ]
    assert [one.result(10) for one in asked] == [Outcome.PASS, Outcome.FAIL]


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ("exists:" + "a." * 200 + "example", "pass"),
        ("exists:" + "a." * 300 + "example", "permerror"),
        ("ip4:192.0.2.9 " * 250, "pass"),
        ("ip4:192.0.2.9 " * 350, "permerror"),
    ],
    ids=["a long term", "too long a term", "a long record", "too long a record"],
)
async def test_what_is_longer_than_is_read_is_not_evaluated_at_all(
    threads: ThreadPoolExecutor, more: str, outcome: str
) -> None:
    found = await _check(_zone(f"v=spf1 ip4:192.0.2.1 {more} -all"), threads)
    assert found.result == outcome


@pytest.mark.parametrize(
    "term",
    [
        "a:x." + "a" * 60_000,
        "a:x." + "a-" * 30_000,
        "exists:" + "%{s}" * 10_000,
        "a:" + "%{d}." * 100,
        " ".join(["a"] * 3_000),
        "include:" + "." * 400,
        "a:%{d" + "9" * 400 + "r}.example",
    ],
    ids=[
        "a long label",
        "many hyphens",
        "many macros",
        "a long name",
        "many terms",
        "dots",
        "a long number",
    ],
)
async def test_a_hostile_record_is_no_trouble(threads: ThreadPoolExecutor, term: str) -> None:
    """A label of 60 KB alone would keep pyspf's patterns busy for minutes."""
    found = await _check(_zone(f"v=spf1 {term} -all"), threads)
    assert found.result in {Outcome.PERMERROR, Outcome.FAIL}


async def test_a_record_that_makes_hundreds_of_questions_is_given_up(
    threads: ThreadPoolExecutor,
) -> None:
    exchanges = {
        f"m{number}.good.example MX": [f"10 h{number}x{at}.good.example" for at in range(10)]
        for number in range(10)
    }
    hosts = {
        f"h{number}x{at}.good.example A": ["192.0.2.9"] for number in range(10) for at in range(10)
    }
    terms = " ".join(f"mx:m{number}.good.example" for number in range(10))
    resolver = FakeResolver(_zone(f"v=spf1 {terms} -all", **exchanges, **hosts))
    sender = sender_of("a@good.example", "h.example")
    found = await check_spf(resolver, threads, CLIENT, sender, "h.example")
    assert found.result is Outcome.PERMERROR
    assert len(resolver.asked) == 60
