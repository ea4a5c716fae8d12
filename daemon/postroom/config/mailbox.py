"""`[[mailbox]]`: a sender identity, the relay it sends through, its pace, lanes, retries, limits and access."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.config.listener import read_template
from postroom.config.relay import (
    CONNECTIONS,
    COUNT,
    RATE,
    FindSecret,
    close_pace,
    read_pace,
    read_relay,
)
from postroom.config.table import Span, Table, listed
from postroom.config.warnings import find_mailbox_doubts
from postroom.core.address import read_address, read_named_address
from postroom.core.addresslist import read_entry
from postroom.core.job import Address
from postroom.core.mailbox import (
    AutoSubmitted,
    DomainPace,
    DoubtPolicy,
    LaneShares,
    Limits,
    Mailbox,
    OnUncertain,
    Relay,
    RetryPolicy,
)
from postroom.core.words import shown
from postroom.ports.errors import SettingProblem


ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
ID_RULE: Final = "Use 1 to 64 letters, digits, dots, hyphens and underscores."

_DEFAULT: Final = Mailbox(id="", address="", display_name="", relay_id="")
_NOBODY: Final = Address("")
_ENTRIES: Final = "Write user@example.com, example.com or *.example.com."
_ANY_COUNT: Final = Span(0, 100_000_000_000)
_SHARE: Final = Span(1, 1_000)
_YEAR: Final = 366 * 86_400
_WAIT: Final = Span(0, _YEAR, is_open=True)
_DOUBT: Final = Span(1, _YEAR)  # less gives nobody the time to answer


@dataclass(frozen=True, slots=True)
class ReadMailbox:
    """A mailbox, the relay that is written inside it, and what is doubtful about it."""

    mailbox: Mailbox
    private_relay: Relay | None
    warnings: tuple[SettingProblem, ...]


def read_mailbox(
    table: Table,
    relay_names: frozenset[str],
    find_secret: FindSecret,
    domains: Sequence[str] | None,
) -> ReadMailbox:
    """The mailbox of this table, with defaults where it is wrong; `domains` are the listener's, None = there is none."""
    mailbox_id = _read_id(table)
    private_id = f"m:{mailbox_id}"
    has_private = isinstance(table.values.get("relay"), dict)
    private = read_relay(private_id, table.table("relay"), find_secret) if has_private else None
    relay_id = private_id if has_private else _read_relay_name(table, relay_names)
    address = _read_address(table)
    mailbox = replace(
        _DEFAULT,
        id=mailbox_id,
        address=address.address,
        display_name=address.name,
        relay_id=relay_id,
        pace=read_pace(table.table("pace")),
        concurrency=table.integer("concurrency", _DEFAULT.concurrency, CONNECTIONS),
        domain_pace=_read_domain_pace(table.table("domain_pace")),
        lanes=_read_lanes(table.table("lanes")),
        retry=_read_retry(table.table("retry")),
        on_uncertain=_read_on_uncertain(table),
        limits=_read_limits(table.table("limits")),
        recipients_allow=_read_entries(table, "recipients_allow"),
        recipients_deny=_read_entries(table, "recipients_deny"),
        divert_to=_read_bare(table, "divert_to"),
        attachment_roots=_read_roots(table),
        auto_submitted=table.choice("auto_submitted", AutoSubmitted.AUTO_GENERATED),
        reply_address=read_template(table, "reply_address", domains),
        return_path=read_template(table, "return_path", domains),
        accept_new=table.choice("accept_new", _DEFAULT.accept_new),
        require=table.choice("require", _DEFAULT.require),
        wants_success=table.flag("success_reports"),
        owner=_read_bare(table, "owner"),
    )
    table.close()
    return ReadMailbox(mailbox, private, find_mailbox_doubts(table, mailbox, private))


def _read_id(table: Table) -> str:
    mailbox_id = table.required("id", 'Name it: id = "support".')
    if not mailbox_id:
        return ""
    if not ID.fullmatch(mailbox_id):
        table.wrong("id", f"is '{shown(mailbox_id)}'.", ID_RULE)
        return ""
    table.key = f"mailbox.{mailbox_id}"
    return mailbox_id


def _read_relay_name(table: Table, relay_names: frozenset[str]) -> str:
    name = table.required("relay", "Name one, or write it inline: relay = { host = … }.")
    if name and name not in relay_names:
        known = listed(sorted(relay_names)) if relay_names else "none yet"
        table.wrong("relay", f"names '{shown(name)}', which there is not.", f"There is {known}.")
    return name


