"""The header of a message as fields of a job: who gets it, what is said about it, and which conversation it belongs to.

From, Date, Message-ID and what follows from them are written by the daemon; a From that is not the mailbox's is kept in
X-Original-From, an addressee who gets no copy in X-Addressed-To. References, In-Reply-To or the Message-ID name the
conversation: mails that the caller chained stay one thread, with ids that are ours. Bcc never gets beyond here.
Known limits: an answer to a mail that was not handed over here begins a thread of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.head import Head
from postroom.cli.sendmail.people import Person, read_people
from postroom.cli.sendmail.unfit import Unfit, harmless
from postroom.cli.sendmail.words import decode_words


_VISIBLE: Final = ("to", "cc")
_IN_CONVERSATION_MOST: Final = 100  # the contract's limit
_THIS_MACHINE: Final = "localhost"


@dataclass(frozen=True, slots=True)
class Envelope:
    """How the message was handed over: recipients by name, whether those of its header count, who gets local mail."""

    named: Sequence[str]
    reads_recipients: bool
    local_to: str | None


@dataclass(slots=True)
class _Addressed:
    """Whom To and Cc name: by field, who gets a copy; `absent`, as written, who does not."""

    by_field: dict[str, list[Person]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    @property
    def keys(self) -> set[str]:
        return {one.key for people in self.by_field.values() for one in people}


def job_of(head: Head, envelope: Envelope, address: str | None) -> dict[str, Any]:
    """All of the job that comes from the header; `address` is that of the mailbox which sends.

    Raises: Unfit where nobody gets it, or somebody who has no address.
    """
    apart = _apart(head, envelope)
    addressed = _addressed(head, envelope, {one.key for one in apart})
    hidden = [one for one in apart if one.key not in addressed.keys]
    count = len(hidden) + sum(map(len, addressed.by_field.values()))
    if not count:
        told = "There is no recipient in To, Cc or Bcc."
        raise Unfit(Exit.BAD_DATA, told)
    headers = dict(head.others)
    if addressed.absent:
        headers["X-Addressed-To"] = ", ".join(addressed.absent)
    if head.sender is not None and not is_same(head.address, address):
        headers["X-Original-From"] = decode_words(head.sender)
    job = {
        **{name: [_written(one) for one in addressed.by_field[name]] for name in _VISIBLE},
        "bcc": [_written(one) for one in hidden],
        "subject": head.subject,
        "reply_to": [_written(one) for one in _located(head.reply_to, envelope)],
        "headers": headers,
        "auto_submitted": head.auto_submitted,
        "conversation_id": head.conversation,
        # all see whom the message names; more than a conversation can have get copies of their own
        "copies": "conversation" if count <= _IN_CONVERSATION_MOST else None,
    }
    return {name: value for name, value in job.items() if value not in (None, [], {})}


def is_same(one: str | None, other: str | None) -> bool:
    """Whether these are the same address; case does not count, as with the daemon."""
    return one is not None and other is not None and one.casefold() == other.casefold()


def _apart(head: Head, envelope: Envelope) -> list[Person]:
    """Who gets a copy whatever To and Cc say."""
    hidden = head.people.get("bcc", []) if envelope.reads_recipients else []
    return _located(
        (one for text in (*envelope.named, *hidden) for one in read_people(text)), envelope
    )


def _addressed(head: Head, envelope: Envelope, keys: set[str]) -> _Addressed:
    found = _Addressed()
    for name in _VISIBLE:
        found.by_field[name] = there = []
        for text in head.people.get(name, ()):
            if envelope.reads_recipients:
                there += _located(read_people(text), envelope)
                continue
            for one in _tolerated(text):
                if isinstance(one, Person) and _place(one, envelope).key in keys:
                    there.append(_place(one, envelope))
                else:
                    found.absent.append(one.address if isinstance(one, Person) else one)
    return found


def _tolerated(text: str) -> Sequence[Person | str]:
    """Those whom a list names, or the text itself where it is none: it only has to be shown."""
    try:
        return read_people(text)
    except Unfit:
        return [decode_words(text)]


def _located(people: Iterable[Person], envelope: Envelope) -> list[Person]:
    """The people with the addresses that their mail goes to; everybody needs one."""
    found = [_place(one, envelope) for one in people]
    for one in found:
        if "@" not in one.address:
            told = f"{harmless(one.address)} is no address, and no local_to is set for mail to people of this machine."
            raise Unfit(Exit.NO_MAILBOX, told)
    return found


def _place(one: Person, envelope: Envelope) -> Person:
    name, _, domain = one.address.rpartition("@")
    is_local = not name or domain.casefold() == _THIS_MACHINE
    return Person(envelope.local_to, one.name) if is_local and envelope.local_to else one


def _written(one: Person) -> dict[str, str]:
    return {"address": one.address, "name": one.name} if one.name else {"address": one.address}
