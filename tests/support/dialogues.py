"""SMTP dialogues as text files, played against the real client on loopback.

A file, line by line (blank lines and `#` are for readers):

    relay: tls=starttls username=u password=p      the relay's settings (tls=none, nobody logs in); with tls=implicit
                                                   and server=clear the server does not speak TLS all the same
    timeouts: command=0.2 final=0.2                seconds, fields of Timeouts
    mail: recipient=b@b.example fill=300000 mark=stop
        one line for each mail that differs from the usual one: sender, recipient, content (escapes as in Python), fill
        (that many bytes of content), envid, size, mark = go | stop | error | lost (go, once the connection is gone)
    connection                                     what follows is the server's side of the next connection
    S: 250 ok                                      it writes this line; lines in a row leave in one write
    C: RSET                                        it must read exactly this line
    ! hello PIPELINING SIZE 1000                   greeting, EHLO and this answer
    ! envelope                                     MAIL, RCPT and DATA of the usual mail in clear form
    ! content                                      it must read the mail's content
    ! early 1000                                   it reads so many bytes of the content
    ! raw 250 ok\\r\\n250 stray\\r\\n                  it writes these bytes
    ! flood 250 9000                               it writes `250 ` and so many letters, and no end of the line
    ! drip 0.02 250 ok                             it writes this line, one byte each so many seconds
    ! repeat 9000 250-more\\r\\n                    it writes these bytes so many times
    ! tls | tls wrong | tls expired | tls strange | tls old
        it takes up TLS; its certificate is for another name, of last year, from somebody unknown, or its TLS is 1.1
    ! deaf 0.1 | drop | reset                      it reads nothing for a while; it closes the connection
    ! rest                                         it reads what comes until the client closes: never a terminator
    => stage=dot code=250 marked dotted reusable   how the next mail ended

Expected are exactly the flags named out of marked dotted stopped reusable unreached slow; code= is the reply's, text=
and enhanced= too; what is not named must not be there, but for text and enhanced. `fault=words` is a part of the fault,
to the end of the line. `=> unfit words`, `=> fault stage=auth code=535 fault=words` (no connection), `=> error ValueError`.
After its script the server takes QUIT and the end, and nothing else.
"""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Script:
    """A file, read."""

    settings: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    connections: list[list[tuple[str, str]]] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def setting(self, kind: str, number: int = 0) -> dict[str, str]:
        """The words of the line of this kind, of that number."""
        lines = self.settings.get(kind, [])
        return lines[number] if number < len(lines) else {}


def read_script(path: Path) -> Script:
    """The dialogue in a file."""
    script = Script()
    for line in path.read_text("utf-8").splitlines():
        kind, _, rest = line.partition(" ")
        match kind:
            case "relay:" | "timeouts:" | "mail:":
                script.settings.setdefault(kind, []).append(_pairs(rest))
            case "connection":
                script.connections.append([])
            case "S:" | "C:" | "!":
                script.connections[-1].append((kind, rest))
            case "=>":
                script.expected.append(rest)
            case _ if line.strip() and not line.startswith("#"):
                msg = f"{path.name}: {line}"
                raise ValueError(msg)
    return script


def _pairs(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


def agrees(expected: str, told: str) -> bool:
    """Whether what was told is what the file expects."""
    head, _, part = expected.partition(" fault=")
    told_head, _, fault = told.partition(" fault=")
    if expected.startswith("unfit"):
        return told.startswith("unfit") and expected.removeprefix("unfit ") in told
    if bool(part) != bool(fault) or part not in fault:
        return False
    wanted, _, wanted_text = head.partition(" text=")
    seen, _, text = told_head.partition(" text=")
    if wanted_text and wanted_text != text:
        return False
    loose = {word for word in seen.split() if word.startswith("enhanced=")}
    return set(wanted.split()) | loose == set(seen.split())
