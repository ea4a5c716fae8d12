"""The command line and the client against the real daemon and a relay that misbehaves."""

import subprocess
from collections.abc import Iterator

import pytest

from postroom.cli.demo_relay import DELETED
from postroom.client.errors import Conflict, Invalid, NotFound
from support.real_daemon import POSTROOM, RealDaemon, env, real_daemon


SEND = ("send", "--mailbox", "support", "--subject", "Hi", "--text", "Text.")


@pytest.fixture(scope="module")
def daemon() -> Iterator[RealDaemon]:
    with real_daemon() as running:
        yield running


def test_a_mail_is_sent_and_told_about(daemon: RealDaemon) -> None:
    sent = daemon.cli(*SEND, "--to", "Ann <ann@a.example>", "--wait", "--timeout", "20")
    assert sent.code == 0, sent
    job_id = sent.out.split()[0]
    assert daemon.relay.copies("ann@a.example") == 1
    assert daemon.cli("status", job_id).code == 0
    raw = daemon.cli("show", job_id, "--raw").out
    assert "Subject: Hi" in raw
    assert "ann@a.example" in raw
    delivery_id = daemon.json("show", job_id)["deliveries"][0]["id"]
    assert [row["to"] for row in daemon.json("show", delivery_id)["history"]][-2:] == [
        "sending",
        "sent",
    ]
    assert "Ok: queued as" in daemon.cli("show", delivery_id).out
    assert job_id in daemon.cli("jobs").out
    assert delivery_id in str(daemon.json("events"))


def test_a_refused_mail_is_a_dead_letter_and_can_be_sent_again(daemon: RealDaemon) -> None:
    sent = daemon.cli(*SEND, "--to", DELETED, "--wait", "--timeout", "20")
    assert sent.code == 69, sent
    dead = daemon.cli("dead-letters", "--since", "1h")
    assert dead.code == 1
    assert "550 5.1.1 User unknown" in dead.out
    again = daemon.cli("retry", sent.out.split()[0])
    assert again.code == 0, again
    done = daemon.client.wait(sent.out.split()[0], 20)
    assert done["deliveries"][0]["state"] == "failed"
    assert daemon.relay.tries[DELETED] == 2


