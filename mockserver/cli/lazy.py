"""A group of commands that imports each command's module when it is called: that keeps the start quick."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from mockserver.config.source import did_you_mean


class Lazy(click.Group):
    """The commands of a table, each in the module of its name as `command`.

    `modules` names the module of a command that shares one with others; there it is `NAME_command`.
    """

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, str],
        package: str,
        modules: Mapping[str, str] = MappingProxyType({}),
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.table, self.package, self.modules = table, package, modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in self.table:
            return None
        shared = self.modules.get(cmd_name)
        module = import_module(f"{self.package}.{shared or cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_command" if shared else "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. Raises UsageError if the table does not have it."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.table) or f"; choose one of {', '.join(self.table)}"
            raise click.UsageError(f'unknown command "{args[0]}"{hint}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What each command does, in the order of the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))
