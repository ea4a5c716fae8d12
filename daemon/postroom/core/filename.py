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

# Control and direction characters, and what cannot be seen.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)
# What becomes a slash or a dot where somebody normalises names (NFKC), or looks like a slash.
_LIKE_SLASH: Final = re.compile("[\u2044\u2215\u29f5\u29f8\u29f9\ufe68\uff0f\uff3c]")
_LIKE_DOTS: Final = re.compile("[\u2024\u2025\ufe52\uff0e]")
# Windows takes them for devices, whatever follows the dot.
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\xb9\xb2\xb3])\s*(?:[.:]|\Z)",
    re.IGNORECASE,
)
_NAME_MOST: Final = 150  # octets (HAZARDS A7): what every file system and mail program takes
_NAMELESS: Final = "attachment"

_STEM_MOST: Final = 40
_SUFFIX_MOST: Final = 12


def type_of(filename: str) -> str:
    """The media type that the end of a name promises."""
    return _TYPES.get(filename.rpartition(".")[2].lower(), ANY_TYPE)


def harmless_name(path: str) -> str:
    """The last component of a path in either style: without control and direction characters, no device, at most 150 octets."""
    name = _UNSAFE.sub("", path.replace("\\", "/").rpartition("/")[2])
    name = _LIKE_DOTS.sub(".", _LIKE_SLASH.sub("_", name)).strip().rstrip(". ")
    if _DEVICE.match(name):
        name = f"_{name}"
    stem, dot, suffix = name.rpartition(".")
    ending = dot + suffix if stem and len(suffix) <= _SUFFIX_MOST else ""
    kept = name.removesuffix(ending).encode()[: _NAME_MOST - len(ending.encode())]
    return (kept.decode(errors="ignore") + ending).rstrip(". ") or _NAMELESS


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
