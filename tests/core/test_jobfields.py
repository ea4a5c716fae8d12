"""Every row of the field table: its limit, and the pointer of its problem."""

from collections.abc import Iterator

import pytest

from postroom.core.faults import MOST_PROBLEMS
from postroom.core.ids import Kind, encode_id
from postroom.core.jobfields import read_job
from support.mail import NOW, problems, spec


THREAD = encode_id(Kind.THREAD, 7)
MANY = [f"r{n}@x.example" for n in range(1_001)]
ATTACHMENT = {"path": "/srv/a"}
WRONG: dict[str, tuple[dict[str, object], str]] = {
    "no mailbox": ({"mailbox_id": None}, "/mailbox_id"),
    "a number for a mailbox": ({"mailbox_id": 1}, "/mailbox_id"),
    "no recipient": ({"to": []}, "/to"),
    "no recipient field": ({"to": None}, "/to"),
    "recipients that are no list": ({"to": "ann@one.example"}, "/to"),
    "a recipient that is a number": ({"cc": [1]}, "/cc/0"),
    "a name without an address": ({"to": [{"name": "Ann"}]}, "/to/0/address"),
    "an unknown field of an address": ({"to": [{"address": "a@x.example", "x": 1}]}, "/to/0/x"),
    "a name with a line end": ({"to": [{"address": "a@x.example", "name": "a\nb"}]}, "/to/0/name"),
    "1,001 recipients": ({"bcc": MANY, "to": None}, "/bcc"),
    "1,001 recipients in two fields": ({"to": MANY[:1], "cc": MANY[1:]}, "/cc"),
    "no subject": ({"subject": None}, "/subject"),
    "a subject of 1,001": ({"subject": "x" * 1_001}, "/subject"),
    "a subject with a line end": ({"subject": "x\r\nBcc: x@x.example"}, "/subject"),
    "a subject with C1": ({"subject": "x\x85y"}, "/subject"),
    "a subject with half a pair": ({"subject": "\udc80"}, "/subject"),
    "no body": ({"text": None}, "/text"),
    "a text of 512 KiB and one": ({"text": "é" * 262_144 + "x"}, "/text"),
    "a text with NUL": ({"text": "a\0"}, "/text"),
    "a text with half a pair": ({"text": "\ud800"}, "/text"),
    "an html that is no string": ({"html": {}}, "/html"),
    "an html of 512 KiB and one": ({"html": "x" * 524_289}, "/html"),
    "unknown copies": ({"copies": "both"}, "/copies"),
    "a conversation of 101": ({"to": MANY[:101], "copies": "conversation"}, "/copies"),
    "a merged conversation": ({"copies": "conversation", "on_duplicate": "merge"}, "/copies"),
    "a thread for two personal copies": (
        {"to": MANY[:2], "copies": "individual", "thread_id": THREAD},
        "/copies",
    ),
    "a thread for a merge": ({"thread_id": THREAD, "on_duplicate": "merge"}, "/copies"),
    "a thread for 101": ({"thread_id": THREAD, "to": MANY[:101]}, "/copies"),
    "51 attachments": ({"attachments": [ATTACHMENT] * 51}, "/attachments"),
    "an attachment that is a string": ({"attachments": ["/srv/a"]}, "/attachments/0"),
    "an attachment of nothing": ({"attachments": [{}]}, "/attachments/0"),
    "an attachment of both": ({"attachments": [{"path": "/a", "ref": "att_1"}]}, "/attachments/0"),
    "a relative path": ({"attachments": [{"path": "a"}]}, "/attachments/0/path"),
    "a path with NUL": ({"attachments": [{"path": "/a\0"}]}, "/attachments/0/path"),
    "a ref with a slash": ({"attachments": [{"ref": "../x"}]}, "/attachments/0/ref"),
    "a pinned ref": ({"attachments": [{"ref": "att_1", "pin": True}]}, "/attachments/0/pin"),
    "a pin that is a word": ({"attachments": [{"path": "/a", "pin": "no"}]}, "/attachments/0/pin"),
    "an attachment by url": ({"attachments": [{"path": "/a", "url": "x"}]}, "/attachments/0/url"),
    "a filename with a directory": (
        {"attachments": [{**ATTACHMENT, "filename": "../x"}]},
        "/attachments/0/filename",
    ),
    "a filename of dots": (
        {"attachments": [{**ATTACHMENT, "filename": ".."}]},
        "/attachments/0/filename",
    ),
    "a filename of 256": (
        {"attachments": [{**ATTACHMENT, "filename": "x" * 256}]},
        "/attachments/0/filename",
    ),
    "a filename with a line end": (
        {"attachments": [{**ATTACHMENT, "filename": "a\nb"}]},
        "/attachments/0/filename",
    ),
    "a type that is none": (
        {"attachments": [{**ATTACHMENT, "content_type": "pdf"}]},
        "/attachments/0/content_type",
    ),
    "a type with a line end": (
        {"attachments": [{**ATTACHMENT, "content_type": 'a/b; c="\r\n"'}]},
        "/attachments/0/content_type",
    ),
    "a type beyond ASCII": (
        {"attachments": [{**ATTACHMENT, "content_type": 'text/csv; charset="é"'}]},
        "/attachments/0/content_type",
    ),
    "a type with a direction mark": (
        {"attachments": [{**ATTACHMENT, "content_type": 'text/csv; header="\u202e"'}]},
        "/attachments/0/content_type",
    ),
    "a multipart type": (
        {"attachments": [{**ATTACHMENT, "content_type": "Multipart/mixed"}]},
        "/attachments/0/content_type",
    ),
    "a message type": (
        {"attachments": [{**ATTACHMENT, "content_type": "message/rfc822"}]},
        "/attachments/0/content_type",
    ),
    "an inline that is a word": (
        {"attachments": [{**ATTACHMENT, "inline": 1}]},
        "/attachments/0/inline",
    ),
    "an id that is a number": (
        {"attachments": [{**ATTACHMENT, "content_id": 1}]},
        "/attachments/0/content_id",
    ),
    "an id with a space": (
        {"attachments": [{**ATTACHMENT, "content_id": "a b"}]},
        "/attachments/0/content_id",
    ),
    "an id with brackets inside": (
        {"attachments": [{**ATTACHMENT, "content_id": "a>b"}]},
        "/attachments/0/content_id",
    ),
    "headers that are a list": ({"headers": []}, "/headers"),
    "101 headers": ({"headers": {f"X-{n}": "" for n in range(101)}}, "/headers"),
    "headers over 16 KiB": ({"headers": {f"X-{n}": "ab " * 300 for n in range(20)}}, "/headers"),
    "a header that is a number": ({"headers": {"X-A": 1}}, "/headers/X-A"),
    "a header twice": ({"headers": {"X-A": "1", "x-a": "2"}}, "/headers/x-a"),
    "a header with a line end": ({"headers": {"X-A": "a\r\nBcc: x@x.example"}}, "/headers/X-A"),
    "a header name with a line end": ({"headers": {"X: y\r\nBcc": "x"}}, "/headers/X: y??Bcc"),
    "a header name with a slash": ({"headers": {"X/~A ": "x"}}, "/headers/X~1~0A "),
    "an empty header name": ({"headers": {"": "x"}}, "/headers/"),
    "a header word of 901": ({"headers": {"Keywords": "x" * 901}}, "/headers/Keywords"),
    "21 reply addresses": ({"reply_to": MANY[:21]}, "/reply_to"),
    "a display name of 257": (
        {"to": [{"address": "a@x.example", "name": "n" * 257}]},
        "/to/0/name",
    ),
    "a reply address that is none": ({"reply_to": ["x"]}, "/reply_to/0"),
    "metadata that is a word": ({"metadata": "x"}, "/metadata"),
    "51 metadata": ({"metadata": {f"{n}": "" for n in range(51)}}, "/metadata"),
    "a metadata name of 65": ({"metadata": {"x" * 65: ""}}, "/metadata/" + "x" * 65),
    "a metadata value of 1,025": ({"metadata": {"x": "y" * 1_025}}, "/metadata/x"),
    "a metadata value that is a number": ({"metadata": {"x": 1}}, "/metadata/x"),
    "a metadata value with NUL": ({"metadata": {"x": "\0"}}, "/metadata/x"),
    "an unknown priority": ({"priority": "urgent"}, "/priority"),
    "a priority that is a list": ({"priority": []}, "/priority"),
    "a thread that is a number": ({"thread_id": 7}, "/thread_id"),
    "a send_at that is none": ({"send_at": "tomorrow"}, "/send_at"),
    "a send_at without a zone": ({"send_at": "2026-11-30T07:00:00"}, "/send_at"),
    "a not_after that is a number": ({"not_after": 1}, "/not_after"),
    "a not_after before send_at": (
        {"send_at": "2026-12-01T00:00:00Z", "not_after": "2026-12-01T00:00:00Z"},
        "/not_after",
    ),
    "a conversation of 257": ({"conversation_id": "x" * 257}, "/conversation_id"),
    "two ways to a thread": ({"conversation_id": "x", "thread_id": THREAD}, "/conversation_id"),
    "a thread that is none": ({"thread_id": "job_0000000000001"}, "/thread_id"),
    "a trace of 129": ({"trace_id": "x" * 129}, "/trace_id"),
    "an empty trace": ({"trace_id": ""}, "/trace_id"),
    "a key of 257": ({"idempotency_key": "x" * 257}, "/idempotency_key"),
    "an empty key": ({"idempotency_key": ""}, "/idempotency_key"),
    "a key beyond ASCII": ({"idempotency_key": "é"}, "/idempotency_key"),
    "an unknown on_duplicate": ({"on_duplicate": "skip"}, "/on_duplicate"),
    "an unknown auto_submitted": ({"auto_submitted": "yes"}, "/auto_submitted"),
}


