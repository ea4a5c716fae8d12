"""A nameserver on loopback that knows a few texts and no other name, so that nobody's real one is asked.

Rules: RFC 1035 §4; a text goes into one answer, over UDP.
"""

import socket
import threading
from collections.abc import Mapping
from typing import Final


HOST: Final = "127.0.0.1"

_HEADER: Final = 12  # octets, RFC 1035 §4.1.1
_TAIL: Final = 4  # type and class behind the name
_TXT: Final = b"\x00\x10\x00\x01"
_FOUND: Final = b"\x81\x80" + b"\x00\x01\x00\x01" + bytes(4)  # one question, one answer
_NOTHING: Final = (
    b"\x81\x80" + b"\x00\x01" + bytes(6)
)  # the name is there, and has nothing of the kind
_NO_SUCH_NAME: Final = b"\x81\x83" + b"\x00\x01" + bytes(6)
_OWNER: Final = b"\xc0\x0c"  # the name in the question
_LIVES: Final = b"\x00\x00\x00\x3c"
_STRING: Final = 255
_PACKET: Final = 4096
_END_S: Final = 5.0


class Names:
    """The server, in a thread of its own, on a port that the kernel chooses. `texts` are TXT records by lower-case name."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = {_wire(name): text.encode("ascii") for name, text in (texts or {}).items()}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="names", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bell:
            bell.sendto(b"", (HOST, self.port))
        self._thread.join(_END_S)
        self._socket.close()

    def _run(self) -> None:
        while True:
            asked, peer = self._socket.recvfrom(_PACKET)
            if not asked:
                return
            end = asked.find(b"\0", _HEADER)
            if end >= 0:
                self._socket.sendto(self._answer(asked, end + 1), peer)

    def _answer(self, asked: bytes, end: int) -> bytes:
        question = asked[_HEADER : end + _TAIL]
        text = self._texts.get(asked[_HEADER:end].lower())
        if text is None:
            return asked[:2] + _NO_SUCH_NAME + question
        if question[-_TAIL:] != _TXT:
            return asked[:2] + _NOTHING + question
        pieces = (text[at : at + _STRING] for at in range(0, len(text), _STRING))
        data = b"".join(bytes([len(piece)]) + piece for piece in pieces)
        record = _OWNER + _TXT + _LIVES + len(data).to_bytes(2) + data
        return asked[:2] + _FOUND + question + record


def _wire(name: str) -> bytes:
    labels = (label.encode("ascii") for label in name.split("."))
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
