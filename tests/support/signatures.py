"""Signatures of good.example put before the verifier, with its key in DNS."""

from postroom.core.authentication import Authentication, Dkim
from support.judging import MAIL, judge_mail
from support.signing import make_key, sign_by_hand
from support.zone import Zone


ALL = "from:to:subject:date"


def key_zone(key: str | None = None, **others: list[str]) -> Zone:
    records = {"s1._domainkey.good.example TXT": [key or make_key(1024).record], **others}
    return Zone({"_dmarc.good.example TXT": ["v=DMARC1; p=reject"], **records})


async def judge_signed(mail: bytes, zone: Zone | None = None) -> Authentication:
    return await judge_mail(mail, zone or key_zone(), envelope_sender="x@elsewhere.example")


async def only_signature(mail: bytes, zone: Zone | None = None) -> Dkim:
    (found,) = (await judge_signed(mail, zone)).dkim
    return found


def by_hand(mail: bytes = MAIL, **tags: str) -> bytes:
    return sign_by_hand(mail, {"d": "good.example", "s": "s1", "h": ALL, **tags})
