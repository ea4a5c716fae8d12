"""What the selftest stands on: its relay, its signed mail, its chance."""

import smtplib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import dkim
import pytest

from postroom.client.host import Host
from postroom.selftest.chance import Chance
from postroom.selftest.door import Door, HangUp, Hold, Say, Stage, Wait
from postroom.selftest.nursery import Birth, Nursery
from postroom.selftest.relay import HOST, Relay
from postroom.selftest.signature import MAIL, OTHER_WORDS, TEXTS, WORDS


ANN = "ann@example.com"
TEXT = "Subject: Hi\r\n\r\n.\r\n..two\r\nText.\r\n"


@pytest.fixture
def door() -> Iterator[Door]:
    relay = Relay(Host())
    relay.start()
    yield relay.open()
    relay.stop()


def send(door: Door, to: str = ANN) -> tuple[int, bytes]:
    """What the relay says in the end; 0 = it hung up."""
    try:
        with smtplib.SMTP(HOST, door.port, local_hostname="test", timeout=5) as client:
            client.sendmail("a@example.com", [to], TEXT)
    except smtplib.SMTPServerDisconnected:
        return 0, b""
    except (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused) as refused:
        return next(iter(getattr(refused, "recipients", {}).values()), refused.args)
    return 250, b""


def test_it_keeps_what_it_was_given_without_the_dots_of_the_way(door: Door) -> None:
    assert send(door)[0] == 250
    (handed,) = door.handed
    assert (handed.recipient, handed.sender) == (ANN, "a@example.com")
    assert handed.content == TEXT.encode()
    assert handed.reply.startswith("250")


@pytest.mark.parametrize("stage", [Stage.MAIL, Stage.RCPT, Stage.DATA, Stage.DOT])
def test_it_refuses_where_it_is_told_to_as_often_as_it_is_told_to(stage: Stage, door: Door) -> None:
    door.on(stage, Wait(0), Say("451 4.3.0 Later"), times=1)
    assert send(door)[0] == 451
    assert door.copies(ANN) == 0
    assert send(door)[0] == 250
    assert door.copies(ANN) == 1


@pytest.mark.parametrize("stage", list(Stage))
def test_it_hangs_up_where_it_is_told_to(stage: Stage, door: Door) -> None:
    door.on(stage, HangUp(), times=1)
    assert send(door)[0] == 0
    assert door.copies(ANN) == (stage is Stage.DOT), "a mail that came whole may be delivered"


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "is cleared"])
def test_it_stands_still_until_it_is_told_what_to_do(
    *, stage: Stage, goes_on: bool, door: Door
) -> None:
    door.on(stage, Hold(), times=1)
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(send, door)
        host = Host()
        while not door.count_held(stage):
            host.sleep(0.001)
        assert not sent.done()
        if goes_on:
            door.go_on()
        else:
            door.clear()
        assert sent.result(5)[0] == (250 if goes_on else 0)
    assert door.count_held(stage) == 0


def test_a_rule_for_one_is_none_for_others(door: Door) -> None:
    door.on(Stage.RCPT, Say("550 5.1.1 User unknown"), recipient=ANN)
    assert send(door) == (550, b"5.1.1 User unknown")
    assert send(door, "bob@example.com")[0] == 250
    assert (door.tries[ANN], door.copies(ANN), door.copies("bob@example.com")) == (1, 0, 1)


def test_its_daemons_do_not_know_who_supervises_the_selftest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("NOTIFY_SOCKET", "LISTEN_FDS", "WATCHDOG_USEC", "CREDENTIALS_DIRECTORY")
    for name in names:
        monkeypatch.setenv(name, "1")
    count = f"print(sum(name in os.environ for name in {names!r}), flush=True)"
    told = Nursery((sys.executable, "-c", f"import os, sys\nfor line in sys.stdin: {count}"))
    try:
        assert told.start(Birth("", "")) == 0
    finally:
        told.close()


def test_its_mail_is_signed_and_another_body_is_not() -> None:
    def find_key(name: bytes, timeout: int = 5) -> bytes:
        return TEXTS[name.decode().rstrip(".")].encode()

    signed = MAIL.replace("\n", "\r\n").encode()
    assert dkim.verify(signed, dnsfunc=find_key)
    tampered = signed.replace(WORDS.encode(), OTHER_WORDS.encode())
    assert tampered != signed
    assert not dkim.verify(tampered, dnsfunc=find_key)


def test_its_chance_is_that_of_its_seed() -> None:
    drawn = [[chance.below(100) for _ in range(50)] for chance in map(Chance, ("1", "1", "2"))]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) > 20
    assert Chance("1").one_of("abc") in "abc"
