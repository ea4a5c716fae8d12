"""An honest domain in DNS, several that are not, and mail that says whom it is from."""

from support.judging import MAIL
from support.signing import make_key
from support.zone import Zone


KEY = make_key(1024).record
REJECT = "v=DMARC1; p=reject"
EVERYBODY = "v=spf1 +all"
PROVIDER = b"Authentication-Results: mx.provider.example; "


def good_and_evil(**changes: list[str]) -> Zone:
    """An honest domain that asks for reject, and one of somebody who may do as they like."""
    return Zone(
        {
            "_dmarc.good.example TXT": [REJECT],
            "good.example TXT": ["v=spf1 ip4:192.0.2.7 -all"],
            "s1._domainkey.good.example TXT": [KEY],
            "evil.example TXT": [EVERYBODY],
            "mail.evil.example TXT": [EVERYBODY],
            "_dmarc.evil.example TXT": ["v=DMARC1; p=none"],
            "s1._domainkey.evil.example TXT": [KEY],
            "good.example-evil.example TXT": [EVERYBODY],
            "s1._domainkey.good.example-evil.example TXT": [KEY],
            "goodevil.example TXT": [EVERYBODY],
            **changes,
        }
    )


def mail_from(text: bytes, mail: bytes = MAIL) -> bytes:
    return mail.replace(b"Alice <alice@good.example>", text)
