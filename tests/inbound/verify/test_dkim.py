"""DKIM (RFC 6376): signed with dkimpy, changed by us, and what a signature does not vouch for (HAZARDS D4, D6, D7)."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.authentication import Authentication, Dkim, Verdict
from postroom.inbound.verify.rawmail import read_mail
from postroom.inbound.verify.signature import Signature, read_key, read_signature, read_tags
from support.clock import START
from support.judging import MAIL, judge_mail
from support.signing import make_key, public_key, sign, sign_by_hand
from support.zone import Zone


NOW_S = START // 1_000_000
ALL = "from:to:subject:date"


def _zone(key: str | None = None, **others: list[str]) -> Zone:
    records = {"s1._domainkey.good.example TXT": [key or make_key(1024).record], **others}
    return Zone({"_dmarc.good.example TXT": ["v=DMARC1; p=reject"], **records})


async def _judge(mail: bytes, zone: Zone | None = None) -> Authentication:
    return await judge_mail(mail, zone or _zone(), envelope_sender="x@elsewhere.example")


async def _only(mail: bytes, zone: Zone | None = None) -> Dkim:
    (found,) = (await _judge(mail, zone)).dkim
    return found


def _by_hand(mail: bytes = MAIL, **tags: str) -> bytes:
    return sign_by_hand(mail, {"d": "good.example", "s": "s1", "h": ALL, **tags})


@pytest.mark.parametrize("head", [b"relaxed", b"simple"])
@pytest.mark.parametrize("body", [b"relaxed", b"simple"])
async def test_a_signature_passes(head: bytes, body: bytes) -> None:
    found = await _judge(sign(MAIL, "good.example", canonicalize=(head, body)))
    assert (found.verdict, found.decided_by) == (Verdict.PASS, "dkim")
    (one,) = found.dkim
    assert (one.result, one.domain, one.selector) == ("pass", "good.example", "s1")
    assert (one.algorithm, one.key_bits, one.is_aligned) == ("rsa-sha256", 1024, True)
    assert one.signed_headers == ("from", "to", "subject", "date")


async def test_a_signature_by_hand_passes_too() -> None:
    assert (await _only(_by_hand())).result == "pass"


async def test_a_mail_with_bare_line_feeds_passes() -> None:
    assert (await _only(sign(MAIL, "good.example").replace(b"\r\n", b"\n"))).result == "pass"


async def test_a_mail_in_a_file_passes(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    large = MAIL + b"Line of a large mail.\r\n" * 200_000
    path.write_bytes(sign(large, "good.example", canonicalize=(b"relaxed", b"relaxed")))
    found = await judge_mail(path, _zone())
    assert found.verdict is Verdict.PASS


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a word of the body": (lambda mail: mail.replace(b"at ten", b"at six"), "fail"),
    "a line after the body": (lambda mail: mail + b"<p>Pay here</p>\r\n", "fail"),
    "the subject": (lambda mail: mail.replace(b"Friday", b"Monday"), "fail"),
    "the sender": (lambda mail: mail.replace(b"alice@", b"mallory@"), "fail"),
    "the signature": (lambda mail: mail.replace(b"bh=", b"bh=A"), "fail"),
    "empty lines at the end": (lambda mail: mail + b"\r\n\r\n", "pass"),
    "spaces": (lambda mail: mail.replace(b"See you  at", b"See you \t at"), "pass"),
    "a header of the way": (lambda mail: b"Received: by x\r\n" + mail, "pass"),
    "a list's subject and foot": (
        lambda mail: mail.replace(b"Friday", b"[list] Friday") + b"-- \r\nlist\r\n",
        "fail",
    ),
}


@pytest.mark.parametrize(("change", "result"), CHANGES.values(), ids=CHANGES)
async def test_what_a_change_does(change: Callable[[bytes], bytes], result: str) -> None:
    signed = sign(MAIL, "good.example", canonicalize=(b"relaxed", b"relaxed"))
    found = await _judge(change(signed))
    assert [one.result for one in found.dkim] == [result]
    assert (found.verdict is Verdict.PASS) is (result == "pass")


POLICY: dict[str, tuple[bytes, str | None]] = {
    "a part of the body only": (
        sign(MAIL, "good.example", length=True, canonicalize=(b"relaxed", b"relaxed"))
        + b"<p>Pay here</p>\r\n",
        None,
    ),
    "nothing of the body": (_by_hand(l="0", bh=base64.b64encode(bytes(32)).decode()), None),
    "it has expired": (_by_hand(x=str(NOW_S - 1)), None),
    "From is not covered": (_by_hand(h="to:subject:date"), None),
    "a weak key": (
        sign(MAIL, "good.example", key=make_key(768)),
        make_key(768).record,
    ),
    "a key that is too large": (_by_hand(), f"v=DKIM1; p={public_key(1 << 8191 | 1)}"),
    "an exponent that is too large": (
        _by_hand(),
        f"v=DKIM1; p={public_key(1 << 2047 | 1, 1 << 2040 | 1)}",
    ),
    "too many names": (_by_hand(h=":".join(["from", *["to"] * 100])), None),
    "rsa-sha1": (_by_hand(a="rsa-sha1"), None),
    "a field that is too long": (_by_hand(z="x" * 17_000), None),
    "a field with a gap": (_by_hand(z="x" + " " * 100 + "x"), None),
}


@pytest.mark.parametrize(("mail", "key"), POLICY.values(), ids=POLICY)
async def test_what_is_not_enough_is_policy(mail: bytes, key: str | None) -> None:
    found = await _judge(mail, _zone(key))
    assert [one.result for one in found.dkim] == ["policy"]
    assert found.dkim[0].why
    assert found.verdict is Verdict.FAIL


async def test_the_whole_body_may_be_counted() -> None:
    assert (await _only(sign(MAIL, "good.example", length=True))).result == "pass"


async def test_a_time_that_is_not_over_passes() -> None:
    # dkimpy looks at the wall clock itself, which is ahead of the test's.
    assert (await _only(_by_hand(x=str(NOW_S + 10**9)))).result == "pass"


KEYS: dict[str, tuple[str, str]] = {
    "revoked": ("v=DKIM1; p=", "permerror"),
    "no key": ("something else", "permerror"),
    "damaged": ("v=DKIM1; p=!!!!", "permerror"),
    "not a key": ("v=DKIM1; p=AAAA", "permerror"),
    "of another kind": (f"v=DKIM1; k=ed25519; p={make_key(1024).public}", "permerror"),
    "for another service": (f"v=DKIM1; s=other; p={make_key(1024).public}", "permerror"),
    "for another digest": (f"v=DKIM1; h=sha1; p={make_key(1024).public}", "permerror"),
    "another's": (make_key(1024, "two").record, "fail"),
    "without a version": (f"p={make_key(1024).public}", "pass"),
    "in a test": (f"v=DKIM1; t=y; p={make_key(1024).public}", "pass"),
    "longer than is looked at": (f"v=DKIM1; p={'A' * 9_000}", "permerror"),
}


@pytest.mark.parametrize(("key", "result"), KEYS.values(), ids=KEYS)
async def test_what_a_key_does(key: str, result: str) -> None:
    assert (await _only(_by_hand(), _zone(key))).result == result


async def test_no_key_at_all_is_an_error_and_no_answer_is_another() -> None:
    zone = _zone()
    zone.records.pop("s1._domainkey.good.example TXT")
    assert (await _only(_by_hand(), zone)).result == "permerror"
    zone.silent.add("s1._domainkey.good.example")
    assert (await _only(_by_hand(), zone)).result == "temperror"


async def test_a_key_that_was_revoked_is_called_so() -> None:
    assert (await _only(_by_hand(), _zone("v=DKIM1; p="))).why == "its key was revoked"


async def test_two_keys_are_none() -> None:
    zone = _zone()
    zone.records["s1._domainkey.good.example TXT"] *= 2
    assert (await _only(_by_hand(), zone)).result == "permerror"


@pytest.mark.parametrize(
    ("identity", "result"), [("good.example", "pass"), ("a.good.example", "permerror")]
)
async def test_a_strict_key_is_not_for_subdomains(identity: str, result: str) -> None:
    key = f"v=DKIM1; t=s; p={make_key(1024).public}"
    assert (await _only(_by_hand(i=f"@{identity}"), _zone(key))).result == result


async def test_ed25519_is_said_not_to_be_verified() -> None:
    assert (await _only(_by_hand(a="ed25519-sha256"))).result == "neutral"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b";",
        b"v=1",
        b"v=2; a=rsa-sha256; b=A; bh=A; d=good.example; h=from; s=s1",
        b"v=1; a=rsa-sha256; b=A; bh=A; d=good.example(; h=from; s=s1",
        b"v=1; a=rsa-sha256; b=A; bh=A; d=good.example; h=from; s=../s1",
        b"v=1; a=rsa-sha256; b=A; bh=A; d=good.example; d=evil.example; h=from; s=s1",
        b"v=1; a=rsa-sha256; b=A; bh=A; d=good.example; h=from; s=s1; i=@evil.example",
        b"v=1; a=rsa-sha256; b=A; bh=A; d=good.example; h=from; s=s1; x=" + b"9" * 5_000,
        b"v=1; a=rsa-sha256; b=A; bh=A; d=good.example; h=from; s=s1; c=odd/odd",
        b"v=1; a=odd; b=A; bh=A; d=good.example; h=from; s=s1",
        b"\xff\xfe",
    ],
)
async def test_a_signature_that_makes_no_sense_is_an_error(value: bytes) -> None:
    assert (await _only(b"DKIM-Signature: " + value + b"\r\n" + MAIL)).result == "permerror"


async def test_a_broken_first_signature_does_not_hide_a_good_second_one() -> None:
    signed = sign(MAIL, "good.example")
    broken = sign(MAIL, "list.example").replace(b"bh=", b"bh=AAAA", 1).partition(b"From:")[0]
    zone = _zone(**{"s1._domainkey.list.example TXT": [make_key(1024).record]})
    found = await _judge(broken + signed, zone)
    assert [one.result for one in found.dkim] == ["fail", "pass"]
    assert (found.verdict, found.decided_by) == (Verdict.PASS, "dkim")


async def test_of_many_signatures_five_are_looked_at_and_the_rest_is_counted() -> None:
    signature = sign(MAIL, "good.example").partition(b"From:")[0]
    found = await _judge(signature * 40 + MAIL)
    assert [one.result for one in found.dkim] == ["pass"] * 5
    assert found.unchecked_signatures == 35


async def test_a_subject_that_is_not_covered_may_be_changed_and_is_not_listed() -> None:
    signed = sign(MAIL, "good.example", headers=("from", "to", "date"))
    found = await _judge(signed.replace(b"Friday", b"Monday"))
    assert found.verdict is Verdict.PASS
    assert found.dkim[0].signed_headers == ("from", "to", "date")


async def test_a_second_subject_on_top_is_not_covered_and_so_none_is_listed() -> None:
    """Readers show the first; the signature speaks of the last."""
    found = await _judge(b"Subject: Pay\r\n" + sign(MAIL, "good.example"))
    assert found.dkim[0].result == "pass"
    assert found.dkim[0].signed_headers == ("from", "to", "date")


async def test_a_second_from_is_nobodys_mail() -> None:
    found = await _judge(b"From: mallory@evil.example\r\n" + sign(MAIL, "good.example"))
    assert found.verdict is Verdict.PERMERROR
    assert [one.result for one in found.dkim] == ["policy"]


async def test_a_header_line_without_a_colon_raises_nothing() -> None:
    damaged = MAIL.replace(b"Date:", b"what is this\r\nDate:")
    assert (await _only(sign(MAIL, "good.example"))).result == "pass"
    found = await _only(sign(MAIL, "good.example").partition(b"From:")[0] + damaged)
    assert found.result in {"pass", "fail"}


SIGNATURE = sign(MAIL, "good.example").partition(b"From:")[0]
# The mail, the key, and what each signature comes to; a key of our own bits was tried, and is another's.
A29: dict[str, tuple[bytes, str | None, list[str]]] = {
    "many signatures": (SIGNATURE * 300 + MAIL, None, ["pass"] * 5),
    "as many as are looked at": (SIGNATURE * 5 + MAIL, None, ["pass"] * 5),
    "a huge list of names": (_by_hand(h=":".join(["from"] * 3_000)), None, ["policy"]),
    "more names than may be": (_by_hand(h=":".join([ALL, *["x-a"] * 97])), None, ["policy"]),
    "as many names as may be": (_by_hand(h=":".join([ALL, *["x-a"] * 96])), None, ["pass"]),
    "a key that is far too wide": (
        _by_hand(),
        f"v=DKIM1; p={public_key(1 << 16_383 | 1)}",
        ["policy"],
    ),
    "a key that is too wide": (_by_hand(), f"v=DKIM1; p={public_key(1 << 4_096 | 1)}", ["policy"]),
    "the widest key": (_by_hand(), f"v=DKIM1; p={public_key(1 << 4_095 | 1)}", ["fail"]),
    "the widest key and exponent": (
        _by_hand(),
        f"v=DKIM1; p={public_key(1 << 4_095 | 1, 1 << 4_090 | 1)}",
        ["policy"],
    ),
    "gaps": (
        b"DKIM-Signature: v=1;" + b" b" * 100 + b" " * 60_000 + b"=;" + b"\r\n" + MAIL,
        None,
        ["policy"],
    ),
}


@pytest.mark.parametrize(("mail", "key", "results"), A29.values(), ids=A29)
async def test_a_hostile_signature_is_no_trouble(
    mail: bytes, key: str | None, results: list[str]
) -> None:
    """A fifth of a second is what one may cost; by the library's own ways some cost minutes."""
    for _ in range(50):
        found = await _judge(mail, _zone(key))
        assert [one.result for one in found.dkim] == results
        assert found.verdict is not Verdict.PASS or "pass" in results


