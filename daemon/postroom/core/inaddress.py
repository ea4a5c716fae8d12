"""Whose address is it? Mailboxes, their tags and tokens, postmaster and abuse; everybody else is unknown (CONTRACT §8). Pure.

A local part that fits a mailbox's `reply_address` or `return_path` and has the shape of a token stands or falls with its
HMAC. What has not the shape is an ordinary tag (`box+anything@…`), and belongs to the mailbox if there is one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import Instant
from postroom.core.mailbox import Mailbox
from postroom.core.token import LENGTH, Key, Token, TokenKind, mint, read


PLACE: Final = "{token}"
_ROLES: Final = frozenset({"postmaster", "abuse"})
_KEY_IDS: Final = {letter: at for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz234567")}


@dataclass(frozen=True, slots=True)
class Ours:
    """The address of a mailbox; `token` is what its local part proved."""

    mailbox_id: str
    token: Token | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody; `is_foreign`: not even the domain is ours."""

    is_foreign: bool


@dataclass(frozen=True, slots=True)
class KeyLost:
    """It has the shape of a token of a key that is missing: nobody can tell, so it is not refused for good."""


@dataclass(frozen=True, slots=True)
class _Template:
    mailbox_id: str
    kind: TokenKind
    before: str
    after: str
    domain: str


class AddressBook:
    """All addresses that mail may come to."""

    def __init__(
        self,
        mailboxes: Mapping[str, Mailbox],
        domains: Sequence[str],
        postmaster: str | None,
        keys: Sequence[Key],
        lost_key_ids: frozenset[int] = frozenset(),
    ) -> None:
        self._by_address = {box.address.lower(): box.id for box in mailboxes.values()}
        self._templates = tuple(
            template for box in mailboxes.values() for template in _templates_of(box)
        )
        self._domains = frozenset(domain.lower() for domain in domains)
        self._ours = self._domains | {address.rpartition("@")[2] for address in self._by_address}
        self._postmaster = postmaster
        self._keys = tuple(keys)
        self._lost = lost_key_ids

    def become(self, other: "AddressBook") -> None:
        """Know from now on what the other one knows, and nothing else."""
        vars(self).update(vars(other))

    def know(self, mailboxes: Mapping[str, Mailbox]) -> None:
        """Know from now on the addresses of these mailboxes, and of what bears tokens what there was for them before."""
        self._by_address = {box.address.lower(): box.id for box in mailboxes.values()}
        self._templates = tuple(one for one in self._templates if one.mailbox_id in mailboxes)
        self._ours = self._domains | {address.rpartition("@")[2] for address in self._by_address}
        self._postmaster = self._postmaster if self._postmaster in mailboxes else None

    def find(self, address: str, now: Instant) -> Ours | Unknown | KeyLost:
        """Whose address this is; the domain is in A-labels or ASCII."""
        local, _, domain = address.lower().rpartition("@")
        found = self._find_token(local, domain, now)
        if found is not None:
            return found
        plain = local.partition("+")[0]
        mailbox_id = self._by_address.get(f"{local}@{domain}") or self._by_address.get(
            f"{plain}@{domain}"
        )
        if mailbox_id is not None:
            return Ours(mailbox_id, None)
        if self._postmaster is not None and self._is_role(local, domain):
            return Ours(self._postmaster, None)
        return Unknown(is_foreign=domain not in self._ours)

    def is_own(self, address: str) -> bool:
        """Whether a mailbox or postmaster gets its mail, tags or not, or it has the shape of an address with a token."""
        local, _, domain = address.lower().rpartition("@")
        plain = local.partition("+")[0]
        return (
            f"{local}@{domain}" in self._by_address
            or f"{plain}@{domain}" in self._by_address
            or any(_fitting(one, local, domain) is not None for one in self._templates)
            or self._is_role(local, domain)
        )

    def find_tokens(self, addresses: Sequence[str], now: Instant) -> tuple[tuple[str, Token], ...]:
        """Genuine tokens in these addresses with their mailboxes, in their order: headers may carry them too."""
        found = [self.find(address, now) for address in addresses]
        return tuple(
            (one.mailbox_id, one.token)
            for one in found
            if isinstance(one, Ours) and one.token is not None
        )

    def _is_role(self, local: str, domain: str) -> bool:
        return local in _ROLES and domain in self._domains

    def _find_token(self, local: str, domain: str, now: Instant) -> Ours | Unknown | KeyLost | None:
        """Mailboxes may share a template: the token says whose it is."""
        refused: Unknown | KeyLost | None = None
        for template in self._templates:
            text = _fitting(template, local, domain)
            if text is None:
                continue
            token = read(text, self._keys, template.kind, template.mailbox_id, now)
            if token is not None:
                return Ours(template.mailbox_id, token)
            is_lost = _KEY_IDS[text[0]] in self._lost
            refused = KeyLost() if is_lost else Unknown(is_foreign=False)
        return refused


def token_address(template: str, token: str) -> str:
    """The address that carries a token."""
    return template.replace(PLACE, token)


def reply_address(mailbox: Mailbox, key: Key, number: int, expires_at: Instant) -> str | None:
    """Where answers to this delivery go; None where the mailbox has no such address."""
    if mailbox.reply_address is None:
        return None
    token = mint(key, TokenKind.REPLY, mailbox.id, number, expires_at)
    return token_address(mailbox.reply_address, token)


def return_path(mailbox: Mailbox, key: Key, number: int, expires_at: Instant) -> str | None:
    """The reverse-path of this delivery; None where the mailbox has no such address."""
    if mailbox.return_path is None:
        return None
    token = mint(key, TokenKind.BOUNCE, mailbox.id, number, expires_at)
    return token_address(mailbox.return_path, token)


def _templates_of(mailbox: Mailbox) -> list[_Template]:
    found = []
    for kind, text in (
        (TokenKind.REPLY, mailbox.reply_address),
        (TokenKind.BOUNCE, mailbox.return_path),
    ):
        if text is not None:
            local, _, domain = text.rpartition("@")
            before, _, after = local.partition(PLACE)
            found.append(_Template(mailbox.id, kind, before.lower(), after.lower(), domain.lower()))
    return found


def _fitting(template: _Template, local: str, domain: str) -> str | None:
    """What stands in the token's place, if it has the shape of one."""
    if domain != template.domain:
        return None
    if not (local.startswith(template.before) and local.endswith(template.after)):
        return None
    text = local[len(template.before) : len(local) - len(template.after)]
    return text if len(text) == LENGTH and _KEY_IDS.keys() >= set(text) else None
