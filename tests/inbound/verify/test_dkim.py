"""DKIM (RFC 6376): signed with dkimpy, changed by us, and which keys are good for it."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.core.authentication import Verdict
from support.clock import START
from support.judging import MAIL, judge_mail
from support.signatures import by_hand, judge_signed, key_zone, only_signature
from support.signing import make_key, public_key, sign


NOW_S = START // 1_000_000


@pytest.mark.parametrize("head", [b"relaxed", b"simple"])
@pytest.mark.parametrize("body", [b"relaxed", b"simple"])
async def test_a_signature_passes(head: bytes, body: bytes) -> None:
    found = await judge_signed(sign(MAIL, "good.example", canonicalize=(head, body)))
    assert (found.verdict, found.decided_by) == (Verdict.PASS, "dkim")
    (one,) = found.dkim
    assert (one.result, one.domain, one.selector) == ("pass", "good.example", "s1")
    assert (one.algorithm, one.key_bits, one.is_aligned) == ("rsa-sha256", 1024, True)
    assert one.signed_headers == ("from", "to", "subject", "date")


async def test_a_signature_by_hand_passes_too() -> None:
    assert (await only_signature(by_hand())).result == "pass"


async def test_a_mail_with_bare_line_feeds_passes() -> None:
    assert (
        await only_signature(sign(MAIL, "good.example").replace(b"\r\n", b"\n"))
    ).result == "pass"


async def test_a_mail_in_a_file_passes(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    large = MAIL + b"Line of a large mail.\r\n" * 200_000
    path.write_bytes(sign(large, "good.example", canonicalize=(b"relaxed", b"relaxed")))
    found = await judge_mail(path, key_zone())
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
    found = await judge_signed(change(signed))
    assert [one.result for one in found.dkim] == [result]
    assert (found.verdict is Verdict.PASS) is (result == "pass")


POLICY: dict[str, tuple[bytes, str | None]] = {
    "a part of the body only": (
        sign(MAIL, "good.example", length=True, canonicalize=(b"relaxed", b"relaxed"))
        + b"<p>Pay here</p>\r\n",
        None,
    ),
    "nothing of the body": (by_hand(l="0", bh=base64.b64encode(bytes(32)).decode()), None),
    "it has expired": (by_hand(x=str(NOW_S - 1)), None),
    "From is not covered": (by_hand(h="to:subject:date"), None),
    "a weak key": (
        sign(MAIL, "good.example", key=make_key(768)),
        make_key(768).record,
    ),
    "a key that is too large": (by_hand(), f"v=DKIM1; p={public_key(1 << 8191 | 1)}"),
    "an exponent that is too large": (
        by_hand(),
        f"v=DKIM1; p={public_key(1 << 2047 | 1, 1 << 2040 | 1)}",
    ),
    "too many names": (by_hand(h=":".join(["from", *["to"] * 100])), None),
    "rsa-sha1": (by_hand(a="rsa-sha1"), None),
    "a field that is too long": (by_hand(z="x" * 17_000), None),
    "a field with a gap": (by_hand(z="x" + " " * 100 + "x"), None),
}


@pytest.mark.parametrize(("mail", "key"), POLICY.values(), ids=POLICY)
async def test_what_is_not_enough_is_policy(mail: bytes, key: str | None) -> None:
    found = await judge_signed(mail, key_zone(key))
    assert [one.result for one in found.dkim] == ["policy"]
    assert found.dkim[0].why
    assert found.verdict is Verdict.FAIL


async def test_the_whole_body_may_be_counted() -> None:
    assert (await only_signature(sign(MAIL, "good.example", length=True))).result == "pass"


async def test_a_time_that_is_not_over_passes() -> None:
    # dkimpy looks at the wall clock itself, which is ahead of the test's.
    assert (await only_signature(by_hand(x=str(NOW_S + 10**9)))).result == "pass"


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
    assert (await only_signature(by_hand(), key_zone(key))).result == result


async def test_no_key_at_all_is_an_error_and_no_answer_is_another() -> None:
    zone = key_zone()
    zone.records.pop("s1._domainkey.good.example TXT")
    assert (await only_signature(by_hand(), zone)).result == "permerror"
    zone.silent.add("s1._domainkey.good.example")
    assert (await only_signature(by_hand(), zone)).result == "temperror"


async def test_a_key_that_was_revoked_is_called_so() -> None:
    assert (await only_signature(by_hand(), key_zone("v=DKIM1; p="))).why == "its key was revoked"


async def test_two_keys_are_none() -> None:
    zone = key_zone()
    zone.records["s1._domainkey.good.example TXT"] *= 2
    assert (await only_signature(by_hand(), zone)).result == "permerror"


@pytest.mark.parametrize(
    ("identity", "result"), [("good.example", "pass"), ("a.good.example", "permerror")]
)
async def test_a_strict_key_is_not_for_subdomains(identity: str, result: str) -> None:
    key = f"v=DKIM1; t=s; p={make_key(1024).public}"
    assert (await only_signature(by_hand(i=f"@{identity}"), key_zone(key))).result == result


async def test_ed25519_is_said_not_to_be_verified() -> None:
    assert (await only_signature(by_hand(a="ed25519-sha256"))).result == "neutral"
