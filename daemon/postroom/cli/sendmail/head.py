"""The fields of a message's header by what they are: people, subject, what they chain it to, and all others."""

import re
from dataclasses import dataclass, field
from typing import Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.mime import Fields
from postroom.cli.sendmail.people import Person, read_people
from postroom.cli.sendmail.unfit import Unfit, harmless
from postroom.cli.sendmail.words import decode_words


# The daemon writes these, or what they say is no longer so.
_OURS: Final = frozenset(
    [
        "authentication-results",
        "date",
        "dkim-signature",
        "in-reply-to",
        "message-id",
        "mime-version",
        "received",
        "references",
        "return-path",
        "sender",
    ]
)
_PEOPLE: Final = frozenset({"to", "cc", "bcc"})
# Where the first id of a conversation stands, the surest place first.
_ANSWERS: Final = ("references", "in-reply-to")
_CHAIN: Final = (*_ANSWERS, "message-id")
_FIRST_ID: Final = re.compile(r"<[!-;=?-~]+>")
_CONVERSATION_MOST: Final = 256  # the contract's limit
_AUTO: Final = frozenset({"no", "auto-generated", "auto-replied"})


@dataclass(slots=True)
class Head:
    """`people` are the values of To, Cc and Bcc, `others` the fields that go as they are, under their written names."""

    people: dict[str, list[str]] = field(default_factory=dict)
    sender: str | None = None
    subject: str = ""
    reply_to: list[Person] = field(default_factory=list)
    auto_submitted: str | None = None
    chain: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str | None:
        """The address in From, where there is one and no other."""
        try:
            found = read_people(self.sender or "")
        except Unfit:
            return None
        return found[0].address if len(found) == 1 else None

    @property
    def is_answer(self) -> bool:
        """Whether it has fields that name earlier messages."""
        return not self.chain.keys().isdisjoint(_ANSWERS)

    @property
    def conversation(self) -> str | None:
        """The id of the message that a conversation began with, as far as this one knows."""
        for name in _CHAIN:
            found = _FIRST_ID.search(self.chain.get(name, ""))
            if found is not None:
                return found[0] if len(found[0]) <= _CONVERSATION_MOST else None
        return None


def read_head(fields: Fields) -> Head:
    """What the fields say.

    Raises: Unfit for a field that can not be carried, and for one that stands twice where a job has it once.
    """
    head = Head()
    seen: set[str] = set()
    for name, value in fields:
        folded = name.lower()
        if folded in _CHAIN:
            head.chain.setdefault(folded, value)
        if folded in _PEOPLE:
            head.people.setdefault(folded, []).append(value)
        elif folded not in _OURS and not folded.startswith("content-"):
            if folded in seen:
                raise Unfit(Exit.BAD_DATA, f"The header {harmless(name)} stands twice.")
            seen.add(folded)
            _take(head, name, value)
    return head


def _take(head: Head, name: str, value: str) -> None:
    match name.lower():
        case "from":
            head.sender = value
        case "subject":
            head.subject = decode_words(value)
        case "reply-to":
            head.reply_to = read_people(value)
        case "auto-submitted":
            word = value.partition(";")[0].strip().lower()
            # RFC 3834 §5: every word but "no" means that no person wrote it
            head.auto_submitted = word if word in _AUTO else "auto-generated"
        case folded if folded.startswith("resent-"):
            told = (
                f"It is somebody's mail sent on ({harmless(name)}); here mail is a mailbox's own."
            )
            raise Unfit(Exit.BAD_DATA, told)
        case _:
            head.others[name] = decode_words(value)
