"""Everything the API can refuse, in one table: RFC 9457 problems with a stable code and what to do about it.

`docs/api.md` is held against the table by a test. A problem never names a path, a statement or an exception of ours;
only whoever has the settings read again is told of their files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from postroom.core.job import Problem as Fault


class Code(StrEnum):
    """The stable word for a refusal."""

    NOT_JSON = "not_json"
    BODY_INCOMPLETE = "body_incomplete"
    BAD_REQUEST = "bad_request"
    PRINCIPAL_UNKNOWN = "principal_unknown"
    NOT_ALLOWED = "not_allowed"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TIMEOUT = "body_timeout"
    WRONG_STATE = "wrong_state"
    BACKUP_UNDER_WAY = "backup_under_way"
    CONSUMER_LIMIT = "consumer_limit"
    LEASE_LOST = "lease_lost"
    ALREADY_REPLIED = "already_replied"
    LOG_RESET = "log_reset"
    LOG_TRIMMED = "log_trimmed"
    CONTENT_GONE = "content_gone"
    BODY_TOO_LARGE = "body_too_large"
    ATTACHMENT_TOO_LARGE = "attachment_too_large"
    ENCODING_UNSUPPORTED = "encoding_unsupported"
    EXPECTATION_FAILED = "expectation_failed"
    INVALID_JOB = "invalid_job"
    INVALID_REQUEST = "invalid_request"
    UNKNOWN_FIELD = "unknown_field"
    SETTINGS_WRONG = "settings_wrong"
    UNKNOWN_MAILBOX = "unknown_mailbox"
    UNKNOWN_THREAD = "unknown_thread"
    UNKNOWN_EVENT = "unknown_event"
    RECIPIENT_NOT_ALLOWED = "recipient_not_allowed"
    RECIPIENT_NOT_IN_THREAD = "recipient_not_in_thread"
    REPLY_TARGET = "reply_target"
    ATTACHMENT_REFUSED = "attachment_refused"
    BATCH_TOO_LARGE = "batch_too_large"
    FILTER_COMBINATION = "filter_combination"
    IDEMPOTENCY_KEY_REUSE = "idempotency_key_reuse"
    JOB_EXPIRED = "job_expired"
    ATTACHMENT_CHANGING = "attachment_changing"
    MAILBOX_QUEUE_FULL = "mailbox_queue_full"
    MAILBOX_HOURLY_LIMIT = "mailbox_hourly_limit"
    INTERNAL = "internal"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    DRAINING = "draining"
    NOT_READY = "not_ready"
    STORE_UNAVAILABLE = "store_unavailable"
    ATTACHMENT_SLOW = "attachment_slow"
    STORAGE_FULL = "storage_full"


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table. `retry_after_s`: seconds after which the same request may do better; None = never by itself."""

    status: int
    title: str
    fix: str
    retry_after_s: int | None = None

    @property
    def is_retryable(self) -> bool:
        """Whether the very same request may succeed later."""
        return self.retry_after_s is not None


_E = Entry
_AGAIN: Final = "Nothing was accepted. Send the same request again, with the same idempotency key."

