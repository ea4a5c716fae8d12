"""What must stand in DNS, and what to see to at the provider, so that answers come back. Pure: nothing is asked.

The records are those of recipe A (docs/receiving.md), where the world delivers straight to this host; with a listener on
loopback alone, those of recipe B.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from postroom.config.settings import Settings
from postroom.core.listening import Listening
from postroom.core.mailbox import AcceptNew, Mailbox, Require


_BY_DNS: Final = frozenset({Require.DKIM, Require.DMARC})


@dataclass(frozen=True, slots=True)
class DnsRecord:
    """A record, or where `value` can not be known from here, in words what it must be."""

    name: str
    type: str
    value: str


def dns_records(settings: Settings) -> tuple[DnsRecord, ...]:
    """The records that mail needs to come here; none without a listener."""
    listener = settings.listener
    if listener is None:
        return ()
    is_behind = _is_behind(listener)
    front = "10 (the name of your mail server)." if is_behind else f"10 {listener.hostname}."
    here = DnsRecord(f"{listener.hostname}.", "A/AAAA", "the public address of this host")
    return (
        *(() if is_behind else (here,)),
        *(DnsRecord(f"{domain}.", "MX", front) for domain in listener.domains),
        *(
            DnsRecord(f"{domain}.", "TXT", '"v=spf1 include:(your provider\'s name for it) ~all"')
            for domain in _return_domains(settings)
        ),
    )


def advice(settings: Settings) -> tuple[str, ...]:
    """What else must be so, in sentences; it depends on what others have set up."""
    listener = settings.listener
    if listener is None:
        return ()
    return (
        *_about_listening(listener),
        *(
            _about_mailbox(mailbox)
            for mailbox in settings.mailboxes.values()
            if mailbox.return_path
        ),
        *_about_headers(settings),
        *_about_strangers(settings, listener),
    )


def _about_listening(listener: Listening) -> Iterator[str]:
    if _is_behind(listener):
        yield (
            "It listens on this machine alone: your own mail server must hand the mail over"
            " (recipe B of docs/receiving.md), and the MX is that server's."
        )
    elif listener.tls_certificate is None and listener.domains:
        yield "Mail comes in unencrypted: set tls_certificate and tls_key where the internet delivers here."


def _is_behind(listener: Listening) -> bool:
    """Whether only this machine reaches it, so that the world delivers to a server in front."""
    places = listener.listen
    return bool(places) and all(ip_address(place.host).is_loopback for place in places)


def _about_mailbox(mailbox: Mailbox) -> str:
    return (
        f"The relay of '{mailbox.id}' must let it send with a reverse-path of {mailbox.return_path}:"
        " some providers put their own in its place, and bounces then go to them."
        f" Try it with `postroom mailboxes check {mailbox.id}` and a mail to an address that is not there."
    )


def _about_headers(settings: Settings) -> Iterator[str]:
    plain = [box.id for box in settings.mailboxes.values() if box.reply_address is None]
    if plain:
        yield (
            f"Answers to {', '.join(plain)} go to the mailbox's own address and are matched by their headers:"
            " the mail of that address must come here (recipe C of docs/receiving.md)."
        )


def _about_strangers(settings: Settings, listener: Listening) -> Iterator[str]:
    judging = [
        box.id
        for box in settings.mailboxes.values()
        if box.accept_new is AcceptNew.AUTHENTICATED or box.require in _BY_DNS
    ]
    if not judging:
        return
    who = ", ".join(judging)
    servers = "the resolvers of [listener]" if listener.resolvers else "this machine's resolver"
    yield (
        f"Who writes to {who} is judged with DNS, which {servers} must answer: without it the mail of strangers is"
        " kept and wakes nobody (docs/trust.md)."
    )
    if _is_behind(listener) and not listener.trusted_relays:
        yield (
            "Put your own mail server into trusted_relays, and let it hand clients on"
            " (smtp_send_xforward_command = yes in Postfix): otherwise SPF can not be checked."
        )


def _return_domains(settings: Settings) -> tuple[str, ...]:
    paths = (box.return_path for box in settings.mailboxes.values())
    return tuple(dict.fromkeys(path.rpartition("@")[2] for path in paths if path))