@pytest.mark.parametrize(("changes", "pointer"), WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_named(changes: dict[str, object], pointer: str) -> None:
    assert problems(**changes) == {pointer}


RIGHT: dict[str, dict[str, object]] = {
    "1,000 recipients": {"to": MANY[:500], "bcc": MANY[500:1_000]},
    "a conversation of 100": {"to": MANY[:100], "copies": "conversation"},
    "an empty subject": {"subject": ""},
    "a subject of 1,000": {"subject": "é" * 1_000},
    "an empty text": {"text": ""},
    "a text of 512 KiB": {"text": "é" * 262_144},
    "a text with form feeds and escapes": {"text": "\x1b[1mbold\x1b[0m\x0c\u2028"},
    "html alone": {"text": None, "html": "<p>x</p>"},
    "50 attachments": {"attachments": [ATTACHMENT] * 50},
    "a type with parameters": {
        "attachments": [{**ATTACHMENT, "content_type": 'text/csv; charset="utf-8"; header=present'}]
    },
    "100 headers": {"headers": {f"X-{n}": "x" for n in range(100)}},
    "a header of one long word": {"headers": {"X-A": "x" * 900}},
    "20 reply addresses": {"reply_to": MANY[:20]},
    "a display name of 256": {"to": [{"address": "a@x.example", "name": "n" * 256}]},
    "50 metadata": {"metadata": {f"{n:064}": "x" * 1_024 for n in range(50)}},
    "metadata with lines": {"metadata": {"x": "a\nb"}},
    "one personal copy in a thread": {"thread_id": THREAD, "copies": "individual"},
    "a key of 256": {"idempotency_key": "~ " * 128},
    "a trace of 128": {"trace_id": "é" * 128},
    "a not_after that is past": {"not_after": "2020-01-01T00:00:00Z"},
    "names of 256": {"mailbox_id": "é" * 256, "conversation_id": "x" * 256},
}


@pytest.mark.parametrize("changes", RIGHT.values(), ids=RIGHT)
def test_a_limit_itself_is_accepted(changes: dict[str, object]) -> None:
    assert problems(**changes) == set()


@pytest.mark.parametrize(
    "name",
    [
        "template",
        "approval",
        "expect_reply_by",
        "colour",
        "",
    ],
)
def test_what_is_not_built_is_unknown(name: str) -> None:
    (problem,) = read_job({**spec(), name: None}, now=NOW)  # type: ignore[misc]
    assert (problem.pointer, problem.code) == (f"/{name}", "unknown_field")


@pytest.mark.parametrize(
    "name",
    [
        "From",
        "sender",
        "To",
        "CC",
        "Bcc",
        "Date",
        "Message-ID",
        "Received",
        "Return-Path",
        "MIME-Version",
        "Content-Type",
        "content-anything",
        "DKIM-Signature",
        "Authentication-Results",
        "In-Reply-To",
        "References",
        "Subject",
        "Reply-To",
        "Auto-Submitted",
        "Resent-Bcc",
        "X-Postroom-Delivery",
    ],
)
def test_a_header_that_is_ours_is_refused(name: str) -> None:
    assert problems(headers={name: "x"}) == {f"/headers/{name}"}


class Watched(dict[str, object]):
    """Counts the fields that were looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.looked_at += 1
            yield name


@pytest.mark.parametrize("place", ["the job", "an attachment"])
def test_of_a_megabyte_of_unknown_fields_no_more_are_looked_at_than_are_told(place: str) -> None:
    many = Watched({f"k{number}": 1 for number in range(50_000)})
    found = read_job(many if place == "the job" else {"attachments": [many]}, now=NOW)
    assert isinstance(found, tuple)
    assert len(found) == MOST_PROBLEMS
    assert many.looked_at <= MOST_PROBLEMS + 1
