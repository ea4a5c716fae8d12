"""What `postroom doctor` looks at beyond this machine: names, relays, and the way in."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from typing import Final

from postroom.config.dnsrecords import DnsRecord, dns_records
from postroom.config.settings import Settings
from postroom.core.listening import ListenAt
from postroom.core.mailbox import Mailbox
from postroom.core.words import shown
from postroom.inbound.verify.resolver import DnsResolver
from postroom.ops.host import SystemClock, find_host_name
from postroom.outbound.check import check_mailbox
from postroom.ports.loop import CheckVerdict
from postroom.ports.resolving import Answer, Found, Kind, Lookup, NoAnswer
from postroom.service.findings import Check, Finding, fail, fine, warn


Tried = Sequence[tuple[str, str, str, str]]
"""Lines of `mailboxes check`: step, result, detail, fix."""

Servers = Sequence[tuple[str, int]] | None
"""Name servers, address and port; None = those of this machine."""

_RELAY: Final = timedelta(seconds=60)  # a dial has 40 s
_DNS: Final = timedelta(seconds=15)
_LISTENER: Final = timedelta(seconds=15)
_STEPS: Final = 3  # of the loop, in which the library's sockets close
_CONNECT_S: Final = 5.0
_LINE: Final = 512


def checks_of(
    settings: Settings, servers: Servers, ask: Callable[[str], Tried] | None
) -> Iterator[Check]:
    """Everything there is to look at. `ask` lets the daemon try a mailbox; None = it does not run, and we try."""
    for record in dns_records(settings):
        yield Check("dns", partial(look_up, record, servers), _DNS)
    for mailbox in _one_of_each_relay(settings):
        yield Check("relay", partial(try_relay, settings, mailbox, ask), _RELAY)
    if settings.listener is not None:
        if not settings.listener.listen:
            yield Check("listener", _by_socket_unit)
        for place in settings.listener.listen:
            yield Check("listener", partial(try_listener, place), _LISTENER)


def look_up(record: DnsRecord, servers: Servers) -> list[Finding]:
    """Whether DNS has a record that mail needs to come here."""
    name = record.name.rstrip(".").lower()
    told = [_ask(Lookup(Kind(kind), name), servers) for kind in record.type.split("/")]
    what = f"{record.type} of {name}"
    if all(isinstance(one, NoAnswer) for one in told):
        fix = "Check /etc/resolv.conf, and that this machine may ask its name servers."
        return [warn("dns", f"{what}: no answer", fix)]
    values = [value for one in told if isinstance(one, Found) for value in one.records]
    return [_judge(record, what, values)]


def _ask(lookup: Lookup, servers: Servers) -> Answer:
    return asyncio.run(_asked(lookup, servers))


async def _asked(lookup: Lookup, servers: Servers) -> Answer:
    clock = SystemClock()
    answer = await DnsResolver(clock, servers).ask(lookup)
    for _ in range(_STEPS):
        await clock.sleep(0)
    return answer


def _judge(record: DnsRecord, what: str, values: list[str]) -> Finding:
    fix = f"Put it there: {record.name} {record.type} {record.value}"
    if record.type == "TXT":
        values = [one for one in values if one.startswith("v=spf1")]
        if not values:
            return warn("dns", f"{what}: no SPF record", fix)
        return fine("dns", f"{what}: {shown(values[0], _LINE)}")
    if not values:
        return fail("dns", f"{what}: there is none", fix)
    wanted = record.value.rpartition(" ")[2].rstrip(".").lower()
    if record.type == "MX" and "(" not in record.value and wanted not in values:
        return fail("dns", f"{what}: {shown(', '.join(values), _LINE)}, not {wanted}", fix)
    return fine("dns", f"{what}: {shown(', '.join(values), _LINE)}")


def try_relay(
    settings: Settings, mailbox: Mailbox, ask: Callable[[str], Tried] | None
) -> list[Finding]:
    """Whether a relay takes us, tried by the daemon itself where it runs; nothing is sent."""
    relay = settings.relays[mailbox.relay_id]
    if ask is not None:
        tried = ask(mailbox.id)
    else:
        lines = asyncio.run(check_mailbox(relay, mailbox.address, find_host_name()))
        tried = [(one.step, one.verdict, one.detail, one.fix) for one in lines]
    what = f"{mailbox.relay_id} (as {mailbox.id})"
    for step, result, detail, fix in tried:
        if result == CheckVerdict.FAILED:
            return [fail("relay", f"{what}: {step}: {shown(detail, _LINE)}", fix)]
    return [fine("relay", f"{what} takes mail from {mailbox.address}")]


def try_listener(place: ListenAt) -> list[Finding]:
    """Whether mail could come in at an address of this machine."""
    host = place.host
    if ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    where = f"{host}:{place.port}"
    try:
        with closing(socket.create_connection((host, place.port), _CONNECT_S)) as connection:
            connection.settimeout(_CONNECT_S)
            stream = connection.makefile("rwb")
            greeting = stream.readline(_LINE)
            stream.write(b"EHLO doctor.invalid\r\nQUIT\r\n")
            stream.flush()
            answer = stream.readline(_LINE)
    except OSError as error:
        told = f"{where}: {error.strerror or type(error).__name__}"
        return [fail("listener", told, "Start the daemon, and see its log (listener.ready).")]
    if greeting[:3] != b"220" or answer[:3] != b"250":
        told = shown((greeting + answer).decode("utf-8", "replace"), _LINE)
        return [fail("listener", f"{where} says {told}", "See who listens there: ss -ltnp.")]
    return [
        fine("listener", f"{where} greets; whether the world gets there is for a firewall to say")
    ]


def _by_socket_unit() -> list[Finding]:
    fix = "systemctl status postroom-smtp.socket says where it listens."
    return [warn("listener", "systemd's socket is used, which is not known from here", fix)]


def _one_of_each_relay(settings: Settings) -> Iterator[Mailbox]:
    seen: set[str] = set()
    for mailbox in settings.mailboxes.values():
        if mailbox.relay_id not in seen:
            seen.add(mailbox.relay_id)
            yield mailbox
