"""The demo's nameserver: it knows no name, so that the demo asks nobody else's, and waits for nobody."""

import socket
import threading
from typing import Final


HOST: Final = "127.0.0.1"

_HEADER: Final = 12  # octets, RFC 1035 §4.1.1
_TAIL: Final = 4  # type and class behind the name
_NO_SUCH_NAME: Final = b"\x81\x83" + b"\x00\x01" + bytes(6)  # answered, NXDOMAIN, one question
_PACKET: Final = 4096
_END_S: Final = 5.0


class Names:
    """The server, in a thread of its own, on a port that the kernel chooses."""

    def __init__(self) -> None:
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
                self._socket.sendto(asked[:2] + _NO_SUCH_NAME + question, peer)
