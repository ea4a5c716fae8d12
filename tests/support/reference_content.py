"""What comes over the wire after 354, read byte by byte: slow, plain, and the measure of the reader that is used (RFC 5321 §4.5.2)."""

from dataclasses import dataclass, field

from postroom.inbound.content import ContentFault


@dataclass
class Reference:
    """Takes bytes until the end came; then `content`, `faults`, `has_bare_newline` and `rest` say what it was."""

    most_bytes: int
    most_line: int
    most_hops: int
    content: bytearray = field(default_factory=bytearray)
    rest: bytearray = field(default_factory=bytearray)
    faults: set[ContentFault] = field(default_factory=set)
    has_bare_newline: bool = False
    has_ended: bool = False
    _raw: bytearray = field(default_factory=bytearray)
    _has_cr: bool = False

    def feed(self, arrived: bytes) -> None:
        """One byte after the other."""
        for byte in arrived:
            if self.has_ended:
                self.rest.append(byte)
            else:
                self._take(byte)

    def _take(self, byte: int) -> None:
        """A line ends with CR and LF, with nothing else; all else is in the line."""
        if self._has_cr and byte == 0x0A:
            self._has_cr = False
            self._end_line()
            return
        if self._has_cr:
            self._raw.append(0x0D)
        self._has_cr = byte == 0x0D
        if not self._has_cr:
            self._raw.append(byte)

    def _end_line(self) -> None:
        raw, self._raw = bytes(self._raw), bytearray()
        if raw == b".":
            self._end()
            return
        if max(map(len, _apart(raw))) > self.most_line:
            self.faults.add(ContentFault.LINE_LONG)
        shown = _apart(raw.removeprefix(b"."))
        self.has_bare_newline |= len(shown) > 1
        for line in shown:
            self.content += line + b"\r\n"

    def _end(self) -> None:
        self.has_ended = True
        if len(self.content) > self.most_bytes:
            self.faults.add(ContentFault.TOO_BIG)
        hops = 0
        for line in bytes(self.content).split(b"\r\n")[:-1]:
            if not line:
                break
            name, colon, _ = line.partition(b":")
            hops += bool(colon) and name.rstrip(b" \t").lower() == b"received"
        if hops > self.most_hops:
            self.faults.add(ContentFault.LOOP)


def _apart(raw: bytes) -> list[bytes]:
    """The lines that lone CRs and LFs make of one; there is no CR LF in it."""
    return raw.replace(b"\r", b"\n").split(b"\n")
