"""Looking at jobs and deliveries: jobs, show, dead-letters."""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from postroom.cli import moments
from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.inputs import words
from postroom.cli.kinds import refuse_other
from postroom.cli.known import refuse_unknown
from postroom.cli.letters import show_event, what, who
from postroom.cli.meanings import meaning_of, tell_reasons, waiting_at
from postroom.cli.paper import (
    Column,
    Json,
    column,
    data,
    emit,
    facts,
    plain,
    plain_text,
    table,
    talk,
)
from postroom.cli.wording import said, short
from postroom.client import UNSETTLED
from postroom.core.status import JobStatus


LIMIT = click.option(
    "--limit",
    default=50,
    type=click.IntRange(1, 100_000),
    metavar="N",
    show_default=False,
    help="At most so many rows (50).",
)


def feedback(row: Json) -> str:
    """What was heard of a delivery after it was sent; empty while that is nothing."""
    return "" if (found := plain(row.get("feedback"))) == "none" else found


def reply(row: Json) -> str:
    """What the relay said."""
    return said(row.get("reply_code"), row.get("enhanced_status"), row.get("reply_text"))


_DELIVERIES: Final = (
    column("DELIVERY", "id"),
    column("MAILBOX", "mailbox_id"),
    column("RECIPIENT", "recipient"),
    column("STATE", "state"),
    Column("FEEDBACK", feedback),
    column("TRIES", "attempts"),
    Column("NEXT TRY", lambda row: short(row.get("next_attempt_at"))),
    column("REASON", "reason_code"),
    Column("REPLY", reply),
)
_JOBS: Final = (
    column("JOB", "id"),
    column("STATUS", "status"),
    column("MAILBOX", "mailbox_id"),
    Column("CREATED", lambda row: short(row["created_at"])),
    Column("RECIPIENTS", lambda row: _recipients(row["deliveries"])),
    column("SUBJECT", "request", "subject"),
)
_HISTORY: Final = (
    Column("AT", lambda row: short(row["at"])),
    column("FROM", "from"),
    column("TO", "to"),
    column("TRY", "attempt"),
    column("REASON", "reason_code"),
    Column("REPLY", reply),
    column("BY", "by"),
)


def outcome(job: Json) -> Exit:
    """What became of a job, as an exit code: sent, refused, or not yet known."""
    states = {delivery["state"] for delivery in job["deliveries"]}
    if job.get("expired"):
        return Exit.OK if job["status"] == "completed" else Exit.REFUSED
    if states & UNSETTLED:
        return Exit.TRY_LATER
    if states & {"failed", "cancelled", "skipped"}:
        return Exit.REFUSED
    return Exit.TRY_LATER if "uncertain" in states else Exit.OK


def deliveries_table(deliveries: Sequence[Json]) -> None:
    """Print deliveries, one a line, and say what the reasons among them mean."""
    table(deliveries, _DELIVERIES)
    tell_reasons(deliveries)


def history_table(history: Sequence[Json]) -> None:
    """Print what became of a delivery, one step a line, and why."""
    table(history, _HISTORY)


def listing(desk: Desk, page: Callable[..., Json], filters: Json, limit: int) -> list[Json]:
    """Up to `limit` rows of a list; says so when there are more. Raises Ended where there is no such mailbox."""
    rows = desk.client.every(page, **filters)
    found = list(itertools.islice(rows, limit))
    if not found:
        refuse_unknown(desk, filters.get("mailbox_id"))
    if len(found) == limit and next(rows, None) is not None:
        talk(f"There are more than {limit}: see more with --limit.")
    return found


@click.command()
@click.option("--mailbox", "mailbox_id", metavar="ID", help="Of this mailbox.")
@click.option(
    "--status", type=words(JobStatus), metavar="WORD", help=f"One of {', '.join(JobStatus)}."
)
@click.option("--recipient", metavar="ADDRESS", help="To this address.")
@click.option("--thread", "thread_id", metavar="ID", help="In this thread.")
@click.option("--trace", "trace_id", metavar="ID", help="With this trace id.")
@click.option(
    "--conversation", "conversation_id", metavar="NAME", help="In the thread that you named so."
)
@click.option(
    "--key", "idempotency_key", metavar="TEXT", help="The one under this idempotency key."
)
@click.option(
    "--since", metavar="TIME", help="Accepted since then: 24h, 7d, or 2026-11-30T07:00:00Z."
)
@LIMIT
@at_desk()
def jobs(desk: Desk, /, limit: int, **filters: Any) -> int:
    """List jobs, newest first.

    One filter at a time, alone or with --mailbox and --since.
    """
    filters["since"] = moments.ago("--since", filters["since"], desk.host.now())
    found = listing(desk, desk.client.jobs, filters, limit)
    if desk.is_json:
        emit({"items": found})
    elif found:
        table(found, _JOBS)
    else:
        talk("No jobs.")
    return Exit.OK


