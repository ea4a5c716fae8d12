"""What the listener is made of, handed in by whoever builds it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from postroom.core.inaddress import AddressBook
from postroom.core.listening import Listening
from postroom.inbound.limits import Limits
from postroom.ops.chronicle import Chronicle
from postroom.ports.host import Clock
from postroom.ports.inbox import Inbox, RawStore


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a listener. `refused` hears, in a word of a closed list, why a client, a command or a mail was."""

    settings: Listening
    book: AddressBook
    inbox: Inbox
    raws: RawStore
    clock: Clock
    chronicle: Chronicle
    refused: Callable[[str], None]
    limits: Limits = field(default_factory=Limits)
