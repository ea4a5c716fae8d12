"""DKIM: what a signature does not vouch for, and signatures that want to do harm (HAZARDS D4, D6, D7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.authentication import Verdict
from postroom.inbound.verify.rawmail import read_mail
from postroom.inbound.verify.signature import Signature, read_key, read_signature, read_tags
from support.judging import MAIL
from support.signatures import ALL, by_hand, judge_signed, key_zone, only_signature
from support.signing import make_key, public_key, sign


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
    assert (
        await only_signature(b"DKIM-Signature: " + value + b"\r\n" + MAIL)
    ).result == "permerror"


async def test_a_broken_first_signature_does_not_hide_a_good_second_one() -> None:
    signed = sign(MAIL, "good.example")
    broken = sign(MAIL, "list.example").replace(b"bh=", b"bh=AAAA", 1).partition(b"From:")[0]
    zone = key_zone(**{"s1._domainkey.list.example TXT": [make_key(1024).record]})
    found = await judge_signed(broken + signed, zone)
    assert [one.result for one in found.dkim] == ["fail", "pass"]
    assert (found.verdict, found.decided_by) == (Verdict.PASS, "dkim")


async def test_of_many_signatures_five_are_looked_at_and_the_rest_is_counted() -> None:
    signature = sign(MAIL, "good.example").partition(b"From:")[0]
    found = await judge_signed(signature * 40 + MAIL)
    assert [one.result for one in found.dkim] == ["pass"] * 5
    assert found.unchecked_signatures == 35


async def test_a_subject_that_is_not_covered_may_be_changed_and_is_not_listed() -> None:
    signed = sign(MAIL, "good.example", headers=("from", "to", "date"))
    found = await judge_signed(signed.replace(b"Friday", b"Monday"))
    assert found.verdict is Verdict.PASS
    assert found.dkim[0].signed_headers == ("from", "to", "date")


async def test_a_second_subject_on_top_is_not_covered_and_so_none_is_listed() -> None:
    """Readers show the first; the signature speaks of the last."""
    found = await judge_signed(b"Subject: Pay\r\n" + sign(MAIL, "good.example"))
    assert found.dkim[0].result == "pass"
    assert found.dkim[0].signed_headers == ("from", "to", "date")


async def test_a_second_from_is_nobodys_mail() -> None:
    found = await judge_signed(b"From: mallory@evil.example\r\n" + sign(MAIL, "good.example"))
    assert found.verdict is Verdict.PERMERROR
    assert [one.result for one in found.dkim] == ["policy"]


async def test_a_header_line_without_a_colon_raises_nothing() -> None:
    damaged = MAIL.replace(b"Date:", b"what is this\r\nDate:")
    assert (await only_signature(sign(MAIL, "good.example"))).result == "pass"
    found = await only_signature(sign(MAIL, "good.example").partition(b"From:")[0] + damaged)
    assert found.result in {"pass", "fail"}


SIGNATURE = sign(MAIL, "good.example").partition(b"From:")[0]
# The mail, the key, and what each signature comes to; a key of our own bits was tried, and is another's.
A29: dict[str, tuple[bytes, str | None, list[str]]] = {
    "many signatures": (SIGNATURE * 300 + MAIL, None, ["pass"] * 5),
    "as many as are looked at": (SIGNATURE * 5 + MAIL, None, ["pass"] * 5),
    "a huge list of names": (by_hand(h=":".join(["from"] * 3_000)), None, ["policy"]),
    "more names than may be": (by_hand(h=":".join([ALL, *["x-a"] * 97])), None, ["policy"]),
    "as many names as may be": (by_hand(h=":".join([ALL, *["x-a"] * 96])), None, ["pass"]),
    "a key that is far too wide": (
        by_hand(),
        f"v=DKIM1; p={public_key(1 << 16_383 | 1)}",
        ["policy"],
    ),
    "a key that is too wide": (by_hand(), f"v=DKIM1; p={public_key(1 << 4_096 | 1)}", ["policy"]),
    "the widest key": (by_hand(), f"v=DKIM1; p={public_key(1 << 4_095 | 1)}", ["fail"]),
    "the widest key and exponent": (
        by_hand(),
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
        found = await judge_signed(mail, key_zone(key))
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
        await judge_signed(sign(MAIL, "good.example").replace(b"Friday", b"Monday"))
    assert caplog.records == []
