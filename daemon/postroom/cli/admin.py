"""Running it: mailboxes and suppressions."""

import contextlib
from collections.abc import Iterator
from typing import Final

import click

from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Ended, Exit
from postroom.cli.jobs import LIMIT, listing
from postroom.cli.known import no_mailbox, refuse_unknown
from postroom.cli.listing import list_by_default, listing_group
from postroom.cli.paper import Column, Json, column, data, dig, emit, plain, table, talk
from postroom.cli.wording import short
from postroom.client.errors import NotFound


def mailboxes_table(rows: list[Json]) -> None:
    """Print mailboxes, one a line."""
    table(rows, _MAILBOXES)


def _breaker(row: Json, name: str) -> object:
    """What this mailbox's own breaker says, or that of its relay, while it is not closed."""
    both = ("breaker", "relay_breaker")
    found = (dig(row, one, name) for one in both if dig(row, one, "state") == "open")
    return next((one for one in found if one), None)


def _slowed(row: Json) -> str:
    """The relay, or the slowest domain, and how many more."""
    found = row.get("slowed") or []
    if not found:
        return ""
    name = found[0].get("domain") or "all"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{plain(name)}: {plain(found[0].get('per_minute'))} a minute{more}"


_MAILBOXES: Final = (
    column("MAILBOX", "id"),
    column("ADDRESS", "address"),
    column("RELAY", "relay"),
    column("STATE", "state"),
    Column("WHY", lambda row: row.get("paused_reason") or _breaker(row, "reason")),
    column("BY", "paused_by"),
    Column("NEXT PROBE", lambda row: short(_breaker(row, "probe_at"))),
    Column("SLOWED TO", _slowed),
)
_CHECKS: Final = (
    column("STEP", "step"),
    column("RESULT", "result"),
    column("DETAIL", "detail"),
    column("WHAT TO DO", "fix"),
)
_SUPPRESSIONS: Final = (
    column("ADDRESS", "address"),
    Column("MAILBOX", lambda row: row.get("mailbox_id") or "(all)"),
    column("REASON", "reason"),
    column("BY", "by"),
    Column("SINCE", lambda row: short(row.get("created_at"))),
)


@click.command("list")
@at_desk()
def _mailboxes_list(desk: Desk) -> int:
    """List mailboxes: what holds each of them up, and until when."""
    found = desk.client.mailboxes()
    if desk.is_json:
        emit(found)
    else:
        mailboxes_table(found["items"])
    return Exit.OK


@listing_group(_mailboxes_list)
@click.group(invoke_without_command=True)
@click.pass_context
def mailboxes(context: click.Context, /, **_options: object) -> int:
    """List, check, pause and resume mailboxes."""
    return list_by_default(context, _mailboxes_list)


mailboxes.add_command(_mailboxes_list)


@mailboxes.command()
@click.argument("mailbox_id", metavar="MAILBOX")
@at_desk()
def check(desk: Desk, mailbox_id: str) -> int:
    """Try a mailbox's relay step by step; nothing is sent. Exits 69 when a step failed."""
    with _known(mailbox_id):
        found = desk.client.check(mailbox_id)
    if desk.is_json:
        emit(found)
    else:
        table(found["checks"], _CHECKS, is_whole=True)
        if found["ok"]:
            _tell_blocked(desk, mailbox_id)
    return Exit.OK if found["ok"] else Exit.REFUSED


@mailboxes.command()
@click.argument("mailbox_id", metavar="MAILBOX")
@click.option("--reason", metavar="TEXT", help="Why; shown to everyone who asks.")
@at_desk()
def pause(desk: Desk, mailbox_id: str, reason: str | None) -> int:
    """Stop a mailbox: it takes mail and sends none."""
    with _known(mailbox_id):
        answer = desk.client.pause(mailbox_id, reason)
    told = (
        f"{mailbox_id} is paused: it takes mail and sends none until `postroom mailboxes resume`."
    )
    return _done(desk, answer, told)