TABLE: Final[Mapping[Code, Entry]] = {
    Code.NOT_JSON: _E(400, "The body is not JSON", "Send one JSON value in UTF-8."),
    Code.BODY_INCOMPLETE: _E(
        400, "The body ended early", "Send as many bytes as Content-Length says, in sound chunks."
    ),
    Code.BAD_REQUEST: _E(400, "This is not HTTP/1.1", "Send a well-formed HTTP/1.1 request."),
    Code.PRINCIPAL_UNKNOWN: _E(
        403,
        "The caller has no name here",
        "Connect as a user of this machine; a uid that a user namespace hides is refused.",
    ),
    Code.NOT_ALLOWED: _E(
        403,
        "The caller may not do this",
        "Call as root, or as the user that the daemon runs as.",
    ),
    Code.NOT_FOUND: _E(404, "There is no such thing", "Check the path and the id."),
    Code.METHOD_NOT_ALLOWED: _E(405, "This call has another method", "See the Allow header."),
    Code.BODY_TIMEOUT: _E(
        408, "The body came too slowly", "Send the whole body within 60 seconds.", 1
    ),
    Code.WRONG_STATE: _E(
        409,
        "This can not be done in its present state",
        "Read the delivery again and see `detail`.",
    ),
    Code.BACKUP_UNDER_WAY: _E(
        409, "Another backup is under way", "Wait for its end, then ask again."
    ),
    Code.CONSUMER_LIMIT: _E(
        409,
        "There are as many consumers as there may be",
        "Use one that `GET /v1/consumers` lists, or delete one that nobody uses.",
    ),
    Code.LEASE_LOST: _E(
        409,
        "The lease is not yours, or not any more",
        "Drop what you made of it and lease again; nothing was done.",
    ),
    Code.ALREADY_REPLIED: _E(
        409,
        "The event was answered before",
        "Read the job that `job_id` names; complete the lease without a reply.",
    ),
    Code.LOG_RESET: _E(
        410,
        "The event log is another one",
        "Start again with `after=0`; what you remember belongs to another `log_id`.",
    ),
    Code.LOG_TRIMMED: _E(
        410,
        "These events are gone",
        "Start again with `after=0`: it begins at `oldest_seq`.",
    ),
    Code.CONTENT_GONE: _E(
        410,
        "The content is gone",
        "Put a pinned file back as it was; what retention takes does not come back.",
    ),
    Code.BODY_TOO_LARGE: _E(
        413,
        "The body is too large",
        "Send at most 1 MiB (a batch: 8 MiB); send files as attachments.",
    ),
    Code.ATTACHMENT_TOO_LARGE: _E(
        413, "The attachment is too large", "Send a smaller file, or a link to it."
    ),
    Code.ENCODING_UNSUPPORTED: _E(
        415, "Compressed bodies are not taken", "Send the body without Content-Encoding."
    ),
    Code.EXPECTATION_FAILED: _E(
        417, "This expectation can not be met", "Only `Expect: 100-continue` is understood."
    ),
    Code.INVALID_JOB: _E(422, "The job has faults", "Mend everything that `errors` names."),
    Code.INVALID_REQUEST: _E(422, "The request has faults", "Mend what `errors` names."),
    Code.UNKNOWN_FIELD: _E(
        422,
        "There is no such field",
        "Leave out what `errors` names, or check its spelling; nothing unknown is accepted and ignored.",
    ),
    Code.SETTINGS_WRONG: _E(
        422,
        "The settings are wrong",
        "Mend everything that `problems` names; until then the daemon goes on with what it has.",
    ),
    Code.UNKNOWN_MAILBOX: _E(
        422, "There is no such mailbox", "Use the id of a mailbox that `GET /v1/mailboxes` lists."
    ),
    Code.UNKNOWN_THREAD: _E(
        422,
        "The mailbox has no such thread",
        "Use a thread_id of the same mailbox, or leave it out.",
    ),
    Code.RECIPIENT_NOT_ALLOWED: _E(
        422,
        "The mailbox may not write to this address",
        "Leave the address out, or change recipients_allow and recipients_deny of the mailbox.",
    ),
    Code.UNKNOWN_EVENT: _E(
        422,
        "The mailbox has no such event",
        "Use the id of an event of the same mailbox that retention has left.",
    ),
    Code.RECIPIENT_NOT_IN_THREAD: _E(
        422,
        "This address is not part of the conversation",
        "Leave the address out, or say `allow_new_recipients` if it is meant.",
    ),
    Code.REPLY_TARGET: _E(
        422,
        "This event is not answered",
        "Complete the lease without a reply; to write nevertheless, send a job with thread_id and to.",
    ),
    Code.ATTACHMENT_REFUSED: _E(
        422,
        "An attachment can not be taken",
        "Name a regular file beneath an attachment root of the mailbox, or stage the file first.",
    ),
    Code.BATCH_TOO_LARGE: _E(
        422,
        "The batch is too large",
        "Send at most 1,000 jobs with 10,000 recipients in one batch.",
    ),
    Code.FILTER_COMBINATION: _E(
        422,
        "These filters do not go together",
        "Use one filter, alone or with mailbox_id and since.",
    ),
    Code.IDEMPOTENCY_KEY_REUSE: _E(
        422,
        "The key stands for another job",
        "Use a new key for a new job; a key belongs to its job for ever.",
    ),
    Code.JOB_EXPIRED: _E(
        422,
        "The job under this key has expired",
        "Use a new key: nothing can be added to a job after retention.",
    ),
    Code.ATTACHMENT_CHANGING: _E(
        422, "A file changed while it was read", "Send the job when the file is finished."
    ),
    Code.MAILBOX_QUEUE_FULL: _E(
        429, "The mailbox's queue is full", "Wait until it has drained, then send it again.", 30
    ),
    Code.MAILBOX_HOURLY_LIMIT: _E(
        429, "The mailbox takes no more jobs this hour", "Wait, then send it again.", 60
    ),
    Code.INTERNAL: _E(
        500, "We have a fault", "Look into the log of the daemon, and report what you find.", 5
    ),
    Code.TOO_MANY_CONNECTIONS: _E(503, "All connections are at work", _AGAIN, 1),
    Code.DRAINING: _E(503, "The daemon is stopping", _AGAIN, 2),
    Code.NOT_READY: _E(503, "The daemon is not ready", "Wait, or see the log of the daemon.", 2),
    Code.STORE_UNAVAILABLE: _E(503, "The store did not take it", _AGAIN, 1),
    Code.ATTACHMENT_SLOW: _E(503, "The attachments could not be copied in time", _AGAIN, 10),
    Code.STORAGE_FULL: _E(507, "The disk is full", f"Free some disk space. {_AGAIN}", 60),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal: its code, a sentence for this case, each fault with its JSON pointer, and what else it tells.

    `retry_after_s` is this case's own, None = the table's.
    """

    code: Code
    detail: str
    faults: tuple[Fault, ...] = ()
    retry_after_s: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> Entry:
        """Its row of the table."""
        return TABLE[self.code]

    @property
    def wait_s(self) -> int | None:
        """Seconds after which the same request may do better."""
        return self.entry.retry_after_s if self.retry_after_s is None else self.retry_after_s


NOT_FOUND: Final = Refusal(Code.NOT_FOUND, "Nothing is here, or not any more.")


def invalid(pointer: str, detail: str, code: Code = Code.INVALID_REQUEST) -> Refusal:
    """The refusal of a request with one fault."""
    return Refusal(code, detail, (Fault(pointer, detail),))