def _read_address(table: Table) -> Address:
    text = table.required("address", 'Write address = "Support <support@example.com>".')
    found = read_named_address(text) if text else _NOBODY
    if isinstance(found, Address):
        return found
    table.wrong(
        "address", f"is wrong: {found}", "Write user@example.com or Name <user@example.com>."
    )
    return _NOBODY


def _read_bare(table: Table, name: str) -> str | None:
    text = table.text(name)
    found = read_address(text) if text else None
    if isinstance(found, str):
        table.wrong(name, f"is wrong: {found}", "Write one bare address.")
        return None
    return found.address if found else None


def _read_entries(table: Table, name: str) -> tuple[str, ...]:
    written = table.texts(name)
    for text in written:
        if read_entry(text) is None:
            table.wrong(name, f"holds '{shown(text)}', no address or domain.", _ENTRIES)
    return tuple(entry for entry in map(read_entry, written) if entry)


def _read_roots(table: Table) -> tuple[str, ...]:
    written = table.texts("attachment_roots")
    if "" in written:
        table.wrong("attachment_roots", "holds an empty path.", "Name a folder.")
    roots = tuple(str(table.beside(text)) for text in written)
    if "/" in roots:
        table.wrong("attachment_roots", "holds '/', every file there is.", "Name a folder.")
    return roots


def _read_domain_pace(table: Table) -> dict[str, DomainPace]:
    paces: dict[str, DomainPace] = {}
    for written, inner in table.each():
        found = read_address(f"x@{written}")
        if isinstance(found, Address) and found.domain in paces:
            table.wrong(written, "is there twice.", "Remove one of the two.")
        elif isinstance(found, Address):
            paces[found.domain] = _read_one_domain(inner)
        else:
            table.wrong(written, "is not a domain.", 'Write "example.com" = { … }.')
    return paces


def _read_one_domain(table: Table) -> DomainPace:
    pace = DomainPace(
        per_second=table.number("per_second", None, RATE),
        burst=table.integer("burst", DomainPace().burst, COUNT),
        concurrency=table.integer("concurrency", None, CONNECTIONS),
    )
    close_pace(table)
    return pace


def _read_lanes(table: Table) -> LaneShares:
    default = LaneShares()
    lanes = LaneShares(
        high=table.integer("high", default.high, _SHARE),
        standard=table.integer("standard", default.standard, _SHARE),
        bulk=table.integer("bulk", default.bulk, _SHARE),
        bulk_per_second=table.number("bulk_per_second", None, RATE),
        reserve_high=table.number("reserve_high", default.reserve_high, Span(0, 0.9)),
    )
    table.close()
    return lanes


def _read_retry(table: Table) -> RetryPolicy:
    default = RetryPolicy()
    first = table.seconds("first_s", default.first, _WAIT)
    retry = RetryPolicy(
        first=first,
        factor=table.number("factor", default.factor, Span(1, 100)),
        cap=table.seconds("cap_s", max(default.cap, first), _WAIT),
        jitter=table.number("jitter", default.jitter, Span(0, 1)),
        max_attempts=table.integer("max_attempts", default.max_attempts, Span(1, 1_000)),
        lifetime=table.seconds("lifetime_s", default.lifetime, _WAIT),
    )
    if retry.cap < first:
        table.wrong("cap_s", "is less than first_s.", "No wait is longer than cap_s.")
    table.close()
    return retry


def _read_limits(table: Table) -> Limits:
    default = Limits()
    limits = Limits(
        queued=table.integer("queued", default.queued, _ANY_COUNT),
        accepted_per_hour=table.integer("accepted_per_hour", default.accepted_per_hour, _ANY_COUNT),
        attachment_bytes=table.integer("attachment_bytes", default.attachment_bytes, _ANY_COUNT),
    )
    table.close()
    return limits


def _read_on_uncertain(table: Table) -> DoubtPolicy:
    """A word, or a table with a word and how long after."""
    default = DoubtPolicy()
    if not isinstance(table.values.get("on_uncertain"), dict):
        return DoubtPolicy(table.choice("on_uncertain", default.kind))
    inner = table.table("on_uncertain")
    if not inner.has("policy"):
        inner.wrong("policy", "is missing.", f"It must be {listed(OnUncertain)}.")
    kind = inner.choice("policy", default.kind)
    after = inner.seconds("after_s", default.after, _DOUBT)
    if kind is OnUncertain.HOLD and inner.has("policy") and inner.has("after_s"):
        inner.wrong("after_s", "says nothing where nothing is done.", "Leave it out with 'hold'.")
    inner.close()
    return DoubtPolicy(kind, after)