@mailboxes.command()
@click.argument("mailbox_id", metavar="MAILBOX")
@at_desk()
def resume(desk: Desk, mailbox_id: str) -> int:
    """Let a mailbox go on; where its relay is stopped, try that at once."""
    with _known(mailbox_id):
        answer = desk.client.resume(mailbox_id)
    return _done(desk, answer, f"{mailbox_id} goes on.{_relay_tried(answer)}")


def _relay_tried(box: Json) -> str:
    if dig(box, "relay_breaker", "state") != "open":
        return ""
    why = plain(dig(box, "relay_breaker", "reason"))
    return (
        f" Its relay {plain(box.get('relay'))} is stopped ({why}) and is tried at once, with one"
        " mail; three that go through let all others go."
    )


def _tell_blocked(desk: Desk, mailbox_id: str) -> None:
    """A check sends nothing, so it ends no stop."""
    boxes = [one for one in desk.client.mailboxes()["items"] if one["id"] == mailbox_id]
    if any(one["state"] == "blocked" for one in boxes):
        talk(f"{mailbox_id} is stopped until its next probe all the same.")
        talk(f"  What to do: `postroom mailboxes resume {mailbox_id}` tries at once.")


@click.command("list")
@click.option("--mailbox", "mailbox_id", metavar="ID", help="Those of this mailbox only.")
@LIMIT
@at_desk()
def _suppressions_list(desk: Desk, mailbox_id: str | None, limit: int) -> int:
    """List suppressed addresses."""
    found = listing(desk, desk.client.suppressions, {"mailbox_id": mailbox_id}, limit)
    if desk.is_json:
        emit({"items": found})
    elif found:
        table(found, _SUPPRESSIONS)
    else:
        talk("No suppressions.")
    return Exit.OK


@listing_group(_suppressions_list)
@click.group(invoke_without_command=True)
@click.pass_context
def suppressions(context: click.Context, /, **_options: object) -> int:
    """List, add and remove suppressed addresses."""
    return list_by_default(context, _suppressions_list)


suppressions.add_command(_suppressions_list)


@suppressions.command()
@click.argument("address")
@click.option("--mailbox", "mailbox_id", metavar="ID", help="From this mailbox only.")
@click.option("--reason", metavar="TEXT", help="Why; shown to everyone who asks.")
@at_desk()
def add(desk: Desk, address: str, mailbox_id: str | None, reason: str | None) -> int:
    """Write to an address no more."""
    answer = desk.client.suppress(address, mailbox_id=mailbox_id, reason=reason)
    return _done(desk, answer, f"Nothing is sent to {address}{_from(mailbox_id)} any more.")


@suppressions.command()
@click.argument("address")
@click.option("--mailbox", "mailbox_id", metavar="ID", help="What was suppressed for it only.")
@at_desk()
def remove(desk: Desk, address: str, mailbox_id: str | None) -> int:
    """Allow an address again."""
    try:
        desk.client.unsuppress(address, mailbox_id=mailbox_id)
    except NotFound as error:
        refuse_unknown(desk, mailbox_id)
        wrong = f"{address} is not suppressed {_scope(mailbox_id)}"
        raise Ended(
            wrong,
            exit_code=Exit.REFUSED,
            code=error.code,
            fix="`postroom suppressions` lists what is.",
        ) from error
    answer = {"address": address, "mailbox_id": mailbox_id}
    return _done(desk, answer, f"{address} is no longer suppressed {_scope(mailbox_id)}.")


def _from(mailbox_id: str | None) -> str:
    return "" if mailbox_id is None else f" from {mailbox_id}"


def _scope(mailbox_id: str | None) -> str:
    return "for all mailboxes" if mailbox_id is None else f"for {plain(mailbox_id)}"


@contextlib.contextmanager
def _known(mailbox_id: str) -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        named = f"mailbox '{mailbox_id}'"
        raise no_mailbox(named) from error


def _done(desk: Desk, answer: Json, told: str) -> int:
    if desk.is_json:
        emit(answer)
    else:
        data(plain(told))
    return Exit.OK
