"""Clients that take their time: on the daemon's socket and at its listener, all poked by one thread.

Some say their words one by one, some bring a large body in drips, some ask for much and read nothing of it. Who is
hung up on comes again.
"""

import select
import socket
import threading
from contextlib import contextmanager, suppress


DRIP = b"A line of a mail that takes its time.\r\n" * 16  # more a second than the listener's least
FLOOD = b"A line of a large mail.\r\n" * 40_000  # what has come before it gets slow: 1 MB
MUCH = 20  # lists of 100 asked for at once
MAIL = (b"EHLO slow.test\r\n", b"MAIL FROM:<a@slow.test>\r\n", b"RCPT TO:<bench@example.com>\r\n")


class Client:
    """One connection; `words` are said one a second, and then `drip` for ever."""

    def __init__(self, dial, words, drip):
        self.dial, self.words, self.drip = dial, words, drip
        self.sock = None
        self.left = b""

    def poke(self):
        try:
            if self.sock is None:
                self.sock = self.dial()
                self.sock.settimeout(0)
                self.coming = list(self.words)
            self.left = self.left or (self.coming.pop(0) if self.coming else self.drip)
            self.left = self.left[self.sock.send(self.left) :]
        except BlockingIOError:
            return
        except OSError:
            self.hang_up()

    def hang_up(self):
        with suppress(OSError):
            if self.sock is not None:
                self.sock.close()
        self.sock, self.left = None, b""


def _smtp(port, number):
    """From an address of its own for each five: an address may open ten."""
    return lambda: socket.create_connection(
        ("127.0.0.1", port), 5, source_address=(f"127.0.1.{1 + number // 5}", 0)
    )


def _api(path):
    def dial():
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(5)
        sock.connect(path)
        return sock

    return dial


def clients(path, port, count):
    """So many, a quarter of each kind."""
    post = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n{"
    ask = b"GET /v1/jobs?limit=100 HTTP/1.1\r\nHost: x\r\n\r\n"
    for number in range(0, count, 4):
        yield Client(_api(path), [post + FLOOD[:1_000_000]], b" ")
        yield Client(_api(path), [ask * MUCH], b"")
        yield Client(_smtp(port, number // 2), [bytes([octet]) for octet in b"EHLO slow"], b"w")
        yield Client(_smtp(port, number // 2 + 1), [*MAIL, b"DATA\r\n", FLOOD], DRIP)


@contextmanager
def slow_clients(path, port, count):
    """They are there until the end of the block; the value says how many are connected."""
    all_of_them = list(clients(path, port, count))
    is_over = threading.Event()

    def poke():
        while not is_over.wait(1):
            for client in all_of_them:
                client.poke()

    thread = threading.Thread(target=poke)
    thread.start()
    try:
        yield lambda: sum(_is_open(one.sock) for one in all_of_them)
    finally:
        is_over.set()
        thread.join()
        for client in all_of_them:
            client.hang_up()


def _is_open(sock):
    if sock is None:
        return False
    poll = select.poll()
    with suppress(OSError, ValueError):
        poll.register(sock, select.POLLRDHUP)
        return not poll.poll(0)
    return False
