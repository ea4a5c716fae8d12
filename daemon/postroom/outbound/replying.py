"""What a job gets from the conversation that it goes into: mailbox, recipients, subject, thread, and what it follows.

What the event says can not change; who takes part and what came before is looked at once, before the transaction that
accepts. A lease and an earlier answer are judged in that transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.addresslist import may_write_to
from postroom.core.ancestry import Ancestry, answer_to, follow
from postroom.core.inaddress import AddressBook
from postroom.core.job import Copies, Field, Job, Problem, Recipient
from postroom.core.jobrequest import RECIPIENT_NOT_ALLOWED
from postroom.core.mailbox import Mailbox
from postroom.core.replying import (
    REPLY_TARGET,
    Answered,
    NoTarget,
    Target,
    find_outsiders,
    find_target,
)
from postroom.core.subject import reply_subject
from postroom.ports.outbox import Intake
from postroom.ports.submitting import RefusalCode


_WHERE: Final = "/in_reply_to_event"
_SHARED: Final = Problem(
    "/copies", "The answer goes to more than one address: their copies share the thread."
)


NO_THREAD: Final = Problem(_WHERE, "An alert is nobody's mail.", REPLY_TARGET)


@dataclass(frozen=True, slots=True)
class Filled:
    """The whole job; `is_reply_to_ignored`: its recipient is From, for Reply-To names somebody else."""

    job: Job
    is_reply_to_ignored: bool


class Conversations:
    """Knows the conversations of all mailboxes; `domains` are the listener's."""

    def __init__(
        self, intake: Intake, mailboxes: Mapping[str, Mailbox], domains: Sequence[str] = ()
    ) -> None:
        self._intake = intake
        self.switch(mailboxes, domains)

    def switch(self, mailboxes: Mapping[str, Mailbox], domains: Sequence[str]) -> None:
        """Know the addresses of these mailboxes as ours, and postmaster and abuse of the domains."""
        self._own = AddressBook(mailboxes, domains, None, ())

    async def find_answered(self, job: Job) -> Answered | None:
        """The event that the job answers; None where it answers none, or there is no such event."""
        return None if job.answers is None else await self._intake.find_answered(job.answers)

    def fill(
        self, job: Job, mailbox: Mailbox, event: Answered | None
    ) -> Filled | tuple[Problem, ...]:
        """The job with what it left to its event, or everything that is wrong with it as an answer."""
        if job.answers is None:
            return Filled(job, is_reply_to_ignored=False)
        if event is not None and event.thread_number is None:
            return (NO_THREAD,)
        if event is None or event.mailbox_id != mailbox.id:
            return (unknown_event(mailbox.id),)
        target = find_target(event, self._own.is_own)
        if isinstance(target, NoTarget):
            return (Problem(_WHERE, target.why, REPLY_TARGET),)
        is_given = bool(job.spec.get("to"))
        problems = find_outsiders(job, event, target, self._own.is_own)
        if not is_given:
            problems += _find_forbidden(target, mailbox)
        recipients = job.recipients if is_given else _with_target(job, target)
        if job.copies is Copies.INDIVIDUAL and len(recipients) > 1:
            problems += (_SHARED,)
        if problems:
            return problems
        filled = replace(
            job,
            recipients=recipients,
            subject=job.subject or reply_subject(event.subject),
            thread_number=event.thread_number,
        )
        return Filled(filled, target.is_reply_to_ignored and not is_given)

    async def find_ancestries(self, job: Job, event: Answered | None) -> dict[str, Ancestry]:
        """What the deliveries of a job follow, by their thread key."""
        if event is not None:
            return {"": answer_to(event.message_id, event.references, event.chain)}
        if job.thread_number is not None:
            return {"": follow(await self._intake.find_chain(job.thread_number))}
        if job.conversation_id is None:
            return {}
        is_personal = job.copies is Copies.INDIVIDUAL
        keys = [one.address.key for one in job.recipients] if is_personal else [""]
        chains = await self._intake.find_chains(job.mailbox_id, job.conversation_id, keys)
        return {key: follow(chain) for key, chain in chains.items()}


def unknown_event(mailbox_id: str) -> Problem:
    """There is no such event."""
    of = f"The mailbox {mailbox_id} has" if mailbox_id else "There is"
    return Problem(_WHERE, f"{of} no such event.", RefusalCode.UNKNOWN_EVENT)


def _find_forbidden(target: Target, mailbox: Mailbox) -> tuple[Problem, ...]:
    """Whom the mailbox may not write to."""
    allow, deny = mailbox.recipients_allow, mailbox.recipients_deny
    return tuple(
        Problem(
            _WHERE,
            f"The mailbox {mailbox.id} may not write to {one.address}.",
            RECIPIENT_NOT_ALLOWED,
        )
        for one in target.people
        if not may_write_to(one, allow=allow, deny=deny)
    )


def _with_target(job: Job, target: Target) -> tuple[Recipient, ...]:
    """Whom the answer goes to, before whom the job names in cc and bcc; each once."""
    everyone = [*(Recipient(one, Field.TO) for one in target.people), *job.recipients]
    found: dict[str, Recipient] = {}
    for one in everyone:
        found.setdefault(one.address.key, one)
    return tuple(found.values())
