"""What `make mutants` changes, and that it tells what nobody notices."""

import ast

import pytest

from mutants.changes import Changes


CHANGES = {
    "a bound": ("x = a < 3", ["a < 3: LtE", "a < 3: GtE", "3: 4", "3: 2"]),
    "a row": ("x = a < b <= c", ["a < b <= c: LtE", "a < b <= c: GtE", "a < b <= c: Lt", "a < b <= c: Gt"]),
    "a choice": ("x = b if a else c", ["if a: False", "if a: True"]),
    "and": ("x = a and not b", ["a and (not b): Or", "not b: without not"]),
    "a sum": ("x += 1", ["without x += 1", "x += 1: Sub", "1: 2"]),
    "a call": ("a.put(b)", ["without a.put(b)"]),
    "a part": ("a.b = True", ["without a.b = True", "True: False"]),
    "a result": ("def f():\n    return max(a)", ["return max(a): None", "max: min"]),
    "no result": ("def f() -> int | None:\n    return None", []),
    "a test among many": ("x = [a for a in b if a]", ["for if a: True"]),
    "a case": ("match a:\n    case b if c:\n        d()", ["case if c: False", "without d()"]),
    "an error": ("raise E('x')", ["without raise E('x')"]),
    "a loop": ("for a in b:\n    break", ["break: continue"]),
    "a word": ("x = a.startswith('b')", [".startswith: .endswith", "'b': 'b~'"]),
    "a sentence": ("x = 'a sentence'", []),
    "a docstring": ("'''What it is.'''", []),
    "an annotation": ("x: Literal[3] = 3", ["3: 4", "3: 2"]),
    "an import": ("from a import b", []),
}  # fmt: skip


@pytest.mark.parametrize(("source", "changes"), CHANGES.values(), ids=CHANGES)
def test_every_place_is_changed_once_in_each_way(source: str, changes: list[str]) -> None:
    every = Changes()
    plain = ast.unparse(every.of(source))
    assert [what for _, what in every.places] == changes
    made = {ast.unparse(Changes(at).of(source)) for at in range(len(changes))}
    assert len(made - {plain}) == len(changes)
