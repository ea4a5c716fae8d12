"""The event of a received message, as CONTRACT §5 shows it. What does not depend on the store is encoded beforehand."""

from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind, InMail, Person, ReportedRecipient
from postroom.core.refusal import RefusedBy
from postroom.ports.arriving import Publication, StoredAttachment
from postroom.store.sqlite.inbox_match import Target
from postroom.store.sqlite.inbox_report import Told
from postroom.store.sqlite.inbox_trust import authentication_of, signals_of
from postroom.store.sqlite.spoiled import find_document


SCHEMA_VERSION: Final = 1
_TO_MOST: Final = 1000  # of envelope.to, however often a mail is brought again to another tag


@dataclass(frozen=True, slots=True)
class Prepared:
    """A publication, and the part of its event that is the same whatever thread it belongs to."""

    publication: Publication
    message: bytes
    authentication: dict[str, object]
    signals: dict[str, object]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the store adds: its thread as it is shown, what it answers, where its raw bytes are."""

    seq: int
    thread: dict[str, object]
    target: Target
    kind: AutomationKind
    told: Told | None
    refusal: "Refusal | None"
    same_as: int | None
    is_first_time: bool
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why it is not accepted, and to which thread it would belong."""

    by: RefusedBy
    thread: int | None


def prepare(publication: Publication) -> Prepared:
    """Encode what is large; raises what the encoder says of text that is none."""
    message = msgspec.json.encode(_message(publication))
    return Prepared(publication, message, authentication_of(publication), signals_of(publication))


def event_data(prepared: Prepared, shown: Shown) -> str:
    """The event's own JSON object."""
    publication = prepared.publication
    mail = publication.mail
    signals = {"first_time_sender": shown.is_first_time, **prepared.signals}
    data: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "thread": shown.thread,
        "answers": _answers(shown.target, mail),
        "envelope": _envelope(publication),
        "message": msgspec.Raw(prepared.message),
        "authentication": {**prepared.authentication, "signals": signals},
        "automation": {"kind": shown.kind, "evidence": [*shown.found, *mail.evidence]},
        "delivery_report": None if shown.told is None else _report(shown.told, mail),
        "raw_ref": f"/v1/events/{encode_id(Kind.EVENT, shown.seq)}/raw",
    }
    if shown.refusal is not None:
        data["accepted"] = False
        data["refused_by"] = shown.refusal.by
        named = shown.refusal.thread
        data["names_thread_id"] = None if named is None else encode_id(Kind.THREAD, named)
    if shown.same_as is not None:
        data["same_message_as"] = encode_id(Kind.EVENT, shown.same_as)
    return msgspec.json.encode(data).decode()


def widened(data: str, recipients: tuple[str, ...]) -> str | None:
    """The event with further recipients in its envelope; None when it has them all, or is damaged."""
    event = find_document(data, dict[str, object])
    if event is None:
        return None
    envelope = msgspec.convert(event["envelope"], dict[str, object])
    to = msgspec.convert(envelope["to"], list[str])
    known = {one.casefold() for one in to}
    more = [one for one in recipients if one.casefold() not in known][: max(0, _TO_MOST - len(to))]
    if not more:
        return None
    return msgspec.json.encode({**event, "envelope": {**envelope, "to": [*to, *more]}}).decode()


def _envelope(publication: Publication) -> dict[str, object]:
    arrival = publication.received.arrival
    envelope: dict[str, object] = {
        "from": arrival.sender,
        "to": list(publication.recipients),
        "client_ip": arrival.client_ip,
        "tls": arrival.is_tls,
    }
    if arrival.relay_ip is not None:
        envelope["relay_ip"] = arrival.relay_ip
    return envelope


def _message(publication: Publication) -> dict[str, object]:
    mail = publication.mail
    message: dict[str, object] = {
        "message_id": mail.message_id,
        "in_reply_to": mail.in_reply_to[-1] if mail.in_reply_to else None,
        "references": mail.references,
        "from": None if mail.sender is None else _person(mail.sender),
        "to": [_person(one) for one in mail.to],
        "cc": [_person(one) for one in mail.cc],
        "reply_to": [_person(one) for one in mail.reply_to],
        "subject": mail.subject,
        "date": mail.date,
        "text": mail.text,
        "new_text": mail.new_text,
        "new_text_confidence": mail.text_confidence,
        "is_forward": mail.is_forward,
        "removed": [{"from": one.start, "to": one.end, "why": one.why} for one in mail.removed],
        "truncated": publication.text_ref is not None,
        "text_ref": _ref(publication.text_ref),
        "html_ref": _ref(publication.html_ref),
        "attachments": [_attachment(one) for one in publication.attachments],
        "parse": mail.parse,
        "defects": [*dict.fromkeys((*publication.received.arrival.defects, *mail.defects))],
    }
    if mail.is_sender_ambiguous:
        message["from_ambiguous"] = True
    return message


def _answers(target: Target, mail: InMail) -> dict[str, object] | None:
    own = target.own
    if own is None:
        return None
    return {
        "job_id": encode_id(Kind.JOB, own.job),
        "delivery_id": encode_id(Kind.DELIVERY, own.number),
        "from_recipient": mail.author is not None and own.is_recipient(mail.author),
    }


def _report(told: Told, mail: InMail) -> dict[str, object]:
    report = mail.report
    return {
        "verified": told.is_verified,
        "suppressed": told.suppression is not None,
        "original_message_id": report and report.original_message_id,
        "reporting_mta": report and report.reporting_mta,
        **_block(told.block or ReportedRecipient(None, None, None, None, None)),
        "recipients": [_block(one) for one in report.recipients] if report else [],
    }


def _block(block: ReportedRecipient) -> dict[str, object]:
    return {
        "recipient": block.recipient,
        "class": block.sense.class_,
        "reason": block.sense.reason,
        "hard": block.sense.is_hard,
        "action": block.action,
        "status": block.status,
        "reply_code": block.reply_code,
        "diagnostic": block.diagnostic,
        "remote_mta": block.remote_mta,
    }


def _person(person: Person) -> dict[str, object]:
    return {"name": person.name, "address": person.address}


def _attachment(one: StoredAttachment) -> dict[str, object]:
    return {
        "ref": one.ref,
        "filename": one.filename,
        "content_type": one.content_type,
        "size_bytes": one.size_bytes,
        "sha256": one.sha256,
        "inline": one.is_inline,
    }


def _ref(one: StoredAttachment | None) -> str | None:
    return None if one is None else one.ref
