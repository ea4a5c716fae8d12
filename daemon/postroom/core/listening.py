"""The listener as the operator set it up: values only, checked by `config`, read by everything else."""

from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network

from postroom.core.token import Key


Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class ListenAt:
    """A TCP address of this machine; `host` is a number, IPv6 without brackets."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Nameserver:
    """A server that answers questions of DNS; `host` is a number, IPv6 without brackets."""

    host: str
    port: int = 53


@dataclass(frozen=True, slots=True)
class Listening:
    """`[listener]`: where mail comes in and for whom. Domains are A-labels in lower case; TLS files are both there or none.

    `postmaster` is the mailbox that gets what is for postmaster and abuse of the domains. `trusted_authserv_ids` are
    hosts, in lower case, whose word about a sender counts; `resolvers` () = the system's.
    """

    hostname: str
    listen: tuple[ListenAt, ...] = ()
    domains: tuple[str, ...] = ()
    tls_certificate: str | None = None
    tls_key: str | None = None
    max_message_bytes: int = 26_214_400
    postmaster: str | None = None
    trusted_relays: tuple[Network, ...] = ()
    trusted_authserv_ids: tuple[str, ...] = ()
    resolvers: tuple[Nameserver, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenRules:
    """`[tokens]`: the keys, newest first, none = one of our own making; how long a token is valid."""

    keys: tuple[Key, ...] = field(default=(), repr=False)
    expiry: timedelta = timedelta(days=400)
