"""`mockserver mcp config`: how clients reach the MCP servers of rules files, in their own notations."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import click
from msgspec import Struct

from mockserver.cli.options import add_setting_flags, find_sources, rules_option
from mockserver.config.errors import ConfigError
from mockserver.core.json import Json


class ReachedServer(Struct, frozen=True):
    """An MCP server as a client reaches it: at a URL, or with a command."""

    name: str
    url: str = ""
    command: Sequence[str] = ()

    @property
    def by_command(self) -> dict[str, Json]:
        return {"command": self.command[0], "args": list(self.command[1:])}


def _write_claude(servers: Sequence[ReachedServer]) -> str:
    return _write_json("mcpServers", servers, lambda each: {"type": "http", "url": each.url})


def _write_gemini(servers: Sequence[ReachedServer]) -> str:
    return _write_json("mcpServers", servers, lambda each: {"httpUrl": each.url})


def _write_vscode(servers: Sequence[ReachedServer]) -> str:
    return _write_json("servers", servers, lambda each: {"type": "http", "url": each.url}, kind={"type": "stdio"})


def _write_opencode(servers: Sequence[ReachedServer]) -> str:
    found = {
        each.name: {"type": "remote", "url": each.url} if each.url else {"type": "local", "command": [*each.command]}
        for each in servers
    }
    return json.dumps({"mcp": found}, indent=2, ensure_ascii=False)


def _write_json(
    key: str,
    servers: Sequence[ReachedServer],
    by_url: Callable[[ReachedServer], Mapping[str, Json]],
    kind: Mapping[str, Json] | None = None,
) -> str:
    found = {each.name: by_url(each) if each.url else {**(kind or {}), **each.by_command} for each in servers}
    return json.dumps({key: found}, indent=2, ensure_ascii=False)


def _write_codex(servers: Sequence[ReachedServer]) -> str:
    tables = []
    for each in servers:
        fields = {"url": each.url} if each.url else each.by_command
        lines = [
            f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()
        ]  # JSON is TOML here
        key = each.name if _BARE.fullmatch(each.name) else json.dumps(each.name, ensure_ascii=False)
        tables.append("\n".join((f"[mcp_servers.{key}]", *lines)))
    return "\n\n".join(tables)


_BARE = re.compile(r"[A-Za-z0-9_-]+")  # a key of TOML that needs no quotes
CLIENTS: Mapping[str, Callable[[Sequence[ReachedServer]], str]] = {
    "claude": _write_claude,
    "codex": _write_codex,
    "gemini": _write_gemini,
    "opencode": _write_opencode,
    "vscode": _write_vscode,
}


@click.command(name="config")
@click.argument("client", type=click.Choice(tuple(CLIENTS)))
@rules_option
@click.option("--stdio", is_flag=True, help="Let the client start `mockserver mcp NAME`, without a running server.")
@click.option("--address", metavar="URL", help="The address of the server [host and port of the settings].")
@add_setting_flags("host", "port")
def config_command(client: str, rules: tuple[Path, ...], stdio: bool, address: str | None, **flags: Json) -> None:
    """Print what a client needs to reach the MCP servers of the rules files: those under mcp:, and recorded ones.

    It belongs into .mcp.json (claude), ~/.codex/config.toml, .gemini/settings.json, opencode.json, or
    .vscode/mcp.json.

    \b
    mockserver mcp config claude > .mcp.json
    mockserver mcp config codex --stdio -r rules.yaml >> ~/.codex/config.toml
    """
    from mockserver.server.client_environment import list_mcp_servers

    loaded = find_sources(rules, flags).load()
    if loaded.errors.found:
        raise loaded.errors.merged
    names = list_mcp_servers(loaded.servers, loaded.settings)
    if not names:
        raise ConfigError("there are no MCP servers: define one under mcp: in a rules file")
    base = (address or f"{loaded.settings.scheme}://{loaded.settings.host}:{loaded.settings.port}").rstrip("/")
    named = [part for path in rules for part in ("-r", str(path))]
    reached = [
        ReachedServer(name, command=("mockserver", "mcp", "serve", name, *named))
        if stdio
        else ReachedServer(name, url=f"{base}/mcp/{quote(name, safe='')}")
        for name in names
    ]
    click.echo(CLIENTS[client](reached))
