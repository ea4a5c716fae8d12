"""What a reload may change: the difference of two settings, and what of it a running daemon can not take up.

Rules: every setting has its row in `RULES`, a test holds both against each other. Secrets are compared and never told.
What needs a restart is told again by every reload until there was one, for `in_force` keeps what it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import timedelta
from typing import Final

from postroom.config.effects import RULES, Effect
from postroom.config.settings import Settings
from postroom.core.listening import ListenAt, Listening, Nameserver, TokenRules
from postroom.core.mailbox import DoubtPolicy, Mailbox, OnUncertain, Relay
from postroom.core.token import Key
from postroom.core.words import shown
from postroom.ports.reloading import ChangeKind, SettingChange


# Fields that are called otherwise in the files, or make up a setting together; "" = no setting.
_NAMES: Final[Mapping[str, str]] = {
    "id": "",
    "warnings": "",
    "answers": "",
    "relays": "relay",
    "mailboxes": "mailbox",
    "relay_id": "relay",
    "display_name": "address",
    "wants_success": "success_reports",
}
_TIME: Final = "at"  # of the day; other timedeltas are lengths
_WHOLE: Final = (DoubtPolicy, ListenAt, Nameserver, Key)
_SHOWN: Final = 200  # characters of a value
_PRIVATE: Final = "m:"  # begins the id of a mailbox's own relay


Table = Mailbox | Relay | Listening


@dataclass(frozen=True, slots=True)
class Leaf:
    """A setting as it stands: where, which row of `RULES` is its, and its value."""

    path: str
    name: str
    value: object
    is_secret: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """What a running daemon takes up, and what needs a restart; both in the order of their paths."""

    changed: tuple[SettingChange, ...]
    needs_restart: tuple[SettingChange, ...]


def compare(before: Settings, after: Settings) -> Difference:
    """What is another one in `after`."""
    found = sorted(
        [*_whole_tables(before, after), *_single(before, after)], key=lambda one: one[0].path
    )
    return Difference(
        tuple(change for change, effect in found if effect is not Effect.RESTART),
        tuple(change for change, effect in found if effect is Effect.RESTART),
    )


def in_force(before: Settings, after: Settings) -> Settings:
    """What of `after` a daemon that runs with `before` goes on with."""
    daemon = replace(after.daemon, state_dir=before.daemon.state_dir)
    listener, tokens = before.listener, before.tokens
    if listener is not None and after.listener is not None:
        listener, tokens = replace(after.listener, listen=listener.listen), after.tokens
    return replace(
        after,
        daemon=daemon,
        api=before.api,
        metrics=before.metrics,
        listener=listener,
        tokens=tokens,
    )


def leaves(settings: Settings) -> tuple[Leaf, ...]:
    """Every setting there is in them."""
    return tuple(_leaves("", "", settings))


def _whole_tables(before: Settings, after: Settings) -> Iterator[tuple[SettingChange, Effect]]:
    """Mailboxes, relays and the listener that come or go are told once, and not setting by setting."""
    for id_ in before.mailboxes.keys() ^ after.mailboxes.keys():
        yield _coming(before.mailboxes, after.mailboxes, id_, f"mailbox.{id_}"), Effect.AT_ONCE
    for id_ in before.relays.keys() ^ after.relays.keys():
        if not id_.startswith(_PRIVATE):
            yield _coming(before.relays, after.relays, id_, f"relay.{id_}"), Effect.AT_ONCE
    was, is_ = _listener(before), _listener(after)
    if was.keys() != is_.keys():
        yield _coming(was, is_, "listener", "listener"), RULES["listener"]


def _listener(settings: Settings) -> Mapping[str, Listening]:
    return {} if settings.listener is None else {"listener": settings.listener}


def _coming(
    before: Mapping[str, Table], after: Mapping[str, Table], key: str, path: str
) -> SettingChange:
    """What is on one side only."""
    if key in after:
        return SettingChange(path, ChangeKind.ADDED, None, _named(after[key]))
    return SettingChange(path, ChangeKind.REMOVED, _named(before[key]), None)


def _named(table: Table) -> str:
    match table:
        case Mailbox():
            return table.address
        case Relay():
            return table.host
        case Listening():
            return table.hostname


def _single(before: Settings, after: Settings) -> Iterator[tuple[SettingChange, Effect]]:
    """Settings of what there is on both sides."""
    old, new = _by_path(_common(before, after)), _by_path(_common(after, before))
    for path in old.keys() | new.keys():
        was, is_ = old.get(path, ()), new.get(path, ())
        values = [[one.value for one in each if one.value is not None] for each in (was, is_)]
        if values[0] != values[1]:
            leaf = (is_ or was)[0]
            told = (None, None) if leaf.is_secret else (_tell(was), _tell(is_))
            kind = ChangeKind.CHANGED if all(values) else ChangeKind.ADDED
            kind = kind if values[1] else ChangeKind.REMOVED
            yield SettingChange(path, kind, *told), RULES[leaf.name]


def _common(settings: Settings, other: Settings) -> Settings:
    """Only what the other one has too; without a listener tokens say nothing."""
    has_listener = settings.listener is not None and other.listener is not None
    return replace(
        settings,
        relays={id_: one for id_, one in settings.relays.items() if id_ in other.relays},
        mailboxes={id_: one for id_, one in settings.mailboxes.items() if id_ in other.mailboxes},
        listener=settings.listener if has_listener else None,
        tokens=settings.tokens if has_listener else TokenRules(),
    )


def _by_path(settings: Settings) -> dict[str, tuple[Leaf, ...]]:
    found: dict[str, tuple[Leaf, ...]] = {}
    for leaf in leaves(settings):
        found[leaf.path] = (*found.get(leaf.path, ()), leaf)
    return found


def _leaves(path: str, name: str, value: object, *, is_secret: bool = False) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(*_entry(path, name, key), one)
    elif is_dataclass(value) and not isinstance(value, _WHOLE):
        for field in fields(value):
            called = _NAMES.get(field.name, field.name)
            inner = getattr(value, field.name)
            if called:
                is_length = isinstance(inner, timedelta) and called != _TIME
                called += "_s" if is_length else ""
                steps = (_join(path, called), _join(name, called))
                yield from _leaves(*steps, inner, is_secret=not field.repr)
    else:
        yield Leaf(path, name, value, is_secret)


def _entry(path: str, name: str, key: str) -> tuple[str, str]:
    """Path and name of one entry of a table whose names are free to choose."""
    if path == "relay" and key.startswith(_PRIVATE):
        return f"mailbox.{key.removeprefix(_PRIVATE)}.relay", "relay.NAME"
    free = {"relay": ".NAME", "mailbox": ""}.get(name, ".DOMAIN")
    return f"{path}.{key}", f"{name}{free}"


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _tell(found: tuple[Leaf, ...]) -> str | None:
    """The value for people; one setting may be kept in two fields."""
    told = [_say(one.name, one.value) for one in found if one.value not in {None, ""}]
    return shown(", ".join(told), _SHOWN) if told else None


def _say(name: str, value: object) -> str:
    match value:
        case tuple():
            return ", ".join(_say("", one) for one in value) or "none"
        case timedelta() if name.endswith(f".{_TIME}"):
            return f"{value // timedelta(hours=1):02}:{value // timedelta(minutes=1) % 60:02}"
        case timedelta():
            return f"{value.total_seconds():g}"
        case ListenAt() | Nameserver():
            return f"{value.host}:{value.port}"
        case DoubtPolicy():
            after = f" after {value.after.total_seconds():g} s"
            return value.kind + ("" if value.kind is OnUncertain.HOLD else after)
        case str() if name == "mailbox.relay" and value.startswith(_PRIVATE):
            return "its own"
        case _:
            return _say_plain(name, value)


def _say_plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:04o}" if name == "api.mode" and isinstance(value, int) else str(value)
