"""Acting on what is there: cancel, release, retry, resolve; one by one, or all that a filter meets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import click

from postroom.cli import moments
from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.inputs import words
from postroom.cli.jobs import deliveries_table
from postroom.cli.known import refuse_unknown
from postroom.cli.paper import Json, column, data, emit, plain, table, talk, warn
from postroom.client import Act
from postroom.client.asking import given
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.reason import ReasonCode


Verdict = Literal["sent", "resend", "failed"]
Option = Callable[[Callable[..., int]], Callable[..., int]]

_STATES: Final = ", ".join(DeliveryState)
_FILTERS: Final = ("mailbox_id", "state", "reason_code", "hold_reason", "domain", "since")
_S: Final = DeliveryState
_WORKS_ON: Final[Mapping[Act, tuple[DeliveryState, ...]]] = {
    "cancel": (_S.PENDING, _S.RETRY_SCHEDULED, _S.HELD, _S.SENDING),
    "release": (_S.HELD,),
    "retry": (_S.FAILED,),
    "resolve": (_S.UNCERTAIN,),
}
_LIMIT: Final = 1_000  # what the daemon takes when nothing is said
_CANCELS: Final = (
    column("DELIVERY", "id"),
    column("RECIPIENT", "recipient"),
    column("CANCEL", "cancel"),
)


@dataclass(frozen=True, slots=True)
class Work:
    """What to do: its word, to what is in which state, and how."""

    act: Act
    state: str
    verdict: Verdict | None = None

    def do(self, desk: Desk, delivery_id: str) -> Json:
        """Do it to one delivery."""
        if self.verdict is not None:
            return desk.client.resolve(delivery_id, self.verdict)
        if self.act == "release":
            return desk.client.release_held(delivery_id)
        return desk.client.retry(delivery_id)


def _matching(verb: Callable[..., int]) -> Callable[..., int]:
    options: tuple[Option, ...] = (
        click.option("--mailbox", "mailbox_id", metavar="ID", help="All of this mailbox …"),
        click.option(
            "--state",
            type=words(DeliveryState),
            metavar="WORD",
            help=f"… in this state ({_STATES}) …",
        ),
        click.option(
            "--reason",
            "reason_code",
            type=words(ReasonCode),
            metavar="WORD",
            help="… for this reason, as `dead-letters` shows it …",
        ),
        click.option("--domain", metavar="DOMAIN", help="… to this recipient domain …"),
        click.option(
            "--since",
            metavar="TIME",
            help="… from jobs accepted since then: 24h, 7d, or an instant.",
        ),
        click.option("--dry-run", is_flag=True, help="Only tell how many that would be."),
        click.option(
            "--limit", type=click.IntRange(1, 100_000), metavar="N", help="At most so many (1,000)."
        ),
        click.option("--yes", is_flag=True, help="Do not ask."),
    )
    for option in reversed(options):
        verb = option(verb)
    return verb


HOLD_REASON = click.option(
    "--hold-reason",
    type=click.Choice([str(one) for one in HoldReason]),
    help="… held for this reason …",
)


@click.command()
@click.argument("job_ids", nargs=-1, metavar="[JOB]...")
@HOLD_REASON
@_matching
@at_desk()
def cancel(desk: Desk, /, job_ids: tuple[str, ...], **bulk: Any) -> int:
    """Take jobs back. Exits 69 where it was too late."""
    if not job_ids:
        return _all_matching(desk, Work("cancel", "waiting"), bulk)
    _refuse_both(bulk)
    found = [row for one in job_ids for row in desk.client.cancel(one)["deliveries"]]
    if desk.is_json:
        emit({"deliveries": found})
    else:
        table(found, _CANCELS)
    return Exit.OK if all(row["cancel"] == "cancelled" for row in found) else Exit.REFUSED


@click.command()
@click.argument("names", nargs=-1, metavar="[DELIVERY|JOB]...")
@HOLD_REASON
@_matching
@at_desk()
def release(desk: Desk, /, names: tuple[str, ...], **bulk: Any) -> int:
    """Let held deliveries go when their time comes.

    Those named, those of a job, or all that a filter meets. What a restore held (restored) may have gone before, and
    arrives twice then.
    """
    return _work(desk, Work("release", "held"), names, bulk)


@click.command()
@click.argument("names", nargs=-1, metavar="[DELIVERY|JOB]...")
@_matching
@at_desk()
def retry(desk: Desk, /, names: tuple[str, ...], **bulk: Any) -> int:
    """Send failed deliveries after all.

    Those named, those of a job, or all that a filter meets.
    """
    return _work(desk, Work("retry", "failed"), names, bulk)


@click.command()
@click.argument("names", nargs=-1, metavar="[DELIVERY|JOB]...")
@click.option(
    "--as",
    "verdict",
    required=True,
    type=click.Choice(["sent", "resend", "failed"]),
    help="The relay has it, send it again, or give it up.",
)
@_matching
@at_desk()
def resolve(desk: Desk, /, names: tuple[str, ...], verdict: Verdict, **bulk: Any) -> int:
    """Settle deliveries in doubt by hand."""
    return _work(desk, Work("resolve", "uncertain", verdict), names, bulk)


def _work(desk: Desk, work: Work, names: tuple[str, ...], bulk: dict[str, Any]) -> int:
    if not names:
        return _all_matching(desk, work, bulk)
    _refuse_both(bulk)
    ids = [one for name in names for one in _deliveries_of(desk, name, work.state)]
    found = [work.do(desk, delivery_id) for delivery_id in ids]
    if desk.is_json:
        emit({"items": found})
    elif found:
        deliveries_table(found)
    if not found:
        warn(f"Nothing of this is {work.state}.")
    return Exit.OK if found else Exit.REFUSED


def _deliveries_of(desk: Desk, name: str, state: str) -> list[str]:
    if not name.startswith("job_"):
        return [name]
    return [one["id"] for one in desk.client.job(name)["deliveries"] if one["state"] == state]


def _all_matching(desk: Desk, work: Work, bulk: dict[str, Any]) -> int:
    matching = _filter(desk, bulk)
    if not matching:
        problem = "Name what you mean, or give a filter such as --mailbox or --reason."
        raise click.UsageError(problem)

    def run(*, dry_run: bool) -> Json:
        return desk.client.act(
            work.act, matching, verdict=work.verdict, dry_run=dry_run, limit=bulk["limit"]
        )

    if not bulk["dry_run"] and not bulk["yes"]:
        matched = run(dry_run=True)["matched"]
        if not matched:
            refuse_unknown(desk, bulk["mailbox_id"])
        _confirm(f"{work.act} {_deliveries(_meant(work, matched, bulk))}?")
    answer = run(dry_run=bulk["dry_run"])
    if not answer["matched"]:
        refuse_unknown(desk, bulk["mailbox_id"])
    if desk.is_json:
        emit(answer)
    else:
        would = _meant(work, answer["matched"], bulk) if bulk["dry_run"] else None
        _tell_answer(work, answer, would)
    return Exit.OK


def _deliveries(count: int) -> str:
    return "1 delivery" if count == 1 else f"{count:,} deliveries"


def _confirm(question: str) -> None:
    try:
        is_wanted = click.confirm(question, err=True)
    except click.Abort as nobody:
        talk("")
        if not isinstance(nobody.__context__, EOFError):
            raise
        problem = "Nobody answered, and nothing was done: give --yes where nobody can be asked."
        raise click.UsageError(problem) from nobody
    if not is_wanted:
        raise click.Abort


def _meant(work: Work, matched: int, bulk: dict[str, Any]) -> int:
    """How many of those would be acted on, at most: none where the filter asks for what has another state."""
    if bulk["state"] not in {None, *_WORKS_ON[work.act]}:
        return 0
    return min(matched, bulk["limit"] or _LIMIT)


def _tell_answer(work: Work, answer: Json, would: int | None) -> None:
    """`would`: nothing was done, this is what would be."""
    matched = answer["matched"]
    if would is None:
        data(f"{plain(matched)} matched, {plain(answer['done'])} done")
    else:
        data(f"{plain(matched)} matched, {plain(would)} would be done")
    if (answer["done"] if would is None else would) < matched:
        talk(
            f"Left alone: what is not {work.state}, and what is beyond --limit (for that, do it again)."
        )


def _filter(desk: Desk, bulk: dict[str, Any]) -> dict[str, str]:
    bulk["since"] = moments.ago("--since", bulk["since"], desk.host.now())
    return given({name: bulk.get(name) for name in _FILTERS})


def _refuse_both(bulk: dict[str, Any]) -> None:
    if any(bulk.get(name) is not None for name in _FILTERS):
        problem = "Give ids or a filter, not both."
        raise click.UsageError(problem)
