"""Reading the arguments of MAIL and RCPT (RFC 5321 §4.1.2, RFC 6531): a path in angle brackets, then parameters."""

import re
from dataclasses import dataclass
from typing import Final


_PATH: Final = re.compile(
    r"(?P<word>FROM|TO):[ ]?"
    r"<(?:@[^\s<>:]+:)?"  # a source route means nothing any more (RFC 5321 appendix C)
    r'(?P<spec>(?:"(?:[^"\\\x00-\x1f\x7f]|\\[ -~])*"|[^\s<>"()\[\]\\,;:@\x00-\x1f\x7f-\x9f\ud800-\udfff]+)'
    r"(?:@(?:[^\s<>\"()\[\]\\,;:@\x00-\x1f\x7f-\x9f\ud800-\udfff]+|\[[0-9A-Za-z.:-]+\]))?|)>"
    r"(?P<parameters>(?:[ ]+[!-~]+)*)[ ]*",
    re.IGNORECASE,
)
_LONGEST: Final = (
    512  # characters; RFC 5321 says 256, and mailing lists wrap whole addresses into one
)


@dataclass(frozen=True, slots=True)
class Path:
    """An address, '' = the null reverse-path, and parameters by name in capitals; one without a value has ''."""

    address: str
    parameters: dict[str, str]

    @property
    def needs_utf8(self) -> bool:
        """Whether RFC 6531 must have been agreed upon for it."""
        return not self.address.isascii()


def read_path(word: str, argument: str | None) -> Path | None:
    """What stands behind `FROM:` or `TO:`; None where it is not of the form."""
    found = _PATH.fullmatch(argument or "")
    if found is None or found["word"].upper() != word or len(found["spec"]) > _LONGEST:
        return None
    parameters = {}
    for text in found["parameters"].split():
        name, _, value = text.partition("=")
        parameters[name.upper()] = value
    return Path(found["spec"], parameters)
