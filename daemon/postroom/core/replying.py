"""Whom an answer goes to, and what else it takes from the event that it answers (CONTRACT §4 "Replying"). Pure.

It goes to Reply-To where all addresses there belong to the organisation of From, or where From's domain vouches for the
mail, else to From; to From also where Reply-To names more people than a job's own may, since one mail must not make us
write to hundreds. A machine, a list, the null sender and we ourselves are never answered. Of mail that a list sent on,
neither Reply-To (lists put themselves there) nor To and Cc (one of which is the list) count.

Organisations are those that DNS told when the mail came in (RFC 9989). Where nothing that is published tells them apart,
a domain above or below that in From is of the same one. Known limit: there, and of a mail whose organisation is not known,
they are told by a short rule, see `organisation`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from postroom.core.address import read_address
from postroom.core.inmail import AutomationKind, Person
from postroom.core.job import Address, Job, Problem
from postroom.core.jobparties import MOST_REPLY_TO, find_named
from postroom.core.matching import quick_key, same_keys


REPLY_TARGET: Final = "reply_target"
NOT_IN_THREAD: Final = "recipient_not_in_thread"

_FROM_LISTS: Final = frozenset({AutomationKind.LIST, AutomationKind.BULK})
# Second levels under which countries hand out names: there an organisation has three labels.
_SHARED: Final = frozenset(
    {
        "ac",
        "asn",
        "co",
        "com",
        "ed",
        "edu",
        "go",
        "gob",
        "gouv",
        "gov",
        "govt",
        "id",
        "in",
        "info",
        "ltd",
        "med",
        "mil",
    }
    | {"ne", "net", "nhs", "nom", "or", "org", "plc", "police", "sch", "school", "web"}
)
_COUNTRY: Final = 2


@dataclass(frozen=True, slots=True)
class Answered:
    """An event as far as an answer needs it, with its thread.

    `kind` is None for an event that is no mail. `chain`: Message-IDs of the thread, oldest first. `participants`: the
    keys of those who wrote in the thread or were written to (`quick_key`), but for what only this event adds. `is_vouched_for`: the
    verdict on the mail is `pass`; `is_list_in_from`: it was known to be from a list's own address; organisations are None where they are not known. `is_from_published`: a domain says
    by DMARC how From is to be judged; else nothing in DNS tells organisations apart.
    """

    seq: int
    mailbox_id: str
    thread_number: int | None
    kind: AutomationKind | None
    envelope_from: str
    sender: Person | None
    is_sender_ambiguous: bool
    to: tuple[Person, ...]
    cc: tuple[Person, ...]
    reply_to: tuple[Person, ...]
    subject: str
    message_id: str | None
    references: tuple[str, ...]
    chain: tuple[str, ...]
    participants: frozenset[str]
    is_vouched_for: bool = False
    from_organisation: str | None = None
    reply_to_organisation: str | None = None
    is_from_published: bool = True
    is_list_in_from: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Whom it goes to. `is_reply_to_ignored`: Reply-To names somebody else, and was not followed."""

    people: tuple[Address, ...]
    is_reply_to_ignored: bool


@dataclass(frozen=True, slots=True)
class NoTarget:
    """Nobody is answered, as a sentence says."""

    why: str


def find_target(event: Answered, is_own: Callable[[str], bool]) -> Target | NoTarget:
    """Whom an answer to this event goes to; `is_own` knows the addresses of this daemon."""
    if event.kind is None:
        return NoTarget("This event is no mail that could be answered.")
    if event.kind is not AutomationKind.HUMAN and event.kind not in _FROM_LISTS:
        return NoTarget("A machine wrote this mail: it is never answered.")
    if not event.envelope_from:
        return NoTarget("This mail has the null sender: it is never answered.")
    if event.sender is None or event.is_sender_ambiguous:
        return NoTarget("This mail does not say, or not clearly, who wrote it.")
    sender = _read(event.sender)
    if sender is None:
        return NoTarget("The address in From can not be written to.")
    if is_own(sender.address):
        return NoTarget("This mail comes from an address of ours.")
    return _choose(event, sender, is_own)


def find_outsiders(
    job: Job, event: Answered, target: Target, is_own: Callable[[str], bool]
) -> tuple[Problem, ...]:
    """Everybody that the job names who is not part of the conversation."""
    if job.allows_new_recipients:
        return ()
    known = event.participants | {one.key for one in target.people} | _people_of(event)
    named = tuple(find_named(job.spec))
    known |= same_keys(known, {address.key for _, address in named} - known)
    return tuple(
        Problem(
            where,
            f"{address.address} is not part of this conversation: allow_new_recipients lets it be written to.",
            NOT_IN_THREAD,
        )
        for where, address in named
        if address.key not in known or is_own(address.address)
    )


def organisation(domain: str) -> str:
    """The part of a domain that belongs to one organisation: two labels, or three below one such as `co.uk`."""
    labels = domain.lower().rstrip(".").split(".")
    is_shared = len(labels[-1]) == _COUNTRY and len(labels) > 2 and labels[-2] in _SHARED  # noqa: PLR2004
    return ".".join(labels[-3 if is_shared else -2 :])


def _choose(event: Answered, sender: Address, is_own: Callable[[str], bool]) -> Target | NoTarget:
    if event.kind in _FROM_LISTS:
        if event.is_list_in_from or sender.key in _keys((*event.to, *event.cc)):
            return NoTarget("The address in From is the list's.")
        return Target((sender,), is_reply_to_ignored=bool(event.reply_to))
    if len(event.reply_to) > MOST_REPLY_TO:
        return Target((sender,), is_reply_to_ignored=True)
    asked = [_read(one) for one in event.reply_to]
    people = tuple(one for one in asked if one is not None and not is_own(one.address))
    if people and len(people) == len(asked) and _may_ask_for(event, sender, people):
        return Target(people, is_reply_to_ignored=False)
    is_same = {one.key for one in asked if one is not None} <= {sender.key}
    return Target((sender,), is_reply_to_ignored=bool(asked) and not is_same)


def _may_ask_for(event: Answered, sender: Address, people: tuple[Address, ...]) -> bool:
    """Whether who wrote may have answers sent to these people."""
    if event.is_vouched_for or all(one.domain == sender.domain for one in people):
        return True
    home, there = event.from_organisation, event.reply_to_organisation
    if home is not None and (event.is_from_published or there is None):
        return home == there
    is_near = all(organisation(one.domain) == organisation(sender.domain) for one in people)
    return is_near and (home is None or all(_is_line(one, sender) for one in people))


def _is_line(one: Address, other: Address) -> bool:
    """Whether one domain lies below the other: who has the upper one gave the lower one away."""
    longer, shorter = sorted((one.domain, other.domain), key=len, reverse=True)
    return longer.endswith(f".{shorter}")


def _people_of(event: Answered) -> frozenset[str]:
    """Whom this event makes part of the conversation."""
    people = [] if event.sender is None else [event.sender]
    if event.kind is AutomationKind.HUMAN:
        people += [*event.to, *event.cc]
    return frozenset(quick_key(one.address) for one in people)


def _keys(people: Iterable[Person]) -> frozenset[str]:
    read = (_read(one) for one in people)
    return frozenset(one.key for one in read if one is not None)


def _read(person: Person) -> Address | None:
    """The address of a stranger's header, if it is one that can be written to; a bad name is left out."""
    found = read_address(person.address, person.name)
    if not isinstance(found, Address):
        found = read_address(person.address)
    return found if isinstance(found, Address) else None
