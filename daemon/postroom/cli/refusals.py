"""What went wrong, for a person at a terminal: each fault once, in the words of the command line, and what to do."""

import re
from collections.abc import Mapping
from typing import Final

import click

from postroom.cli.exits import Ended
from postroom.cli.paper import Json, plain, plain_text, warn
from postroom.client.errors import NotUnderstood, PostroomError, Problem, Unreachable


_OPTIONS: Final[Mapping[str, str]] = {
    "mailbox_id": "--mailbox",
    "to": "--to",
    "cc": "--cc",
    "bcc": "--bcc",
    "reply_to": "--reply-to",
    "subject": "--subject",
    "text": "--text",
    "html": "--html-file",
    "headers": "--header",
    "metadata": "--metadata",
    "copies": "--copies",
    "send_at": "--send-at",
    "not_after": "--not-after",
    "conversation_id": "--conversation",
    "thread_id": "--thread",
    "trace_id": "--trace",
    "idempotency_key": "--key",
    "on_duplicate": "--on-duplicate",
    "in_reply_to_event": "--in-reply-to",
    "lease": "--lease",
    "allow_new_recipients": "--new-recipients",
    "if": "--if-version and --if-no-mail-since",
    "if/thread_version": "--if-version",
    "if/no_inbound_since": "--if-no-mail-since",
    "state": "--state",
    "status": "--status",
    "reason_code": "--reason",
    "domain": "--domain",
    "hold_reason": "--hold-reason",
    "recipient": "--recipient",
    "since": "--since",
    "after": "--after",
    "limit": "--limit",
    "consumer": "--consumer",
    "mailbox_ids": "--mailbox",
    "types": "--type",
    "max_threads": "--threads",
    "wait_s": "--wait",
    "lease_s": "--for",
    "fence": "--fence",
    "delay_s": "--delay",
    "ack": "--ack",
    "replies/0/in_reply_to_event": "--reply-to",
    "replies/0/text": "--text",
}
_ATTACHMENT: Final = re.compile(r"attachments/(\d+)(?:/.*)?", re.ASCII)
# What the daemon advises speaks of its HTTP API; here is the same for who types. "" = the faults say it all.
_FIXES: Final[Mapping[str, str]] = {
    "invalid_job": "",
    "invalid_request": "",
    "not_found": "Check the id: `postroom jobs` and `postroom events` list what is kept.",
    "wrong_state": "See how it stands: `postroom show ID`; why it waits: `postroom explain ID`.",
    "log_reset": "Start again with --after 0.",
    "log_trimmed": "Start again with --after 0: it begins with the oldest event there is.",
    "unknown_mailbox": "`postroom mailboxes` lists them.",
    "unknown_thread": "Give a thread of the same mailbox, or leave --thread out.",
    "unknown_event": "`postroom events` shows what is kept.",
    "recipient_not_in_thread": "Leave the address out, or add --new-recipients if it is meant.",
    "reply_target": "To write nevertheless, give --thread and --to instead of --in-reply-to.",
    "attachment_refused": "Name a regular file beneath an attachment root of the mailbox, or upload it with --attach.",
    "filter_combination": "Use one of them, alone or with --mailbox and --since.",
}


# For programs: the word of what the daemon has no word for, and its title.
_KINDS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (Unreachable, "unreachable", "No daemon answered"),
    (NotUnderstood, "not_understood", "This is no daemon of Postroom"),
    (click.FileError, "file_unreadable", "A file can not be read"),
    (click.ClickException, "usage", "Wrong usage"),
    (click.Abort, "interrupted", "Interrupted"),
    (OSError, "io", "Reading or writing failed"),
)
_START: Final = (
    "Is it running? Start it with `postroom run`, or name its socket: --socket, POSTROOM_SOCKET."
)


def document(error: Exception) -> Json:
    """The same for programs: code, title, detail, fix and errors, and what else the daemon's problem says."""
    found = next((row for row in _KINDS if isinstance(error, row[0])), _KINDS[-1])
    told: Json = {"code": found[1], "title": found[2], "detail": words(error), "fix": ""}
    match error:
        case Problem():
            fix = _FIXES.get(error.code) or error.fix
            detail = str(error.problem.get("detail") or error)
            told = {"title": "", **error.problem, "code": error.code, "detail": detail, "fix": fix}
        case Ended():
            told |= {"code": error.code, "title": "It can not be done", "fix": error.fix}
        case Unreachable():
            told["fix"] = _START
        case click.UsageError(ctx=click.Context() as context):
            told["fix"] = f"See `{context.command_path} --help`."
        case _:
            pass
    faults = error.errors if isinstance(error, Problem) else ()
    told["errors"] = [
        {"option": _option(pointer), "pointer": pointer, "detail": detail}
        for pointer, detail in faults
    ]
    key = error.idempotency_key if isinstance(error, PostroomError) else None
    return told if key is None else {**told, "idempotency_key": key}


def words(error: Exception) -> str:
    """What happened, in one sentence: of a file which, and why."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or "Interrupted."


def tell(error: PostroomError) -> None:
    """Say on stderr what happened and what to do about it."""
    if isinstance(error, Problem):
        _tell_problem(error)
        return
    if isinstance(error, Ended):
        warn(f"postroom: {plain_text(str(error))}")
        if error.fix:
            warn(f"  What to do: {error.fix}")
        return
    warn(f"postroom: {plain(error)}")
    if isinstance(error, Unreachable):
        warn(f"  {_START}")
    if error.idempotency_key:
        warn(f"  Sending it again is safe with: --key {plain(error.idempotency_key)}")


def _tell_problem(error: Problem) -> None:
    faults = [plain(f"{_where(pointer)}{detail}") for pointer, detail in error.errors]
    if len(faults) == 1:
        warn(f"postroom: {faults[0]} ({plain(error.code)})")
    elif faults:
        warn(f"postroom: {plain(error.problem.get('title'))}: ({plain(error.code)})")
        for fault in faults:
            warn(f"  {fault}")
    else:
        warn(f"postroom: {plain(error.problem.get('detail') or error)} ({plain(error.code)})")
    holder = error.problem.get("job_id")
    if holder:
        warn(f"  It belongs to {plain(holder)}: postroom show {plain(holder)}")
    fix = _FIXES.get(error.code, error.fix)
    if fix:
        warn(f"  What to do: {plain(fix)}")


def _where(pointer: str) -> str:
    """The option that a JSON pointer of the API stands for; "" where what is wrong needs no place."""
    path = pointer.removeprefix("/filter").removeprefix("/")
    attachment = _ATTACHMENT.fullmatch(path)
    if attachment is not None:
        return f"attachment {int(attachment[1]) + 1}: "
    option = _option(pointer)
    return f"{option}: " if option else ""


def _option(pointer: str) -> str | None:
    path = pointer.removeprefix("/filter").removeprefix("/")
    return _OPTIONS.get(path) or _OPTIONS.get(path.partition("/")[0])