def test_a_restart_between_is_not_noticed(daemon: RealDaemon) -> None:
    assert daemon.stop() == 0
    waiting = subprocess.Popen(
        [*POSTROOM, *SEND, "--to", "patient@a.example", "--wait", "--timeout", "20"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=env(POSTROOM_SOCKET=daemon.client.socket),
    )
    daemon.start()
    assert waiting.communicate(timeout=30)[0].startswith(b"job_")
    assert waiting.returncode == 0
    assert daemon.relay.copies("patient@a.example") == 1


def test_a_paused_mailbox_keeps_its_mail_until_it_goes_on(daemon: RealDaemon) -> None:
    assert daemon.cli("mailboxes", "pause", "support", "--reason", "moving").code == 0
    sent = daemon.cli(*SEND, "--to", "later@a.example", "--wait", "--timeout", "1")
    assert sent.code == 75, sent
    job_id = sent.out.split()[0]
    mailboxes = daemon.cli("mailboxes").out
    assert "paused" in mailboxes
    assert "moving" in mailboxes
    why = daemon.cli("explain", job_id)
    assert why.code == 0
    assert "blocked" in why.out
    assert daemon.cli("mailboxes", "resume", "support").code == 0
    assert daemon.cli("status", job_id, "--wait", "--timeout", "20").code == 0


def test_a_mail_that_waits_can_be_taken_back(daemon: RealDaemon) -> None:
    job_id = daemon.cli(*SEND, "--to", "never@a.example", "--send-at", "1h").out.strip()
    taken = daemon.cli("cancel", job_id)
    assert taken.code == 0, taken
    assert "cancelled" in taken.out
    assert daemon.cli("status", job_id).code == 69


def test_files_travel_uploaded_and_by_path(daemon: RealDaemon) -> None:
    book = daemon.folder / "files" / "book.csv"
    book.write_bytes(b"a,b\n1,2\n")
    words = ("--attach", str(book), "--path", str(book), "--to", "files@a.example")
    assert daemon.cli(*SEND, *words, "--wait", "--timeout", "20").code == 0
    mail = next(one for one in daemon.relay.mails if one.recipient == "files@a.example")
    assert mail.attachment_sha256 is not None


def test_a_suppressed_address_gets_nothing(daemon: RealDaemon) -> None:
    assert daemon.cli("suppressions", "add", "gone@a.example", "--mailbox", "support").code == 0
    assert "gone@a.example" in daemon.cli("suppressions").out
    assert daemon.cli(*SEND, "--to", "gone@a.example", "--wait").code == 69
    assert daemon.relay.copies("gone@a.example") == 0
    gone = daemon.cli("suppressions", "remove", "gone@a.example", "--mailbox", "support")
    assert gone.code == 0, gone
    assert "gone@a.example" not in daemon.cli("suppressions").out


def test_what_is_wrong_is_said_with_where(daemon: RealDaemon) -> None:
    wrong = daemon.cli(*SEND, "--to", "not an address", "--header", "Bcc: x@a.example")
    assert wrong.code == 65, wrong
    assert "--to: " in wrong.err
    assert "--header: " in wrong.err
    nobody = daemon.cli(
        "send", "--mailbox", "nobody", "--to", "a@a.example", "--subject", "x", "--text", "y"
    )
    assert nobody.code == 67, nobody


@pytest.mark.parametrize("verb", ["status", "mailboxes", "stats", "jobs", "events", "suppressions"])
def test_every_look_works(verb: str, daemon: RealDaemon) -> None:
    seen = daemon.cli(verb)
    assert seen.code == 0, seen
    assert isinstance(daemon.json(verb), dict)


def test_the_way_out_of_a_mailbox_can_be_checked(daemon: RealDaemon) -> None:
    before = len(daemon.relay.mails)
    checked = daemon.cli("mailboxes", "check", "support")
    assert checked.code == 0, checked
    assert len(daemon.relay.mails) == before


def test_the_settings_can_be_checked(daemon: RealDaemon) -> None:
    right = daemon.cli("config", "check", "--config", str(daemon.config))
    assert right.code == 0, right
    wrong = daemon.folder / "wrong.toml"
    wrong.write_text(daemon.config.read_text() + "colour = 'red'\n")
    said = daemon.cli("config", "check", "--config", str(wrong))
    assert said.code == 78
    assert "colour" in said.err
    started = daemon.run(wrong)
    assert started.code == 78
    assert "colour" in started.err


def test_a_second_daemon_on_the_same_state_says_so(daemon: RealDaemon) -> None:
    second = daemon.run(daemon.config)
    assert second.code == 75, second
    assert second.err


def test_the_client_raises_what_the_daemon_answers(daemon: RealDaemon) -> None:
    with pytest.raises(NotFound):
        daemon.client.job("job_0000000000000")
    with pytest.raises(Invalid) as caught:
        daemon.client.submit({"mailbox_id": "support", "to": [], "colour": "red"})
    assert any("colour" in pointer + detail for pointer, detail in caught.value.errors)
    sent = daemon.client.send("support", "done@a.example", "Hi", "Text.")
    delivery_id = daemon.client.wait(sent["id"], 20)["deliveries"][0]["id"]
    with pytest.raises(Conflict) as refused:
        daemon.client.retry(delivery_id)
    assert refused.value.code == "wrong_state"


def test_many_can_be_acted_on_at_once(daemon: RealDaemon) -> None:
    jobs = [
        {
            "mailbox_id": "support",
            "to": [f"r{n}@bulk.example"],
            "subject": "x",
            "text": "y",
            "send_at": "2100-01-01T00:00:00Z",
        }
        for n in range(3)
    ]
    assert [result["status"] for result in daemon.client.batch(jobs)] == [202] * 3
    dry = daemon.cli("cancel", "--domain", "bulk.example", "--dry-run")
    assert dry.out == "3 matched, 3 would be done\n", dry
    assert daemon.cli("cancel", "--domain", "bulk.example", "--yes").out == "3 matched, 3 done\n"
