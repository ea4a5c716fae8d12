"""What trusted servers found, as evidence: the claims it makes about From, judged by our own alignment.

`dmarc` counts only for the domain in From. Of several signatures that such a server speaks of, one that holds and fits is
taken, else the first. Known limits: the relay must take away what strangers wrote in its name (RFC 8601 §5), as all
known ones do; of several fields that it wrote below its own Received, only the topmost is used.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.authentication import Outcome, TrustedResult
from postroom.core.domainname import read_domain
from postroom.core.verdict import Alignment, By, Claim
from postroom.inbound.verify.authresults import MethodResult, Results


Aligned = Callable[[str, bool], Alignment]

_DOMAIN_PROPERTIES: Final = {
    "spf": ("smtp.mailfrom", "smtp.mail", "smtp.helo"),
    "dkim": ("header.d", "header.i"),
    "dmarc": ("header.from",),
}
_IDENTITY_PROPERTIES: Final = {**_DOMAIN_PROPERTIES, "spf": ("smtp.mailfrom", "smtp.mail")}


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What a server says of one method: what is shown of it, and what it claims."""

    outcome: Outcome
    domain: str | None
    alignment: Alignment


def domains_spoken_of(results: Iterable[Results]) -> frozenset[str]:
    """The domains whose alignment has to be known."""
    found = (
        _domain(one, _IDENTITY_PROPERTIES)
        for field in results
        for one in field.results
        if one.method in {"spf", "dkim"}
    )
    return frozenset(one for one in found if one is not None)


def read_trusted(
    results: Sequence[Results], from_domain: str | None, aligned: Aligned
) -> tuple[tuple[TrustedResult, ...], tuple[Claim, ...], bool]:
    """What is shown, what is claimed, and whether a server says that nothing fits."""
    shown, claims, is_failed = [], [], False
    for field in results:
        spf = _spoken(field, "spf", aligned)
        dkim = _spoken(field, "dkim", aligned)
        dmarc = _dmarc(field, from_domain)
        shown.append(
            TrustedResult(
                authserv_id=field.authserv_id,
                spf=spf.outcome,
                spf_domain=spf.domain,
                dkim=dkim.outcome,
                dkim_domain=dkim.domain,
                dmarc=dmarc.outcome,
                dmarc_domain=dmarc.domain,
            )
        )
        claims += [Claim(By.TRUSTED, one.outcome, one.alignment) for one in (dkim, spf, dmarc)]
        is_fitting = dmarc.alignment is Alignment.YES
        is_failed = is_failed or (is_fitting and dmarc.outcome is Outcome.FAIL)
    return tuple(shown), tuple(claims), is_failed


def _spoken(field: Results, method: str, aligned: Aligned) -> _Spoken:
    found = [_judged(one, aligned) for one in field.results if one.method == method]
    if not found:
        return _Spoken(Outcome.ABSENT, None, Alignment.NO)
    return max(found, key=_weight)


def _judged(one: MethodResult, aligned: Aligned) -> _Spoken:
    domain = _domain(one, _IDENTITY_PROPERTIES)
    alignment = Alignment.NO if domain is None else aligned(domain, one.method == "dkim")
    return _Spoken(one.outcome, domain or _domain(one, _DOMAIN_PROPERTIES), alignment)


def _weight(one: _Spoken) -> tuple[bool, bool]:
    is_aligned = one.alignment is Alignment.YES
    return one.outcome is Outcome.PASS and is_aligned, one.outcome is Outcome.PASS


def _dmarc(field: Results, from_domain: str | None) -> _Spoken:
    for one in field.results:
        if one.method == "dmarc":
            domain = _domain(one, _DOMAIN_PROPERTIES)
            is_ours = from_domain is not None and domain == from_domain
            return _Spoken(one.outcome, domain, Alignment.YES if is_ours else Alignment.NO)
    return _Spoken(Outcome.ABSENT, None, Alignment.NO)


def _domain(one: MethodResult, properties: dict[str, tuple[str, ...]]) -> str | None:
    """The domain that the result is about."""
    for name in properties[one.method]:
        if one.properties.get(name):
            return read_domain(one.properties[name].rpartition("@")[2])
    return None
