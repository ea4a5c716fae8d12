"""Which received mail a mailbox refuses, after 250: kept, marked, and told to nobody who does not ask (CONTRACT §8). Pure.

`require` speaks of a person's mail, whatever thread it belongs to; what machines write is judged by other signs: a
report by whether it is `verified`. `accept_new` speaks of everything that belongs to no thread.
"""

from dataclasses import dataclass
from enum import StrEnum

from postroom.core.authentication import Authentication, Outcome, TrustedResult, Verdict
from postroom.core.inmail import AutomationKind
from postroom.core.mailbox import AcceptNew, Require


class RefusedBy(StrEnum):
    """The setting that refused a mail."""

    REQUIRE = "require"
    ACCEPT_NEW = "accept_new"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a mailbox wants of the mail that it gets."""

    accept_new: AcceptNew = AcceptNew.AUTHENTICATED
    require: Require = Require.ANY

    def find_refusal(
        self,
        authentication: Authentication,
        kind: AutomationKind,
        *,
        has_token: bool,
        is_known: bool,
    ) -> RefusedBy | None:
        """Why such a mail is refused; None when it is accepted.

        `has_token`: a valid token names its thread. `is_known`: it belongs to a thread that was there before.
        """
        is_persons = kind is AutomationKind.HUMAN
        if is_persons and not self._is_enough(authentication, has_token=has_token):
            return RefusedBy.REQUIRE
        if is_known or self._begins_thread(authentication):
            return None
        return RefusedBy.ACCEPT_NEW

    def _is_enough(self, authentication: Authentication, *, has_token: bool) -> bool:
        match self.require:
            case Require.ANY:
                return True
            case Require.DKIM:
                return has_signature(authentication)
            case Require.DMARC:
                return authentication.verdict is Verdict.PASS
            case Require.TOKEN:
                return has_token

    def _begins_thread(self, authentication: Authentication) -> bool:
        match self.accept_new:
            case AcceptNew.ALL:
                return True
            case AcceptNew.NONE:
                return False
            case AcceptNew.AUTHENTICATED:
                return authentication.verdict is Verdict.PASS


def has_signature(authentication: Authentication) -> bool:
    """Whether a valid signature of From's organisation was found, by us or by a server that we trust."""
    return authentication.has_aligned_signature or any(
        one.dkim is Outcome.PASS and _is_aligned(authentication, one)
        for one in authentication.trusted
    )


def _is_aligned(authentication: Authentication, one: TrustedResult) -> bool:
    """Relaxed alignment, as far as it can be told without DNS (RFC 9989)."""
    if one.dkim_domain is None:
        return False
    organisation = authentication.from_organisation
    is_below = organisation is not None and f".{one.dkim_domain}".endswith(f".{organisation}")
    return is_below or one.dkim_domain == authentication.from_domain
