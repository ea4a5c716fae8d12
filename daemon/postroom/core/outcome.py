"""What a reply, or its absence, means for a delivery: one pure, total function over tables.

They are those of `core.replytable` and `core.throttles`.
For good (`permanent`) is only what a 5yz reply says of the recipient or the message; what it says of us is `ours`, and
leaves the delivery waiting. Before the final dot a missing answer is temporary, after it it is doubt (CONTRACT §2, §6).
"""

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import (
    BUSY,
    CODES,
    NO_SMTPUTF8,
    STAGES,
    STATUS_BY_CLASS,
    TOO_BIG,
    Class,
    Reading,
    Scope,
)
from postroom.core.throttles import STATUS, WORDS


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt that was not accepted is read.

    `delay`: the wait that the reply states (`is_stated`), or what is usual for the reason. `patience`: tried again for
    so long at most. `slows`: what has been too fast, the recipient's DOMAIN or the RELAY.
    """

    class_: Class
    scope: Scope
    reason: ReasonCode
    delay: timedelta | None = None
    is_stated: bool = False
    patience: timedelta | None = None
    slows: Scope | None = None


SHORTEST_STATED: Final = timedelta(seconds=60)
LONGEST_STATED: Final = timedelta(seconds=3600)

_ABOUT_ONE: Final = frozenset({Scope.RECIPIENT, Scope.MESSAGE})
_BEFORE_MAIL: Final = frozenset(
    {Stage.CONNECT, Stage.GREETING, Stage.EHLO, Stage.STARTTLS, Stage.AUTH}
)
_ADDRESS: Final = re.compile(r"<[^<>]*>|\S*@\S*")
_STATED: Final = re.compile(
    r"(?:try again|retry|come back|wait|resend|delay)[^0-9]{0,40}"
    r"(?:(\d{1,2}):(\d\d):(\d\d)|(\d{1,5}) ?(s|sec|seconds?|m|min|mins|minutes?|h|hours?|)\b)"
)
_INTERMEDIATE: Final = 300  # reply codes, RFC 5321 §4.2.1
_TEMPORARY: Final = 400
_PERMANENT: Final = 500
_CLOSING: Final = 421
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


def classify(
    stage: Stage, reply: SmtpReply | None, *, is_marked: bool = False, is_dotted: bool = False
) -> Verdict | None:
    """The verdict on what came at `stage`, None when the relay took the message.

    `reply` None: there was none. `is_marked`: the mark was committed; `is_dotted`: the terminator was handed over.
    """
    if reply is None:
        return _unanswered(stage, is_marked=is_marked, is_dotted=is_dotted)
    if reply.code >= _TEMPORARY:
        return _refused(stage, reply)
    if not is_dotted:
        return _about_relay(Class.TEMPORARY, ReasonCode.PROTOCOL_ERROR)
    return (
        None
        if reply.code < _INTERMEDIATE
        else _about_relay(Class.IN_DOUBT, ReasonCode.DOUBT_BAD_ANSWER)
    )


def unfit(*, is_too_big: bool) -> Verdict:
    """The verdict on a message that the relay's EHLO answer already excludes: too big, or an address beyond ASCII."""
    reading = TOO_BIG if is_too_big else NO_SMTPUTF8
    return Verdict(Class.PERMANENT, reading.scope, reading.reason)


def _unanswered(stage: Stage, *, is_marked: bool, is_dotted: bool) -> Verdict:
    if is_dotted:
        return _about_relay(Class.IN_DOUBT, ReasonCode.DOUBT_NO_ANSWER)
    if is_marked:
        return _about_relay(Class.TEMPORARY, ReasonCode.MARK_WITHDRAWN)
    if stage is Stage.STARTTLS:
        return _about_relay(Class.TEMPORARY, ReasonCode.TLS_FAILED)
    if stage in _BEFORE_MAIL:
        return _about_relay(Class.TEMPORARY, ReasonCode.RELAY_UNREACHABLE)
    return _about_relay(Class.TEMPORARY, ReasonCode.CONNECTION_LOST)


def _about_relay(class_: Class, reason: ReasonCode) -> Verdict:
    return Verdict(class_, Scope.RELAY, reason)


def _refused(stage: Stage, reply: SmtpReply) -> Verdict:
    text = _ADDRESS.sub(" ", reply.text.lower())
    reading = _read(stage, reply, text)
    class_ = reading.class_ or _class_of(reply.code, reading.scope)
    stated = _stated_delay(text) if class_ is Class.TEMPORARY else None
    return Verdict(
        class_=class_,
        scope=reading.scope,
        reason=reading.reason,
        delay=stated or reading.delay,
        is_stated=stated is not None,
        patience=reading.patience if class_ is Class.TEMPORARY else None,
        slows=reading.slows,
    )


def _class_of(code: int, scope: Scope) -> Class:
    if code < _PERMANENT:
        return Class.TEMPORARY
    return Class.PERMANENT if scope in _ABOUT_ONE else Class.OURS


def _read(stage: Stage, reply: SmtpReply, text: str) -> Reading:
    found = _by_words(stage, reply.code, text) or _by_status(reply)
    temporary, permanent = STAGES[stage]
    usual = temporary if reply.code < _PERMANENT else permanent
    if stage in _BEFORE_MAIL:
        return _before_mail(found, usual, is_permanent=reply.code >= _PERMANENT)
    if found is not None:
        return found
    return BUSY if reply.code == _CLOSING else CODES.get((stage, reply.code), usual)


def _before_mail(found: Reading | None, usual: Reading, *, is_permanent: bool) -> Reading:
    """Nothing was said of a message yet: who is too fast here is too fast for the relay; 4yz at AUTH is no wrong password."""
    if found is None:
        return usual
    heard = found if found.scope is Scope.RELAY and is_permanent else usual
    return heard if found.slows is None else replace(heard, slows=Scope.RELAY)


def _by_words(stage: Stage, code: int, text: str) -> Reading | None:
    first_digit = str(code)[0]
    for words in WORDS:
        if (
            (words.stages is None or stage in words.stages)
            and first_digit in words.codes
            and all(needle in text for needle in words.needles)
        ):
            return words.reading
    return None


def _by_status(reply: SmtpReply) -> Reading | None:
    if reply.enhanced is None:
        return None
    first_digit = str(reply.code)[0]
    _, _, detail = reply.enhanced.partition(".")
    return STATUS_BY_CLASS.get(f"{first_digit}.{detail}") or STATUS.get(detail)


def _stated_delay(text: str) -> timedelta | None:
    found = _STATED.search(text)
    if found is None:
        return None
    hours, minutes, seconds, number, unit = found.groups()
    if number is None:
        delay = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    else:
        delay = timedelta(seconds=int(number) * _UNITS[(unit or "s")[0]])
    return delay if SHORTEST_STATED <= delay <= LONGEST_STATED else None
