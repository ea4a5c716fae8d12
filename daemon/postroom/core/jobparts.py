"""What a job carries beside its text: attachments, headers of the caller's own, and metadata."""

import re
from typing import Final

from postroom.core.encodings import WORD_MOST
from postroom.core.faults import Faults, read_flag, read_list, read_object, read_pairs, read_text
from postroom.core.job import Attachment, PathAttachment, StagedAttachment
from postroom.core.words import find_body_fault, find_line_fault, shown


MOST_ATTACHMENTS: Final = 50
MOST_HEADERS: Final = 100
MOST_HEADER_BYTES: Final = 16_384
MOST_METADATA: Final = 50
METADATA_NAME_MOST: Final = 64
METADATA_VALUE_MOST: Final = 1_024

# A path of Linux is at most 4,096 octets with its NUL; a name in it 255.
PATH_MOST: Final = 4_095
FILENAME_MOST: Final = 255

_ATTACHMENT_FIELDS: Final = frozenset(
    {"ref", "path", "pin", "filename", "content_type", "inline", "content_id"}
)
_REF: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_WORD: Final = r"[A-Za-z0-9!#$%&'*+.^_`{|}~-]+"
_CONTENT_TYPE: Final = re.compile(
    rf"({_WORD})/{_WORD}(?:; ?{_WORD}=(?:{_WORD}|\"[ !#-\[\]-~]*\"))*", re.ASCII
)
_CONTENT_TYPE_MOST: Final = 127
_CONTENT_ID: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+(?:@[A-Za-z0-9.-]+)?")
_CONTENT_ID_MOST: Final = 200
_HEADER_NAME: Final = re.compile("[!-9;-~]{1,76}")

_OURS: Final = frozenset(
    [
        "from",
        "sender",
        "to",
        "cc",
        "bcc",
        "date",
        "message-id",
        "received",
        "return-path",
        "mime-version",
        "dkim-signature",
        "authentication-results",
        "in-reply-to",
        "references",
    ]
)
_FIELD_FOR: Final = {
    "subject": "subject",
    "reply-to": "reply_to",
    "auto-submitted": "auto_submitted",
}
_OUR_PREFIXES: Final = ("content-", "resent-", "x-postroom-")


def read_attachments(given: object, faults: Faults) -> tuple[Attachment, ...]:
    """All that could be understood, in order."""
    where = "/attachments"
    items = read_list(given, where, faults, most=MOST_ATTACHMENTS)
    found = (_read_attachment(item, f"{where}/{at}", faults) for at, item in enumerate(items))
    return tuple(one for one in found if one is not None)


def read_headers(given: object, faults: Faults) -> tuple[tuple[str, str], ...]:
    """Name and value of each header, in order."""
    where = "/headers"
    found: dict[str, tuple[str, str]] = {}
    size = 0
    for name, value, at in read_pairs(given, where, faults, most=MOST_HEADERS):
        size += len(name) + len(value.encode("utf-8", "replace"))
        fault = _find_name_fault(name) or _find_value_fault(name, value)
        if fault is None and name.lower() in found:
            fault = "This header is given twice."
        if fault is None:
            found[name.lower()] = (name, value)
        else:
            faults.add(at, fault)
    if size > MOST_HEADER_BYTES:
        faults.add(where, f"All headers together may have {MOST_HEADER_BYTES:,} bytes.")
    return tuple(found.values())


def read_metadata(given: object, faults: Faults) -> tuple[tuple[str, str], ...]:
    """The pairs, in order."""
    found = []
    for name, value, at in read_pairs(given, "/metadata", faults, most=MOST_METADATA):
        fault = find_line_fault(name) or find_body_fault(value)
        if fault is not None:
            faults.add(at, f"The text {fault}.")
        elif not 1 <= len(name) <= METADATA_NAME_MOST:
            faults.add(at, f"A name must have 1 to {METADATA_NAME_MOST} characters.")
        elif len(value) > METADATA_VALUE_MOST:
            faults.add(at, f"A value may have {METADATA_VALUE_MOST:,} characters.")
        else:
            found.append((name, value))
    return tuple(found)


