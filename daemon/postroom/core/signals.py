"""Facts about a received mail that an agent should have before it believes the text (docs/trust.md, signals). Pure.

Each is true of honest mail, too, now and then: they are told, and never summed up to a verdict.
"""

from dataclasses import dataclass

from postroom.core.authentication import Authentication, Outcome
from postroom.core.inmail import InMail


@dataclass(frozen=True, slots=True)
class ElsewhereReplyTo:
    """Answers are asked for at another organisation than that of From."""

    from_domain: str
    reply_to: tuple[str, ...]


def find_elsewhere(mail: InMail, authentication: Authentication) -> ElsewhereReplyTo | None:
    """Where Reply-To leads, if that is another domain, and not known to be of the same organisation."""
    if mail.sender is None or not mail.sender.address:
        return None
    home = _domain(mail.sender.address)
    others = dict.fromkeys(_domain(one.address) for one in mail.reply_to if one.address)
    others.pop(home, None)
    if not others or _is_one_organisation(authentication):
        return None
    return ElsewhereReplyTo(home, tuple(others))


def find_unsigned(mail: InMail, authentication: Authentication) -> tuple[str, ...] | None:
    """Header fields that were used and that no valid signature of From's organisation covers; None = there is no such one.

    A name counts as signed only where every field of that name is (RFC 6376 §5.4.2: the last ones are covered first).
    """
    if not authentication.has_aligned_signature:
        return None
    signed = {
        name
        for one in authentication.dkim
        if one.result is Outcome.PASS and one.is_aligned
        for name in one.signed_headers
    }
    return tuple(name for name in mail.signs.fields if name not in signed)


def _is_one_organisation(authentication: Authentication) -> bool:
    home = authentication.from_organisation
    return home is not None and home == authentication.reply_to_organisation


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()
