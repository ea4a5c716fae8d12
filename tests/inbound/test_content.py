"""The content between 354 and the final dot: nothing ends it but the one true end, and nothing of it is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.content import ContentFault, ContentReader
from support.reference_content import Reference


def _read(
    *pieces: bytes, size: int = 1 << 20, line: int = 1 << 16, hops: int = 50
) -> tuple[bytes, ContentReader]:
    reader = ContentReader(size, line, hops)
    return b"".join(map(reader.feed, pieces)), reader


def _cut(whole: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(whole) + 1) for place in places} | {len(whole)})
    return [whole[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


LINES = st.lists(st.sampled_from([b"", b".", b"..", b"a", b".a", b"a.", b"\xff\x00"]), max_size=8)
BYTES = st.lists(
    st.sampled_from([b"\r", b"\n", b".", b"a", b"\r\n", b"\r\n.", b"MAIL"]), max_size=24
)
PLACES = st.lists(st.integers(0, 200), max_size=12)


@given(lines=LINES, rest=st.binary(max_size=9), places=PLACES)
def test_what_was_stuffed_comes_out_as_it_was_however_it_is_cut(
    lines: list[bytes], rest: bytes, places: list[int]
) -> None:
    content = b"".join(line + b"\r\n" for line in lines)
    stuffed = re.sub(rb"(?m)^\.", b"..", content)
    *pieces, last = _cut(stuffed + b".\r\n", places)
    got, reader = _read(*pieces, last + rest)
    assert got == content
    assert reader.has_ended()
    assert reader.size_bytes == len(content)
    assert reader.rest == rest
    assert not reader.has_bare_newline


@given(parts=BYTES, places=PLACES, line=st.sampled_from([12, 1 << 16]))
def test_every_cut_gives_the_same(parts: list[bytes], places: list[int], line: int) -> None:
    whole = b"".join(parts) + b"\r\n.\r\n"
    end = (
        (b"\r\n" + whole).find(b"\r\n.\r\n") - 2 + 5
    )  # where it ends is where the first true end is
    once, first = _read(whole, line=line)
    cut, second = _read(*_cut(whole[:end], places), line=line)
    assert first.has_ended()
    assert second.has_ended()
    assert first.rest == whole[end:]
    if first.fault is None and second.fault is None:
        assert (once, first.has_bare_newline) == (cut, second.has_bare_newline)


WORDS = st.lists(
    st.one_of(
        st.sampled_from([b"\r", b"\n", b".", b"\r\n", b"\r\n.", b"\r\n..", b"Received: x", b"\0"]),
        st.sampled_from([b"plain words\r\n" * 9, b".\r\n.", b"\n.\r\n", b"\r.\r", b"\xe9\xff"]),
        st.binary(max_size=20),
    ),
    max_size=30,
)


@given(
    parts=WORDS,
    places=st.lists(st.integers(0, 3_000), max_size=40),
    name=st.sampled_from(["wide", "narrow"]),
)
def test_anything_cut_anywhere_is_what_a_reader_of_single_bytes_makes_of_it(
    parts: list[bytes], places: list[int], name: str
) -> None:
    whole = b"".join(parts) + b"\r\n.\r\nQUIT\r\n"
    bounds = BOUNDS[name]
    reference = Reference(*bounds)
    reference.feed(whole)
    reader = ContentReader(*bounds)
    given_out, left = [], list(_cut(whole, places))
    while not reader.has_ended():
        given_out.append(reader.feed(left.pop(0)))
    assert reader.rest + b"".join(left) == reference.rest
    assert reader.fault in (reference.faults or {None})
    if not reference.faults:
        assert b"".join(given_out) == reference.content
        assert reader.size_bytes == len(reference.content)
        assert reader.has_bare_newline == reference.has_bare_newline


@given(parts=BYTES)
def test_no_line_end_but_a_true_one_comes_out(parts: list[bytes]) -> None:
    got, _ = _read(b"".join(parts) + b"\r\n.\r\n")
    assert re.search(rb"\r(?!\n)|(?<!\r)\n", got) is None


@pytest.mark.parametrize(
    "end",
    [
        b"\n.\n",
        b"\n.\r\n",
        b"\r\n.\n",
        b"\r.\r",
        b"\r\n.\r",
        b"\r.\r\n",
        b"\n.\r",
        b"\r\r\n.\r\r\n",
        b"\r\n\x00.\r\n",
    ],
)
def test_what_others_take_for_the_end_is_content(end: bytes) -> None:
    smuggled = b"MAIL FROM:<a@example.net>\r\n"
    got, reader = _read(b"x" + end + smuggled)
    assert not reader.has_ended()
    more = reader.feed(b"\r\n.\r\n")
    assert reader.has_ended()
    assert b"MAIL FROM" in got + more


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_line_of_64_kib_is_taken_and_a_longer_one_is_not(step: int) -> None:
    limit = 1 << 16
    for length, fault in ((limit, None), (limit + 1, ContentFault.LINE_LONG)):
        whole = b"x" * length + b"\r\nmore\r\n.\r\nQUIT\r\n"
        pieces = [whole[at : at + 997 * step] for at in range(0, len(whole), 997 * step)]
        got, reader = _read(*pieces)
        assert reader.fault is fault
        assert reader.has_ended()
        assert len(got) == (0 if fault else length + 8)


@pytest.mark.parametrize("step", [999, 70_000, 1 << 20])
def test_a_large_mail_with_lone_line_feeds_throughout_is_made_right(step: int) -> None:
    whole = b"Subject: x\n\n" + b".a line\n.\n" * 20_000 + b".\r\nno end\r\n.\r\n"
    got, reader = _read(*(whole[at : at + step] for at in range(0, len(whole), step)))
    assert reader.fault is None
    assert reader.has_bare_newline
    assert got == whole[:-3].replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    assert len(got) == reader.size_bytes


def test_a_line_without_end_takes_no_memory() -> None:
    reader = ContentReader(1 << 30, 1 << 16, 50)
    for _ in range(100):
        assert reader.feed(b"x" * 100_000) == b""
        assert len(reader._held) <= 1 << 18
    assert reader.fault is ContentFault.LINE_LONG
    assert reader.feed(b"\r\n.\r\n") == b""
    assert reader.has_ended()


def test_more_than_was_allowed_is_too_big() -> None:
    got, reader = _read(b"a\r\n" * 10, b"b\r\n" * 10, b".\r\n", size=40)
    assert reader.fault is ContentFault.TOO_BIG
    assert len(got) <= 40
    assert reader.has_ended()


@pytest.mark.parametrize(("count", "fault"), [(50, None), (51, ContentFault.LOOP)])
@pytest.mark.parametrize("step", [1, 11, 10_000])
def test_fifty_servers_are_a_long_way_and_one_more_is_a_loop(
    count: int, fault: ContentFault | None, step: int
) -> None:
    head = b"".join(b"ReCeived: by mx%d\r\n\tfor you\r\n" % n for n in range(count))
    whole = head + b"Subject: x\r\n\r\nReceived: in the body\r\n.\r\n"
    _, reader = _read(*(whole[at : at + step] for at in range(0, len(whole), step)))
    assert reader.fault is fault


WIRES = {
    "a mail": b"Subject: x\r\n\r\n..a\r\n.b\r\n.\r\nQUIT\r\n",
    "nothing": b".\r\nRSET\r\n",
    "nothing but line ends": b"\r\n\r\n.\r\n",
    "dots": b"..\r\n...\r\n.a.\r\n.\r\n.\r\n",
    "ends that are none": b"a\n.\nb\n.\r\nc\r\n.\nd\r.\re\r\n.\rf\r.\r\ng\r\r\n.\r\r\n\r\n.\r\nQUIT\r\n",
    "carriage returns": b"\r\r\r\n\r\r\n.\r\n\r.\r\n",
    "line feeds": b"\n\n\r\n\n.\n\r\n.\r\n",
    "a second mail behind": b"a\r\n.\r\nMAIL FROM:<b@example.net>\r\n.\r\n",
    "NUL and eight bits": b"\x00.\r\n\xff\r\n.\x00\r\n.\r\n",
    "a line as long as may be": b"abcdefghijkl\r\nx\r\n.\r\n",
    "a line that is longer": b"abcdefghijklm\r\nx\r\n.\r\n",
    "a stuffed line as long as may be": b".abcdefghijk\r\n.\r\n",
    "a stuffed line that is longer": b"..abcdefghijkl\r\n.\r\n",
    "long, but for lone line feeds": b"abcdefgh\nijklmnop\nqrstuvwx\n\r\n.\r\n",
    "long, but for lone carriage returns": b"abcdefgh\rijklmnop\rqrstuvwx\r\r\n.\r\n",
    "long, but for both": b"abcdefgh\r\rijklmnop\n\rqrstuvwx\n\n\r\r\n.\r\n",
    "the same behind a true end": b"abc\r\n.\ndefgh\r\rijklmnop\n\rqrs\r\ntuvwx\n\n\r\r\n.\r\n",
    "no dot but that of the end": b"a\r\nb\nc\rd\r\r\n\n\r\r\ne\r\n.\r\n",
    "a dot in one line of many": b"a.\r\nb\r\n..c\r\nd.e\r\n\r\nf\r\n.\r\n",
    "hops": b"Received: a\r\n b\r\nreceived : c\r\nRECEIVED:d\r\n\r\nx\r\n.\r\n",
    "hops behind lone ends": b"Received:a\nReceived:b\rReceived:c\r\n\r\n.\r\n",
    "hops behind the header": b"A: b\r\n\r\nReceived: a\r\nReceived: a\r\nReceived: a\r\n.\r\n",
    "hops behind no header": b"\r\nReceived: a\r\nReceived: a\r\nReceived: a\r\n.\r\n",
    "as large as may be": b"12345678\r\n" * 6 + b".\r\n",
    "larger": b"12345678\r\n" * 6 + b"x\r\n.\r\n",
}
BOUNDS = {"wide": (1 << 20, 1 << 16, 50), "narrow": (60, 12, 2)}


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_cut_anywhere_it_is_what_a_reader_of_single_bytes_makes_of_it(
    wire: bytes, bounds: tuple[int, int, int]
) -> None:
    reference = Reference(*bounds)
    reference.feed(wire)
    assert reference.has_ended
    two = [[first] for first in range(len(wire) + 1)]
    three = [[first, second] for first in range(len(wire)) for second in range(first, len(wire))]
    for places in (*two, *three, list(range(len(wire)))):
        ends = [*places, len(wire)]
        reader = ContentReader(*bounds)
        given, at = [], 0
        for end in ends:
            if reader.has_ended():
                break
            given.append(reader.feed(wire[at:end]))
            at = end
        assert reader.has_ended(), places
        assert reader.rest + wire[at:] == reference.rest, places
        assert reader.fault in (reference.faults or {None}), places
        if not reference.faults:
            assert b"".join(given) == reference.content, places
            assert reader.has_bare_newline == reference.has_bare_newline, places


def test_an_empty_mail_is_one() -> None:
    got, reader = _read(b".\r\nQUIT\r\n")
    assert (got, reader.rest) == (b"", b"QUIT\r\n")
