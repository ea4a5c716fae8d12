"""How long a reply makes us wait, and when patience with it ends."""

from datetime import timedelta

import pytest

from postroom.core.reason import ReasonCode
from support.replies import read


@pytest.mark.parametrize(
    ("line", "seconds", "is_stated"),
    [
        pytest.param("450 4.7.1 Greylisting, try again in 300 s", 300, True, id="seconds"),
        pytest.param(
            "451 4.7.1 Greylisted, please try again in 10 minutes", 600, True, id="minutes"
        ),
        pytest.param("451 please retry in 1 hour", 3600, True, id="an hour"),
        pytest.param("451 Please try again in 00:04:59", 299, True, id="a clock"),
        pytest.param("451 wait 120", 120, True, id="without a unit"),
        pytest.param(
            "450 greylisted, try again in 30 s", 300, False, id="too short: what is usual"
        ),
        pytest.param(
            "450 greylisted, try again in 2 hours", 300, False, id="too long: what is usual"
        ),
        pytest.param("450 greylisted", 300, False, id="nothing stated: what is usual"),
        pytest.param("451 try again in 30 s", None, False, id="too short, and nothing is usual"),
        pytest.param("451 retry in 99999 h", None, False, id="absurd"),
        pytest.param("451 busy", None, False, id="nothing"),
        pytest.param("550 5.1.1 no, try again in 300 s", None, False, id="refused for good"),
    ],
)
def test_a_stated_delay_of_1_to_60_minutes_is_heard(
    line: str,
    seconds: int | None,
    *,
    is_stated: bool,
) -> None:
    verdict = read("rcpt", line)
    assert verdict.delay == (None if seconds is None else timedelta(seconds=seconds))
    assert verdict.is_stated is is_stated


def test_a_tired_domain_rests_two_hours() -> None:
    assert read("mail", "421 4.7.0 [TSS04] deferred").delay == timedelta(hours=2)


def test_patience_with_a_full_or_unknown_mailbox_ends_after_a_day() -> None:
    assert read("rcpt", "452 4.2.2 over quota").patience == timedelta(days=1)
    assert read("rcpt", "450 4.1.1 user unknown").patience == timedelta(days=1)
    assert read("rcpt", "451 later").patience is None


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("59 s", 300), ("60 s", 60), ("3600 s", 3600), ("3601 s", 300), ("01:00:01", 300)],
)
def test_a_minute_and_an_hour_themselves_are_heard(asked: str, seconds: int) -> None:
    verdict = read("rcpt", f"450 greylisted, try again in {asked}")
    assert verdict.delay == timedelta(seconds=seconds)
    assert verdict.is_stated is (seconds != 300)


def test_nobody_is_patient_with_what_was_refused_for_good() -> None:
    assert read("rcpt", "550 5.1.1 user unknown").patience is None


def test_a_host_that_is_blocked_is_not_slowed_down() -> None:
    verdict = read("greeting", "554 listed at spamhaus")
    assert (verdict.reason, verdict.slows) == (ReasonCode.IP_BLOCKED, None)
