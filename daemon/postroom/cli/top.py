"""`top`: the daemon's figures, live in a terminal."""

import json
from collections.abc import Iterator
from typing import Final

import click

from postroom.cli.board import Sort, boards, headline
from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.inputs import Seconds
from postroom.cli.paper import Json, data, facts_lines, plain, table_lines
from postroom.cli.screen import full_screen, is_terminal
from postroom.client.errors import PostroomError


_KEYS: Final = "q quit, m sort"


@click.command()
@click.option("--once", is_flag=True, help="Print one screen, and end.")
@click.option(
    "--every",
    "every_s",
    default=2.0,
    type=Seconds(0.2, 86_400),
    metavar="SECONDS",
    help="Ask so often (2).",
)
@at_desk()
def top(desk: Desk, every_s: float, *, once: bool) -> int:
    """Watch depth, wait and outcomes move; q quits, m sorts.

    Without a terminal it prints one screen. With --json it is one line each time it asks, until you stop it.
    """
    first = desk.client.stats()
    if desk.is_json:
        data(json.dumps(first))
        while not once:
            desk.host.sleep(every_s)
            data(json.dumps(desk.client.stats()))
    elif once or not is_terminal():
        for line in screen_lines(first, Sort.NAME):
            data(line)
    else:
        _watch(desk, first, every_s)
    return Exit.OK


def screen_lines(found: Json, sort: Sort) -> Iterator[str]:
    """One screen, without colours."""
    yield from facts_lines(headline(found))
    for board in boards(found, sort):
        yield ""
        yield from table_lines(board.rows, board.columns)


def _watch(desk: Desk, found: Json, every_s: float) -> None:
    """Until somebody quits; a daemon that is away is said, and waited for."""
    order = list(Sort)
    trouble = ""
    with full_screen() as screen:
        while True:
            until_s = desk.host.monotonic_s() + every_s
            while (left_s := until_s - desk.host.monotonic_s()) > 0:
                title = f"postroom at {plain(desk.client.socket)}  {plain(found['at'])[11:19]}"
                state = trouble or f"sorted by {order[0]}"
                lines = [f"{title}  {state}  ({_KEYS})", "", *screen_lines(found, order[0])]
                screen.draw(lines)
                match screen.wait_key(left_s):
                    case "q" | "Q":
                        return
                    case "m":
                        order.append(order.pop(0))
                    case _:
                        pass
            try:
                found, trouble = desk.client.stats(), ""
            except PostroomError as error:
                trouble = f"AS IT WAS: {plain(error)}"
