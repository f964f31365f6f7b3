"""MCP servers whose tools Anthropic calls itself (Messages API, MCP connector)."""

from collections.abc import Iterator, Mapping, Sequence

from mockserver.core.call import McpConnector
from mockserver.core.json import Json

Body = Mapping[str, Json]


def list_connectors(body: Body) -> Iterator[McpConnector]:
    """Yield the servers of a request, each with what its toolset says of its tools."""
    toolsets = {str(tool.get("mcp_server_name")): tool for tool in _list_tables(body.get("tools")) if _is_toolset(tool)}
    for server in _list_tables(body.get("mcp_servers")):
        name, token = server.get("name"), server.get("authorization_token")
        if isinstance(name, str) and _is_enabled(server.get("tool_configuration")):
            bearer = f"Bearer {token}".encode("latin-1", "replace")
            allowed, refused = _select_tools(toolsets.get(name), server.get("tool_configuration"))
            yield McpConnector(
                label=name,
                url=str(server.get("url") or ""),
                allowed=allowed,
                refused=refused,
                headers=((b"authorization", bearer),) if isinstance(token, str) else (),
            )


def _select_tools(toolset: Body | None, configuration: Json) -> tuple[Json, tuple[str, ...]]:
    """Return the names of the only tools that are on, None if all are, and those of tools that are off."""
    if toolset is None:  # as in the first version of the connector
        return (configuration.get("allowed_tools") if isinstance(configuration, Mapping) else None), ()
    configs = toolset.get("configs")
    by_name = configs if isinstance(configs, Mapping) else {}
    if _is_enabled(toolset.get("default_config")):
        return None, tuple([name for name, config in by_name.items() if not _is_enabled(config)])
    enabled = [name for name, config in by_name.items() if isinstance(config, Mapping) and config.get("enabled")]
    return enabled, ()


def _is_enabled(config: Json) -> bool:
    return not isinstance(config, Mapping) or config.get("enabled") is not False


def _is_toolset(tool: Body) -> bool:
    return tool.get("type") == "mcp_toolset"


def _list_tables(value: Json) -> Sequence[Body]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
