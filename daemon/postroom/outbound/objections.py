"""What speaks against a job beside its own fields: its mailbox, the thread and the event it names, its files."""

from collections.abc import Mapping, Sequence

from postroom.core.job import Attachment, Job, Problem
from postroom.core.jobrequest import check_recipients, read_references
from postroom.core.mailbox import Mailbox
from postroom.core.words import shown
from postroom.outbound.answers import UNKNOWN_SINCE, UNKNOWN_THREAD
from postroom.outbound.gather import gather
from postroom.ports.outbox import Intake
from postroom.ports.staging import Staging
from postroom.ports.submitting import RefusalCode


class Objections:
    """Asks store and files; `mailboxes` are those that are configured."""

    def __init__(self, intake: Intake, staging: Staging, mailboxes: Mapping[str, Mailbox]) -> None:
        self._intake = intake
        self._staging = staging
        self._mailboxes = mailboxes

    async def find_more(self, value: object, reader_uid: int) -> tuple[Problem, ...]:
        """What mailbox, store and files say to a request of which only parts could be read."""
        if not isinstance(value, dict) or not isinstance(value.get("mailbox_id"), str):
            return ()
        mailbox = self._mailboxes.get(value["mailbox_id"])
        if mailbox is None:
            return (unknown_mailbox(value["mailbox_id"]),)
        thread, attachments = read_references(value)
        return (
            *check_recipients(value, mailbox),
            *await self.check_thread(mailbox, thread),
            *await self.check_files(mailbox, attachments, reader_uid),
        )

    async def check_thread(self, mailbox: Mailbox, thread: int | None) -> tuple[Problem, ...]:
        """Whether the mailbox has this thread."""
        if thread is None or await self._intake.has_thread(mailbox.id, thread):
            return ()
        return (UNKNOWN_THREAD,)

    async def check_condition(self, job: Job) -> tuple[Problem, ...]:
        """What no event is can not be overtaken: such a condition would hold whatever came in."""
        since = None if job.condition is None else job.condition.no_inbound_since
        if since is None or await self._intake.find_answered(since) is not None:
            return ()
        return (UNKNOWN_SINCE,)

    async def check_files(
        self, mailbox: Mailbox, attachments: Sequence[Attachment], reader_uid: int
    ) -> tuple[Problem, ...]:
        """What is wrong with the files of a job that is refused anyhow."""
        found = await gather(attachments, mailbox, self._staging, reader_uid)
        return found if isinstance(found, tuple) else ()


def unknown_mailbox(mailbox_id: str) -> Problem:
    """No mailbox of this name is configured."""
    said = f"There is no mailbox {shown(mailbox_id)!r}."
    return Problem("/mailbox_id", said, RefusalCode.UNKNOWN_MAILBOX)
