"""A second look at what seems to be a person's, by what it says at its beginning (CASES C02, C08). Pure.

A text alone proves nothing: a person writes "I will be out of office next week", too. So its words count only together
with a sign that they do not come from a person's hand. What only machines say ("this is an automatic reply") needs one
such sign; what an absent person may say herself needs the sender's address or the subject to say so as well, or the
whole form of such an answer: thanks, absence, and nothing quoted.

Known limit: a machine that says neither is a person until core.velocity finds it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from postroom.core.inmail import AutomationKind, InMail, RemovedWhy
from postroom.inbound.awaywords import ABSENT, AUTOMATIC, AWAY, THANKS
from postroom.inbound.head import Head


_LOOKED_AT: Final = 400  # characters: what such an answer is about stands in its first lines
_ANSWER_MOST: Final = 2000  # characters: nobody's mail program has more to say for her

_AUTOMATIC: Final = re.compile(AUTOMATIC)
_ABSENT: Final = re.compile(ABSENT)
_THANKS: Final = re.compile(THANKS)
_AWAY: Final = re.compile(AWAY, re.IGNORECASE)
_ROBOT: Final = re.compile(
    r"(?:no|do[-_.]?not|donot|dont|never|please[-_.]?do[-_.]?not)[-_.]?(?:reply|respond|answer)"
    r"|(?:auto|automatic|automated)[-_.]?(?:reply|respond|responder|response|mail|mailer|confirm)?(?=[@+._-])"
    r"|(?:mailer|mail)[-_.]?(?:daemon|robot|bot)|robot(?=[@+._-])|bot(?=[@+._-])|mailbot|helpbot"
    r"|notifications?(?=[@+._-])|notify(?=[@+._-])|alerts?(?=[@+._-])|daemon(?=[@+._-])"
    r"|nicht[-_.]?antworten|keine[-_.]?antwort|ne[-_.]?pas[-_.]?repondre|pas[-_.]?de[-_.]?reponse"
    r"|no[-_.]?responder|no[-_.]?contestar|nao[-_.]?respond[ae]|non[-_.]?rispondere"
    r"|niet[-_.]?(?:antwoorden|beantwoorden)|svar[-_.]?(?:ej|ikke)|ei[-_.]?vastausta"
    r"|nie[-_.]?odpowiadaj|neodpovidat|ne[-_.]?otvechayte",
    re.IGNORECASE,
)
_TICKET_FIELDS: Final = (
    "x-rt-loop-prevention",
    "rt-ticket",
    "x-otrs-loop",
    "x-zendesk-ticket-id",
    "x-freescout-mail-type",
    "x-osticket-ticket",
    "x-jira-fingerprint",
    "x-redmine-project",
    "x-mantis-project",
    "x-freshdesk-ticket-id",
    "x-helpscout-conversation-id",
)


def look_again(mail: InMail, head: Head) -> InMail:
    """The mail as it is once its text is read: as before, or a machine's answer."""
    if mail.automation is not AutomationKind.HUMAN or _says_no(head):
        return mail
    found = _find_evidence(mail, head, is_answer=bool(mail.in_reply_to or mail.references))
    if found:
        return replace(mail, automation=AutomationKind.AUTO_REPLY, evidence=found)
    return replace(mail, evidence_if_answer=_find_evidence(mail, head, is_answer=True))


def _find_evidence(mail: InMail, head: Head, *, is_answer: bool) -> tuple[str, ...]:
    """Why a machine wrote it; () = nothing says so."""
    text = mail.new_text.lstrip()
    beginning = text[:_LOOKED_AT].replace("\u2019", "'").lower()
    signs = tuple(dict.fromkeys(_signs(mail, head, is_answer=is_answer)))
    if not signs or len(text) > _ANSWER_MOST:
        return ()
    if _AUTOMATIC.search(beginning) or (_ABSENT.search(beginning) and _is_form(beginning, signs)):
        return ("text", *signs)
    return ()


def _signs(mail: InMail, head: Head, *, is_answer: bool) -> Iterator[str]:
    """Signs of a machine that prove nothing alone."""
    if mail.sender is not None and _ROBOT.match(mail.sender.address):
        yield "robot-address"
    if _AWAY.search(mail.subject):
        yield "away-subject"
    if any(head.first(name) is not None for name in _TICKET_FIELDS):
        yield "ticket-system"
    if is_answer and all(one.why is not RemovedWhy.QUOTE for one in mail.removed):
        yield "no-quote"


def _is_form(beginning: str, signs: tuple[str, ...]) -> bool:
    return signs != ("no-quote",) or _THANKS.match(beginning) is not None


def _says_no(head: Head) -> bool:
    """Whether it says itself that a person wrote it (RFC 3834)."""
    return (head.first("auto-submitted") or b"").strip().lower() == b"no"
