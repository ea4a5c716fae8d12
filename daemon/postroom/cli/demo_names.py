"""The demo's nameserver: it knows the texts that it is given and nothing else, so that the demo asks nobody else's."""

import socket
import threading
from collections.abc import Mapping
from typing import Final


HOST: Final = "127.0.0.1"

_HEADER: Final = 12  # octets, RFC 1035 §4.1.1
_TAIL: Final = 4  # type and class behind the name
_NO_SUCH_NAME: Final = b"\x81\x83" + b"\x00\x01" + bytes(6)  # answered, NXDOMAIN, one question
_ANSWERED: Final = b"\x81\x80" + b"\x00\x01\x00\x01" + bytes(4)  # one question, one answer
_NOTHING: Final = b"\x81\x80" + b"\x00\x01" + bytes(6)
_TEXT: Final = b"\x00\x10\x00\x01"  # type TXT, class IN
_SAME_NAME: Final = b"\xc0\x0c"  # a pointer to the question's
_MINUTE: Final = b"\x00\x00\x00\x3c"
_PACKET: Final = 4096
_END_S: Final = 5.0


class Names:
    """The server, in a thread of its own, on a port that the kernel chooses; `texts` are TXT records by name, in lower case."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = {_wire(name): text.encode("ascii") for name, text in (texts or {}).items()}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="demo names", daemon=True)

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
                question = asked[_HEADER : end + 1 + _TAIL]
                self._socket.sendto(asked[:2] + self._answer(question), peer)

    def _answer(self, question: bytes) -> bytes:
        text = self._texts.get(question[:-_TAIL].lower())
        if text is None:
            return _NO_SUCH_NAME + question
        if question[-_TAIL:] != _TEXT:
            return _NOTHING + question
        length = (len(text) + 1).to_bytes(2)
        return (
            _ANSWERED + question + _SAME_NAME + _TEXT + _MINUTE + length + bytes([len(text)]) + text
        )


def _wire(name: str) -> bytes:
    """A name as it stands in a question (RFC 1035 §3.1)."""
    labels = [label.encode("ascii") for label in name.split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
