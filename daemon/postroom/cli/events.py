"""The log and what agents do with it: list, tail, lease, complete, release, retry; and one conversation."""

import json
from pathlib import Path
from typing import Any, Final

import click

from postroom.cli.desk import HAND_OVER_S, Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.inputs import OR_STDIN, Seconds, read_text
from postroom.cli.jobs import LIMIT, listing
from postroom.cli.kinds import refuse_other
from postroom.cli.known import refuse_unknown
from postroom.cli.letters import delivery, reason, verdict, what, who
from postroom.cli.listing import list_by_default, listing_group
from postroom.cli.paper import Column, Json, column, data, emit, facts, plain, table, talk
from postroom.cli.wording import short


_EVENTS: Final = (
    column("SEQ", "seq"),
    Column("AT", lambda row: short(row["created_at"])),
    column("TYPE", "type"),
    column("MAILBOX", "mailbox_id"),
    column("ID", "id"),
    Column("DELIVERY", delivery),
    Column("WHO", who),
    Column("VERDICT", verdict),
    Column("REASON", reason),
    Column("WHAT", what),
)

CONSUMER: Final = click.option(
    "--consumer", default="default", metavar="NAME", help="The consumer (default)."
)
_FENCE: Final = click.option(
    "--fence", required=True, type=int, metavar="N", help="The fence that the lease came with."
)


@click.command("list")
@click.option("--after", default="0", metavar="SEQ|ID", help="Only what came after this event.")
@LIMIT
@at_desk()
def _list(desk: Desk, after: str, limit: int) -> int:
    """Print the log of facts, oldest first."""
    found = listing(desk, desk.client.events, {"after": after}, limit)
    if desk.is_json:
        emit({"items": found})
    elif found:
        table(found, _EVENTS)
    else:
        talk("No events.")
    return Exit.OK


@listing_group(_list)
@click.group(invoke_without_command=True)
@click.pass_context
def events(context: click.Context, /, **_options: object) -> int:
    """Print the log, follow it, lease conversations."""
    return list_by_default(context, _list)


events.add_command(_list)


@events.command()
@click.option("--after", metavar="SEQ|ID", help="Begin after this event; else with what comes now.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after so many events.")
@at_desk(retry_s=HAND_OVER_S)
def tail(desk: Desk, after: str | None, count: int | None) -> int:
    """Print events as they come; with --json one object a line."""
    for number, event in enumerate(desk.client.follow(after), start=1):
        if desk.is_json:
            data(json.dumps(event))
        else:
            data("  ".join(filter(None, (plain(one.cell(event)) for one in _EVENTS))))
        if number == count:
            break
    return Exit.OK


@events.command()
@CONSUMER
@click.option("--mailbox", "mailbox_ids", multiple=True, metavar="ID", help="Of this mailbox only.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="A new consumer gets these types alone; one that is there gets them, too.",
)
@click.option("--threads", default=1, metavar="N", help="At most so many conversations (1).")
@click.option("--wait", default=0.0, type=Seconds(0), metavar="SECONDS", help="Wait for one (0).")
@click.option(
    "--for",
    "lease_s",
    default=60.0,
    type=Seconds(0),
    metavar="SECONDS",
    help="How long to hold it (60).",
)
@at_desk()
def lease(
    desk: Desk,
    /,
    consumer: str,
    mailbox_ids: tuple[str, ...],
    types: tuple[str, ...],
    **more: Any,
) -> int:
    """Lease the conversations that wait longest.

    Exits 75 when none waits.
    """
    fields: Any = {"max_threads": more["threads"], "lease_s": more["lease_s"]}
    fields |= {"mailbox_ids": list(mailbox_ids)} if mailbox_ids else {}
    fields |= {"types": list(types)} if types else {}
    found = desk.client.lease(consumer, wait_s=more["wait"], **fields)
    if not found:
        refuse_unknown(desk, *mailbox_ids)
    if desk.is_json:
        emit({"leases": found})
    for one in () if desk.is_json else found:
        _show(one)
    if found:
        talk("What an event says: postroom show EVENT.")
    else:
        talk("Nothing waits.")
    return Exit.OK if found else Exit.TRY_LATER


