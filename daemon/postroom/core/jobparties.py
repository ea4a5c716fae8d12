"""Who gets a job and who is answered: recipients, duplicates, reply addresses, and whether copies are personal."""

from collections.abc import Iterator
from typing import Final

from postroom.core.address import is_rare, read_address
from postroom.core.faults import Faults, read_list, read_object, read_text
from postroom.core.job import Address, Copies, Field, OnDuplicate, Recipient
from postroom.core.mailbox import Lane
from postroom.core.words import pointer


MOST_RECIPIENTS: Final = 1_000
MOST_IN_CONVERSATION: Final = 100
# More people than this do not talk to each other in one thread: they get copies of their own unless asked otherwise.
MOST_IN_DEFAULT_CONVERSATION: Final = 20

MOST_REPLY_TO: Final = 20
MANY_RARE: Final = 100

_ADDRESS_FIELDS: Final = frozenset({"address", "name"})


def read_recipients(job: dict[str, object], faults: Faults) -> tuple[tuple[Recipient, ...], int]:
    """All recipients without doubles, and how many doubles there were; the first mention of an address stays."""
    found: dict[str, Recipient] = {}
    dropped = 0
    named = 0
    for field in Field:
        given = job.get(field)
        if given is None:
            continue
        where = f"/{field}"
        items = read_list(given, where, faults, most=MOST_RECIPIENTS)
        named += len(items)
        if named > MOST_RECIPIENTS:
            faults.add(where, f"A job may name {MOST_RECIPIENTS:,} recipients in all.")
            break
        for address in _read_each(items, where, faults):
            dropped += (
                found.setdefault(address.key, Recipient(address, field)).address is not address
            )
    return tuple(found.values()), dropped


def takes_long(job: object) -> bool:
    """Whether so many of the addresses are quoted or international that to read them would hold the loop up."""
    if not isinstance(job, dict):
        return False
    given = [one for field in Field for one in _items(job.get(field))]
    texts = (one.get("address") if isinstance(one, dict) else one for one in given)
    return len(given) > MANY_RARE and (
        sum(isinstance(one, str) and is_rare(one) for one in texts) > MANY_RARE
    )


def find_named(job: dict[str, object]) -> Iterator[tuple[str, Address]]:
    """Every address that can be read in `to`, `cc` and `bcc`, with its pointer, doubles and all."""
    silent = Faults()
    for field in Field:
        given = job.get(field)
        if not isinstance(given, list) or len(given) > MOST_RECIPIENTS:
            continue
        for index, item in enumerate(given):
            address = _read_party(item, pointer(field, index), silent)
            if address is not None:
                yield pointer(field, index), address


def read_reply_to(given: object, faults: Faults) -> tuple[Address, ...]:
    """The addresses that answers go to."""
    where = "/reply_to"
    items = read_list(given, where, faults, most=MOST_REPLY_TO)
    return tuple(_read_each(items, where, faults))


def default_copies(
    lane: Lane, on_duplicate: OnDuplicate, recipients: int, *, is_in_thread: bool
) -> Copies:
    """What `copies` means where it is not given."""
    if is_in_thread:
        return Copies.CONVERSATION
    is_many = recipients > MOST_IN_DEFAULT_CONVERSATION
    if lane is Lane.BULK or on_duplicate is OnDuplicate.MERGE or is_many:
        return Copies.INDIVIDUAL
    return Copies.CONVERSATION


def find_copies_fault(
    copies: Copies, on_duplicate: OnDuplicate, recipients: int, *, is_in_thread: bool
) -> str | None:
    """Why these copies can not be, as a sentence."""
    if copies is Copies.CONVERSATION:
        if on_duplicate is OnDuplicate.MERGE:
            return "Recipients can be merged into individual copies only, not into a conversation."
        if recipients > MOST_IN_CONVERSATION:
            return f"A conversation has at most {MOST_IN_CONVERSATION} recipients; more get individual copies."
    elif is_in_thread and recipients > 1:
        return "Individual copies have threads of their own: in a given thread there can be one recipient."
    return None


def _items(given: object) -> list[object]:
    return given if isinstance(given, list) and len(given) <= MOST_RECIPIENTS else []


def _read_each(items: list[object], where: str, faults: Faults) -> Iterator[Address]:
    for index, item in enumerate(items):
        address = _read_party(item, f"{where}/{index}", faults)
        if address is not None:
            yield address


def _read_party(given: object, where: str, faults: Faults) -> Address | None:
    """An addr-spec, or an object with one and a display name."""
    name: str | None = ""
    if isinstance(given, dict):
        fields = read_object(given, where, faults, _ADDRESS_FIELDS) or {}
        if "name" in fields:
            # How long and how clean a name may be is judged with its address; here it only has to be a string.
            name = read_text(fields["name"], f"{where}/name", faults, most=256, least=0)
        given = fields.get("address")
        if given is None:
            faults.add(f"{where}/address", "An address is needed.")
            return None
    if not isinstance(given, str):
        faults.add(where, "This must be an address, or an object with address and name.")
        return None
    found = read_address(given, name or "")
    if isinstance(found, Address):
        return found
    faults.add(where, found)
    return None
