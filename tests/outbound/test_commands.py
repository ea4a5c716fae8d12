"""What a relay offers is read, and no address can be more than an address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.outbound.commands import (
    Offer,
    find_unfit,
    mail_command,
    rcpt_command,
    read_offer,
    xtext,
)
from postroom.outbound.dialogue import _ContentRules
from postroom.ports.relay import Envelope


ALL = Offer(
    has_pipelining=True,
    has_dsn=True,
    has_smtputf8=True,
    has_8bitmime=True,
    has_size=True,
    size_bytes=1000,
)


def envelope(
    sender: str = "a@a.example", recipient: str = "b@b.example", envid: str = "x"
) -> Envelope:
    return Envelope(sender, recipient, envid, 10)


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        pytest.param({}, Offer(), id="HELO"),
        pytest.param({"size": "1000"}, Offer(has_size=True, size_bytes=1000), id="a size"),
        pytest.param({"size": ""}, Offer(has_size=True), id="a size without a number"),
        pytest.param({"size": "lots"}, Offer(has_size=True), id="a size that is none"),
        pytest.param({"size": "9" * 5000}, Offer(has_size=True), id="a size that is absurd"),
        pytest.param(
            {"pipelining": "", "dsn": "", "smtputf8": "", "8bitmime": "", "size": "1000"},
            ALL,
            id="all",
        ),
    ],
)
def test_an_offer_is_read(extensions: dict[str, str], expected: Offer) -> None:
    assert read_offer(extensions) == expected


@pytest.mark.parametrize(
    "address",
    ["b@b.example", '"b b"@b.example', '"b\\"b"@b.example', "jürgen@b.example", "b@[192.0.2.1]"],
)
def test_an_address_is_written_as_it_is(address: str) -> None:
    assert find_unfit(ALL, envelope(recipient=address)) is None
    assert rcpt_command(ALL, envelope(recipient=address)) == f"RCPT TO:<{address}>\r\n".encode()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "b",
        "b@b.example\r\nDATA",
        "b@b.example\n",
        "b@b.example> NOTIFY=NEVER",
        "b b@b.example",
        "b\x00@b.example",
        "b\x7f@b.example",
        "b\x85@b.example",
        "b\u2028@b.example",
        '"b\r\n"@b.example',
        '"b"@b.example> X="@b.example',
        "<b@b.example>",
    ],
)
def test_what_is_more_than_an_address_is_refused(address: str) -> None:
    assert find_unfit(ALL, envelope(recipient=address)) is not None
    if address:
        assert find_unfit(ALL, envelope(sender=address)) is not None


@given(st.text(), st.text())
def test_a_command_is_one_line_and_one_path(sender: str, recipient: str) -> None:
    wanted = envelope(sender=f"{sender}@a.example", recipient=f"{recipient}@b.example")
    if find_unfit(ALL, wanted) is None:
        for command in (mail_command(ALL, wanted), rcpt_command(ALL, wanted)):
            assert command.endswith(b"\r\n")
            assert not set(command[:-2]) & {*range(32), 127}


def test_an_envid_is_written_as_xtext() -> None:
    assert xtext("a+b=c d\x7fé") == "a+2Bb+3Dc+20d+7F?"


@pytest.mark.parametrize(
    ("envid", "is_written"),
    [("dlv_1", True), ("", False), ("x" * 100, True), ("x" * 101, False)],
)
def test_an_envid_goes_where_it_fits(envid: str, is_written: bool) -> None:  # noqa: FBT001
    assert (b"ENVID=" in mail_command(ALL, envelope(envid=envid))) == is_written
    assert b"ENVID=" not in mail_command(Offer(), envelope(envid=envid))


def asking(recipient: str, *, wants_success: bool = True) -> Envelope:
    return Envelope("a@a.example", recipient, "x", 10, wants_success=wants_success)


NOTIFY = " NOTIFY=SUCCESS,FAILURE,DELAY"
LONG = f"{'+' * 180}@b.example"


@pytest.mark.parametrize(
    ("offer", "wanted", "parameters"),
    [
        pytest.param(
            ALL,
            asking("b@b.example"),
            f"{NOTIFY} ORCPT=rfc822;b@b.example",
            id="wanted and offered",
        ),
        pytest.param(Offer(), asking("b@b.example"), "", id="not offered"),
        pytest.param(ALL, asking("b@b.example", wants_success=False), "", id="not wanted"),
        pytest.param(
            ALL, asking("b+c=d@b.example"), f"{NOTIFY} ORCPT=rfc822;b+2Bc+3Dd@b.example", id="xtext"
        ),
        pytest.param(ALL, asking("jürgen@b.example"), NOTIFY, id="no ASCII"),
        pytest.param(ALL, asking(LONG), NOTIFY, id="too long for ORCPT"),
    ],
)
def test_success_is_asked_for_beside_failure_and_never_alone(
    offer: Offer, wanted: Envelope, parameters: str
) -> None:
    line = rcpt_command(offer, wanted)
    assert line == f"RCPT TO:<{wanted.recipient}>{parameters}\r\n".encode()


LINES = st.lists(st.sampled_from([b"a", b"..", b"..a", b"", b"a.b"]), min_size=1).map(
    lambda lines: b"".join(line + b"\r\n" for line in lines)
)
CUTS = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def judge(content: bytes, cuts: list[int]) -> bool:
    rules, at, turn = _ContentRules(), 0, 0
    try:
        while at < len(content):
            step = cuts[turn % len(cuts)]
            rules.check(content[at : at + step])
            at, turn = at + step, turn + 1
        rules.check_end()
    except ValueError:
        return False
    return True


@given(LINES, CUTS)
def test_content_that_keeps_the_rules_passes_however_it_is_cut(
    content: bytes, cuts: list[int]
) -> None:
    assert judge(content, cuts)


@given(
    st.lists(st.sampled_from([b"\r", b"\n", b".", b"a", b"\r\n"]), min_size=1).map(b"".join), CUTS
)
def test_content_that_breaks_a_rule_is_caught_however_it_is_cut(
    content: bytes, cuts: list[int]
) -> None:
    bare = content.replace(b"\r\n", b"")
    stuffed = all(
        not line.startswith(b".") or line.startswith(b"..") for line in content.split(b"\r\n")
    )
    is_right = b"\r" not in bare and b"\n" not in bare and stuffed and content.endswith(b"\r\n")
    assert judge(content, cuts) == is_right
