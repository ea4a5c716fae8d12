"""The attachments of a job, brought together: staged uploads looked up, files by path copied or pinned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from postroom.core.filename import ANY_TYPE, type_of
from postroom.core.job import Attachment, PathAttachment, Problem, StagedAttachment
from postroom.core.jobparts import find_content_type_fault
from postroom.core.jobrequest import check_sizes
from postroom.core.mailbox import Mailbox
from postroom.core.message import AttachedFile
from postroom.core.record import StagedRecord
from postroom.core.words import pointer
from postroom.ports.staging import FileRefused, FilesSlow, KeptFile, Staging
from postroom.ports.submitting import RefusalCode, RefusalKind, Refused


@dataclass(frozen=True, slots=True)
class Gathered:
    """The files in the order of the job's attachments, and the staged uploads that they use."""

    files: tuple[AttachedFile, ...] = ()
    staged_refs: tuple[str, ...] = ()


SLOW = Refused(
    RefusalKind.NOT_NOW,
    RefusalCode.ATTACHMENT_SLOW,
    "The attachments could not be read within 60 s.",
    retry_after_s=60,
)


async def gather(
    attachments: Sequence[Attachment], mailbox: Mailbox, staging: Staging, reader_uid: int
) -> Gathered | tuple[Problem, ...] | Refused:
    """All files of a job, everything that is wrong with them, or SLOW; `reader_uid` is who asks for them."""
    if not attachments:
        return Gathered()
    by_path = [one.source for one in attachments if isinstance(one.source, PathAttachment)]
    kept = await staging.keep_files(
        by_path,
        roots=mailbox.attachment_roots,
        limit_bytes=mailbox.limits.attachment_bytes,
        reader_uid=reader_uid,
    )
    if isinstance(kept, FilesSlow):
        return SLOW
    paths = iter(kept)
    found = [
        await staging.find_staged(one.source.ref)
        if isinstance(one.source, StagedAttachment)
        else next(paths)
        for one in attachments
    ]
    problems = tuple(_problems(attachments, found))
    files = tuple(
        _attached(asked, file)
        for asked, file in zip(attachments, found, strict=True)
        if isinstance(file, KeptFile | StagedRecord)
    )
    problems += check_sizes([one.size_bytes for one in files], mailbox)
    refs = (one.source.ref for one in attachments if isinstance(one.source, StagedAttachment))
    return problems or Gathered(files, tuple(dict.fromkeys(refs)))


def _problems(
    attachments: Sequence[Attachment], found: list[KeptFile | FileRefused | StagedRecord | None]
) -> Iterator[Problem]:
    for index, (asked, file) in enumerate(zip(attachments, found, strict=True)):
        match asked.source, file:
            case StagedAttachment(ref), None:
                where = pointer("attachments", index, "ref")
                yield Problem(
                    where, f"There is no staged upload {ref}.", RefusalCode.ATTACHMENT_REFUSED
                )
            case _, FileRefused(detail, code):
                where = pointer("attachments", index, "path")
                yield Problem(where, detail, code or RefusalCode.ATTACHMENT_REFUSED)
            case _:
                pass


def _attached(asked: Attachment, file: KeptFile | StagedRecord) -> AttachedFile:
    """What the job asked for counts before what the file says of itself."""
    if isinstance(file, KeptFile):
        name, pinned_path = asked.filename or file.name, file.pinned_path
        content_type = asked.content_type or type_of(name)
    else:
        name, pinned_path = asked.filename or file.filename, None
        content_type = asked.content_type or file.content_type
    if find_content_type_fault(content_type) is not None:
        content_type = ANY_TYPE
    return AttachedFile(asked, name, content_type, file.sha256, file.size_bytes, pinned_path)
