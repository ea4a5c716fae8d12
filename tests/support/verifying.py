"""Verdicts as a test wants them, and a verifier that gives them without DNS.

verifier = FakeVerifier()
verifier.told["alice@customer.example"] = judged(Verdict.PASS)
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from postroom.core.authentication import (
    Authentication,
    Dkim,
    Dmarc,
    Outcome,
    Spf,
    TrustedResult,
    Verdict,
)
from postroom.ports.verifying import Question


def judged(verdict: Verdict = Verdict.UNVERIFIED, **more: Any) -> Authentication:
    """Evidence with this verdict; everything that a test does not care about is absent."""
    given: dict[str, Any] = {
        "verdict": verdict,
        "decided_by": None,
        "from_domain": "customer.example",
        "from_organisation": "customer.example",
        "reply_to_organisation": None,
        "spf": Spf(Outcome.NONE, None, None, None, is_aligned=False, why=None),
        "dkim": (),
        "dmarc": Dmarc(Outcome.NONE, None, None),
        "trusted": (),
        "forged_results": 0,
        "unchecked_signatures": 0,
        **more,
    }
    return Authentication(**given)


def signature(*signed: str, result: Outcome = Outcome.PASS, is_aligned: bool = True) -> Dkim:
    """A signature over these fields."""
    return Dkim(
        result,
        "customer.example",
        "s1",
        "rsa-sha256",
        2048,
        signed,
        is_aligned=is_aligned,
        why=None,
    )


def trusted(dkim: Outcome, dkim_domain: str | None) -> TrustedResult:
    """What a trusted server says of a signature."""
    return TrustedResult(
        "mx.example.com", Outcome.NONE, None, dkim, dkim_domain, Outcome.NONE, None
    )


@dataclass
class FakeVerifier:
    """ports.Verifier in memory: what it is told by the address in From; `gates` are what it waits for before."""

    told: dict[str | None, Authentication] = field(default_factory=dict)
    gates: dict[str | None, asyncio.Event] = field(default_factory=dict)
    faults: dict[str | None, Exception] = field(default_factory=dict)
    asked: list[Question] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def verify(self, question: Question) -> Authentication:
        """All of the evidence, with its verdict."""
        self.asked.append(question)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        who = question.from_address
        try:
            if who in self.gates:
                await self.gates[who].wait()
            if who in self.faults:
                raise self.faults[who]
        finally:
            self.under_way -= 1
        verdict = Verdict.PERMERROR if who is None else Verdict.UNVERIFIED
        return self.told.get(who, judged(verdict))
