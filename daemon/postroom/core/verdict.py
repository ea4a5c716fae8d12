"""One verdict over all evidence, and what DMARC comes to (RFC 9989 §5). Pure.

A pass needs a claim that holds and is of the organisation in From; a signature counts before a server's address, and our
own evidence before what a trusted server says. That DNS gave no answer matters only where the answer could have made it
pass: who has nothing to show is not excused by it. Without the client's address nothing is called a failure by us, since
the half of the evidence that is missing may be the one that fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from postroom.core.authentication import Outcome, Verdict


class Alignment(StrEnum):
    """Whether a domain is of the organisation in From."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class By(StrEnum):
    """What a pass can rest on, in the order in which it counts."""

    DKIM = "dkim"
    SPF = "spf"
    TRUSTED = "trusted"


@dataclass(frozen=True, slots=True)
class Claim:
    """A check that speaks for a domain."""

    by: By
    outcome: Outcome
    alignment: Alignment

    @property
    def holds(self) -> bool:
        """Whether it vouches for From."""
        return self.outcome is Outcome.PASS and self.alignment is Alignment.YES

    @property
    def is_open(self) -> bool:
        """Whether an answer that is missing could make it hold."""
        match self.outcome:
            case Outcome.TEMPERROR:
                return self.alignment is not Alignment.NO
            case Outcome.PASS:
                return self.alignment is Alignment.UNKNOWN
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found out. `policy` None: the domain publishes no record, or `is_policy_known` is false.

    `has_client`: the address that handed the message in was known. `has_trusted_fail`: a trusted server says that
    nothing fits.
    """

    claims: Sequence[Claim]
    policy: str | None
    is_policy_known: bool
    has_client: bool
    has_trusted_fail: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """What it comes to."""

    dmarc: Outcome
    verdict: Verdict
    decided_by: str | None


def judge(evidence: Evidence) -> Judgement:
    """The verdict on a message with one author."""
    dmarc = _dmarc(evidence)
    holding = {claim.by for claim in evidence.claims if claim.holds}
    for by in By:
        if by in holding:
            return Judgement(dmarc, Verdict.PASS, by.value)
    return Judgement(dmarc, _without_pass(evidence, dmarc), None)


def _without_pass(evidence: Evidence, dmarc: Outcome) -> Verdict:
    if any(claim.is_open for claim in evidence.claims):
        return Verdict.TEMPERROR
    is_failed = evidence.has_trusted_fail or dmarc is Outcome.FAIL
    # `p=none` asks for nothing: its owner knows of honest mail that does not fit.
    return Verdict.FAIL if is_failed and evidence.policy != "none" else Verdict.UNVERIFIED


def _dmarc(evidence: Evidence) -> Outcome:
    own = [claim for claim in evidence.claims if claim.by is not By.TRUSTED]
    if not evidence.is_policy_known:
        return Outcome.TEMPERROR
    if evidence.policy is None:
        return Outcome.NONE
    if any(claim.holds for claim in own):
        return Outcome.PASS
    if any(claim.is_open for claim in own):
        return Outcome.TEMPERROR
    return Outcome.FAIL if evidence.has_client else Outcome.ABSENT