@events.command()
@click.argument("lease_id", metavar="LEASE")
@_FENCE
@click.option("--ack", multiple=True, metavar="EVENT", help="Only this event; else all it shows.")
@click.option("--reply-to", metavar="EVENT", help="Answer this event.")
@click.option("--text", metavar="TEXT", help="The answer.")
@click.option("--text-file", type=OR_STDIN, metavar="FILE", help="The answer; - is stdin.")
@at_desk(retry_s=HAND_OVER_S)
def complete(desk: Desk, /, lease_id: str, fence: int, ack: tuple[str, ...], **answer: Any) -> int:
    """Acknowledge what a lease shows, with an answer or without."""
    replies = _replies(answer["reply_to"], answer["text"], answer["text_file"])
    held = {"id": lease_id, "fence": fence}
    found = desk.client.complete(held, replies, ack=list(ack) or "all")
    if desk.is_json:
        emit(found)
        return Exit.OK
    data(f"{plain(lease_id)} is done: {len(found['acked'])} acknowledged.")
    for job in found["replies"]:
        data(f"{plain(job['id'])}  {plain(job['status'])}")
    return Exit.OK


@events.command()
@click.argument("lease_id", metavar="LEASE")
@_FENCE
@click.option("--delay", default=0.0, metavar="SECONDS", help="Not to be leased before (0).")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--failed", is_flag=True, help="Count it as one of the ten failures that kill.")
@at_desk()
def release(
    desk: Desk, lease_id: str, fence: int, delay: float, reason: str, *, failed: bool
) -> int:
    """Give a lease back."""
    held = {"id": lease_id, "fence": fence}
    desk.client.release(held, delay_s=delay, reason=reason, failed=failed)
    if desk.is_json:
        emit({"id": lease_id})
    else:
        data(f"{plain(lease_id)} is given back.")
    return Exit.OK


@events.command()
@click.argument("event_id", metavar="EVENT")
@CONSUMER
@at_desk()
def retry(desk: Desk, event_id: str, consumer: str) -> int:
    """Make an event that is dead for a consumer pending again."""
    found = desk.client.retry_event(event_id, consumer)
    if desk.is_json:
        emit(found)
    else:
        data(f"{plain(event_id)} waits for {plain(consumer)} again.")
    return Exit.OK


@click.command()
@click.argument("thread_id", metavar="THREAD")
@click.option(
    "--limit", default=100, type=click.IntRange(1, 500), metavar="N", help="The latest N (100)."
)
@click.option("--resume", is_flag=True, help="Free what a loop holds in it.")
@at_desk()
def thread(desk: Desk, thread_id: str, limit: int, *, resume: bool) -> int:
    """Show a conversation: what was sent, what came, in order."""
    refuse_other(thread_id, "thr_")
    client = desk.client
    found = client.resume_thread(thread_id) if resume else client.thread(thread_id, limit=limit)
    if desk.is_json:
        emit(found)
        return Exit.OK
    facts({name: value for name, value in found.items() if name not in _APART})
    if found["holds"]:
        data("")
        table(found["holds"], _HOLDS)
        data(f"A person's mail in it frees it, and so does: postroom thread {found['id']} --resume")
    rows = [_sent(one) for one in found["deliveries"]] + [_came(one) for one in found["events"]]
    if rows:
        data("")
        table(sorted(rows, key=lambda row: str(row["at"])), _STORY)
    return Exit.OK


_APART: Final = frozenset({"deliveries", "events", "holds"})
_HOLDS: Final = (
    column("HELD", "scope"),
    column("NAME", "name"),
    column("WHY", "evidence"),
    column("SHOWN BY", "event_id"),
    Column("SINCE", lambda row: short(row["held_at"])),
)
_STORY: Final = (
    Column("AT", lambda row: short(row["at"])),
    column("WHAT", "what"),
    column("ID", "id"),
    column("WHO", "who"),
    column("VERDICT", "verdict"),
    column("HOW", "how"),
)


def _sent(one: Json) -> Json:
    return {
        "at": one["created_at"],
        "what": "delivery",
        "id": one["id"],
        "who": one["recipient"],
        "how": one["state"],
    }


def _came(event: Json) -> Json:
    return {
        "at": event["created_at"],
        "what": event["type"],
        "id": event["id"],
        "who": who(event),
        "verdict": verdict(event),
        "how": what(event),
    }


def _show(one: Json) -> None:
    where = one["thread"]
    facts(
        {
            "lease": one["id"],
            "fence": one["fence"],
            "thread": where["id"],
            "conversation": where["conversation_id"],
            "until": short(one["expires_at"]),
            "tries": one["receive_count"],
            "more": one["more"],
        }
    )
    table(one["events"], _EVENTS)


def _replies(event: str | None, text: str | None, file: Path | None) -> list[Json]:
    if event is None and text is None and file is None:
        return []
    if event is None or (text is None) == (file is None):
        problem = "An answer needs --reply-to and one of --text and --text-file."
        raise click.UsageError(problem)
    words = read_text(file) if file is not None else text
    return [{"in_reply_to_event": event, "text": words}]
