"""Reason codes: the closed list of words that say why a delivery is where it is (CONTRACT §2).

Each has one sentence for people and one on what to do, in `EXPLANATIONS`; `docs/operating.md` is held against it by a
test. Dotted words are what a relay's reply was read as: what the first word names, and what is the matter with it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ReasonCode(StrEnum):
    """Why."""

    EXPIRED = "expired"
    POISON = "poison"
    CANCELLED = "cancelled"
    RESCHEDULED = "rescheduled"
    DRAIN = "drain"
    CRASH_BEFORE_MARK = "crash.before_mark"
    CRASH_AFTER_MARK = "crash.after_mark"
    MARK_WITHDRAWN = "mark.withdrawn"
    STORE_UNAVAILABLE = "store.unavailable"
    ATTACHMENT_MISSING = "attachment_missing"
    ATTACHMENT_CHANGED = "attachment_changed"
    RECIPIENT_SUPPRESSED = "recipient_suppressed"
    PRECONDITION_FALSE = "precondition_false"
    INBOUND_PENDING = "inbound_pending"
    RECIPIENT_UNKNOWN = "recipient.unknown"
    RECIPIENT_BAD_ADDRESS = "recipient.bad_address"
    RECIPIENT_DISABLED = "recipient.disabled"
    RECIPIENT_MOVED = "recipient.moved"
    RECIPIENT_MAILBOX_FULL = "recipient.mailbox_full"
    RECIPIENT_REFUSED = "recipient.refused"
    RECIPIENT_DEFERRED = "recipient.deferred"
    DOMAIN_UNKNOWN = "domain.unknown"
    DOMAIN_NO_MAIL = "domain.no_mail"
    DOMAIN_DEFERRED = "domain.deferred"
    DOMAIN_QUOTA = "domain.quota"
    GREYLISTED = "greylisted"
    MESSAGE_TOO_BIG = "message.too_big"
    MESSAGE_REFUSED = "message.refused"
    MESSAGE_SPAM = "message.spam"
    MESSAGE_MALFORMED = "message.malformed"
    SMTPUTF8_UNSUPPORTED = "smtputf8_unsupported"
    MAIL_REFUSED = "mail.refused"
    SENDER_REFUSED = "sender_refused"
    SENDER_UNAUTHENTICATED = "sender.unauthenticated"
    MAILBOX_PAUSED = "mailbox_paused"
    MAILBOX_REMOVED = "mailbox_removed"
    LOOP = "loop"
    QUOTA_DAILY = "quota.daily"
    RATE_LIMITED = "rate.limited"
    AUTH_FAILED = "auth_failed"
    RELAYING_DENIED = "relaying_denied"
    IP_BLOCKED = "ip.blocked"
    RELAY_UNREACHABLE = "relay.unreachable"
    RELAY_BUSY = "relay.busy"
    RELAY_REFUSED = "relay.refused"
    RELAY_STORAGE_FULL = "relay.storage_full"
    RELAY_DEFERRED = "relay.deferred"
    CONNECTION_LOST = "connection.lost"
    PROTOCOL_ERROR = "protocol.error"
    TLS_FAILED = "tls.failed"
    DOUBT_NO_ANSWER = "doubt.no_answer"
    DOUBT_BAD_ANSWER = "doubt.bad_answer"
    EVIDENCE_REPLY_TOKEN = "evidence.reply_token"  # noqa: S105 - no password
    EVIDENCE_RETURN_PATH = "evidence.return_path"
    EVIDENCE_MESSAGE_ID = "evidence.message_id"
    POLICY_RESEND = "policy.resend"
    POLICY_ASSUME_SENT = "policy.assume_sent"
    PERMANENT_STORM = "permanent_storm"
    DOUBT_STORM = "doubt_storm"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence on what happened, one on what to do about it."""

    means: str
    to_do: str


_R = ReasonCode
_NOTHING: Final = "Nothing: it is tried again by itself."
_LIST: Final = "Correct the address in the list that the job was made from, then send a new job."

