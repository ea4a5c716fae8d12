"""The storm guard: which rows of refusals and doubts stop a mailbox, and which do not."""

import pytest

from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.replytable import Class, Scope
from postroom.core.storm import CALM, Storm, is_slow_storm, observe


R = ReasonCode
UNKNOWN = (Stage.RCPT, Verdict(Class.PERMANENT, Scope.RECIPIENT, R.RECIPIENT_UNKNOWN))
AT_MAIL = (Stage.MAIL, Verdict(Class.PERMANENT, Scope.RECIPIENT, R.MAIL_REFUSED))
TOO_BIG = (Stage.MAIL, Verdict(Class.PERMANENT, Scope.MESSAGE, R.MESSAGE_TOO_BIG))
OURS = (Stage.MAIL, Verdict(Class.OURS, Scope.DOMAIN, R.DOMAIN_DEFERRED))
BUSY = (Stage.RCPT, Verdict(Class.TEMPORARY, Scope.RECIPIENT, R.RECIPIENT_DEFERRED))
LOST_EARLY = (Stage.MAIL, Verdict(Class.TEMPORARY, Scope.RELAY, R.CONNECTION_LOST))
DOUBT = (Stage.DOT, Verdict(Class.IN_DOUBT, Scope.RELAY, R.DOUBT_NO_ANSWER))
CONTENT = (Stage.DOT, Verdict(Class.PERMANENT, Scope.MESSAGE, R.MESSAGE_REFUSED))
LATER = (Stage.DOT, Verdict(Class.TEMPORARY, Scope.MESSAGE, R.RELAY_DEFERRED))
OURS_LATER = (Stage.RCPT, Verdict(Class.OURS, Scope.DOMAIN, R.DOMAIN_DEFERRED))
SENT = (Stage.DOT, None)


def after(*outcomes: tuple[Stage, Verdict | None], domains: int = 10) -> Storm:
    storm = CALM
    for number, (stage, verdict) in enumerate(outcomes):
        storm = observe(storm, stage, verdict, f"d{number % domains}.example")
    return storm


@pytest.mark.parametrize(
    ("outcomes", "domains", "reason"),
    [
        pytest.param([UNKNOWN] * 20, 5, R.PERMANENT_STORM, id="20 refusals over 5 domains"),
        pytest.param([UNKNOWN] * 19, 5, None, id="19 are not enough"),
        pytest.param([UNKNOWN] * 40, 4, None, id="4 domains may be bad ones"),
        pytest.param([*[UNKNOWN] * 19, SENT, UNKNOWN], 5, None, id="one sent ends the row"),
        pytest.param(
            [*[UNKNOWN] * 19, BUSY, UNKNOWN], 5, R.PERMANENT_STORM, id="a deferral does not"
        ),
        pytest.param([BUSY] * 40, 10, None, id="deferrals are none, however many"),
        pytest.param([LOST_EARLY] * 40, 10, None, id="nor are lost connections"),
        pytest.param([OURS_LATER] * 40, 10, None, id="nor what speaks of us behind MAIL"),
        pytest.param([AT_MAIL] * 3, 1, R.PERMANENT_STORM, id="3 at MAIL"),
        pytest.param([OURS] * 3, 1, R.PERMANENT_STORM, id="3 at MAIL that speak of us"),
        pytest.param([AT_MAIL] * 2, 1, None, id="2 at MAIL"),
        pytest.param([TOO_BIG] * 5, 1, None, id="at MAIL, but of the message"),
        pytest.param(
            [AT_MAIL, TOO_BIG, AT_MAIL, AT_MAIL],
            1,
            R.PERMANENT_STORM,
            id="one of the message between",
        ),
        pytest.param(
            [AT_MAIL, AT_MAIL, UNKNOWN, AT_MAIL],
            1,
            None,
            id="a refused RCPT means an accepted MAIL",
        ),
        pytest.param([AT_MAIL, AT_MAIL, BUSY, AT_MAIL], 1, None, id="and so does a deferred one"),
        pytest.param([AT_MAIL, AT_MAIL, DOUBT, AT_MAIL], 1, None, id="and a doubt"),
        pytest.param(
            [AT_MAIL, LOST_EARLY, AT_MAIL, AT_MAIL],
            1,
            R.PERMANENT_STORM,
            id="a lost connection between",
        ),
        pytest.param([DOUBT] * 5, 1, R.DOUBT_STORM, id="5 doubts"),
        pytest.param([DOUBT] * 4, 1, None, id="4 doubts"),
        pytest.param([*[DOUBT] * 4, CONTENT, DOUBT], 1, None, id="an answered dot ends the row"),
        pytest.param([*[DOUBT] * 4, LATER, DOUBT], 1, None, id="a deferred one too"),
        pytest.param(
            [*[DOUBT] * 4, UNKNOWN, DOUBT], 1, R.DOUBT_STORM, id="a refused recipient does not"
        ),
        pytest.param([*[DOUBT] * 4, SENT, DOUBT], 1, None, id="a sent one does"),
        pytest.param(
            [AT_MAIL, BUSY, AT_MAIL, AT_MAIL], 1, None, id="a row at MAIL begins anew with the next"
        ),
        pytest.param(
            [AT_MAIL, DOUBT, AT_MAIL, AT_MAIL], 1, None, id="after a doubt, with the next"
        ),
        pytest.param(
            [DOUBT, LATER, *[DOUBT] * 4], 1, None, id="a row of doubts begins anew with the next"
        ),
    ],
)
def test_which_rows_are_a_storm(
    outcomes: list[tuple[Stage, Verdict | None]], domains: int, reason: ReasonCode | None
) -> None:
    assert after(*outcomes, domains=domains).reason is reason


def test_three_that_wait_a_minute_for_their_reply_are_a_storm() -> None:
    second = 1_000_000
    now = 100 * second
    assert is_slow_storm([0, second, 2 * second, now], now)
    assert not is_slow_storm([0, second, 40 * second], now)
    assert not is_slow_storm([40 * second] * 3, now)
    assert is_slow_storm([40 * second - 1] * 3, now)
