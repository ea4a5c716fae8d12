"""A relay that takes everything and keeps nothing: `python -m benchmarks.sink PORT [DELAY_MS]`.

It answers each group of commands DELAY_MS later, which stands for the network's round trip. `XCOUNT` tells how many
messages it has taken.
"""

import asyncio
import sys


class Sink(asyncio.Protocol):
    """One connection."""

    taken = 0
    delay_s = 0.0

    def connection_made(self, transport):
        self.transport = transport
        self.buffer = bytearray()
        self.in_data = False
        self.say(b"220 sink.test ESMTP\r\n")

    def say(self, replies):
        if not self.delay_s:
            self.transport.write(replies)
            return
        asyncio.get_running_loop().call_later(self.delay_s, self.transport.write, replies)

    def data_received(self, data):
        self.buffer += data
        replies = []
        while True:
            if self.in_data:
                end = self.buffer.find(b"\r\n.\r\n", max(0, getattr(self, "seen", 0) - 5))
                if end < 0:
                    self.seen = len(self.buffer)
                    break
                del self.buffer[: end + 5]
                self.in_data = False
                self.seen = 0
                Sink.taken += 1
                replies.append(b"250 2.0.0 Ok: queued as %d\r\n" % Sink.taken)
                continue
            end = self.buffer.find(b"\r\n")
            if end < 0:
                break
            line = bytes(self.buffer[:end]).upper()
            del self.buffer[: end + 2]
            replies.append(self.answer(line))
        if replies:
            self.say(b"".join(replies))

    def answer(self, line):
        if line.startswith(b"EHLO"):
            return b"250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 104857600\r\n"
        if line == b"DATA":
            self.in_data = True
            return b"354 go on\r\n"
        if line == b"QUIT":
            asyncio.get_running_loop().call_later(self.delay_s + 0.01, self.transport.close)
            return b"221 2.0.0 bye\r\n"
        if line == b"XCOUNT":
            return b"250 %d\r\n" % Sink.taken
        return b"250 2.1.0 Ok\r\n"


async def main(port, delay_ms):
    Sink.delay_s = delay_ms / 1000
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.install()
    except ImportError:
        pass
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0))
