"""Who a received message is from, as far as anybody vouches for it: values only (RFC 7208, RFC 6376, RFC 9989).

`Authentication` is evidence with one `verdict` over it. It speaks of the one address in From, and of nothing else: not
of the person, and not of what the message says. Everything in it is bounded and clean (HAZARDS D1 to D10).
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether the domain in From vouches for the message.

    `pass`: a valid signature or a permitted server of that very organisation, or a trusted server says so. `fail`: the
    domain asks for `quarantine` or `reject` and nothing fits, or a trusted server says so. `unverified`: nobody vouches
    and no policy asks for it. `temperror`: DNS gave no answer in time to what could have made it pass. `permerror`:
    there is no single author to speak of.
    """

    PASS = "pass"  # noqa: S105 - a word of RFC 8601
    FAIL = "fail"
    UNVERIFIED = "unverified"
    TEMPERROR = "temperror"
    PERMERROR = "permerror"


class Outcome(StrEnum):
    """What a check came to (RFC 8601 §2.7). `absent`: there was nothing to check, or it could mean nothing here."""

    PASS = "pass"  # noqa: S105 - a word of RFC 8601
    FAIL = "fail"
    SOFTFAIL = "softfail"
    NEUTRAL = "neutral"
    NONE = "none"
    POLICY = "policy"
    TEMPERROR = "temperror"
    PERMERROR = "permerror"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Spf:
    """RFC 7208. `scope` is `mfrom` or `helo`, None where nothing was checked; `why` is a constant word or sentence."""

    result: Outcome
    scope: str | None
    domain: str | None
    client_ip: str | None
    is_aligned: bool
    why: str | None


@dataclass(frozen=True, slots=True)
class Dkim:
    """One signature (RFC 6376). `why` says what is wrong with it.

    `signed_headers` in lower case, in their order: a name is in it only where every field of that name is covered.
    """

    result: Outcome
    domain: str | None
    selector: str | None
    algorithm: str | None
    key_bits: int | None
    signed_headers: tuple[str, ...]
    is_aligned: bool
    why: str | None


@dataclass(frozen=True, slots=True)
class Dmarc:
    """RFC 9989. `domain` is where the record was found, `policy` what it asks for: `none`, `quarantine` or `reject`."""

    result: Outcome
    domain: str | None
    policy: str | None


@dataclass(frozen=True, slots=True)
class TrustedResult:
    """What a server in `trusted_authserv_ids` found, handed on by a trusted relay; domains are what it checked."""

    authserv_id: str
    spf: Outcome
    spf_domain: str | None
    dkim: Outcome
    dkim_domain: str | None
    dmarc: Outcome
    dmarc_domain: str | None


@dataclass(frozen=True, slots=True)
class Authentication:
    """All of the evidence. Organisations are organisational domains by the tree walk of RFC 9989, None where unknown.

    `decided_by`: what a `pass` rests on: `dkim`, `spf`, or `trusted`. `reply_to_organisation` is that of all addresses in
    Reply-To where they are of one, else None. `forged_results`: Authentication-Results fields that bore a name of ours
    or of a trusted server without coming from one; they count for nothing. `unchecked_signatures`: how many more there
    were than are looked at.
    """

    verdict: Verdict
    decided_by: str | None
    from_domain: str | None
    from_organisation: str | None
    reply_to_organisation: str | None
    spf: Spf
    dkim: tuple[Dkim, ...]
    dmarc: Dmarc
    trusted: tuple[TrustedResult, ...]
    forged_results: int
    unchecked_signatures: int

    @property
    def has_aligned_signature(self) -> bool:
        """Whether a valid signature is of the organisation in From."""
        return any(one.result is Outcome.PASS and one.is_aligned for one in self.dkim)
