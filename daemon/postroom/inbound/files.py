"""Files of a message: written under their SHA-256 into a directory that is ours, whole and durable, named by nobody else.

A name from a message is data, made harmless, and never a path (HAZARDS A7).
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

from postroom.core.filename import ANY_TYPE, harmless_name
from postroom.core.inmail import InAttachment
from postroom.inbound.mimeparts import Part


_MESSAGE_NAME: Final = "message.eml"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def keep_part(directory: Path, part: Part, content: bytes) -> InAttachment:
    """Write a part; how it is called, and what it is."""
    name = written_name(part)
    fallback = _MESSAGE_NAME if part.type.value.startswith("message/") else ""
    # A part that names no type, or none that can be one, may be anything.
    is_typed = part.head.first("content-type") is not None
    return keep(
        directory,
        content,
        filename=harmless_name(name or fallback),
        content_type=part.type.value if is_typed else ANY_TYPE,
        is_inline=part.disposition.value == "inline" or part.head.first("content-id") is not None,
    )


def written_name(part: Part) -> str:
    """How a part is called by its sender; '' where it has no name."""
    return part.disposition.parameters.get("filename") or part.type.parameters.get("name", "")


def keep(
    directory: Path, content: bytes, *, filename: str, content_type: str, is_inline: bool = False
) -> InAttachment:
    """Write octets, once however often they come. Raises OSError."""
    digest = sha256(content).hexdigest()
    path = directory / digest
    if not path.exists():
        number = os.open(path, _NEW, 0o600)
        with open(number, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
            file.flush()
            os.fsync(number)
    return InAttachment(digest, len(content), filename, content_type, is_inline)
