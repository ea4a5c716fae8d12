"""What a mailbox wants: nobody who proves everything is refused, and proving more never hurts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.authentication import Authentication, Outcome, Verdict
from postroom.core.inmail import AutomationKind
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.refusal import RefusedBy, Wanted, has_signature
from support.verifying import judged, signature, trusted


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


PASS, FAIL = judged(Verdict.PASS), judged(Verdict.FAIL)
SIGNED = judged(Verdict.FAIL, dkim=(signature("from"),))
BROKEN = judged(Verdict.PASS, dkim=(signature("from", result=Outcome.FAIL),))
FOREIGN = judged(Verdict.PASS, dkim=(signature("from", is_aligned=False),))


@pytest.mark.parametrize(
    ("require", "found", "has_token", "is_refused"),
    [
        pytest.param(Require.ANY, FAIL, False, False, id="any: whatever it is"),
        pytest.param(Require.DKIM, SIGNED, False, False, id="dkim: signed, and nothing else"),
        pytest.param(Require.DKIM, PASS, True, True, id="dkim: not signed, and all else"),
        pytest.param(Require.DKIM, BROKEN, True, True, id="dkim: a signature that fails"),
        pytest.param(Require.DKIM, FOREIGN, True, True, id="dkim: a signature of others"),
        pytest.param(Require.DMARC, PASS, False, False, id="dmarc: it passes"),
        pytest.param(Require.DMARC, SIGNED, True, True, id="dmarc: it does not"),
        pytest.param(Require.TOKEN, FAIL, True, False, id="token: it has one"),
        pytest.param(Require.TOKEN, ALL, False, True, id="token: it has none"),
    ],
)
def test_a_persons_mail_has_what_is_required_or_is_refused(
    require: Require, found: Authentication, *, has_token: bool, is_refused: bool
) -> None:
    wanted = Wanted(AcceptNew.ALL, require)
    refusal = wanted.find_refusal(found, HUMAN, has_token=has_token, is_known=True)
    assert refusal is (RefusedBy.REQUIRE if is_refused else None)


@pytest.mark.parametrize("kind", AutomationKind)
def test_who_wants_nobody_new_gets_nobody_new_and_keeps_old_threads(kind: AutomationKind) -> None:
    nobody = Wanted(AcceptNew.NONE)
    assert nobody.find_refusal(ALL, kind, has_token=True, is_known=False) is RefusedBy.ACCEPT_NEW
    assert nobody.find_refusal(FAIL, kind, has_token=False, is_known=True) is None


@pytest.mark.parametrize(
    ("results", "organisation", "is_signed"),
    [
        pytest.param([(Outcome.PASS, "customer.example")], "customer.example", True, id="From's"),
        pytest.param(
            [(Outcome.PASS, "mail.customer.example")], "customer.example", True, id="below"
        ),
        pytest.param(
            [(Outcome.PASS, "evilcustomer.example")], "customer.example", False, id="alike"
        ),
        pytest.param([(Outcome.PASS, "example")], "customer.example", False, id="above"),
        pytest.param([(Outcome.PASS, "customer.example")], None, True, id="the same, all unknown"),
        pytest.param([(Outcome.PASS, "a.customer.example")], None, False, id="below, all unknown"),
        pytest.param([(Outcome.PASS, None)], "customer.example", False, id="nobody's"),
        pytest.param([(Outcome.FAIL, "customer.example")], "customer.example", False, id="failed"),
        pytest.param(
            [(Outcome.FAIL, "customer.example"), (Outcome.PASS, "customer.example")],
            "customer.example",
            True,
            id="one of two",
        ),
        pytest.param([], "customer.example", False, id="nothing said"),
    ],
)
def test_a_trusted_servers_word_for_a_signature_counts_where_it_is_of_froms_organisation(
    results: list[tuple[Outcome, str | None]],
    organisation: str | None,
    is_signed: bool,  # noqa: FBT001
) -> None:
    found = judged(trusted=tuple(trusted(*one) for one in results), from_organisation=organisation)
    assert has_signature(found) is is_signed


def test_a_signature_of_nobody_is_not_that_of_a_mail_from_nobody() -> None:
    found = judged(trusted=(trusted(Outcome.PASS, None),), from_domain=None, from_organisation=None)
    assert not has_signature(found)
