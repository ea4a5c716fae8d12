"""What a mailbox wants: nobody who proves everything is refused, and proving more never hurts."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.authentication import Authentication, Verdict
from postroom.core.inmail import AutomationKind
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.refusal import RefusedBy, Wanted
from support.verifying import judged, signature


WANTED = st.builds(Wanted, st.sampled_from(AcceptNew), st.sampled_from(Require))
JUDGED = st.builds(
    lambda verdict, is_signed: judged(verdict, dkim=(signature("from"),) if is_signed else ()),
    st.sampled_from(Verdict),
    st.booleans(),
)
KINDS = st.sampled_from(AutomationKind)
ALL = judged(Verdict.PASS, dkim=(signature("from"),))
HUMAN = AutomationKind.HUMAN


@given(WANTED, KINDS)
def test_who_proves_everything_in_a_known_thread_is_accepted(
    wanted: Wanted, kind: AutomationKind
) -> None:
    assert wanted.find_refusal(ALL, kind, has_token=True, is_known=True) is None


@given(wanted=WANTED, found=JUDGED, kind=KINDS, has_token=st.booleans(), is_known=st.booleans())
def test_to_prove_more_never_makes_a_mail_unwanted(
    wanted: Wanted, found: Authentication, kind: AutomationKind, *, has_token: bool, is_known: bool
) -> None:
    if wanted.find_refusal(found, kind, has_token=has_token, is_known=is_known) is None:
        assert wanted.find_refusal(ALL, kind, has_token=True, is_known=is_known) is None


@given(found=JUDGED, kind=KINDS, has_token=st.booleans(), is_known=st.booleans())
def test_who_wants_everything_gets_everything(
    found: Authentication, kind: AutomationKind, *, has_token: bool, is_known: bool
) -> None:
    anything = Wanted(AcceptNew.ALL)
    assert anything.find_refusal(found, kind, has_token=has_token, is_known=is_known) is None


@given(WANTED, JUDGED, st.sampled_from([one for one in AutomationKind if one is not HUMAN]))
def test_what_no_person_wrote_is_never_refused_for_what_a_person_must_have(
    wanted: Wanted, found: Authentication, kind: AutomationKind
) -> None:
    refusal = wanted.find_refusal(found, kind, has_token=False, is_known=False)
    assert refusal is not RefusedBy.REQUIRE
    assert wanted.find_refusal(found, kind, has_token=False, is_known=True) is None


def test_a_new_mailbox_takes_strangers_whose_domain_vouches_for_them() -> None:
    found = replace(ALL, dkim=())
    assert Wanted().find_refusal(found, HUMAN, has_token=False, is_known=False) is None
    for verdict in set(Verdict) - {Verdict.PASS}:
        refusal = Wanted().find_refusal(judged(verdict), HUMAN, has_token=False, is_known=False)
        assert refusal is RefusedBy.ACCEPT_NEW