def find_content_type_fault(text: str) -> str | None:
    """Why a file can not go out under this media type, as a sentence."""
    found = _CONTENT_TYPE.fullmatch(text) if len(text) <= _CONTENT_TYPE_MOST else None
    if found is None or find_line_fault(text) is not None:
        return "This must be a media type such as application/pdf."
    if found[1].lower() in {"multipart", "message"}:
        # RFC 2046 §5.1, §5.2: these may not be base64, and a file always is.
        return "A file can not be sent as multipart or message; application/octet-stream can."
    return None


def _read_attachment(given: object, where: str, faults: Faults) -> Attachment | None:
    fields = read_object(given, where, faults, _ATTACHMENT_FIELDS)
    if fields is None:
        return None
    source = _read_source(fields, where, faults)
    filename = _read_filename(fields.get("filename"), f"{where}/filename", faults)
    content_type = fields.get("content_type")
    if content_type is not None:
        content_type = read_text(
            content_type, f"{where}/content_type", faults, most=_CONTENT_TYPE_MOST
        )
        fault = None if content_type is None else find_content_type_fault(content_type)
        if fault is not None:
            faults.add(f"{where}/content_type", fault)
    is_inline = read_flag(fields.get("inline", False), f"{where}/inline", faults)
    content_id = _read_content_id(fields.get("content_id"), f"{where}/content_id", faults)
    if source is None:
        return None
    return Attachment(source, filename, content_type, is_inline, content_id)


def _read_source(
    fields: dict[str, object], where: str, faults: Faults
) -> StagedAttachment | PathAttachment | None:
    match fields:
        case {"ref": _, "path": _}:
            faults.add(where, "An attachment has a ref or a path, not both.")
            return None
        case {"ref": _, "pin": _}:
            faults.add(f"{where}/pin", "Only a path can be pinned.")
            return None
        case {"ref": ref}:
            if isinstance(ref, str) and _REF.fullmatch(ref):
                return StagedAttachment(ref)
            faults.add(f"{where}/ref", "This must be the ref of a staged upload.")
            return None
        case {"path": path}:
            is_pinned = read_flag(fields.get("pin", False), f"{where}/pin", faults)
            text = read_text(path, f"{where}/path", faults, most=PATH_MOST)
            if text is not None and not text.startswith("/"):
                faults.add(f"{where}/path", "The path must be absolute.")
                return None
            return None if text is None else PathAttachment(text, is_pinned)
        case _:
            faults.add(where, "An attachment needs a ref or a path.")
            return None


def _read_filename(given: object, where: str, faults: Faults) -> str | None:
    if given is None:
        return None
    name = read_text(given, where, faults, most=FILENAME_MOST)
    if name is not None and (not {"/", "\\"}.isdisjoint(name) or name.strip(". ") == ""):
        faults.add(where, "This must be the name of a file, without directories.")
        return None
    return name


def _read_content_id(given: object, where: str, faults: Faults) -> str | None:
    """The id without its angle brackets."""
    if given is None:
        return None
    text = read_text(given, where, faults, most=_CONTENT_ID_MOST)
    if text is None:
        return None
    bare = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    if _CONTENT_ID.fullmatch(bare) is None:
        faults.add(where, "This must be an id such as logo or logo@example.com.")
        return None
    return bare


def _find_name_fault(name: str) -> str | None:
    if _HEADER_NAME.fullmatch(name) is None:
        return "A header name is 1 to 76 printable ASCII characters without space and colon."
    folded = name.lower()
    if folded in _FIELD_FOR:
        return f"Use the field {_FIELD_FOR[folded]} for this header."
    if folded in _OURS or folded.startswith(_OUR_PREFIXES):
        return f"The header {shown(name)} is ours to write."
    return None


def _find_value_fault(name: str, value: str) -> str | None:
    fault = find_line_fault(value)
    if fault is not None:
        return f"The value {fault}."
    # What fits no line goes as encoded words (RFC 2047), which only readers of free text put together again.
    is_free = name.lower().startswith("x-") or len(value) <= WORD_MOST
    if not is_free and any(len(word) > WORD_MOST for word in value.split(" ")):
        return f"A word of this header may have {WORD_MOST} characters."
    return None
