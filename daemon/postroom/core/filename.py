"""Names of files in mail: one that every reader can show, and what type a name promises."""

import re
import unicodedata
from typing import Final


# What offices and machines send; a table of our own, because the host's differs from host to host.
_TYPES: Final = {
    "pdf": "application/pdf",
    "zip": "application/zip",
    "gz": "application/gzip",
    "json": "application/json",
    "xml": "application/xml",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "txt": "text/plain",
    "log": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "htm": "text/html",
    "ics": "text/calendar",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
}
ANY_TYPE: Final = "application/octet-stream"

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NAME_MOST: Final = 150  # octets (HAZARDS A7): what every file system and mail program takes
_NAMELESS: Final = "attachment"

_STEM_MOST: Final = 40
_SUFFIX_MOST: Final = 12


def type_of(filename: str) -> str:
    """The media type that the end of a name promises."""
    return _TYPES.get(filename.rpartition(".")[2].lower(), ANY_TYPE)


def harmless_name(path: str) -> str:
    """The last component of a path in either style, without control and direction characters, of at most 150 octets."""
    name = _UNSAFE.sub("", path.replace("\\", "/").rpartition("/")[2]).strip()
    stem, dot, suffix = name.rpartition(".")
    ending = dot + suffix if stem and len(suffix) <= _SUFFIX_MOST else ""
    kept = name.removesuffix(ending).encode()[: _NAME_MOST - len(ending.encode())]
    whole = kept.decode(errors="ignore") + ending
    return _NAMELESS if whole in {"", ".", ".."} else whole


def ascii_name(filename: str) -> str:
    """The nearest short name without accents, quotes and backslashes, with its ending kept."""
    folded = unicodedata.normalize("NFKD", filename)
    kept = "".join(one for one in folded if not unicodedata.combining(one))
    plain = "".join(one if _is_plain(one) else "_" for one in kept)
    stem, dot, suffix = plain.rpartition(".")
    if not dot or len(suffix) > _SUFFIX_MOST:
        return plain[: _STEM_MOST + _SUFFIX_MOST]
    return f"{stem[:_STEM_MOST]}.{suffix}"


def _is_plain(character: str) -> bool:
    return " " <= character <= "~" and character not in '"\\'
