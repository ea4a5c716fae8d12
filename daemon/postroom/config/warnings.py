"""What is doubtful about settings that can be taken: no reason not to start, and seldom meant."""

import os
from typing import Final

from postroom.config.listener import find_long_template
from postroom.config.table import Table
from postroom.core.address import read_address
from postroom.core.addresslist import may_write_to
from postroom.core.job import Address
from postroom.core.mailbox import Mailbox, Relay, Tls
from postroom.core.words import shown
from postroom.ports.errors import SettingProblem


_TLS_AT_ONCE: Final = 465  # RFC 8314 §7.3; whoever waits for a greeting there waits until a timeout
_GREETS_FIRST: Final = frozenset({25, 587})


def find_mailbox_doubts(
    table: Table, mailbox: Mailbox, private_relay: Relay | None
) -> tuple[SettingProblem, ...]:
    """Of a mailbox, and of the relay that is written inside it."""
    found = (
        find_long_template(table, "reply_address", mailbox.reply_address),
        find_long_template(table, "return_path", mailbox.return_path),
        _find_reports_elsewhere(table, mailbox),
        _find_owner_out_of_reach(table, mailbox),
        _find_own_owner(table, mailbox),
        *_find_lost_roots(table, mailbox),
    )
    of_relay = (
        () if private_relay is None else find_relay_doubts(table.table("relay"), private_relay)
    )
    return (*(doubt for doubt in found if doubt is not None), *of_relay)


def find_relay_doubts(table: Table, relay: Relay) -> tuple[SettingProblem, ...]:
    """Of a relay: a port where servers as a rule begin otherwise than `tls` says."""
    where = str(table.file), f"{table.key}.port"
    if relay.port == _TLS_AT_ONCE and relay.tls is not Tls.IMPLICIT:
        wrong = f"is 465, where servers as a rule speak TLS at once, and tls is '{relay.tls}'."
        fix = "Write tls = 'implicit', or port = 587."
        return (SettingProblem(*where, wrong, fix),)
    if relay.port in _GREETS_FIRST and relay.tls is Tls.IMPLICIT:
        wrong = f"is {relay.port}, where servers as a rule begin in clear, and tls is 'implicit'."
        fix = "Write tls = 'starttls', or port = 465."
        return (SettingProblem(*where, wrong, fix),)
    return ()


def _find_reports_elsewhere(table: Table, mailbox: Mailbox) -> SettingProblem | None:
    """A warning where reports of success are asked for and go to whoever reads the mailbox's own address."""
    if not mailbox.wants_success or mailbox.return_path is not None:
        return None
    wrong = "asks for reports that go to the mailbox's own address, for there is no return_path."
    fix = "Set return_path, or see that mail to the address comes to [listener]."
    return SettingProblem(str(table.file), f"{table.key}.success_reports", wrong, fix)


def _find_owner_out_of_reach(table: Table, mailbox: Mailbox) -> SettingProblem | None:
    """A warning where the mailbox itself may not write to its owner."""
    owner = read_address(mailbox.owner) if mailbox.owner else None
    allow, deny = mailbox.recipients_allow, mailbox.recipients_deny
    if not isinstance(owner, Address) or may_write_to(owner, allow=allow, deny=deny):
        return None
    wrong = "is an address that the mailbox may not write to: alerts go through another mailbox, if one may."
    fix = "Add it to recipients_allow, or take it out of recipients_deny."
    return SettingProblem(str(table.file), f"{table.key}.owner", wrong, fix)


def _find_own_owner(table: Table, mailbox: Mailbox) -> SettingProblem | None:
    """A warning where the mailbox would write to itself."""
    if mailbox.owner is None or mailbox.owner.casefold() != mailbox.address.casefold():
        return None
    wrong = "is the mailbox's own address: alerts would come as mail from itself to itself."
    fix = "Name a person, or a mailbox that people read."
    return SettingProblem(str(table.file), f"{table.key}.owner", wrong, fix)


def _find_lost_roots(table: Table, mailbox: Mailbox) -> tuple[SettingProblem, ...]:
    """A warning for each root that is no folder."""
    key = f"{table.key}.attachment_roots"
    return tuple(
        SettingProblem(
            str(table.file),
            key,
            f"names '{shown(root)}', which is no folder here: jobs that name a file in it are refused.",
            "Create it, or correct its name.",
        )
        for root in mailbox.attachment_roots
        if not os.path.isdir(root)  # noqa: PTH112 - Path.is_dir raises where it may not look
    )
