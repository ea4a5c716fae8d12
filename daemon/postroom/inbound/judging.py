"""Asking for a received message who it is from: the verifier, within its time, whatever it does.

A verifier that fails or takes too long leaves the message as nobody could judge it: `temperror`. Only so many are asked
about at the same time.

Known limits: the address of a client on this machine says nothing about who sent a mail, so there SPF is absent.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from postroom.core.authentication import Authentication, Dmarc, Outcome, Spf, Verdict
from postroom.core.inmail import InMail
from postroom.ports.arriving import Arrival
from postroom.ports.verifying import Question, Verifier


VERIFY_S: Final = 12.0  # the verifier ends by itself after ten, with what it knows by then

NOT_JUDGED: Final = Authentication(
    verdict=Verdict.TEMPERROR,
    decided_by=None,
    from_domain=None,
    from_organisation=None,
    reply_to_organisation=None,
    spf=Spf(Outcome.TEMPERROR, None, None, None, is_aligned=False, why="not_judged"),
    dkim=(),
    dmarc=Dmarc(Outcome.TEMPERROR, None, None),
    trusted=(),
    forged_results=0,
    unchecked_signatures=0,
)


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks the verifier; `failed` is told what it raised."""

    verifier: Verifier
    failed: Callable[[Exception], None]
    most_s: float = VERIFY_S

    async def judge(
        self, arrival: Arrival, mail: InMail, raw: bytes | Path, *, is_hurried: bool = False
    ) -> Authentication:
        """What is known of who it is from; never raises for what a verifier does."""
        try:
            async with asyncio.timeout(self.most_s):
                question = replace(_question(arrival, mail, raw), is_hurried=is_hurried)
                return await self.verifier.verify(question)
        except TimeoutError:
            return NOT_JUDGED
        except Exception as error:  # noqa: BLE001 - whatever is wrong there, the mail is told
            self.failed(error)
            return NOT_JUDGED


def _question(arrival: Arrival, mail: InMail, raw: bytes | Path) -> Question:
    return Question(
        raw=raw,
        client_ip=_client_ip(arrival),
        helo=arrival.helo,
        envelope_sender=arrival.sender,
        is_trusted=arrival.is_trusted,
        from_address=mail.author,
        reply_to=tuple(one.address for one in mail.reply_to if one.address),
    )


def _client_ip(arrival: Arrival) -> str | None:
    """The address that handed the message in to us or to a trusted relay, where it can mean something."""
    is_relays_own = arrival.is_trusted and arrival.relay_ip is None
    if is_relays_own or ip_address(arrival.client_ip).is_loopback:
        return None
    return arrival.client_ip
