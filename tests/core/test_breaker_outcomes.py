"""What an outcome says of the relay and of the mailbox, and so of their breakers."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postroom.core.breaker import CLOSED, Breaker, BreakerState, fault, good, trip
from postroom.core.health import domain_pause, goes_back, mailbox_after, relay_after
from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.replytable import Class, Scope
from support.decide_world import at, wait_of


CAP = timedelta(hours=1)
R = ReasonCode
LOST = Verdict(Class.TEMPORARY, Scope.RELAY, R.CONNECTION_LOST)
DOUBT = Verdict(Class.IN_DOUBT, Scope.RELAY, R.DOUBT_NO_ANSWER)
DENIED = Verdict(Class.OURS, Scope.RELAY, R.RELAYING_DENIED)
DEFERRED = Verdict(Class.TEMPORARY, Scope.RELAY, R.RELAY_DEFERRED)
UNKNOWN = Verdict(Class.PERMANENT, Scope.RECIPIENT, R.RECIPIENT_UNKNOWN)
BUSY = Verdict(Class.TEMPORARY, Scope.RECIPIENT, R.RECIPIENT_DEFERRED)
SENDER = Verdict(Class.OURS, Scope.MAILBOX, R.SENDER_REFUSED)


@pytest.mark.parametrize(
    ("verdict", "stage", "expected"),
    [
        pytest.param(None, Stage.DOT, CLOSED, id="accepted"),
        pytest.param(LOST, Stage.DATA, fault(CLOSED, at(), CAP), id="connection lost"),
        pytest.param(DOUBT, Stage.DOT, fault(CLOSED, at(), CAP), id="no answer to the dot"),
        pytest.param(
            DENIED, Stage.RCPT, trip(CLOSED, R.RELAYING_DENIED, at()), id="relaying denied"
        ),
        pytest.param(DEFERRED, Stage.MAIL, CLOSED, id="a passing trouble"),
        pytest.param(UNKNOWN, Stage.RCPT, good(CLOSED, at()), id="a recipient is no relay"),
        pytest.param(SENDER, Stage.MAIL, good(CLOSED, at()), id="a mailbox is no relay"),
    ],
)
def test_what_an_outcome_says_of_the_relay(
    verdict: Verdict | None, stage: Stage, expected: Breaker
) -> None:
    found = relay_after(CLOSED, stage, verdict, at(), CAP)
    assert replace(found, seen=0) == replace(expected, seen=0)


def test_a_relay_that_denied_relaying_must_accept_a_recipient_first() -> None:
    denied = trip(CLOSED, R.RELAYING_DENIED, at())
    refused_early = relay_after(denied, Stage.MAIL, SENDER, at(300), CAP)
    assert (refused_early.good_in_row, wait_of(refused_early, 300)) == (0, 300)
    assert relay_after(denied, Stage.RCPT, UNKNOWN, at(300), CAP).good_in_row == 1


def test_what_an_outcome_says_of_the_mailbox() -> None:
    assert mailbox_after(CLOSED, None, None, at()).is_closed
    assert mailbox_after(CLOSED, None, UNKNOWN, at()) == CLOSED
    assert mailbox_after(CLOSED, None, SENDER, at()).reason is R.SENDER_REFUSED
    assert mailbox_after(CLOSED, R.PERMANENT_STORM, UNKNOWN, at()).reason is R.PERMANENT_STORM


def test_after_a_storm_only_an_accepted_message_is_good() -> None:
    storm = trip(CLOSED, R.PERMANENT_STORM, at())
    assert wait_of(mailbox_after(storm, R.PERMANENT_STORM, UNKNOWN, at(60)), 60) == 120
    assert wait_of(mailbox_after(storm, None, DOUBT, at(60)), 60) == 120
    assert wait_of(mailbox_after(storm, None, BUSY, at(60)), 60) == 60
    breaker = storm
    for _ in range(3):
        breaker = mailbox_after(breaker, None, None, at(60))
    assert breaker == CLOSED


def test_a_refusal_of_a_recipient_says_nothing_of_a_refused_sender() -> None:
    refused = trip(CLOSED, R.SENDER_REFUSED, at())
    after = mailbox_after(refused, None, UNKNOWN, at(300))
    assert (after.good_in_row, wait_of(after, 300)) == (0, 300)


def test_a_refusal_during_a_storm_is_not_believed() -> None:
    storm = trip(CLOSED, R.DOUBT_STORM, at())
    assert goes_back(storm, UNKNOWN)
    assert not goes_back(storm, BUSY)
    assert not goes_back(CLOSED, UNKNOWN)
    assert not goes_back(trip(CLOSED, R.RATE_LIMITED, at()), UNKNOWN)


def test_a_tired_domain_is_left_alone_for_as_long_as_it_says() -> None:
    tired = Verdict(Class.TEMPORARY, Scope.DOMAIN, R.DOMAIN_DEFERRED)
    assert domain_pause(tired) == timedelta(minutes=15)
    assert domain_pause(replace(tired, delay=timedelta(hours=2))) == timedelta(hours=2)
    assert domain_pause(replace(UNKNOWN, delay=timedelta(hours=2))) is None


def test_what_speaks_of_the_relay_but_is_no_reason_to_stop_changes_nothing_and_counts_for_nothing() -> (
    None
):
    later = Verdict(Class.TEMPORARY, Scope.RELAY, R.RELAY_DEFERRED)
    opened = trip(CLOSED, R.RELAY_STORAGE_FULL, at())
    asked_again = relay_after(opened, Stage.RCPT, later, at(60), CAP)
    assert (asked_again.state, asked_again.good_in_row) == (BreakerState.OPEN, 0)
    assert wait_of(asked_again, 60) == 60


def test_a_mailbox_is_stopped_by_what_speaks_of_a_mailbox_alone() -> None:
    of_relay = Verdict(Class.OURS, Scope.RELAY, R.AUTH_FAILED)
    assert mailbox_after(CLOSED, None, of_relay, at()) == CLOSED
