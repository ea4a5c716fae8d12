"""A relay that takes everything and keeps nothing: `python -m benchmarks.sink PORT DELAY_MS [mute]` (port 0 = any; it is printed).

It answers each group of commands DELAY_MS later, which stands for the network's round trip. Two commands of its own:
`XCOUNT` tells how many messages it has taken; `XSEEN name` when, on the monotonic clock, it first saw the recipient
`t-name@…` (0 = not yet). With `mute` it says nothing more behind the final dot, and to every fourth connection nothing
to its EHLO; `XOPEN` tells how many are open.
"""

import asyncio
import sys
import time

import uvloop


END = b"\r\n.\r\n"
TIMED = b"RCPT TO:<T-"  # commands are read in capitals


class Sink(asyncio.Protocol):
    """One connection."""

    taken = 0
    delay_s = 0.0
    seen: dict[bytes, float] = {}  # noqa: RUF012 - shared by all connections

    opened = 0

    def connection_made(self, transport):
        Sink.opened += 1
        self.transport = transport
        self.buffer = bytearray()
        self.is_content = False
        self.searched = 0
        self.say(b"220 sink.test ESMTP\r\n")

    def connection_lost(self, error):
        Sink.opened -= 1

    def say(self, replies):
        if self.delay_s:
            asyncio.get_running_loop().call_later(self.delay_s, self.transport.write, replies)
        else:
            self.transport.write(replies)

    def data_received(self, data):
        self.buffer += data
        replies = []
        while (reply := self.take_content() if self.is_content else self.take_line()) is not None:
            replies.append(reply)
        if replies:
            self.say(b"".join(replies))

    def take_content(self):
        end = self.buffer.find(END, max(0, self.searched - len(END)))
        if end < 0:
            self.searched = len(self.buffer)
            return None
        del self.buffer[: end + len(END)]
        self.is_content = False
        self.searched = 0
        Sink.taken += 1
        return b"250 2.0.0 Ok: queued as %d\r\n" % Sink.taken

    def take_line(self):
        end = self.buffer.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self.buffer[:end]).upper()
        del self.buffer[: end + 2]
        return self.answer(line)

    def answer(self, line):
        if line.startswith(b"EHLO"):
            return b"250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 104857600\r\n"
        if line.startswith(TIMED):
            self.seen.setdefault(line[len(TIMED) :].partition(b"@")[0], time.monotonic())
        if line == b"DATA":
            self.is_content = True
            return b"354 go on\r\n"
        if line == b"QUIT":
            asyncio.get_running_loop().call_later(self.delay_s + 0.01, self.transport.close)
            return b"221 2.0.0 bye\r\n"
        if line == b"XCOUNT":
            return b"250 %d\r\n" % Sink.taken
        if line == b"XOPEN":
            return b"250 %d\r\n" % (Sink.opened - 1)  # who asks is no client
        if line.startswith(b"XSEEN "):
            return b"250 %.6f\r\n" % self.seen.get(line[6:], 0)
        return b"250 2.1.0 Ok\r\n"


class Mute(Sink):
    """One connection to a relay that hangs."""

    made = 0

    def connection_made(self, transport):
        super().connection_made(transport)
        Mute.made += 1
        self.is_deaf = Mute.made % 4 == 0

    def take_content(self):
        return None if super().take_content() is None else b""

    def answer(self, line):
        return b"" if self.is_deaf and line.startswith(b"EHLO") else super().answer(line)


async def main(port, delay_ms, kind=Sink):
    Sink.delay_s = delay_ms / 1000
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    given = sys.argv[1:]
    uvloop.run(main(int(given[0]), float(given[1]), Mute if given[2:] == ["mute"] else Sink))
