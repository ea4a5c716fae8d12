"""Looking at the whole: status, stats, events."""

import click

from postroom.cli.admin import mailboxes_table
from postroom.cli.alerts import tell_to_do
from postroom.cli.board import boards, headline
from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.held import tell_holds
from postroom.cli.inputs import TIMEOUT
from postroom.cli.jobs import deliveries_table, outcome
from postroom.cli.paper import Json, data, emit, facts, paint, plain, table


@click.command()
@click.argument("job_id", metavar="[JOB]", required=False)
@click.option(
    "--wait", is_flag=True, help="Wait until nothing of the job waits or is under way any more."
)
@TIMEOUT
@at_desk()
def status(desk: Desk, job_id: str | None, timeout: float, *, wait: bool) -> int:
    """Say how a job stands, or how the daemon does.

    Exits 0 sent, 69 failed, 75 not yet known; without a job: 0 it accepts mail, 75 it does not.
    """
    if job_id is None:
        return _daemon_status(desk)
    job = desk.client.wait(job_id, timeout) if wait else desk.client.job(job_id)
    if desk.is_json:
        emit(job)
    else:
        data(f"{plain(job['id'])}  {paint(plain(job['status']))}")
        deliveries_table(job["deliveries"])
    return outcome(job)


@click.command()
@at_desk()
def stats(desk: Desk) -> int:
    """Show depth, wait and outcomes."""
    found = desk.client.stats()
    if desk.is_json:
        emit(found)
    else:
        _show(found)
    return Exit.OK


def _daemon_status(desk: Desk) -> int:
    version = desk.client.version()
    is_ready = desk.client.is_ready()
    found = desk.client.mailboxes()["items"]
    holds = desk.client.holds()["items"]
    if desk.is_json:
        answer = {"version": version["version"], "ready": is_ready, "mailboxes": found}
        emit({**answer, "holds": holds})
    else:
        state = "accepts mail" if is_ready else "does not accept mail"
        data(f"postroom {plain(version['version'])} at {plain(desk.client.socket)} {state}")
        mailboxes_table(found)
        tell_holds(holds)
    return Exit.OK if is_ready else Exit.TRY_LATER


def _show(found: Json) -> None:
    facts(headline(found))
    for board in boards(found):
        data("")
        table(board.rows, board.columns)
    tell_to_do(found.get("alerts") or [])
