"""What a message of ours says it follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.ancestry import Ancestry, ancestry_lines, answer_to, follow


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(f"<{n}@example.com>" for n in numbers)


def test_the_first_message_of_a_thread_follows_nothing() -> None:
    assert follow(()) == Ancestry()
    assert ancestry_lines(Ancestry()) == b""


def test_the_next_message_follows_the_latest() -> None:
    assert follow(ids(1, 2, 3)) == Ancestry("<3@example.com>", ids(1, 2, 3))


@pytest.mark.parametrize(
    ("references", "thread", "expected"),
    [
        (ids(1), ids(1), ids(1, 9)),
        ((), ids(1, 2), ids(1, 2, 9)),
        (ids(7, 1), ids(1, 9, 2), ids(7, 1, 2, 9)),
        ((), (), ids(9)),
        (ids(9, 1), (), ids(1, 9)),
    ],
    ids=["as a client does", "dropped on the way", "others joined in", "a stranger's", "itself"],
)
def test_an_answer_follows_what_it_answers_and_all_before_it(
    references: tuple[str, ...], thread: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert answer_to("<9@example.com>", references, thread) == Ancestry("<9@example.com>", expected)


def test_an_answer_to_a_mail_without_an_id_still_follows_the_thread() -> None:
    assert answer_to(None, (), ids(1, 2)) == Ancestry(None, ids(1, 2))


@pytest.mark.parametrize("count", [20, 21, 22, 300])
def test_of_a_long_thread_the_first_and_the_last_twenty_stay(count: int) -> None:
    kept = follow(ids(*range(count))).references
    assert kept == ids(0, *range(max(1, count - 20), count))


@pytest.mark.parametrize(
    "bad",
    [
        "<a b@x>",
        "no brackets",
        "<a@x>\r\nBcc: mallory@x",
        "<ü@example.com>",
        "<>",
        f"<{'a' * 999}@x>",
    ],
    ids=["space", "no brackets", "line end", "not ASCII", "empty", "long"],
)
def test_what_is_no_plain_id_is_left_out(bad: str) -> None:
    assert follow((*ids(1), bad, *ids(2))).references == ids(1, 2)
    assert answer_to(bad, (bad,), ids(1)) == Ancestry(None, ids(1))


def test_long_ids_make_references_shorter_and_no_line_too_long() -> None:
    long = tuple(f"<{n:03}{'x' * 600}@example.com>" for n in range(15))
    kept = follow(long).references
    assert sum(len(one) + 1 for one in kept) <= 4096
    assert (kept[0], kept[-1]) == (long[0], long[-1])


def test_references_have_4096_octets_with_their_spaces_and_not_one_more() -> None:
    long = [f"<{n}{'x' * 880}@example.com>" for n in range(4)]
    room = 4096 - sum(len(one) + 1 for one in long) - 1
    fits, over = (
        f"<{'y' * (size - len('<@example.com>'))}@example.com>" for size in (room, room + 1)
    )
    assert follow([*long, fits]).references == (*long, fits)
    assert follow([*long, over]).references == (long[0], *long[2:], over)


def test_an_id_has_at_most_900_characters() -> None:
    longest = f"<{'x' * 886}@example.com>"
    assert follow((longest,)).parent == longest
    assert follow((longest.replace("<", "<x"),)) == Ancestry()


def test_ids_that_look_like_encoded_words_stay_as_they_are() -> None:
    lines = ancestry_lines(follow(("<=?utf-8?q?a?=@example.com>",)))
    assert lines == (
        b"In-Reply-To: <=?utf-8?q?a?=@example.com>\r\nReferences: <=?utf-8?q?a?=@example.com>\r\n"
    )


def test_an_id_of_ninety_characters_stands_on_the_line_of_its_name() -> None:
    long = f"<{'A' * 90}@outlook.example>"
    assert ancestry_lines(follow((long,))).splitlines() == [
        f"In-Reply-To: {long}".encode(),
        f"References: {long}".encode(),
    ]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=40))
def test_no_strangers_text_makes_a_header_of_its_own(texts: list[str]) -> None:
    lines = ancestry_lines(answer_to(f"<{''.join(texts)}>", texts, [f"<{one}>" for one in texts]))
    for line in lines.removesuffix(b"\r\n").split(b"\r\n") if lines else ():
        assert line.startswith((b"In-Reply-To: <", b"References: <", b" <"))
        assert b"\r" not in line
        assert b"\n" not in line
