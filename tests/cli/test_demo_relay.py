"""The demo's relay behaves as the demo says it does."""

import smtplib
from collections.abc import Iterator

import pytest

from postroom.cli.demo_relay import BUSY, CUT_OFF, DELETED, Mail, Relay
from postroom.selftest.relay import HOST


MAIL = "Subject: Hi\r\nReply-To: r@example.com\r\nIn-Reply-To: <1@example.com>\r\n\r\nText.\r\n"


@pytest.fixture
def relay() -> Iterator[Relay]:
    running = Relay()
    running.start()
    yield running
    running.stop()


def refusal(relay: Relay, recipient: str) -> int:
    """The code with which the relay refuses a mail."""
    with pytest.raises(smtplib.SMTPRecipientsRefused) as caught:
        send(relay, recipient)
    return int(caught.value.recipients[recipient][0])


def send(relay: Relay, recipient: str) -> None:
    with smtplib.SMTP(HOST, relay.port, local_hostname="test", timeout=5) as client:
        client.sendmail("a@example.com", [recipient], MAIL)


def test_it_accepts_and_remembers(relay: Relay) -> None:
    send(relay, "ann@example.com")
    known = ("r@example.com", "a@example.com", "<1@example.com>")
    assert relay.mails == [Mail("ann@example.com", "Hi", None, *known)]
    assert relay.copies("ann@example.com") == 1


def test_it_turns_one_away_twice(relay: Relay) -> None:
    assert [refusal(relay, BUSY) for _ in range(2)] == [451, 451]
    send(relay, BUSY)
    assert (relay.tries[BUSY], relay.copies(BUSY)) == (3, 1)


def test_it_refuses_the_deleted_one_for_good(relay: Relay) -> None:
    assert [refusal(relay, DELETED) for _ in range(4)] == [550] * 4
    assert relay.mails == []


def test_it_hangs_up_once(relay: Relay) -> None:
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(relay, CUT_OFF)
    send(relay, CUT_OFF)
    assert relay.copies(CUT_OFF) == 1
