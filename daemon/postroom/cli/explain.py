"""`postroom explain`: why mail waits, gate by gate, and what a person can do about it."""

from typing import Final

import click

from postroom.cli.desk import Desk, at_desk
from postroom.cli.doubts import doubt_outlook
from postroom.cli.exits import Exit
from postroom.cli.jobs import deliveries_table, history_table
from postroom.cli.kinds import refuse_other
from postroom.cli.meanings import tell_reasons, waiting_at
from postroom.cli.outlook import tell_waiting
from postroom.cli.paper import Column, Json, column, data, dig, emit, paint, plain, table, talk
from postroom.cli.wording import short
from postroom.client import UNSETTLED
from postroom.core.mailbox import Lane


_GATES: Final = (
    column("GATE", "name"),
    column("VERDICT", "verdict"),
    Column("VALUE", lambda row: short(row.get("value"))),
    Column("THRESHOLD", lambda row: short(row.get("threshold"))),
    Column("OPENS", lambda row: short(row.get("until_at"))),
)


@click.command()
@click.argument("name", metavar="[JOB|DELIVERY]", required=False)
@click.option("--mailbox", "mailbox_id", metavar="ID", help="All that waits in this mailbox.")
@click.option("--relay", metavar="NAME", help="All that waits for this relay.")
@click.option(
    "--lane",
    "priority",
    type=click.Choice([lane.word for lane in Lane]),
    help="All that waits in this lane.",
)
@at_desk()
def explain(desk: Desk, /, name: str | None, **asked: str | None) -> int:
    """Say why mail waits: every gate, with its numbers.

    Of a delivery, also what became of it so far. Of a job, the gates are shown once for all deliveries that wait at the same one. Without a name: what waits on what,
    in every lane.
    """
    if name is None:
        tell_waiting(desk, **asked)
        return Exit.OK
    if any(asked.values()):
        problem = "Give a job or a delivery, or --mailbox, --relay and --lane, not both."
        raise click.UsageError(problem)
    return _explain(desk, name)


def _explain(desk: Desk, name: str) -> int:
    refuse_other(name, "job_", "dlv_")
    is_delivery = name.startswith("dlv_")
    deliveries = [] if is_delivery else desk.client.job(name)["deliveries"]
    waiting = [one["id"] for one in deliveries if one["state"] in {*UNSETTLED, "uncertain"}]
    found = [desk.client.explain(one) for one in ([name] if is_delivery else waiting)]
    if desk.is_json:
        emit(found[0] if is_delivery else {"items": found})
        return Exit.OK
    told: set[str] = set()
    for one in found:
        blocked = plain(one.get("blocked_by"))
        data(_summary(one, blocked))
        if blocked not in told:
            told.add(blocked)
            _tell_gates(desk, one, blocked)
    if is_delivery:
        _tell_history(desk, name)
    if not found:
        talk("Nothing of this job waits.")
        deliveries_table(deliveries)
    return Exit.OK


def _summary(explanation: Json, blocked: str) -> str:
    state = plain(explanation.get("state"))
    if state == "uncertain":
        why = doubt_outlook(explanation)
    elif blocked:
        earliest = plain(short(dig(explanation, "earliest_at")))
        why = f"waits for {blocked}" + (f"; not before {earliest}" if earliest else "")
    elif state == "sending":
        why = "it is under way"
    elif state in UNSETTLED:
        why = "nothing holds it, it is about to start"
    else:
        why = "it waits for nothing"
    return f"{plain(explanation.get('delivery_id'))}  {paint(state)}: {why}"


def _tell_gates(desk: Desk, explanation: Json, blocked: str) -> None:
    gates = explanation.get("gates", [])
    if not gates and explanation.get("state") not in UNSETTLED:
        deliveries_table([desk.client.delivery(str(explanation.get("delivery_id")))])
        return
    # a breaker's value is its state and its reason: "open: relay.unreachable"
    values = [plain(one.get("value")) for one in gates if one.get("name") == blocked]
    waiting = waiting_at(blocked, next(iter(values), ""))
    if waiting is not None:
        data(f"  Because {waiting.because}.")
        data(f"  What to do: {waiting.to_do}")
    if gates:
        table(gates, _GATES)
    if blocked != "hold":  # whose advice stands above
        tell_reasons({"reason_code": value.partition(": ")[2]} for value in values)


def _tell_history(desk: Desk, delivery_id: str) -> None:
    history = desk.client.delivery(delivery_id).get("history", [])
    if history:
        data("")
        history_table(history)
