"""What the processes of the tests said, searched for what nobody may read there.

A secret may stand in no output at all; what callers and strangers wrote may not stand in a log, though a command shows it
to whoever asks. `support.hearing` hands in all output of a run of the tests and fails it.
"""

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from postroom.ops.tokenkeys import FILE


SECRETS = (  # passwords and keys in the settings of the tests; each begins like one of these
    "hunter2",
    "correct horse battery",
    "correct-horse-battery",
    "0123456789abcdef0123456789abcdef",
    "k" * 32,
)
WRITTEN = (  # in subjects, texts, names of people and of files, keys: what `support` puts there where a test says nothing
    "Subject-of-a-job",
    "text-of-a-job",
    "Your report",
    "Here it is.",
    "canary-in-a-header",
    "Subject-of-a-secret-merger",
    "body-of-the-merger",
    "merger-plan-final",
    "Answer-about-the-merger",
    "answer-in-confidence",
    "Alice Confidential",
    "key-of-the-merger",
    "Your secret salary",
    "a-secret-key",
)
TOKEN = re.compile(r"(?<![a-z2-7])[a-z2-7]{29}@")  # of a reply address: whoever has it, may write


@dataclass(frozen=True, slots=True)
class Leak:
    """Who said what in which line."""

    who: str
    what: str
    line: str

    def __str__(self) -> str:
        return f"{self.who}: {self.what!r} in: {self.line}"


class Ear:
    """Hears and remembers what leaked; nothing else of what it heard."""

    def __init__(self) -> None:
        self.leaks: list[Leak] = []

    def hear(self, who: str, text: str, secrets: Iterable[bytes] = ()) -> None:
        """Output of a command or a test; `secrets` are more than those that are known."""
        self._search(who, text, (*_FORMS, *(form for one in secrets for form in forms(one))))

    def hear_log(self, who: str, text: str, secrets: Iterable[bytes] = ()) -> None:
        """The log of a daemon."""
        self.hear(who, text, secrets)
        self._search(who, text, WRITTEN)
        for found in TOKEN.finditer(text):
            self.leaks.append(Leak(who, "a token", _line_at(text, found.start())))

    def _search(self, who: str, text: str, words: Iterable[str]) -> None:
        for word in words:
            at = text.find(word)
            if at >= 0:
                self.leaks.append(Leak(who, word, _line_at(text, at)))


def forms(secret: bytes) -> tuple[str, ...]:
    """A secret as it may stand in a text: in clear, in hex, in base64 wherever it begins there."""
    shifted = (base64.b64encode(b"\0" * ahead + secret).decode() for ahead in range(3))
    # The first characters depend on what is before it, the last ones on what is behind.
    encoded = (text[-(-ahead * 4 // 3) : -4] for ahead, text in enumerate(shifted))
    return (repr(secret)[2:-1], secret.hex(), *encoded)


def keys_of(folder: Path) -> list[bytes]:
    """The keys of reply addresses that lie there."""
    return [key.read_bytes() for key in folder.rglob(FILE)]


_FORMS = tuple(form for secret in SECRETS for form in forms(secret.encode()))


def _line_at(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[begin : end if end >= 0 else None][:600]


EAR = Ear()
