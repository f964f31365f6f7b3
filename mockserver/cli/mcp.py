"""`mockserver mcp COMMAND`, and `mockserver mcp NAME`: serve, record and copy MCP servers, configure clients."""

from collections.abc import Mapping

import click

from mockserver.cli import LazyCommand, LazyGroup

COMMANDS: Mapping[str, LazyCommand] = {
    "serve": LazyCommand("stdio", "Serve an MCP server on standard input and output."),
    "record": LazyCommand("mcp_record", "Record an MCP server that a command starts."),
    "import": LazyCommand("mcp_import", "Write a definition of a server's tools, resources and prompts."),
    "config": LazyCommand("mcp_config", "Print the configuration of a client for the servers of rules files."),
}


class ServingGroup(LazyGroup):
    """Commands that are `serve` unless one is named, as clients start `mockserver mcp NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = not args or args[0] in self.table or args[0] in ("-h", "--help")
        return super().parse_args(ctx, args if named else ["serve", *args])


@click.command(cls=ServingGroup, table=COMMANDS, package="mockserver.cli", name="mcp")
def mcp_command() -> None:
    """Serve, record and copy MCP servers. `mockserver mcp NAME` is short for `mockserver mcp serve NAME`.

    \b
    mockserver mcp files
    mockserver mcp record files -- npx -y @modelcontextprotocol/server-filesystem .
    mockserver mcp import files https://mcp.example.com/mcp --output rules.yaml
    mockserver mcp config claude > .mcp.json
    """
