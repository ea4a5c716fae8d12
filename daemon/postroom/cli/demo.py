"""`postroom demo`: the report that must reach four people, and the answers of three, played with the real daemon.

Nothing here goes around the product: the daemon is `postroom run`, jobs go in through `postroom.client`, and all that
is shown of them comes from the API. What the relay really holds is counted at the relay, and the demo fails when it is
not what was promised.
"""

import hashlib
import shlex
from typing import Final

from postroom.cli.demo_relay import BUSY, CUT_OFF, DELETED, Relay
from postroom.cli.demo_stage import FIRST_WAIT_S, MAILBOX, DaemonFailed, Stage, set_up
from postroom.cli.demo_talk import converse
from postroom.cli.demo_watch import Promise, Watch
from postroom.cli.exits import Exit
from postroom.cli.paper import Json, column, data, paint, plain, plain_text, table, warn
from postroom.cli.wording import command
from postroom.client.host import Host


_FINANCE: Final = "finance@example.com"
_TEAM: Final = (_FINANCE, BUSY, DELETED, CUT_OFF)
_CODE_FOR: Final = "ann@customer.example"
_LETTERS: Final = 24
_LETTER: Final = "Our autumn letter"
_REPORT: Final = "Sales report, September 2026"
_CODE: Final = "Your sign-in code"
_BOOK: Final = b"region,sum\nnorth,1200\nsouth,950\n"
_OTHER_BOOK: Final = b"region,sum\nnorth,9999\nsouth,9999\n"
_PLAY_S: Final = 16.0  # it takes some 4 s; the rest is for slow machines
_LISTEN_S: Final = 0.5  # a mail that should not come would come within this


def play() -> int:
    """Play it; the exit code, which is not 0 when something was not as promised."""
    host = Host()
    _introduce()
    try:
        with set_up(host) as stage:
            promises = _acts(stage)
    except DaemonFailed as error:
        warn("postroom: the demo's daemon failed. Why, and what it said last:")
        warn(plain_text(str(error)))
        return Exit.BUG
    return _conclude(promises)


def _introduce() -> None:
    data("A relay on this machine that behaves like real ones, the real daemon, real jobs.")
    data(f"It takes its time, turns {BUSY} away twice, has deleted {DELETED},")
    data(f"and hangs up once on {CUT_OFF}. Nothing leaves this machine.")
    data("")
    data("All settings are the defaults, but those of retries: a first wait of")
    data(
        f"{FIRST_WAIT_S} s in place of 60 s, so that you can watch it; and a listener for answers."
    )
    data("")


def _acts(stage: Stage) -> list[Promise]:
    watch = Watch(stage, stage.host.now())
    until_s = stage.host.monotonic_s() + _PLAY_S
    socket = shlex.quote(stage.client.socket)
    data(f"Watch it from another terminal: {command()} top --socket {socket}")
    data("")
    book = stage.files / "sales-2026-09.csv"
    book.write_bytes(_BOOK)
    report = _report(str(book))

    job = stage.client.submit(report)
    watch.say(
        f"A report to four people, with an attachment: accepted, durable, {plain(job['id'])}."
    )
    letters = [one["job"] for one in stage.client.batch([_letter(n) for n in range(_LETTERS)])]
    watch.say(f"A batch of {_LETTERS} bulk letters: accepted in one call.")
    code = _code(stage)
    watch.say("A sign-in code, priority high, behind all of them: accepted.")
    people = [one["id"] for found in (job, code) for one in found["deliveries"]]
    is_settled = watch.until_settled(people, until_s)
    done = [
        stage.client.wait(one["id"], max(1.0, until_s - stage.host.monotonic_s()))
        for one in letters
    ]
    is_settled = is_settled and all(one["status"] == "completed" for one in done)
    watch.say(
        f"All {_LETTERS} bulk letters are sent." if is_settled else "Not all of it is settled."
    )

    again = _rerun(stage, watch, report, book_path=str(book))
    data("")
    _show_relay(stage.relay)
    talked = converse(stage, watch)
    data("")
    return [*_promises(stage.relay, again, is_settled=is_settled), *talked]


