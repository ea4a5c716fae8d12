"""DKIM keys and signatures for tests: RSA keys of our own making, signed with dkimpy, or by hand where it can not."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import dkim
from dkim.canonicalization import Relaxed
from dkim.crypto import RSASSA_PKCS1_v1_5_sign, parse_pem_private_key


EXPONENT = 65537
_RSA = bytes.fromhex("06092a864886f70d0101010500")


@dataclass(frozen=True)
class Key:
    pem: bytes
    public: str

    @property
    def record(self) -> str:
        return f"v=DKIM1; k=rsa; p={self.public}"


@cache
def make_key(bits: int, name: str = "one") -> Key:
    """A key of so many bits, always the same for a name."""
    p, q = _prime(bits // 2, f"{name} p"), _prime(bits // 2, f"{name} q")
    private = pow(EXPONENT, -1, (p - 1) * (q - 1))
    numbers = (0, p * q, EXPONENT, private, p, q)
    extra = (private % (p - 1), private % (q - 1), pow(q, -1, p))
    text = base64.encodebytes(_sequence(*map(_integer, numbers + extra)))
    pem = b"-----BEGIN RSA PRIVATE KEY-----\n" + text + b"-----END RSA PRIVATE KEY-----\n"
    return Key(pem, public_key(p * q))


def public_key(modulus: int, exponent: int = EXPONENT) -> str:
    """A key record's `p=`: SubjectPublicKeyInfo in base64."""
    key = _sequence(_integer(modulus), _integer(exponent))
    info = _sequence(_der(0x30, _RSA), _der(0x03, b"\0" + key))
    return base64.b64encode(info).decode()


def sign(
    mail: bytes,
    domain: str,
    *,
    key: Key | None = None,
    selector: str = "s1",
    headers: tuple[str, ...] = ("from", "to", "subject", "date"),
    **options: object,
) -> bytes:
    """The mail with dkimpy's signature on top."""
    field = dkim.sign(
        mail,
        selector.encode(),
        domain.encode(),
        (key or make_key(1024)).pem,
        include_headers=[one.encode() for one in headers],
        **options,
    )
    return field + mail


def sign_by_hand(mail: bytes, tags: Mapping[str, str], key: Key | None = None) -> bytes:
    """The mail with a relaxed signature that has these tags; `bh` is made where it is not among them."""
    head, _, body = mail.partition(b"\r\n\r\n")
    digest = base64.b64encode(hashlib.sha256(Relaxed.canonicalize_body(body)).digest()).decode()
    written = {"v": "1", "a": "rsa-sha256", "c": "relaxed/relaxed", "bh": digest, **tags, "b": ""}
    value = "; ".join(f"{name}={text}" for name, text in written.items())
    fields = [tuple(line.split(b":", 1)) for line in head.replace(b"\r\n ", b" ").split(b"\r\n")]
    hasher = hashlib.sha256()
    for name in tags["h"].lower().split(":"):
        found = next((one for one in reversed(fields) if one[0].lower() == name.encode()), None)
        if found is not None:
            fields.remove(found)
            hasher.update(b":".join(Relaxed.canonicalize_headers([found])[0]))
    own = Relaxed.canonicalize_headers([(b"DKIM-Signature", b" " + value.encode())])[0]
    hasher.update(b":".join(own).rstrip())
    private = parse_pem_private_key((key or make_key(1024)).pem)
    signature = base64.b64encode(bytes(RSASSA_PKCS1_v1_5_sign(hasher, private))).decode()
    return f"DKIM-Signature: {value}{signature}\r\n".encode() + mail


def _prime(bits: int, name: str) -> int:
    seed = hashlib.shake_256(name.encode()).digest(bits // 8)
    candidate = int.from_bytes(seed) | 3 << (bits - 2) | 1
    while candidate % EXPONENT == 1 or not _is_prime(candidate):
        candidate += 2
    return candidate


def _is_prime(number: int) -> bool:
    if any(number % small == 0 for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)):
        return False
    return all(pow(base, number - 1, number) == 1 for base in (2, 3, 5))


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1))


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, b"".join(parts))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(length))) + length + content