@given(st.binary(max_size=300), st.text(max_size=300))
def test_any_signature_and_any_key_can_be_read(value: bytes, key: str) -> None:
    mail = read_mail(b"DKIM-Signature: " + value.replace(b"\n", b"") + b"\r\n\r\n")
    for one in mail.every("dkim-signature"):
        read_signature(one)
    read_tags(key)
    read_key((key,))


@given(
    st.sampled_from(["v", "a", "b", "bh", "d", "h", "s", "c", "i", "l", "q", "t", "x"]),
    st.text(max_size=40),
)
def test_a_signature_with_any_tag_is_read_or_not(name: str, text: str) -> None:
    tags = {
        "v": "1",
        "a": "rsa-sha256",
        "b": "A",
        "bh": "A",
        "d": "good.example",
        "h": "from",
        "s": "s1",
    }
    value = "; ".join(f"{key}={one}" for key, one in (tags | {name: text}).items())
    line = b"DKIM-Signature: " + value.encode("utf-8", "replace").replace(b"\n", b"") + b"\r\n\r\n"
    for one in read_mail(line).every("dkim-signature"):
        found = read_signature(one)
        if isinstance(found, Signature):
            assert found.key_name.isascii()
            assert found.key_name.endswith(f"._domainkey.{found.domain}")


async def test_the_library_logs_nothing_that_strangers_wrote(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("DEBUG"):
        await _judge(sign(MAIL, "good.example").replace(b"Friday", b"Monday"))
    assert caplog.records == []
