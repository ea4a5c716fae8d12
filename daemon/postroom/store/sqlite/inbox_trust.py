"""`authentication` of an event (CONTRACT §5, docs/trust.md): the evidence and the signals, as JSON.

What is stored is what agents see: results of checks, never a header field that claims to be one.
"""

from postroom.core.authentication import Authentication, Dkim, Spf, TrustedResult
from postroom.core.inmail import Counted
from postroom.core.matching import sort_tokens
from postroom.core.signals import find_elsewhere, find_unsigned
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.ports.arriving import Publication


def authentication_of(publication: Publication) -> dict[str, object]:
    """All of it but `signals`."""
    found = publication.authentication
    return {
        "verdict": found.verdict,
        "decided_by": found.decided_by,
        "from_domain": found.from_domain,
        "from_organisation": found.from_organisation,
        "reply_to_organisation": found.reply_to_organisation,
        "spf": _spf(found.spf),
        "dkim": [_dkim(one) for one in found.dkim],
        "dmarc": {
            "result": found.dmarc.result,
            "domain": found.dmarc.domain,
            "policy": found.dmarc.policy,
        },
        "trusted": [_trusted(one) for one in found.trusted],
        "forged_results": found.forged_results,
        "unchecked_signatures": found.unchecked_signatures,
        "reply_token": _reply_token(publication.tokens),
    }


def signals_of(publication: Publication) -> dict[str, object]:
    """The facts that do not depend on the store."""
    mail, found = publication.mail, publication.authentication
    return {
        "reply_to_differs": _elsewhere(publication, found),
        "name_has_address": mail.signs.name_address,
        "hidden_text": _counted(mail.signs.hidden),
        "unsigned_headers": find_unsigned(mail, found),
        "invisible_characters": _counted(mail.signs.invisible),
        "bidi_characters": _counted(mail.signs.bidi),
    }


def _elsewhere(publication: Publication, found: Authentication) -> dict[str, object] | None:
    differs = find_elsewhere(publication.mail, found)
    if differs is None:
        return None
    return {"from": differs.from_domain, "reply_to": differs.reply_to}


def _counted(one: Counted) -> dict[str, object]:
    return {"characters": one.characters, "where": one.where}


def _spf(one: Spf) -> dict[str, object]:
    return {
        "result": one.result,
        "scope": one.scope,
        "domain": one.domain,
        "client_ip": one.client_ip,
        "aligned": one.is_aligned,
        "why": one.why,
    }


def _dkim(one: Dkim) -> dict[str, object]:
    return {
        "result": one.result,
        "domain": one.domain,
        "selector": one.selector,
        "algorithm": one.algorithm,
        "key_bits": one.key_bits,
        "signed_headers": one.signed_headers,
        "aligned": one.is_aligned,
        "why": one.why,
    }


def _trusted(one: TrustedResult) -> dict[str, object]:
    return {
        "authserv_id": one.authserv_id,
        "spf": one.spf,
        "spf_domain": one.spf_domain,
        "dkim": one.dkim,
        "dkim_domain": one.dkim_domain,
        "dmarc": one.dmarc,
        "dmarc_domain": one.dmarc_domain,
    }


def _reply_token(tokens: tuple[Token, ...]) -> dict[str, object]:
    for token in sort_tokens(tokens):
        if token.kind is TokenKind.REPLY:
            return {"status": token.status, "key_id": token.key_fingerprint}
    return {"status": TokenStatus.ABSENT, "key_id": None}
