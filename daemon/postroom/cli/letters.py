"""Events as people read them: in a line of a list, and one whole (docs/trust.md says what each word means)."""

from collections.abc import Iterator
from typing import Any, Final

from postroom.cli.alerts import about
from postroom.cli.paper import Json, data, dig, facts, plain, plain_text
from postroom.cli.wording import said, short


_REPLY: Final = ("code", "enhanced_status", "text")
_REPORT: Final = "delivery_report"
_WHAT: Final = ("kind", "scope", "name", "raised_by")
_WHY: Final = ("figure", "threshold", "cause", "means", "likely", "to_do")


def who(event: Json) -> object:
    """Whom it speaks of: the recipient of a delivery or a report, the author, what an alert is about."""
    return (
        dig(event, "delivery", "recipient")
        or dig(event, _REPORT, "recipient")
        or dig(event, "message", "from", "address")
        or _named(event)
    )


def what(event: Json) -> str:
    """What it says, in a line: a server's words, or the subject, with what is special about it."""
    refused, held = event.get("refused_by"), dig(event, "thread", "held")
    marks = [f"[refused: {plain(refused)}]"] if refused else []
    marks += ["[held: loop]"] if held else []
    alert = event.get("alert")
    if isinstance(alert, dict):
        kind = plain(alert.get("kind"))
        return f"{kind}: it is over" if _is_over(event) else f"{kind}: {plain(alert.get('likely'))}"
    reply = said(*(dig(event, "delivery", "reply", name) for name in _REPLY))
    words = reply or plain(dig(event, _REPORT, "diagnostic") or dig(event, "message", "subject"))
    return " ".join(filter(None, (*marks, words)))


def delivery(event: Json) -> object:
    """The delivery that it is about, or answers."""
    return dig(event, "delivery", "id") or dig(event, "answers", "delivery_id")


def reason(event: Json) -> object:
    """Why a delivery ended, or came back; what an alert likely comes from."""
    of_mail = dig(event, "delivery", "reason_code") or dig(event, _REPORT, "reason")
    return of_mail or (None if _is_over(event) else dig(event, "alert", "cause"))


def verdict(event: Json) -> object:
    """Whether its author's domain vouches for it; nothing for a report, which says so by itself."""
    return None if event.get(_REPORT) else dig(event, "authentication", "verdict")


def show_event(event: Json) -> None:
    """Print one event whole, with what is new in its text."""
    if not isinstance(event.get("message"), dict):
        facts(dict(_place(event)) | _delivery(event) | _alert(event))
        return
    parts = (_place, _report, _mail, _trust) if event.get(_REPORT) else (_place, _mail, _trust)
    for part in parts:
        facts(dict(part(event)))
        data("")
    data(plain_text(str(dig(event, "message", "new_text") or "")).rstrip("\n"))


def _place(event: Json) -> Iterator[tuple[str, object]]:
    for name in ("id", "type", "mailbox_id"):
        yield name, event.get(name)
    yield "created_at", short(event.get("created_at"))
    yield "thread", dig(event, "thread", "id")
    yield "held since", short(dig(event, "thread", "held_at"))
    matched_by = dig(event, "thread", "matched_by")
    if matched_by not in (None, "none"):
        yield "found by", _with(matched_by, dig(event, "thread", "confidence"))
    yield "refused by", event.get("refused_by")
    yield "names thread", event.get("names_thread_id")
    yield "same message", event.get("same_message_as")
    yield "answers", dig(event, "answers", "delivery_id")
    yield "its recipient", dig(event, "answers", "from_recipient")


def _delivery(event: Json) -> Json:
    found = event.get("delivery")
    if not isinstance(found, dict):
        return {}
    reply = {"reply": said(*(dig(found, "reply", name) for name in _REPLY))}
    return {
        ("delivery" if name == "id" else name): value for name, value in (found | reply).items()
    }


def _alert(event: Json) -> Json:
    found = event.get("alert")
    if not isinstance(found, dict):
        return {}
    told = {name: found.get(name) for name in (_WHAT if _is_over(event) else (*_WHAT, *_WHY))}
    told |= {"means": "It is over."} if _is_over(event) else {}
    return told | {name: short(found.get(name)) for name in ("since_at", "raised_at")}


def _is_over(event: Json) -> bool:
    return event.get("type") == "alert.cleared"


def _named(event: Json) -> object:
    found = event.get("alert")
    return about(found) if isinstance(found, dict) else None


def _mail(event: Json) -> Iterator[tuple[str, object]]:
    mail = event["message"]
    yield "from", _person(mail.get("from"))
    for name in ("to", "cc", "reply_to"):
        yield name, [_person(one) for one in mail.get(name) or ()]
    for name in ("subject", "date", "message_id"):
        yield name, mail.get(name)
    yield "attachments", [_file(one) for one in mail.get("attachments") or ()]
    yield "parse", None if mail.get("parse") == "complete" else mail.get("parse")
    yield "defects", mail.get("defects")


def _trust(event: Json) -> Iterator[tuple[str, object]]:
    found: Any = event.get("authentication")
    yield "verdict", _with(dig(found, "verdict"), dig(found, "decided_by"))
    yield "spf", _with(dig(found, "spf", "result"), dig(found, "spf", "domain"))
    signatures = dig(found, "dkim")
    if isinstance(signatures, list):
        yield "dkim", [_with(dig(one, "result"), dig(one, "domain")) for one in signatures]
    yield "dmarc", _with(dig(found, "dmarc", "result"), dig(found, "dmarc", "policy"))
    yield "token", dig(found, "reply_token", "status")
    yield "kind", _with(dig(event, "automation", "kind"), dig(event, "automation", "evidence"))
    signals = dig(found, "signals")
    for name, value in signals.items() if isinstance(signals, dict) else ():
        yield name, value if _speaks(value) else None
    mail = event["message"]
    yield "is_forward", mail.get("is_forward") or None
    yield "confidence", mail.get("new_text_confidence")
    yield "cut from text", [dig(one, "why") for one in mail.get("removed") or ()]


def _report(event: Json) -> Iterator[tuple[str, object]]:
    found = event[_REPORT]
    for name in (
        "verified",
        "suppressed",
        "recipient",
        "class",
        "reason",
        "hard",
        "action",
        "status",
    ):
        yield name, found.get(name)
    for name in ("diagnostic", "reporting_mta", "remote_mta", "original_message_id"):
        yield name, found.get(name)


def _speaks(value: object) -> bool:
    """Whether a signal is there: counts of nothing are left out."""
    return bool(value) and (not isinstance(value, dict) or value.get("characters") != 0)


def _with(word: object, more: object) -> str:
    """A word, with what belongs to it in brackets."""
    beside = plain(more)
    return f"{plain(word)} ({beside})" if beside else plain(word)


def _person(one: object) -> str:
    name, address = plain(dig(one, "name")), plain(dig(one, "address"))
    return f"{name} <{address}>" if name else address


def _file(one: object) -> str:
    size = f"{plain(dig(one, 'content_type'))}, {plain(dig(one, 'size_bytes'))} bytes"
    return f"{plain(dig(one, 'ref'))} {plain(dig(one, 'filename'))} ({size})"
