"""What goes between the daemon and its parser process: a length in four octets, and a value in MessagePack."""

import struct
from typing import Final

import msgspec

from postroom.core.inmail import InMail


LENGTH: Final = struct.Struct(">I")
GREETING: Final = b"\x01"  # the process has imported everything: from here on time is the message's
ANSWER_MOST: Final = 16 * 1024 * 1024  # far above what the reader's own limits let through


class Request(msgspec.Struct, frozen=True):
    """A message to read, its bytes or the path at which they lie; and the directory for its files."""

    raw: bytes | None
    path: str | None
    envelope_sender: str
    directory: str


class Fault(msgspec.Struct, frozen=True, tag=True):
    """The reader failed. With `errno` it was a file of ours that could not be read or written, and no fault of the mail."""

    errno: int | None


class Understood(msgspec.Struct, frozen=True, tag=True):
    """It was read."""

    mail: InMail


Answer = Fault | Understood

_ENCODER: Final = msgspec.msgpack.Encoder()
_REQUEST: Final = msgspec.msgpack.Decoder(Request)
_ANSWER: Final = msgspec.msgpack.Decoder(Answer)


class Garbled(Exception):
    """The other side sent what is no message of ours."""


def framed(value: Request | Answer) -> bytes:
    """The value as it goes over the pipe."""
    content = _ENCODER.encode(value)
    return LENGTH.pack(len(content)) + content


def read_request(content: bytes) -> Request:
    """The request in the octets behind a length. Raises Garbled."""
    try:
        return _REQUEST.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Garbled from error


def read_answer(content: bytes) -> Answer:
    """The answer in the octets behind a length. Raises Garbled."""
    try:
        return _ANSWER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Garbled from error
