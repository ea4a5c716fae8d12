"""How much a JSON document holds, told before it is decoded: millions of empty values would hold the event loop up.

Every value of a list or an object but the first has a comma before it that stands in no text. Where there are many
commas at all, those in texts are told apart, with a turn for the others between two pieces.
"""

from typing import Final

from postroom.ports.host import Clock


_PIECE: Final = 1 << 17  # bytes: a millisecond


async def has_more(body: bytes, most: int, clock: Clock) -> bool:
    """Whether more than `most` commas stand outside of texts."""
    if body.count(b",") <= most:
        return False
    # What is escaped ends no text.
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    found, is_inside = 0, False
    for start in range(0, len(plain), _PIECE):
        texts = plain[start : start + _PIECE].split(b'"')
        found += sum(one.count(b",") for one in texts[is_inside::2])
        if found > most:
            return True
        is_inside ^= len(texts) % 2 == 0
        await clock.sleep(0)
    return False
