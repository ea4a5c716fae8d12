"""The mail about alerts that its owner gets: what is the matter, since when, the likely cause, what to do. Pure."""

from collections.abc import Sequence
from typing import Final

from postroom.core.alert import CAUSES, MEANINGS, AlertKey, AlertScope, Raised
from postroom.core.ids import Kind, encode_id
from postroom.core.letter import Letter, clean, told
from postroom.core.words import shown


MOST: Final = 50  # alerts that are written out
_NAME_MOST: Final = 64
_FOOT: Final = "`postroom stats` shows what stands now; docs/operating.md has a page on each alert."


def alert_letter(raised: Sequence[Raised], cleared: Sequence[Raised], host: str) -> Letter:
    """What was raised, and what is over, at once; at least one of them. `host` is where it was seen."""
    parts = [_raised(one) for one in raised[:MOST]]
    parts += [_cleared(one) for one in cleared[: MOST - len(parts)]]
    more = len(raised) + len(cleared) - len(parts)
    if more:
        parts.append(f"And {more} more: `postroom events list` has them all.\n")
    foot = f"-- \nPostroom on {shown(host)}. {_FOOT}\n"
    return Letter(_subject(raised, cleared), "\n".join([*parts, foot]))


def name_of(key: AlertKey) -> str:
    """What an alert is about, in words."""
    if key.scope is AlertScope.DAEMON:
        return "the daemon"
    name = clean(key.name, _NAME_MOST) or "that is gone"
    of = f" of mailbox {key.mailbox_id}" if key.mailbox_id not in {None, key.name} else ""
    return f"{key.scope} {name}{of}"


def title_of(key: AlertKey) -> str:
    """Its kind and what it is about."""
    return f"{key.kind.replace('_', ' ')}: {name_of(key)}"


def _subject(raised: Sequence[Raised], cleared: Sequence[Raised]) -> str:
    if len(raised) == 1:
        return f"Alert: {title_of(raised[0].alert.key)}"
    if raised:
        return f"{len(raised)} alerts: {title_of(raised[0].alert.key)}, and more"
    more = ", and more" if len(cleared) > 1 else ""
    return f"Over: {title_of(cleared[0].alert.key)}{more}"


def _raised(one: Raised) -> str:
    alert, meaning = one.alert, MEANINGS[one.alert.key.kind]
    return (
        f"{title_of(alert.key)}\n"
        f"  {meaning.means}\n"
        f"  Figure: {alert.figure:g} ({meaning.figure}); threshold: {alert.threshold:g}; since {told(alert.since)}.\n"
        f"  Likely cause: {CAUSES[alert.cause]}\n"
        f"  What to do: {meaning.to_do}\n"
        f"  Event: {encode_id(Kind.EVENT, one.seq)}\n"
    )


def _cleared(one: Raised) -> str:
    return f"Over: {title_of(one.alert.key)}\n  It had stood since {told(one.raised_at)}.\n"
