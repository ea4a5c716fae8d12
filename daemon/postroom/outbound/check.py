"""Tries a mailbox's way out, up to MAIL and RSET, and says for each step what was seen and what to do.

Nothing is sent: no RCPT and no DATA is ever written here. It waits as long as a person would, not as long as RFC 5321 allows.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

from postroom.core.mailbox import Relay, Tls
from postroom.core.reply import SmtpReply, Stage
from postroom.outbound.commands import Offer, mail_command
from postroom.outbound.dialogue import Connection
from postroom.outbound.names import find_addresses
from postroom.outbound.relay import Dialer
from postroom.outbound.timeouts import Timeouts
from postroom.ports.errors import RelayFault
from postroom.ports.loop import CheckLine, CheckVerdict
from postroom.ports.relay import Envelope


PATIENCE: Final = Timeouts(
    dial=timedelta(seconds=40),
    connect=timedelta(seconds=10),
    greeting=timedelta(seconds=20),
    command=timedelta(seconds=20),
)


class Step(StrEnum):
    """A step of the way, in the order in which it is told."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    EHLO = "ehlo"
    AUTH = "auth"
    SENDER = "sender"
    RESET = "reset"


_STEP_OF: Final[Mapping[Stage, Step]] = {
    Stage.CONNECT: Step.CONNECT,
    Stage.GREETING: Step.EHLO,
    Stage.EHLO: Step.EHLO,
    Stage.STARTTLS: Step.TLS,
    Stage.AUTH: Step.AUTH,
}
_FIXES: Final[Mapping[Step, str]] = {
    Step.DNS: "Check `host` of the relay, and that this machine can resolve names.",
    Step.CONNECT: "Check `host` and `port` of the relay, and that no firewall stands between.",
    Step.TLS: "`host` must be a name in the relay's certificate and `tls_ca`, if set, the CA that signed it; port 465 goes "
    'with tls = "implicit", port 587 with tls = "starttls".',
    Step.EHLO: "The relay does not serve this machine: check `port` and `tls`, and ask who runs the relay.",
    Step.AUTH: "Check `username` and `password`; many providers want a password made for programs.",
    Step.SENDER: "The relay does not let this login send as this address: allow it there, or change `address`.",
    Step.RESET: "The relay lost the connection after MAIL: ask who runs it.",
}


async def check_mailbox(
    relay: Relay, sender: str, host_name: str, patience: Timeouts = PATIENCE
) -> tuple[CheckLine, ...]:
    """A line for each step. `sender` is the mailbox's address, `host_name` what we call ourselves in EHLO."""
    try:
        addresses = await find_addresses(relay)
    except RelayFault as fault:
        return _told({Step.DNS: _failed(Step.DNS, fault.detail)}, relay)
    shown = ", ".join(str(place[0]) for _, place in addresses)
    found = "an address, no name" if shown == relay.host else shown
    told = {Step.DNS: _fine(Step.DNS, f"{relay.host} is {found}")}
    try:
        connection = await Dialer(relay, patience, host_name).dial()
    except RelayFault as fault:
        return _told(told | _up_to(fault, relay), relay)
    told |= _dialled(connection, relay)
    try:
        told |= await _try_sender(connection, sender, patience)
    finally:
        connection.wire.leave(patience.leave)
        await connection.wire.closed
    return _told(told, relay)


def _up_to(fault: RelayFault, relay: Relay) -> dict[Step, CheckLine]:
    """What a failed dial shows: all steps before the one that failed went well."""
    order = [Step.CONNECT, Step.TLS, Step.EHLO, Step.AUTH]
    if relay.tls is Tls.STARTTLS:
        order = [Step.CONNECT, Step.EHLO, Step.TLS, Step.AUTH]
    failed = _STEP_OF.get(fault.stage, Step.CONNECT)
    lines = {step: _fine(step, "went well") for step in order[: order.index(failed)]}
    if relay.tls is Tls.NONE:
        lines.pop(Step.TLS, None)
    return lines | {failed: _failed(failed, fault.detail)}


def _dialled(connection: Connection, relay: Relay) -> dict[Step, CheckLine]:
    wire = connection.wire
    lines = {
        Step.CONNECT: _fine(Step.CONNECT, f"connected to {wire.peer}"),
        Step.EHLO: _fine(Step.EHLO, f"the relay offers {_describe(connection.offer)}"),
    }
    if wire.tls_version is not None:
        detail = f"{wire.tls_version}, with a certificate for {relay.host}"
        lines[Step.TLS] = _fine(Step.TLS, detail)
    if relay.username is not None:
        lines[Step.AUTH] = _fine(Step.AUTH, f"logged in as {relay.username}")
    return lines


def _describe(offer: Offer) -> str:
    offered = {
        "PIPELINING": offer.has_pipelining,
        "DSN": offer.has_dsn,
        "SMTPUTF8": offer.has_smtputf8,
        "8BITMIME": offer.has_8bitmime,
        f"SIZE {offer.size_bytes}" if offer.size_bytes else "SIZE": offer.has_size,
    }
    return ", ".join(name for name, is_there in offered.items() if is_there) or "no extension"


async def _try_sender(
    connection: Connection, sender: str, patience: Timeouts
) -> dict[Step, CheckLine]:
    # No size is claimed: some relays judge it, and there is no message yet.
    envelope = Envelope(sender=sender, recipient=sender, envid="", size_bytes=0)
    command = mail_command(Offer(), envelope)
    lines: dict[Step, CheckLine] = {}
    for step, line in ((Step.SENDER, command), (Step.RESET, b"RSET\r\n")):
        answer = await connection.wire.answer(connection.wire.ask(line, 1)[0], patience.command)
        if not isinstance(answer, SmtpReply):
            return lines | {step: _failed(step, answer.detail)}
        is_fine = answer.code < 300  # noqa: PLR2004
        said = f"{sender}: the relay said {answer.code} {answer.text}"
        lines[step] = _fine(step, said) if is_fine else _failed(step, said)
    return lines


def _fine(step: Step, detail: str) -> CheckLine:
    return CheckLine(step, CheckVerdict.OK, detail, "")


def _failed(step: Step, detail: str) -> CheckLine:
    return CheckLine(step, CheckVerdict.FAILED, detail, _FIXES[step])


def _told(lines: Mapping[Step, CheckLine], relay: Relay) -> tuple[CheckLine, ...]:
    """Every step, in order."""
    unasked = dict.fromkeys(Step, "not tried")
    if relay.tls is Tls.NONE:
        unasked[Step.TLS] = 'tls = "none" in the settings'
    if relay.username is None:
        unasked[Step.AUTH] = 'auth = "none" in the settings'
    return tuple(
        lines.get(step, CheckLine(step, CheckVerdict.SKIPPED, unasked[step], "")) for step in Step
    )
