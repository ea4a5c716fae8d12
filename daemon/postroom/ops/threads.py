"""The threads that read and write files: attachments have their own, so that nobody without one waits for them."""

from concurrent.futures import Executor
from dataclasses import dataclass

from postroom.core.body import Encoding, FileSegment


@dataclass(frozen=True, slots=True)
class FileThreads:
    """`files` for attachments, `texts` for texts that are too large for a row."""

    files: Executor
    texts: Executor

    def of(self, segment: FileSegment) -> Executor:
        """The threads that read this part of a message."""
        return self.texts if segment.encoding is Encoding.NONE else self.files