@click.command()
@click.argument("name", metavar="JOB|DELIVERY|EVENT")
@click.option("--raw", is_flag=True, help="The message itself, as it was sent or came in.")
@at_desk()
def show(desk: Desk, name: str, *, raw: bool) -> int:
    """Show all that is known about a job, a delivery or an event."""
    refuse_other(name, "job_", "dlv_", "evt_")
    if raw and desk.is_json:
        problem = "--raw is the message itself, which is no JSON: leave one of the two out."
        raise click.UsageError(problem)
    if raw:
        return _show_raw(desk, name)
    is_delivery, is_event = name.startswith("dlv_"), name.startswith("evt_")
    read = desk.client.event if is_event else desk.client.job
    found = desk.client.delivery(name) if is_delivery else read(name)
    if desk.is_json:
        emit(found)
    elif is_event:
        show_event(found)
    elif is_delivery:
        facts({**_with_meaning(found), **_outlook(desk, found)})
        data("")
        history_table(found.get("history", []))
    else:
        request = found.get("request")
        shown = {n: value for n, value in found.items() if n not in ("deliveries", "request")}
        facts({**shown, **(_asked(request) if isinstance(request, dict) else {})})
        data("")
        deliveries_table(found["deliveries"])
    return Exit.OK


@click.command("dead-letters")
@click.option("--since", metavar="TIME", help="Ended since then: 24h, 7d, or an instant.")
@LIMIT
@at_desk()
def dead_letters(desk: Desk, since: str | None, limit: int) -> int:
    """List what came to nothing, or to doubt.

    Deliveries, and events that no agent could handle. Exits 1 when there is any, so that cron can mail it.
    """
    filters = {"since": moments.ago("--since", since, desk.host.now())}
    found = listing(desk, desk.client.dead_letters, filters, limit)
    lost = listing(desk, desk.client.dead_events, filters, limit)
    if desk.is_json:
        emit({"items": found, "events": lost})
        return Exit.FOUND if found or lost else Exit.OK
    if found:
        table(found, _DEAD)
        tell_reasons(found)
        talk(
            "Send again: postroom retry ID. Settle a doubt: postroom resolve ID --as sent|resend|failed."
        )
    if lost:
        table(lost, _LOST)
        talk("Let a consumer try again: postroom events retry ID --consumer NAME.")
    if not found and not lost:
        talk("No dead letters.")
    return Exit.FOUND if found or lost else Exit.OK


_DEAD: Final = (
    Column("ENDED", lambda row: short(row.get("settled_at"))),
    *_DELIVERIES,
    column("SUBJECT", "subject"),
)
_LOST: Final = (
    column("EVENT", "event", "id"),
    column("TYPE", "event", "type"),
    column("MAILBOX", "event", "mailbox_id"),
    Column("WHO", lambda row: who(row["event"])),
    Column("WHAT", lambda row: what(row["event"])),
    Column("DEAD FOR", lambda row: [one["consumer"] for one in row["dead_for"]]),
    Column("SINCE", lambda row: short(row["dead_for"][0]["dead_at"])),
)


def _recipients(deliveries: list[Json]) -> str:
    first = plain(deliveries[0]["recipient"]) if deliveries else ""
    more = len(deliveries) - 1
    return f"{first} and {more} more" if more > 0 else first


def _asked(request: Json) -> Json:
    """What was asked for; people and attachments as one would type them."""
    return {
        name: [_item(one) for one in value] if isinstance(value, list) else value
        for name, value in request.items()
    }


def _item(item: object) -> object:
    if not isinstance(item, dict):
        return item
    if "address" in item:
        name, address = plain(item.get("name")), plain(item["address"])
        return f"{name} <{address}>" if name else address
    where = plain(item.get("path") or item.get("ref"))
    return f"{where} as {plain(item['filename'])}" if item.get("filename") else where


def _show_raw(desk: Desk, name: str) -> int:
    if name.startswith("job_"):
        deliveries = desk.client.job(name)["deliveries"]
        if len(deliveries) != 1:
            problem = "This job has several deliveries: give the id of one of them."
            raise click.UsageError(problem)
        name = deliveries[0]["id"]
    is_event = name.startswith("evt_")
    raw = desk.client.event_raw(name) if is_event else desk.client.raw(name)
    if sys.stdout.isatty():
        data(plain_text(raw.decode("utf-8", "surrogateescape")))
    else:
        sys.stdout.buffer.write(raw)
    return Exit.OK


def _outlook(desk: Desk, delivery: Json) -> Json:
    """What becomes by itself of a delivery in doubt, or what one waits for; and when."""
    if delivery.get("state") not in {*UNSETTLED, "uncertain"}:
        return {}
    found = desk.client.explain(str(delivery["id"]))
    gate: Json = next((one for one in found["gates"] if one["name"] == found["blocked_by"]), {})
    if delivery.get("state") == "uncertain":
        return {"on_uncertain": gate.get("threshold"), "that is at": gate.get("until_at")}
    waiting = waiting_at(plain(found["blocked_by"]), gate.get("value"))
    because = "" if waiting is None else f": {waiting.because}"
    waits_for = f"{plain(found['blocked_by'])}{because}" if gate else None
    return {"waits for": waits_for, "not before": short(found["earliest_at"])}


def _with_meaning(delivery: Json) -> Json:
    """The facts of a delivery, its reason followed by what that means."""
    shown: Json = {}
    for name, value in delivery.items():
        if name != "history":
            shown[name] = value
        meaning = meaning_of(value) if name == "reason_code" else None
        if meaning is not None:
            shown |= {"it means": meaning.means, "what to do": meaning.to_do}
    return shown