EXPLANATIONS: Final[dict[ReasonCode, Explanation]] = {
    _R.EXPIRED: Explanation(
        "Its not_after passed, or its attempts or the mailbox's retry lifetime were used up.",
        "Read the last reply in its history; `postroom retry ID` begins a new series.",
    ),
    _R.POISON: Explanation(
        "Three crashes in a row found it under way before its mark.",
        "Look at the crashes in the daemon's log before you retry it.",
    ),
    _R.CANCELLED: Explanation("Somebody took it back before its mark.", "Nothing."),
    _R.RESCHEDULED: Explanation(
        "Somebody moved it to another time before its mark; no attempt was counted.", "Nothing."
    ),
    _R.DRAIN: Explanation("The daemon stopped before its mark; no attempt was counted.", _NOTHING),
    _R.CRASH_BEFORE_MARK: Explanation(
        "The daemon ended without notice before its mark, so nothing went out.", _NOTHING
    ),
    _R.CRASH_AFTER_MARK: Explanation(
        "The daemon ended without notice after its mark: the relay may have it.",
        "Ask the recipient or the relay's log, then `postroom resolve ID --as sent`, or `--as resend`.",
    ),
    _R.MARK_WITHDRAWN: Explanation(
        "The connection was lost after the mark, but the final dot was never handed over.",
        _NOTHING,
    ),
    _R.STORE_UNAVAILABLE: Explanation(
        "Its mark could not be stored, or a file of it not be read for want of resources, so the final dot was not sent.",
        "See whether the disk is full or failing, or the daemon is out of memory or files (LimitNOFILE=).",
    ),
    _R.ATTACHMENT_MISSING: Explanation(
        "An attachment is not where it was when the job was accepted.",
        "Put the file back and retry, or send a new job without `pin`.",
    ),
    _R.ATTACHMENT_CHANGED: Explanation(
        "A pinned attachment has other content than when the job was accepted.",
        "Send a new job with the new content, or without `pin`.",
    ),
    _R.RECIPIENT_SUPPRESSED: Explanation(
        "The address is on the suppression list.",
        "Remove it there if it was put there by mistake, then retry.",
    ),
    _R.PRECONDITION_FALSE: Explanation(
        "Its `if` did not hold when it was about to go: somebody wrote in the thread first.",
        "Read the thread's new events, then send what fits them.",
    ),
    _R.INBOUND_PENDING: Explanation(
        "Mail for its thread has come in and is not read yet; its `if` is judged after that.",
        _NOTHING,
    ),
    _R.RECIPIENT_UNKNOWN: Explanation("The relay knows no such recipient.", _LIST),
    _R.RECIPIENT_BAD_ADDRESS: Explanation("The relay can not read the recipient's address.", _LIST),
    _R.RECIPIENT_DISABLED: Explanation(
        "The recipient's mailbox is disabled or takes no mail.", _LIST
    ),
    _R.RECIPIENT_MOVED: Explanation("The recipient has another address now.", _LIST),
    _R.RECIPIENT_MAILBOX_FULL: Explanation(
        "The recipient's mailbox is full.", "Nothing, or reach the recipient another way."
    ),
    _R.RECIPIENT_REFUSED: Explanation(
        "The relay refused this recipient and did not say why in words that we know.",
        "Read the reply in its history.",
    ),
    _R.RECIPIENT_DEFERRED: Explanation(
        "The relay will not take mail for this recipient now.", _NOTHING
    ),
    _R.DOMAIN_UNKNOWN: Explanation("The recipient's domain does not exist.", _LIST),
    _R.DOMAIN_NO_MAIL: Explanation("The recipient's domain takes no mail at all.", _LIST),
    _R.DOMAIN_DEFERRED: Explanation(
        "The recipient's domain takes no mail from us for a while; the domain is paused, then goes slower.",
        _NOTHING,
    ),
    _R.DOMAIN_QUOTA: Explanation(
        "The recipient's organisation has used up its quota; the domain is paused, then goes slower.",
        _NOTHING,
    ),
    _R.GREYLISTED: Explanation(
        "The receiving server asks every newcomer to come back later.", _NOTHING
    ),
    _R.MESSAGE_TOO_BIG: Explanation(
        "The message is larger than the relay or the recipient takes.",
        "Send a new job with smaller attachments.",
    ),
    _R.MESSAGE_REFUSED: Explanation(
        "The relay refused the content.", "Read the reply in its history."
    ),
    _R.MESSAGE_SPAM: Explanation(
        "The relay takes the content for unwanted mail.",
        "Read the reply in its history; change the content or ask the provider.",
    ),
    _R.MESSAGE_MALFORMED: Explanation(
        "The relay says that the message is malformed.",
        "Please report it with `postroom show ID --raw`.",
    ),
    _R.SMTPUTF8_UNSUPPORTED: Explanation(
        "An address, here or in the header, has characters beyond ASCII and the relay has no SMTPUTF8.",
        "Use another address, individual copies, or a relay with SMTPUTF8.",
    ),
    _R.MAIL_REFUSED: Explanation(
        "The relay refused the message before it heard of the recipient.",
        "Read the reply in its history; three in a row stop the mailbox.",
    ),
    _R.SENDER_REFUSED: Explanation(
        "The relay does not let this mailbox send from its address.",
        "Give the relay's user the right to send as the mailbox's address.",
    ),
    _R.SENDER_UNAUTHENTICATED: Explanation(
        "Mail from this mailbox's domain fails SPF, DKIM or DMARC.",
        "Set up the domain's DNS records as the provider says.",
    ),
    _R.MAILBOX_PAUSED: Explanation(
        "A person paused the mailbox.", "`postroom mailboxes resume ID` when all is well."
    ),
    _R.MAILBOX_REMOVED: Explanation(
        "The mailbox is not in the settings any more.", "Bring it back, or cancel the deliveries."
    ),
    _R.LOOP: Explanation(
        "Machines answer each other there: what goes to that conversation, or to that peer, is held.",
        "`postroom thread ID` shows the loop. A person's mail in it frees it, and so does `postroom thread ID --resume`.",
    ),
    _R.QUOTA_DAILY: Explanation(
        "The provider's daily limit for this mailbox is used up; the mailbox waits and probes.",
        "Set `per_day` in the mailbox's pace to the provider's limit.",
    ),
    _R.RATE_LIMITED: Explanation(
        "The provider says that the mailbox sends too fast; the mailbox waits and probes, then all through its relay goes slower.",
        "Set the mailbox's pace to the provider's limit.",
    ),
    _R.AUTH_FAILED: Explanation(
        "The relay does not accept the user name and password; the relay is probed by itself.",
        "Correct the credential, then `postroom reload`; what systemd hands over (`credential:`) may need a restart.",
    ),
    _R.RELAYING_DENIED: Explanation(
        "The relay does not forward mail for us; it is probed by itself.",
        "Set `auth`, or let the relay trust this host.",
    ),
    _R.IP_BLOCKED: Explanation(
        "The relay blocks this host's address; it is probed by itself.",
        "Ask the relay's operator, or the block list that the reply names.",
    ),
    _R.RELAY_UNREACHABLE: Explanation(
        "No connection to the relay could be made.",
        "See whether the relay is up: `postroom mailboxes check ID`. When it is, `postroom mailboxes resume ID` tries at once.",
    ),
    _R.RELAY_BUSY: Explanation("The relay has no room for another connection now.", _NOTHING),
    _R.RELAY_REFUSED: Explanation(
        "The relay refused the connection for good.",
        "Read the reply in its history, then the settings.",
    ),
    _R.RELAY_STORAGE_FULL: Explanation("The relay's disk is full.", "Tell the relay's operator."),
    _R.RELAY_DEFERRED: Explanation("The relay had a temporary problem.", _NOTHING),
    _R.CONNECTION_LOST: Explanation(
        "The connection was lost before the final dot, so nothing went out.", _NOTHING
    ),
    _R.PROTOCOL_ERROR: Explanation(
        "The relay answered what does not belong to what was asked; nothing went out.",
        "Tell the relay's operator if it happens again.",
    ),
    _R.TLS_FAILED: Explanation(
        "The connection could not be encrypted, or the relay's certificate does not fit.",
        "`postroom mailboxes check ID` says what does not fit.",
    ),
    _R.DOUBT_NO_ANSWER: Explanation(
        "The final dot went out and no answer came: the relay may have it.",
        "Ask the recipient or the relay's log, then `postroom resolve ID --as sent`, or `--as resend`.",
    ),
    _R.DOUBT_BAD_ANSWER: Explanation(
        "The answer to the final dot can not be read: the relay may have it.",
        "Ask the recipient or the relay's log, then `postroom resolve ID --as sent`, or `--as resend`.",
    ),
    _R.EVIDENCE_REPLY_TOKEN: Explanation(
        "Mail came to its signed reply address, so a copy of it had gone out.", "Nothing."
    ),
    _R.EVIDENCE_RETURN_PATH: Explanation(
        "Mail came to its signed return path, so a copy of it had gone out.",
        "Nothing; its `feedback` says what a report told.",
    ),
    _R.EVIDENCE_MESSAGE_ID: Explanation(
        "Its recipient, or a report about its recipient, named its Message-ID: a copy of it had gone out.",
        "Nothing.",
    ),
    _R.POLICY_RESEND: Explanation(
        "It was in doubt, and its mailbox's `on_uncertain` sends it once more; it may arrive twice.",
        "Nothing. In doubt again, it waits for a person.",
    ),
    _R.POLICY_ASSUME_SENT: Explanation(
        "It was in doubt, and its mailbox's `on_uncertain` takes it for sent; nothing shows that it was.",
        "Nothing, or ask the recipient.",
    ),
    _R.PERMANENT_STORM: Explanation(
        "So many refusals in a row can not be the recipients' fault; the mailbox waits and probes.",
        "Look at what changed at the provider.",
    ),
    _R.DOUBT_STORM: Explanation(
        "So many final dots without an answer; the mailbox waits and probes.",
        "See what the relay does between the final dot and its answer.",
    ),
}
