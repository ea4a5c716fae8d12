"""Nothing a relay says breaks the reading of it, and what was read is explained."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.outcome import classify
from postroom.core.reason import EXPLANATIONS, ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import Class, Scope
from support.replies import read


def test_an_address_in_a_reply_is_not_read_as_words() -> None:
    assert (
        read("rcpt", "451 <greylist@spamhaus.example> later").reason
        is ReasonCode.RECIPIENT_DEFERRED
    )
    assert (
        read("rcpt", "550 user.unknown.greylisting@x.example no").reason
        is ReasonCode.RECIPIENT_REFUSED
    )


@given(
    stage=st.sampled_from(Stage),
    reply=st.one_of(
        st.none(),
        st.builds(
            SmtpReply,
            code=st.integers(200, 599),
            enhanced=st.one_of(
                st.none(),
                st.from_regex(r"[245]\.\d{1,3}\.\d{1,3}", fullmatch=True),
                st.text(max_size=8),
            ),
            text=st.one_of(
                st.text(max_size=1024),
                st.lists(
                    st.sampled_from(
                        [
                            "greylist",
                            "try again in",
                            "99999",
                            "00:99:99",
                            "daily",
                            "limit",
                            "<",
                            "@",
                            "not owned by",
                            "spf fail",
                            "h",
                        ]
                    ),
                    max_size=60,
                ).map(" ".join),
            ),
            raw=st.just(b""),
        ),
    ),
    is_marked=st.booleans(),
    is_dotted=st.booleans(),
)
def test_nothing_a_relay_says_breaks_it(
    stage: Stage,
    reply: SmtpReply | None,
    *,
    is_marked: bool,
    is_dotted: bool,
) -> None:
    verdict = classify(stage, reply, is_marked=is_marked, is_dotted=is_dotted)
    if verdict is None:
        assert reply is not None
        assert is_dotted
        assert 200 <= reply.code < 300
        return
    assert (verdict.class_ is Class.IN_DOUBT) <= is_dotted
    if verdict.class_ is Class.PERMANENT:
        assert reply is not None
        assert reply.code >= 500
        assert verdict.scope in {Scope.RECIPIENT, Scope.MESSAGE}
    if verdict.is_stated:
        assert verdict.delay is not None
        assert timedelta(seconds=60) <= verdict.delay <= timedelta(hours=1)


@pytest.mark.parametrize("reason", ReasonCode)
def test_every_reason_is_explained_in_a_sentence_with_what_to_do(reason: ReasonCode) -> None:
    explained = EXPLANATIONS[reason]
    assert explained.means.endswith(".")
    assert explained.to_do.endswith(".")
    assert re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)?", reason)
