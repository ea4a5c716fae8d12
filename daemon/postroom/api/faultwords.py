"""What does not fit its type, said for people: the library's sentences name its own types and patterns."""

import difflib
import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import inspect

from postroom.core.words import shown


_ENUM: Final = re.compile(r"(?s)Invalid enum value '?(.*?)'?")
_KIND: Final = re.compile(r"Expected `(.*)`, got `.*`")
_BOUND: Final = re.compile(r"Expected `(?:int|float)` ([<>]=) (.*)")
_LENGTH: Final = re.compile(r"Expected `(str|array)` of length ([<>]=) (.*)")
_FORM: Final = re.compile(r"(?s)Expected `str` matching regex .*")
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_SIGNS: Final = {"<=": "at most", ">=": "at least"}
_FEW: Final = 12  # words that still make a sentence
_WORD: Final = 80  # characters of what was given
_SENTENCE: Final = 200


def say(fault: str, wanted: Any, steps: Sequence[str]) -> str:
    """A sentence for the library's; `wanted` is what was read, `steps` where in it the fault is."""
    enum, kind = _ENUM.fullmatch(fault), _KIND.fullmatch(fault)
    bound, length = _BOUND.fullmatch(fault), _LENGTH.fullmatch(fault)
    if enum is not None:
        return _say_words(shown(enum[1], _WORD), _words(_found(wanted, steps)))
    if kind is not None:
        kinds = [_KINDS.get(one.strip(), one.strip()) for one in kind[1].split("|")]
        return f"This must be {' or '.join(kinds)}."
    if bound is not None:
        return f"This must be {_SIGNS[bound[1]]} {bound[2]}."
    if length is not None:
        unit = "characters" if length[1] == "str" else "items"
        return f"This must have {_SIGNS[length[2]]} {length[3]} {unit}."
    if _FORM.fullmatch(fault):
        return _say_form(_examples(_found(wanted, steps)))
    return shown(fault.replace("`", ""), _SENTENCE) + "."


def _say_words(given: str, words: Sequence[str]) -> str:
    if len(words) == 1:
        return f"This must be {words[0]}."
    if words and len(words) <= _FEW:
        return f"'{given}' is not one of {', '.join(words)}."
    near = [word for word in words if given and given in word]
    near += difflib.get_close_matches(given, words, 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"'{given}' is not one of those allowed.{hint}"


def _say_form(examples: Sequence[Any]) -> str:
    if not examples:
        return "This does not have the form of such a value."
    return f"This must look like {' or '.join(str(one) for one in examples)}."


def _found(wanted: Any, steps: Sequence[str]) -> tuple[inspect.Type, ...]:
    """The types that may stand at this place."""
    here = _unions((inspect.type_info(wanted),))
    for step in steps:
        here = _unions(tuple(inner for one in here for inner in _inner(one, step)))
    return here


def _inner(outer: inspect.Type, step: str) -> tuple[inspect.Type, ...]:
    match outer:
        case inspect.StructType(fields=fields):
            return tuple(one.type for one in fields if one.encode_name == step)
        case inspect.ListType(item_type=item):
            return (item,)
        case _:
            return ()


def _unions(types: tuple[inspect.Type, ...]) -> tuple[inspect.Type, ...]:
    found: list[inspect.Type] = []
    for one in types:
        found += one.types if isinstance(one, inspect.UnionType) else (one,)
    return tuple(found)


def _words(types: Sequence[inspect.Type]) -> list[str]:
    found: list[str] = []
    for one in map(_bare, types):
        match one:
            case inspect.EnumType(cls=cls):
                found += [str(member.value) for member in cls]
            case inspect.LiteralType(values=values):
                found += map(str, values)
            case _:
                pass
    return found


def _bare(one: inspect.Type) -> inspect.Type:
    return one.type if isinstance(one, inspect.Metadata) else one


def _examples(types: Sequence[inspect.Type]) -> list[Any]:
    schemas = (one.extra_json_schema for one in types if isinstance(one, inspect.Metadata))
    return [example for schema in schemas for example in (schema or {}).get("examples", ())]
