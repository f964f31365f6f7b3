"""A group of commands, each a file that is imported only when it is called: that keeps the start quick."""

from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from mockserver.config.source import did_you_mean


class Lazy(click.Group):
    """The commands of a table: each stands in the module of its name, as `command`."""

    def __init__(self, *args: Any, table: Mapping[str, str], package: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.table, self.package = table, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in self.table:
            return None
        command: click.Command = import_module(f"{self.package}.{_module(cmd_name)}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. Raises UsageError for one that is not there."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.table) or f"; there are {', '.join(self.table)}"
            raise click.UsageError(f'no command "{args[0]}"{hint}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What each command does, in the order of the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))


def _module(name: str) -> str:
    """The module of a command; a word of the language gets an underscore."""
    return f"{name}_" if iskeyword(name) else name
