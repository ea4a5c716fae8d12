"""Who a message is from: the checks side by side, then what their domains have to do with From, then the verdict.

Everything that takes work runs in a few threads of its own, everything that waits asks one resolver, and the whole of it
ends after ten seconds, or three where other mail waits for it: what is not known then is `temperror`. The checks get
seven tenths of that, so that the organisations can still be asked for. Nothing a message or DNS does raises.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.authentication import Authentication, Dkim, Dmarc, Outcome, Spf, Verdict
from postroom.core.domainname import domain_of
from postroom.core.verdict import Alignment, By, Claim, Evidence, judge
from postroom.inbound.verify.aligning import Aligner, Walks
from postroom.inbound.verify.authors import has_one_author
from postroom.inbound.verify.authresults import Results, Servers, find_forged, find_trusted
from postroom.inbound.verify.bounded import BoundedResolver
from postroom.inbound.verify.dkimcheck import check_dkim
from postroom.inbound.verify.rawmail import RawMail, read_mail
from postroom.inbound.verify.signature import (
    SIGNATURES_MOST,
    Signature,
    Unreadable,
    read_signature,
)
from postroom.inbound.verify.spfcheck import check_spf, sender_of
from postroom.inbound.verify.trusting import domains_spoken_of, read_trusted
from postroom.ports.host import Clock
from postroom.ports.resolving import Resolver
from postroom.ports.verifying import Question


BUDGET_S: Final = 10.0
HURRIED_S: Final = 3.0  # honest mail needs less than one
_CHECKS_SHARE: Final = 0.7
_THREADS: Final = 2
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Read:
    """What the message's header says for the checks."""

    mail: RawMail
    has_one_author: bool
    signatures: tuple[Signature | Unreadable, ...]
    unchecked: int
    forged: int
    trusted: tuple[Results, ...]


@dataclass(frozen=True, slots=True)
class _Checked:
    """What the checks came to."""

    spf: Spf
    dkim: tuple[Dkim, ...]
    reply_to_organisation: str | None


class MailVerifier:
    """Judges messages. `close` ends its threads."""

    def __init__(
        self, resolver: Resolver, clock: Clock, servers: Servers, budget_s: float = BUDGET_S
    ) -> None:
        self._resolver = resolver
        self._clock = clock
        self._servers = servers
        self._budget_s = budget_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="verify")
        self._is_closed = False

    def ask_at(self, resolver: Resolver) -> None:
        """Ask there from the next message on."""
        self._resolver = resolver

    def trust(self, servers: Servers) -> None:
        """Trust these from the next message on."""
        self._servers = servers

    async def verify(self, question: Question) -> Authentication:
        """All of the evidence, with its verdict; none once it is closed, for what that breaks off says nothing of a mail."""
        try:
            return await self._verify(question)
        except Exception:
            if self._is_closed:
                await asyncio.get_running_loop().create_future()
            raise

    async def _verify(self, question: Question) -> Authentication:
        loop = asyncio.get_running_loop()
        budget_s = min(self._budget_s, HURRIED_S) if question.is_hurried else self._budget_s
        began = loop.time()
        read = await loop.run_in_executor(self._threads, _read, question, self._servers)
        checks = BoundedResolver(self._resolver, began + _CHECKS_SHARE * budget_s)
        walks = Walks(BoundedResolver(self._resolver, began + budget_s))
        author = domain_of(question.from_address or "") if read.has_one_author else None
        sender = sender_of(question.envelope_sender, question.helo)
        async with asyncio.TaskGroup() as group:
            spf = group.create_task(
                check_spf(checks, self._threads, question.client_ip, sender, question.helo)
            )
            now_s = self._clock.now() // _SECOND
            dkim = group.create_task(
                check_dkim(checks, self._threads, read.mail, read.signatures, now_s)
            )
            reply_to = group.create_task(walks.organisation(question.reply_to))
            if author is not None:
                group.create_task(walks.of(author))
        checked = _Checked(spf.result(), dkim.result(), reply_to.result())
        if author is None:
            return _without_author(read, checked)
        domains = {checked.spf.domain, *(one.domain for one in checked.dkim)}
        aligner = await walks.aligner(author, domains | domains_spoken_of(read.trusted))
        return _judged(read, checked, aligner)

    def close(self) -> None:
        """End the threads; what they do is not waited for."""
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)


def _read(question: Question, servers: Servers) -> _Read:
    """Runs in a thread."""
    try:
        mail = read_mail(question.raw)
    except OSError:
        mail = RawMail((), b"", 0)
    fields = [(one.name, one.value) for one in mail.fields]
    signatures = mail.every("dkim-signature")
    return _Read(
        mail=mail,
        has_one_author=has_one_author(mail, question.from_address),
        signatures=tuple(read_signature(one) for one in signatures[:SIGNATURES_MOST]),
        unchecked=max(0, len(signatures) - SIGNATURES_MOST),
        forged=len(find_forged(fields, servers, is_trusted=question.is_trusted)),
        trusted=find_trusted(fields, servers) if question.is_trusted else (),
    )


def _without_author(read: _Read, checked: _Checked) -> Authentication:
    trusted, _, _ = read_trusted(read.trusted, None, lambda _domain, _is_dkim: Alignment.NO)
    return Authentication(
        verdict=Verdict.PERMERROR,
        decided_by=None,
        from_domain=None,
        from_organisation=None,
        reply_to_organisation=checked.reply_to_organisation,
        spf=checked.spf,
        dkim=checked.dkim,
        dmarc=Dmarc(Outcome.PERMERROR, None, None),
        trusted=trusted,
        forged_results=read.forged,
        unchecked_signatures=read.unchecked,
    )


def _judged(read: _Read, checked: _Checked, aligner: Aligner) -> Authentication:
    author, policy, spf = aligner.author.domain, aligner.policy, checked.spf
    by_spf = aligner.alignment(spf.domain, is_dkim=False)
    by_dkim = [aligner.alignment(one.domain, is_dkim=True) for one in checked.dkim]
    trusted, spoken, is_failed = read_trusted(
        read.trusted, author, lambda domain, is_dkim: aligner.alignment(domain, is_dkim=is_dkim)
    )
    claims = [
        Claim(By.SPF, spf.result, by_spf),
        *(Claim(By.DKIM, one.result, fit) for one, fit in zip(checked.dkim, by_dkim, strict=True)),
        *spoken,
    ]
    judgement = judge(
        Evidence(
            claims=claims,
            policy=policy.policy,
            is_policy_known=policy.is_known,
            has_client=spf.result is not Outcome.ABSENT,
            has_trusted_fail=is_failed,
        )
    )
    return Authentication(
        verdict=judgement.verdict,
        decided_by=judgement.decided_by,
        from_domain=author,
        from_organisation=aligner.author.organisation,
        reply_to_organisation=checked.reply_to_organisation,
        spf=replace(spf, is_aligned=by_spf is Alignment.YES),
        dkim=tuple(
            replace(one, is_aligned=fit is Alignment.YES)
            for one, fit in zip(checked.dkim, by_dkim, strict=True)
        ),
        dmarc=Dmarc(judgement.dmarc, policy.domain, policy.policy),
        trusted=trusted,
        forged_results=read.forged,
        unchecked_signatures=read.unchecked,
    )
