"""`[listener]` and `[tokens]`, and what of a mailbox depends on them: where answers get in.

Rules: a mailbox whose answers could not come back is an error, here and not when the first one is lost. No DNS is
asked: `config.dnsrecords` says what must stand there.
"""

import ssl
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final

from postroom.config.reference import NoSecret, Secret
from postroom.config.relay import FindSecret
from postroom.config.table import Span, Table, listed
from postroom.core.address import LOCAL_MOST, read_address
from postroom.core.inaddress import PLACE
from postroom.core.job import Address
from postroom.core.listening import ListenAt, Listening, Nameserver, Network, TokenRules
from postroom.core.mailbox import Mailbox
from postroom.core.token import LENGTH, Key, make_key
from postroom.core.words import shown
from postroom.ops.plainfile import check_plain
from postroom.ports.errors import SettingProblem


_DEFAULT: Final = Listening(hostname="")
# Below, no mail with a picture gets in; above, one mail fills a disk's reserve.
_MESSAGE: Final = Span(65_536, 1 << 30)
_PORT_MOST: Final = 65_535
_DNS: Final = 53
_LABELS: Final = "Write the bare name, like mx.example.com."
_LOCAL_WISE: Final = 40  # what forwarders put before and behind it (SRS) must fit into 64 too
_TOKENS: Final = TokenRules()
_EXPIRY: Final = Span(
    86_400, 9 * 366 * 86_400
)  # the week in a token is read as the nearer one within ± 9.8 years
_KEY_LEAST: Final = 32  # characters: 128 bits in hexadecimal
_NEW_KEY: Final = "Make one with: openssl rand -hex 32."


def read_listener(table: Table) -> Listening:
    """The listener of this table, with defaults where it is wrong."""
    listening = Listening(
        hostname=_read_hostname(table),
        listen=_read_listen(table),
        domains=_read_domains(table),
        tls_certificate=_read_file(table, "tls_certificate"),
        tls_key=_read_file(table, "tls_key"),
        max_message_bytes=table.integer("max_message_bytes", _DEFAULT.max_message_bytes, _MESSAGE),
        postmaster=table.text("postmaster") or None,
        trusted_relays=_read_networks(table),
        trusted_authserv_ids=_read_authserv_ids(table),
        resolvers=_read_resolvers(table),
    )
    _check_certificate(table, listening)
    table.close()
    return listening


def read_tokens(table: Table, find_secret: FindSecret) -> TokenRules:
    """The keys and the validity of tokens."""
    keys = [_read_key(table, text, find_secret) for text in table.texts("keys")]
    tokens = TokenRules(
        keys=tuple(key for key in keys if key is not None),
        expiry=table.seconds("expiry_s", _TOKENS.expiry, _EXPIRY),
    )
    if len({key.fingerprint for key in tokens.keys}) < len(tokens.keys):
        table.wrong("keys", "holds the same key twice.", "Remove one of the two.")
    table.close()
    return tokens


def find_unheard(table: Table, listening: Listening) -> tuple[SettingProblem, ...]:
    """A warning where servers are trusted whose word can not come here."""
    if not listening.trusted_authserv_ids or listening.trusted_relays:
        return ()
    wrong = "counts for nothing: what a server says is believed only where one of trusted_relays hands it on."
    problem = SettingProblem(
        str(table.file), "listener.trusted_authserv_ids", wrong, "Set trusted_relays, too."
    )
    return (problem,)


def find_postmaster(
    table: Table, listening: Listening, mailboxes: Mapping[str, Mailbox]
) -> tuple[str | None, tuple[SettingProblem, ...]]:
    """The mailbox for postmaster and abuse, and the warning where nobody named it: then it is the first one."""
    known = listed(mailboxes) if mailboxes else "none yet"
    name = listening.postmaster
    if name is not None and name not in mailboxes:
        table.wrong("postmaster", f"is '{shown(name)}', no mailbox.", f"There is {known}.")
    if name is not None or not listening.domains:
        return name, ()
    if not mailboxes:
        table.wrong("postmaster", "is missing.", "Name a mailbox: RFC 5321 wants somebody there.")
        return None, ()
    first = next(iter(mailboxes))
    wrong = f"is missing: mail for postmaster and abuse goes to '{first}', the first mailbox."
    problem = SettingProblem(str(table.file), "listener.postmaster", wrong, "Name a mailbox.")
    return first, (problem,) if len(mailboxes) > 1 else ()


def read_template(table: Table, name: str, domains: Sequence[str] | None) -> str | None:
    """`reply_address` or `return_path`, its domain in A-labels; `domains` None = there is no listener."""
    text = table.text(name)
    if not text:
        return None
    example = f'Write {name} = "{name[0:1]}-{PLACE}@reply.example.com".'
    local, _, domain = text.rpartition("@")
    if text.count(PLACE) != 1 or PLACE not in local:
        table.wrong(name, f"needs {PLACE} once, before the @.", example)
        return None
    found = read_address(text.replace(PLACE, "a" * LENGTH))
    longest = len(local.encode()) - len(PLACE) + LENGTH
    if longest > LOCAL_MOST:
        wrong = (
            f"is {longest} characters long before the @ with its token; {LOCAL_MOST} are allowed."
        )
        table.wrong(name, wrong, "Shorten what stands around the token.")
    elif not isinstance(found, Address):
        table.wrong(name, f"is wrong: {found}", example)
    elif domains is None:
        table.wrong(name, "leads nowhere: there is no [listener].", "Set up [listener].")
    elif found.domain not in domains:
        wrong = f"leads to '{shown(domain)}', which is not in listener.domains."
        table.wrong(name, wrong, "Add it there, or use another domain.")
    else:
        return f"{local}@{found.domain}"
    return None


