"""What does not fit is said in words that say what would."""

import msgspec
import pytest

from postroom.api.parsing import decode_body, decode_query
from postroom.api.problems import Refusal
from postroom.api.requests import (
    Asked,
    BulkFilter,
    BulkResolve,
    DeliveryQuery,
    EventQuery,
    JobQuery,
    JobWait,
)


QUERIES: list[tuple[type[Asked], str, str]] = [
    (
        JobQuery,
        "status=done",
        "'done' is not one of accepted, in_progress, held, completed, partial, uncertain, failed, cancelled.",
    ),
    (JobWait, "wait=now", "This must be settled."),
    (
        DeliveryQuery,
        "reason_code=spam",
        "'spam' is not one of those allowed. Did you mean 'message.spam'?",
    ),
    (
        DeliveryQuery,
        "reason_code=recipient.unknwon",
        "'recipient.unknwon' is not one of those allowed. Did you mean 'recipient.unknown'?",
    ),
    (DeliveryQuery, "reason_code=%00%1b", "is not one of those allowed."),
    (JobQuery, "limit=0", "This must be at least 1."),
    (JobQuery, "limit=501", "This must be at most 500."),
    (JobQuery, "limit=many", "This must be a whole number."),
    (JobQuery, "thread_id=7", "This must look like thr_0000000000001."),
    (JobQuery, "cursor=7", "This does not have the form of such a value."),
    (JobQuery, "recipient=x", "This must have at least 3 characters."),
    (EventQuery, "after=yesterday", "This must look like 4711 or evt_0000000000001."),
]


@pytest.mark.parametrize(
    ("wanted", "query", "told"), QUERIES, ids=[query for _, query, _ in QUERIES]
)
def test_a_parameter_that_does_not_fit_says_what_would(
    wanted: type[Asked], query: str, told: str
) -> None:
    found = decode_query(query, wanted)
    assert isinstance(found, Refusal)
    assert found.detail.endswith(told)
    assert "\x1b" not in found.detail


BODIES: list[tuple[type[Asked], str, str, str]] = [
    (BulkResolve, '{"filter": 3, "as": "sent"}', "/filter", "This must be an object."),
    (
        BulkResolve,
        '{"filter": {}, "as": "maybe"}',
        "/as",
        "'maybe' is not one of sent, resend, failed.",
    ),
    (
        BulkResolve,
        '{"filter": {"state": "sending "}, "as": "sent"}',
        "/filter/state",
        "'sending ' is not one of pending, held, sending, retry_scheduled, sent, uncertain, failed, cancelled, skipped.",
    ),
    (BulkFilter, "[]", "", "This must be an object."),
]


@pytest.mark.parametrize(
    ("wanted", "body", "pointer", "told"), BODIES, ids=[body for _, body, *_ in BODIES]
)
def test_a_field_that_does_not_fit_says_what_would(
    wanted: type[Asked], body: str, pointer: str, told: str
) -> None:
    found = decode_body(body.encode(), msgspec.json.Decoder(wanted))
    assert isinstance(found, Refusal)
    assert (found.faults[0].pointer, found.detail) == (pointer, told)
