"""Who does not answer, and how long others of the same domain are waited for."""

from postroom.core.instant import SECOND
from postroom.inbound.verify.silences import PATIENCE_LEAST_S, Silences
from postroom.ports.resolving import Kind, Lookup


def txt(name: str) -> Lookup:
    return Lookup(Kind.TXT, name)


def test_many_silent_names_of_a_domain_make_the_wait_for_the_next_one_short() -> None:
    silences = Silences()
    waits = []
    for number in range(12):
        silences.heard(number * SECOND)
        name = txt(f"_dmarc.n{number}.evil.example")
        waits.append(silences.patience_s(name, 3.0, number * SECOND))
        silences.add(name, number * SECOND, number * SECOND)
    assert waits[:3] == [3.0, 3.0, 3.0]
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] == PATIENCE_LEAST_S
    assert sum(waits) < 16
    assert silences.patience_s(txt("good.test"), 3.0, 12 * SECOND) == 3.0
    assert silences.patience_s(txt("new.evil.example"), 3.0, 80 * SECOND) == 3.0


def test_a_minute_later_counting_begins_anew() -> None:
    silences = Silences()
    for number in range(9):
        silences.add(txt(f"n{number}.evil.example"), 0, 0)
    silences.add(txt("new.evil.example"), 80 * SECOND, 80 * SECOND)
    assert silences.patience_s(txt("next.evil.example"), 3.0, 80 * SECOND) == 3.0


def test_a_resolver_with_less_patience_is_not_made_to_wait_longer() -> None:
    silences = Silences()
    for number in range(9):
        silences.add(txt(f"n{number}.evil.example"), 0, 0)
    assert silences.patience_s(txt("next.evil.example"), 0.1, 0) == 0.1


def test_what_is_remembered_is_bounded() -> None:
    silences = Silences()
    for number in range(5_000):
        silences.add(txt(f"n{number}.e{number}.example"), 0, 0)
    assert not silences.holds(txt("n0.e0.example"), 0)
    assert silences.holds(txt("n4999.e4999.example"), 0)
    assert len(silences._names) == len(silences._domains) == 2_048
