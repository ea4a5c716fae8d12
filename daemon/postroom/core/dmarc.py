"""DMARC without DNS (RFC 9989): records, the tree walk, organisational domains, alignment. Pure.

No public-suffix list: a list that misses a suffix makes strangers one organisation (authheaders 0.16.3 takes `evil.test`
and `ex.test` for one). A record at a name of one label counts only with `psd=`: whoever runs a top-level domain must not
be able to make one organisation of everybody in it by leaving a tag out.
Known limits: domains directly below a brand's own top-level domain are of one organisation only in the same two labels.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


POLICIES: Final = ("none", "quarantine", "reject")
# RFC 9989 §4.10: at most eight names are asked for.
_LABELS_MOST: Final = 8
_RECORD_MOST: Final = 4096

_VERSION: Final = re.compile(r"v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DmarcRecord:
    """The tags that matter to a receiver; policies are what is asked for, less one step in a test (`t=y`)."""

    policy: str
    subdomain_policy: str
    missing_policy: str
    is_dkim_strict: bool
    is_spf_strict: bool
    psd: str
    has_missing_policy: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """What was found on the way up from a domain, from the longest name; `is_whole`: no answer was missing."""

    domain: str
    found: tuple[tuple[str, DmarcRecord], ...]
    is_whole: bool

    @property
    def organisation(self) -> str | None:
        """The organisational domain (RFC 9989 §4.10.2); None where an answer was missing."""
        if not self.is_whole:
            return None
        counting = [one for one in self.found if "." in one[0] or one[1].psd != "u"]
        for name, record in counting:
            if record.psd == "n":
                return name
            if record.psd == "y" and name != self.domain:
                return _one_below(name, self.domain)
        return counting[-1][0] if counting else self.domain

    @property
    def applying(self) -> tuple[str, DmarcRecord] | None:
        """The record that applies to the domain, with its name: its own, its organisation's, its suffix's (§4.10.1)."""
        by_name = dict(self.found)
        for name in (self.domain, self.organisation):
            if name in by_name:
                return name, by_name[name]
        suffixes = [one for one in self.found if one[1].psd == "y"]
        return suffixes[0] if suffixes else None


def names_to_ask(domain: str) -> tuple[str, ...]:
    """The domains of a tree walk, the longest first: with more than eight labels those between are left out."""
    labels = domain.split(".")
    shorter = labels[1:] if len(labels) < _LABELS_MOST else labels[-(_LABELS_MOST - 1) :]
    return (domain, *(".".join(shorter[at:]) for at in range(len(shorter))))


def is_last(record: DmarcRecord) -> bool:
    """Whether the walk ends at this record."""
    return record.psd in {"y", "n"}


def read_record(texts: Sequence[str]) -> DmarcRecord | None:
    """The record among the TXT records of one name; None where there is not exactly one."""
    found = [text for text in texts if _VERSION.match(text[:64])]
    if len(found) != 1 or len(found[0]) > _RECORD_MOST:
        return None
    return _read_tags(_tags(found[0]))


def policy_for(
    walk: Walk, name: str, record: DmarcRecord, *, is_domain_missing: bool = False
) -> str:
    """What the record, found at `name`, asks for mail of the walk's domain."""
    if name == walk.domain:
        return record.policy
    return record.missing_policy if is_domain_missing else record.subdomain_policy


def is_aligned(one: Walk, other: Walk, *, is_strict: bool) -> bool:
    """Whether both domains are of one organisation, or the same where that is asked for; unknown is no."""
    if one.domain == other.domain:
        return True
    return not is_strict and one.organisation is not None and one.organisation == other.organisation


def may_align(domain: str, other: str) -> bool:
    """Whether two domains can be of one organisation at all: they end in the same two labels."""
    return domain == other or domain.split(".")[-2:] == other.split(".")[-2:]


def _one_below(suffix: str, domain: str) -> str:
    labels = domain.split(".")
    return ".".join(labels[-(suffix.count(".") + 2) :])


def _tags(text: str) -> dict[str, str]:
    """The tags, names in lower case; of several of one name the first."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        if equals:
            found.setdefault(name.strip().lower(), value.strip().lower())
    return found


def _read_tags(tags: dict[str, str]) -> DmarcRecord:
    is_test = tags.get("t") == "y"
    policy = _policy(tags.get("p"), "none")
    for_subdomains = _policy(tags.get("sp"), policy)
    for_missing = _policy(tags.get("np"), for_subdomains)
    psd = tags.get("psd", "u")
    return DmarcRecord(
        policy=_milder(policy) if is_test else policy,
        subdomain_policy=_milder(for_subdomains) if is_test else for_subdomains,
        missing_policy=_milder(for_missing) if is_test else for_missing,
        is_dkim_strict=tags.get("adkim") == "s",
        is_spf_strict=tags.get("aspf") == "s",
        psd=psd if psd in {"y", "n"} else "u",
        has_missing_policy=for_missing != for_subdomains,
    )


def _policy(text: str | None, otherwise: str) -> str:
    return text if text in POLICIES else otherwise


def _milder(policy: str) -> str:
    return POLICIES[max(0, POLICIES.index(policy) - 1)]
