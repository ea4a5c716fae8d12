"""The verdict over the evidence, row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.authentication import Outcome, Verdict
from postroom.core.verdict import Alignment, By, Claim, Evidence, judge


def _claim(by: str, outcome: str, alignment: str = "yes") -> Claim:
    return Claim(By(by), Outcome(outcome), Alignment(alignment))


def _evidence(
    *claims: Claim,
    policy: str | None = "reject",
    is_policy_known: bool = True,
    has_client: bool = True,
    has_trusted_fail: bool = False,
) -> Evidence:
    return Evidence(claims, policy, is_policy_known, has_client, has_trusted_fail)


# The evidence; then DMARC, the verdict, and what it rests on.
ROWS = {
    "an aligned signature": (_evidence(_claim("dkim", "pass")), "pass", "pass", "dkim"),
    "an aligned server": (_evidence(_claim("spf", "pass")), "pass", "pass", "spf"),
    "both: the signature counts": (
        _evidence(_claim("spf", "pass"), _claim("dkim", "pass")),
        "pass",
        "pass",
        "dkim",
    ),
    "without a record it is still theirs": (
        _evidence(_claim("dkim", "pass"), policy=None),
        "none",
        "pass",
        "dkim",
    ),
    "a stranger's signature": (
        _evidence(_claim("dkim", "pass", "no"), _claim("spf", "pass", "no")),
        "fail",
        "fail",
        None,
    ),
    "a stranger's signature, no policy": (
        _evidence(_claim("dkim", "pass", "no"), policy=None),
        "none",
        "unverified",
        None,
    ),
    "a broken signature, nothing asked for": (
        _evidence(_claim("dkim", "fail"), policy="none"),
        "fail",
        "unverified",
        None,
    ),
    "a broken signature, quarantine": (
        _evidence(_claim("dkim", "fail"), policy="quarantine"),
        "fail",
        "fail",
        None,
    ),
    "policy is no pass": (_evidence(_claim("dkim", "policy")), "fail", "fail", None),
    "no answer for the key that could have fit": (
        _evidence(_claim("dkim", "temperror")),
        "temperror",
        "temperror",
        None,
    ),
    "no answer for a stranger's key": (
        _evidence(_claim("dkim", "temperror", "no")),
        "fail",
        "fail",
        None,
    ),
    "no answer whether they are one organisation": (
        _evidence(_claim("spf", "pass", "unknown")),
        "temperror",
        "temperror",
        None,
    ),
    "a failure needs no organisation": (
        _evidence(_claim("spf", "fail", "unknown")),
        "fail",
        "fail",
        None,
    ),
    "no answer for the policy, nothing to show": (
        _evidence(_claim("dkim", "fail"), policy=None, is_policy_known=False),
        "temperror",
        "unverified",
        None,
    ),
    "no answer for the policy, but a signature of that very domain": (
        _evidence(_claim("dkim", "pass"), policy=None, is_policy_known=False),
        "temperror",
        "pass",
        "dkim",
    ),
    "no client address: no failure": (
        _evidence(_claim("dkim", "fail"), has_client=False),
        "absent",
        "unverified",
        None,
    ),
    "a trusted server says pass": (
        _evidence(_claim("dkim", "fail"), _claim("trusted", "pass"), has_client=False),
        "absent",
        "pass",
        "trusted",
    ),
    "a trusted server says fail": (
        _evidence(_claim("trusted", "fail"), has_client=False, has_trusted_fail=True),
        "absent",
        "fail",
        None,
    ),
    "a trusted server says fail, nothing asked for": (
        _evidence(has_client=False, has_trusted_fail=True, policy="none"),
        "absent",
        "unverified",
        None,
    ),
    "a signature counts against a trusted server": (
        _evidence(_claim("dkim", "pass"), has_client=False, has_trusted_fail=True),
        "pass",
        "pass",
        "dkim",
    ),
    "a trusted server had no answer": (
        _evidence(_claim("trusted", "temperror"), has_client=False),
        "absent",
        "temperror",
        None,
    ),
    "nothing at all": (_evidence(policy=None), "none", "unverified", None),
}


@pytest.mark.parametrize(("evidence", "dmarc", "verdict", "by"), ROWS.values(), ids=ROWS)
def test_the_verdict(evidence: Evidence, dmarc: str, verdict: str, by: str | None) -> None:
    judged = judge(evidence)
    assert (judged.dmarc, judged.verdict, judged.decided_by) == (dmarc, verdict, by)


_CLAIMS = st.lists(
    st.builds(Claim, st.sampled_from(By), st.sampled_from(Outcome), st.sampled_from(Alignment)),
    max_size=6,
)
_EVIDENCE = st.builds(
    Evidence,
    _CLAIMS,
    st.sampled_from([None, "none", "quarantine", "reject"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(_EVIDENCE)
def test_a_pass_needs_a_claim_that_holds(evidence: Evidence) -> None:
    judged = judge(evidence)
    assert (judged.verdict is Verdict.PASS) is any(one.holds for one in evidence.claims)
    assert (judged.verdict is Verdict.PASS) is (judged.decided_by is not None)


@given(_EVIDENCE)
def test_trouble_of_dns_alone_never_fails_anybody(evidence: Evidence) -> None:
    judged = judge(evidence)
    if any(one.is_open for one in evidence.claims):
        assert judged.verdict in {Verdict.PASS, Verdict.TEMPERROR}
