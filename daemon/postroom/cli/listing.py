"""Groups of verbs that list when no verb is given."""

from collections.abc import Callable

import click

from postroom.cli.exits import Exit


def list_by_default(context: click.Context, verb: click.Command) -> int:
    """Run the list when no verb of the group was given."""
    if context.invoked_subcommand is not None:
        return Exit.OK
    code: int = context.invoke(verb, **context.params)
    return code


def listing_group(verb: click.Command) -> Callable[[click.Group], click.Group]:
    """Make a group that lists when no verb is given, with the options that the list has."""

    def decorate(group: click.Group) -> click.Group:
        group.params = [*verb.params]
        group.invoke_without_command = True
        return group

    return decorate