def find_long_template(table: Table, name: str, template: str | None) -> SettingProblem | None:
    """A warning where forwarders may have no room to wrap the address."""
    if template is None:
        return None
    longest = len(template.rpartition("@")[0].encode()) - len(PLACE) + LENGTH
    if longest <= _LOCAL_WISE:
        return None
    wrong = (
        f"is {longest} characters long before the @; beyond {_LOCAL_WISE} some forwarders cut it."
    )
    return SettingProblem(str(table.file), f"{table.key}.{name}", wrong, "Shorten it.")


def _read_hostname(table: Table) -> str:
    name = table.required("hostname", "Say what this server calls itself: mx.example.com.")
    domain = _domain(name)
    if name and domain is None:
        table.wrong("hostname", f"is '{shown(name)}', no host name.", _LABELS)
    return domain or ""


def _read_listen(table: Table) -> tuple[ListenAt, ...]:
    places = []
    for text in table.texts("listen"):
        place = find_place(text)
        if place is None:
            wrong = f"holds '{shown(text)}', no address and port."
            table.wrong("listen", wrong, 'Write ["127.0.0.1:2525"], ["0.0.0.0:25"] or ["[::]:25"].')
        elif place in places:
            table.wrong("listen", f"holds '{shown(text)}' twice.", "Remove one of the two.")
        else:
            places.append(place)
    return tuple(places)


def _read_resolvers(table: Table) -> tuple[Nameserver, ...]:
    servers: dict[str, Nameserver] = {}
    for text in table.texts("resolvers"):
        server = _nameserver(text)
        if server is None:
            wrong = f"holds '{shown(text)}', no address of a nameserver."
            fix = 'Write ["127.0.0.1"], ["127.0.0.1:5353"] or ["[::1]:53"].'
            table.wrong("resolvers", wrong, fix)
        elif server.host in servers:
            table.wrong("resolvers", f"holds '{server.host}' twice.", "Remove one of the two.")
        else:
            servers[server.host] = server
    return tuple(servers.values())


def _nameserver(text: str) -> Nameserver | None:
    for written in (text, f"{text}:{_DNS}", f"[{text}]:{_DNS}"):
        place = find_place(written)
        if place is not None:
            return Nameserver(place.host, place.port)
    return None


def _read_authserv_ids(table: Table) -> tuple[str, ...]:
    written = table.texts("trusted_authserv_ids")
    for text in written:
        if _domain(text) is None:
            wrong = f"holds '{shown(text)}', no host name."
            table.wrong("trusted_authserv_ids", wrong, _LABELS)
    found = (_domain(text) for text in written)
    return tuple(dict.fromkeys(name for name in found if name))


def find_place(text: str) -> ListenAt | None:
    """The address and port that are written so; None where that is none."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) <= _PORT_MOST):
        return None
    try:
        return ListenAt(str(ip_address(host)), int(port))
    except ValueError:
        return None


def _read_domains(table: Table) -> tuple[str, ...]:
    written = table.texts("domains")
    found = [_domain(text) for text in written]
    for text, domain in zip(written, found, strict=True):
        if domain is None:
            wrong = f"holds '{shown(text)}', no domain."
            table.wrong("domains", wrong, 'Write ["reply.example.com"].')
    return tuple(dict.fromkeys(domain for domain in found if domain))


def _domain(text: str) -> str | None:
    found = read_address(f"x@{text}")
    return found.domain if isinstance(found, Address) else None


def _read_file(table: Table, name: str) -> str | None:
    return str(table.path(name, Path())) if table.text(name) else None


def _read_networks(table: Table) -> tuple[Network, ...]:
    networks = []
    for text in table.texts("trusted_relays"):
        try:
            networks.append(ip_network(text))
        except ValueError:
            wrong = f"holds '{shown(text)}', no IP address or network."
            table.wrong("trusted_relays", wrong, 'Write ["192.0.2.25", "2001:db8::/64"].')
    return tuple(networks)


def _check_certificate(table: Table, listening: Listening) -> None:
    certificate, key = listening.tls_certificate, listening.tls_key
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        name = "tls_certificate" if certificate is None else "tls_key"
        table.wrong(name, "is missing.", "Certificate and key go together.")
        return
    try:
        check_plain(certificate, key)
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except ssl.SSLError:
        table.wrong("tls_key", "and tls_certificate are no pair in PEM.", "Check both files.")
    except OSError as error:
        wrong = f"or tls_key can not be read: {error.strerror}."
        table.wrong("tls_certificate", wrong, "Check paths and modes.")


def _read_key(table: Table, reference: str, find_secret: FindSecret) -> Key | None:
    match find_secret(reference, table.file.parent):
        case Secret(value) if len(value) >= _KEY_LEAST:
            return make_key(value.encode())
        case Secret():
            table.wrong("keys", f"holds a key of less than {_KEY_LEAST} characters.", _NEW_KEY)
        case NoSecret(wrong, fix):
            table.wrong("keys", wrong, fix)
    return None
