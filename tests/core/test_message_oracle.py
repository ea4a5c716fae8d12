"""Our bytes against `EmailMessage(policy=SMTP)`: what goes in is what a reader gets."""

import re
from email.utils import collapse_rfc2231_value

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.mailbox import Mailbox
from postroom.core.message import head, reply_to_of, shared_head
from support.mail import SUPPORT, attached, job, parsed, wire


LINE = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029"), max_size=200
)
WIDE = st.one_of(LINE, st.text('ab =?_<>"\\,;:()é€😀', max_size=300))
BODY = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=3_000)
LINES = st.lists(st.text("a =.\té\n\r-_F", max_size=120), max_size=40).map("\r\n".join)
LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(
    lambda one: one[2:4] != "--" and not one.isdigit()
)
LOCAL = st.from_regex(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,12}(\.[a-z]{1,8})?", fullmatch=True)
ADDRESS = st.builds(
    lambda local, labels: f"{local}@{'.'.join(labels)}",
    LOCAL,
    st.lists(LABEL, min_size=1, max_size=3),
)
PARTY = st.builds(
    lambda address, name: {"address": address, "name": name},
    ADDRESS,
    WIDE.filter(lambda name: len(name) <= 256),
)
PARTIES = st.lists(PARTY, min_size=1, max_size=6, unique_by=lambda one: one["address"].lower())
# The oracle strips names.
NAME = (
    st.one_of(LINE, st.text("ab .é€😀%'", min_size=1, max_size=255))
    .map(str.strip)
    .filter(
        lambda one: 0 < len(one) <= 255 and "/" not in one and "\\" not in one and one.strip(". ")
    )
    # The standard library's reader takes quotes and angle brackets off a name that it has already decoded.
    .filter(lambda one: one == collapse_rfc2231_value(one))
)
VALUE = WIDE.filter(lambda one: all(len(word) <= 900 for word in one.split(" ")))
HEADERS = st.dictionaries(
    st.from_regex(r"X-[A-Za-z0-9]{1,20}", fullmatch=True).filter(
        lambda one: not one.lower().startswith("x-postroom")
    ),
    VALUE,
    max_size=4,
).filter(lambda found: len({name.lower() for name in found}) == len(found))


def lines_of(text: str) -> str:
    """The text as mail keeps it: any line end is one, and there is one at the end."""
    kept = re.sub("\r\n|\r|\n", "\n", text)
    return kept if kept.endswith("\n") else kept + "\n"


def is_name(found: str, given: str) -> bool:
    """Whether a display name arrived, as far as the oracle can tell: it keeps the space between encoded words (RFC 2047 §6.2)."""
    if len(given.encode()) > 20:
        return "".join(found.split()) == "".join(given.split())
    return found == " ".join(given.split())


def is_clean(message: bytes) -> bool:
    """Whether these bytes may go to any relay: short lines that end in CRLF, 7 bits, no NUL, CR or LF by itself."""
    lines = message.split(b"\r\n")
    return (
        message.endswith(b"\r\n")
        and message.isascii()
        and max(map(len, lines)) <= 998
        and not re.search(rb"[\r\n\0]", b"".join(lines))
    )


@given(WIDE)
def test_a_subject_arrives_as_it_was_given(subject: str) -> None:
    message = wire(job(subject=subject))
    assert is_clean(message)
    assert parsed(message)["Subject"] == subject


@given(st.text("abc é", min_size=70, max_size=1_000))
def test_a_long_subject_is_folded(subject: str) -> None:
    message = wire(job(subject=subject.strip()))
    assert parsed(message)["Subject"] == subject.strip()
    head = message.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert all(len(line) <= 78 or b" " not in line.partition(b": ")[2] for line in head)


@given(PARTIES, PARTIES)
def test_addresses_and_display_names_arrive(
    to: list[dict[str, str]], cc: list[dict[str, str]]
) -> None:
    seen = {one["address"].lower() for one in to}
    cc = [one for one in cc if one["address"].lower() not in seen]
    message = wire(job(to=to, cc=cc, copies="conversation"))
    assert is_clean(message)
    found = parsed(message)
    for name, parties in (("To", to), ("Cc", cc)):
        addresses = found[name].addresses if found[name] is not None else ()
        assert [one.addr_spec.lower() for one in addresses] == [
            one["address"].lower() for one in parties
        ]
        for one, party in zip(addresses, parties, strict=True):
            assert is_name(one.display_name, party["name"])


@given(st.one_of(BODY, LINES), st.one_of(BODY, LINES))
def test_text_and_html_arrive(text: str, html: str) -> None:
    message = wire(job(text=text, html=html))
    assert is_clean(message)
    found = parsed(message)
    parts = {
        part.get_content_type(): part.get_content()
        for part in found.walk()
        if not part.is_multipart()
    }
    assert found.get_content_type() == "multipart/alternative"
    assert lines_of(parts["text/plain"]) == lines_of(text)
    assert lines_of(parts["text/html"]) == lines_of(html)


@given(st.one_of(BODY, LINES))
def test_text_alone_arrives(text: str) -> None:
    message = wire(job(text=text))
    assert is_clean(message)
    assert parsed(message).get_content().replace("\r\n", "\n") == lines_of(text)


@given(
    st.lists(st.tuples(NAME, st.binary(max_size=400)), min_size=1, max_size=5),
    st.sampled_from([None, "<p>x</p>"]),
)
def test_attachments_arrive_with_their_names_and_bytes(
    files: list[tuple[str, bytes]], html: str | None
) -> None:
    contents = {attached(name, content): content for name, content in files}
    message = wire(job(html=html), contents)
    assert is_clean(message)
    found = parsed(message)
    assert found.get_content_type() == "multipart/mixed"
    assert [
        (one.get_filename(), one.get_payload(decode=True)) for one in found.iter_attachments()
    ] == [(file.filename, content) for file, content in contents.items()]


@given(HEADERS)
def test_the_callers_headers_arrive(headers: dict[str, str]) -> None:
    message = wire(job(headers=headers))
    assert is_clean(message)
    found = parsed(message)
    assert {name: str(found[name]) for name in headers} == headers


@given(st.text("jöéñ", min_size=1, max_size=20), WIDE.filter(lambda name: len(name) <= 256))
def test_an_international_local_part_goes_raw(local: str, name: str) -> None:
    message = wire(job(to=[{"address": f"{local}ö@bücher.example", "name": name}]))
    line = next(
        one for one in message.replace(b"\r\n ", b" ").split(b"\r\n") if one.startswith(b"To: ")
    )
    assert line.endswith(f"{local}ö@xn--bcher-kva.example".encode() + b">" * bool(name.split()))


@given(WIDE.filter(lambda name: len(name) <= 256))
def test_the_mailboxes_own_name_arrives(name: str) -> None:
    name = " ".join(name.split())
    message = wire(job(), mailbox=Mailbox("support", "support@example.com", name, "main"))
    assert is_clean(message)
    (sender,) = parsed(message)["From"].addresses
    assert sender.addr_spec == "support@example.com"
    assert is_name(sender.display_name, name)


@given(PARTIES, HEADERS, WIDE)
def test_where_answers_go_is_read_from_the_head_as_it_was_written(
    parties: list[dict[str, str]], headers: dict[str, str], subject: str
) -> None:
    asked = job(reply_to=parties, headers=headers, subject=subject[:900] or "x")
    made = shared_head(asked, SUPPORT)
    written = head(made, asked.recipients[0].address, message_id="<1@x.example>", delivery_id="d")
    assert list(reply_to_of(written)) == [one.address for one in asked.reply_to]