def _report(path: str) -> Json:
    return {
        "mailbox_id": MAILBOX,
        "to": list(_TEAM),
        "subject": _REPORT,
        "text": "The September sales report is attached.\n",
        "attachments": [{"path": path}],
        "idempotency_key": "sales-report-2026-09",
        "on_duplicate": "merge",
        "copies": "individual",
    }


def _letter(number: int) -> Json:
    return {
        "mailbox_id": MAILBOX,
        "to": [f"reader{number}@customer{number % 6}.example"],
        "subject": _LETTER,
        "text": "There is news.\n",
        "priority": "bulk",
    }


def _code(stage: Stage) -> Json:
    return stage.client.send(
        MAILBOX, _CODE_FOR, _CODE, "It is 493 221.\n", priority="high", idempotency_key="code-1"
    )


def _rerun(stage: Stage, watch: Watch, report: Json, *, book_path: str) -> Json:
    (stage.files / book_path).write_bytes(_OTHER_BOOK)
    before = len(stage.relay.mails)
    again = stage.client.submit(report)
    stage.host.sleep(_LISTEN_S)
    more = len(stage.relay.mails) - before
    watch.say("The attachment is rewritten and the report's job runs again, same key:")
    watch.say(
        f"queued {plain(again['queued'])}, already {plain(again['already'])}; "
        f"the relay was given {more} more mails."
    )
    return {"queued": again["queued"], "already": again["already"], "more": more}


def _show_relay(relay: Relay) -> None:
    data("What the relay really holds:")
    rows: list[Json] = [
        {
            "who": who,
            "subject": _CODE if who == _CODE_FOR else _REPORT,
            "tries": relay.tries.get(who, 0),
            "copies": relay.copies(who),
        }
        for who in (*_TEAM, _CODE_FOR)
    ]
    letters = [mail for mail in relay.mails if mail.subject == _LETTER]
    tries = sum(count for who, count in relay.tries.items() if who.startswith("reader"))
    rows.append(
        {"who": f"{_LETTERS} readers", "subject": _LETTER, "tries": tries, "copies": len(letters)}
    )
    table(
        rows,
        (
            column("RECIPIENT", "who"),
            column("SUBJECT", "subject"),
            column("TRIES", "tries"),
            column("COPIES", "copies"),
        ),
    )
    data("")


def _promises(relay: Relay, again: Json, *, is_settled: bool) -> list[Promise]:
    subjects = [mail.subject for mail in relay.mails]
    readers = {mail.recipient for mail in relay.mails if mail.subject == _LETTER}
    digests = {mail.attachment_sha256 for mail in relay.mails if mail.subject == _REPORT}
    place = subjects.index(_CODE) + 1 if _CODE in subjects else len(subjects) + 1
    behind = subjects[place:].count(_LETTER)
    return [
        Promise("every recipient came to an end", is_settled),
        Promise(
            "one copy each for those who can get mail",
            [relay.copies(who) for who in _TEAM] == [1, 1, 0, 1],
        ),
        Promise(
            "temporary refusals and a lost connection are tried again, a deleted address is not",
            [relay.tries.get(who) for who in _TEAM] == [1, 3, 1, 2],
        ),
        Promise(
            "the attachment is the one that was accepted",
            digests == {hashlib.sha256(_BOOK).hexdigest()},
        ),
        Promise(f"the code overtook {behind} of {_LETTERS} bulk letters", behind > _LETTERS // 2),
        Promise(
            "every bulk letter went once",
            len(readers) == _LETTERS and subjects.count(_LETTER) == _LETTERS,
        ),
        Promise(
            "the rerun sent nothing twice",
            again == {"queued": 0, "already": len(_TEAM), "more": 0},
        ),
    ]


def _conclude(promises: list[Promise]) -> int:
    for promise in promises:
        data(f"{paint('ok') if promise.is_kept else paint('failed')}  {promise.text}")
    if all(promise.is_kept for promise in promises):
        data("")
        data(f"Of a daemon that runs: `{command()} top` shows it live, `stats` in figures,")
        data("`explain ID` says why a mail waits.")
        data("Next: config/postroom.toml has every setting, README.md the first five minutes.")
        return Exit.OK
    warn("postroom: not everything was as promised.")
    return Exit.BUG
