"""`postroom send`: one mail, from what was typed."""

import mimetypes
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from postroom.cli import moments
from postroom.cli.desk import HAND_OVER_S, Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.inputs import FILE, OR_STDIN, TIMEOUT, read_text
from postroom.cli.jobs import deliveries_table, outcome
from postroom.cli.paper import Json, data, emit, plain, talk
from postroom.client import Client


_NAMED: Final = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]+)>")


_PLACE: Final = click.Path(path_type=Path)


@click.command()
@click.option(
    "--mailbox", metavar="ID", help="The mailbox that sends it; needed but for an answer."
)
@click.option(
    "--to",
    multiple=True,
    metavar="ADDRESS",
    help="Who gets it; 'Ann <ann@example.com>' too. Repeat it for each.",
)
@click.option("--cc", multiple=True, metavar="ADDRESS", help="Who gets a copy, for all to see.")
@click.option("--bcc", multiple=True, metavar="ADDRESS", help="Who gets a copy that nobody sees.")
@click.option("--reply-to", multiple=True, metavar="ADDRESS", help="Where answers should go.")
@click.option("--subject", metavar="TEXT", help="The subject; needed but for an answer.")
@click.option(
    "--text",
    metavar="TEXT",
    help="The text; from standard input with -, or where no text is given.",
)
@click.option("--text-file", type=OR_STDIN, help="The text, from a UTF-8 file or - .")
@click.option("--html-file", type=OR_STDIN, help="The same as HTML.")
@click.option("--attach", multiple=True, type=FILE, help="Upload this file and attach it.")
@click.option("--path", multiple=True, type=_PLACE, help="Attach a file that the daemon can read.")
@click.option("--pin", is_flag=True, help="Leave --path files in place; they must not change.")
@click.option(
    "--copies",
    type=click.Choice(["conversation", "individual"]),
    help="All see each other, or each gets a mail of their own "
    "(individual for bulk, merge and more than 20 recipients).",
)
@click.option(
    "--priority",
    type=click.Choice(["high", "standard", "bulk"]),
    help="What goes first (standard).",
)
@click.option("--send-at", metavar="TIME", help="Not before: 2h, or 2026-11-30T07:00:00Z.")
@click.option("--not-after", metavar="TIME", help="Fails as expired if it is not out by then.")
@click.option(
    "--key", metavar="TEXT", help="Idempotency key: a second job under it sends nothing twice."
)
@click.option(
    "--on-duplicate",
    type=click.Choice(["replay", "merge"]),
    help="A second job under the key: is the first one, or adds recipients that are new (replay).",
)
@click.option("--conversation", metavar="NAME", help="Your own name for the thread.")
@click.option("--thread", metavar="ID", help="An existing thread.")
@click.option(
    "--in-reply-to", metavar="EVENT", help="Answer this event: it says who, what and where."
)
@click.option("--lease", metavar="ID:FENCE", help="The lease under which you answer.")
@click.option(
    "--new-recipients", is_flag=True, help="The answer may go to people outside the thread."
)
@click.option("--if-version", type=int, metavar="N", help="Only while the thread has this version.")
@click.option(
    "--if-no-mail-since", metavar="EVENT", help="Only if nobody has written after this event."
)
@click.option("--trace", metavar="ID", help="Echoed in every answer, log line and event.")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="One more header field.")
@click.option(
    "--metadata", multiple=True, metavar="NAME=VALUE", help="Kept with the job, never sent."
)
@click.option(
    "--wait", is_flag=True, help="Wait for the outcome: 0 sent, 69 failed, 75 not yet known."
)
@TIMEOUT
@at_desk(retry_s=HAND_OVER_S)
def send(desk: Desk, /, **given: Any) -> int:
    """Hand over a mail; prints its job id.

    Once the id is printed, the mail is durable: it is sent, or you can read why not.
    """
    _check_needed(given)
    given["send_at"] = moments.ahead("--send-at", given["send_at"], desk.host.now())
    given["not_after"] = moments.ahead("--not-after", given["not_after"], desk.host.now())
    job = desk.client.submit(_job(desk.client, given))
    if given["wait"]:
        return _wait(desk, job, given["timeout"])
    if desk.is_json:
        emit(job)
        return Exit.OK
    data(job["id"])
    _tell(job)
    return Exit.OK


