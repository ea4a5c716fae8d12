"""Small messages of our own, written as text, and how they are read."""

from pathlib import Path

from postroom.core.inmail import InMail, ReportedRecipient
from postroom.inbound.reading import read_mail


ALICE = "alice@customer.example"
DIRECTORY = Path("/nowhere")  # for messages without files


def mail(text: str | bytes) -> bytes:
    """The message with CRLF line ends; text goes as UTF-8."""
    octets = text if isinstance(text, bytes) else text.encode()
    return octets.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def read(text: str | bytes, sender: str = ALICE, directory: Path = DIRECTORY) -> InMail:
    """What is understood of such a message."""
    return read_mail(mail(text), sender, directory)


def whole(parsed: InMail) -> str:
    """The text, put together of what is new and what was removed."""
    pieces = []
    at = kept = 0
    for one in parsed.removed:
        size = one.start - at
        pieces += [parsed.new_text[kept : kept + size], parsed.text[one.start : one.end]]
        kept += size
        at = one.end
    return "".join([*pieces, parsed.new_text[kept:]])


def kind(head: str, text: str) -> tuple[str, tuple[str, ...]]:
    parsed = read(f"{head}\nContent-Type: text/plain; charset=utf-8\n\n{text}\n")
    return parsed.automation, parsed.evidence


def comes_to(one: ReportedRecipient) -> tuple[object, ...]:
    return (one.recipient, one.sense.class_, one.sense.reason, one.status, one.reply_code)
