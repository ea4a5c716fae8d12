"""A mail from outside as an answer to it needs it, and the addresses that are ours."""

from postroom.core.inaddress import AddressBook
from postroom.core.inmail import AutomationKind, Person
from postroom.core.mailbox import Mailbox
from postroom.core.replying import Answered


ALICE = Person("Alice", "alice@customer.example")
SUPPORT = Mailbox(
    "support", "support@example.com", "", "main", reply_address="r-{token}@in.example"
)
OWN = AddressBook({"support": SUPPORT}, (), None, ()).is_own
TOKEN = "r-" + "a" * 29 + "@in.example"

EVENT = Answered(
    seq=7,
    mailbox_id="support",
    thread_number=3,
    kind=AutomationKind.HUMAN,
    envelope_from=ALICE.address,
    sender=ALICE,
    is_sender_ambiguous=False,
    to=(Person("", "support@example.com"),),
    cc=(),
    reply_to=(),
    subject="Your report",
    message_id="<9@customer.example>",
    references=(),
    chain=(),
    participants=frozenset({"ann@one.example"}),
)


def people(*addresses: str) -> tuple[Person, ...]:
    return tuple(Person("", one) for one in addresses)