def _wait(desk: Desk, job: Json, timeout_s: float) -> int:
    if not job.get("expired"):
        job = desk.client.wait(job["id"], timeout_s)
    if desk.is_json:
        emit(job)
    else:
        data(job["id"])
        deliveries_table(job["deliveries"])
    return outcome(job)


def _tell(job: Json) -> None:
    count = len(job["deliveries"])
    people = "1 recipient" if count == 1 else f"{count} recipients"
    if "queued" in job:
        talk(f"Queued for {job['queued']}; {job['already']} had it already.")
    elif job.get("deduplicated"):
        talk(f"This job was accepted before ({plain(job['status'])}); nothing is sent twice.")
    else:
        if job.get("reply_to_ignored"):
            talk("It goes to From: Reply-To names another organisation, or too many people.")
        talk(f"Accepted for {people}. What becomes of it: postroom status {plain(job['id'])}")


def _job(client: Client, given: dict[str, Any]) -> Json:
    fields = {
        "mailbox_id": given["mailbox"],
        **{name: _people(given[name]) for name in ("to", "cc", "bcc", "reply_to")},
        "subject": given["subject"],
        "text": _text(given["text"], given["text_file"], has_html=bool(given["html_file"])),
        "html": read_text(given["html_file"]) if given["html_file"] else None,
        "headers": _pairs(given["header"], ":", "--header"),
        "metadata": _pairs(given["metadata"], "=", "--metadata"),
        "conversation_id": given["conversation"],
        "thread_id": given["thread"],
        "in_reply_to_event": given["in_reply_to"],
        "lease": _lease(given["lease"]),
        "allow_new_recipients": True if given["new_recipients"] else None,
        "if": _condition(given["if_version"], given["if_no_mail_since"]),
        "trace_id": given["trace"],
        "idempotency_key": given["key"],
        **{
            name: given[name]
            for name in ("copies", "priority", "send_at", "not_after", "on_duplicate")
        },
        "attachments": [
            *({"ref": _stage(client, path)} for path in given["attach"]),
            *(_in_place(path, is_pinned=given["pin"]) for path in given["path"]),
        ],
    }
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _check_needed(given: dict[str, Any]) -> None:
    for name in ("mailbox", "subject"):
        if given[name] is None and given["in_reply_to"] is None:
            problem = f"Missing option '--{name}'."
            raise click.UsageError(problem)


def _lease(typed: str | None) -> Json | None:
    if typed is None:
        return None
    id_, _, fence = typed.partition(":")
    if not fence.isascii() or not fence.isdigit():
        problem = f"'{typed}' is not the id of a lease, a colon and its fence."
        raise click.BadParameter(problem, param_hint="--lease")
    return {"id": id_, "fence": int(fence)}


def _condition(version: int | None, since: str | None) -> Json:
    asked = {"thread_version": version, "no_inbound_since": since}
    return {name: value for name, value in asked.items() if value is not None}


def _people(typed: Sequence[str]) -> list[str | Json]:
    found = (_NAMED.fullmatch(one.strip()) for one in typed)
    return [
        one if named is None else {"address": named["address"], "name": named["name"].strip('" \t')}
        for one, named in zip(typed, found, strict=True)
    ]


def _text(text: str | None, file: Path | None, *, has_html: bool) -> str | None:
    if text is not None and file is not None:
        problem = "Give --text or --text-file, not both."
        raise click.UsageError(problem)
    if file is not None:
        return read_text(file)
    if text == "-":
        return read_text(Path("-"))
    if text is None and not has_html:
        return _piped()
    return text


def _piped() -> str:
    # under cron and systemd standard input is often /dev/null: no text was meant to come from there
    text = "" if sys.stdin.isatty() else read_text(Path("-"))
    if not text:
        problem = "There is no text: give --text, --text-file or --html-file, or pipe it in."
        raise click.UsageError(problem)
    return text


def _pairs(typed: Iterable[str], sign: str, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in typed:
        name, has_sign, value = one.partition(sign)
        if not has_sign:
            problem = f"'{one}' has no '{sign}'."
            raise click.BadParameter(problem, param_hint=option)
        found[name.strip()] = value.strip()
    return found


def _stage(client: Client, path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return str(client.stage(path, content_type=kind)["ref"])


def _in_place(path: Path, *, is_pinned: bool) -> Json:
    # not resolved: the daemon follows no links, and says so about this very path
    found: Json = {"path": str(path.absolute())}
    return {**found, "pin": True} if is_pinned else found
