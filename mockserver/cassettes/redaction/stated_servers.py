"""Finds the MCP servers that a request has the provider call: their addresses and headers hold keys.

OpenAI's `mcp` tools state a `server_url` and `headers` (Responses API, MCP and connectors), Anthropic's `mcp_servers`
a `url` (Messages API, MCP connector).
"""

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from mockserver.core.json import Json, try_parse


class TextMember(Struct, frozen=True):
    """A member of a JSON object whose value is a text."""

    name: str
    value: str


class ServerMembers(Struct, frozen=True):
    """The members of a body that hold addresses of MCP servers, or headers for these."""

    urls: frozenset[TextMember] = frozenset()
    headers: frozenset[TextMember] = frozenset()


def may_name_servers(body: bytes) -> bool:
    """Return whether a body may name MCP servers. For most bodies the answer is a quick no."""
    return b'"mcp"' in body or b'"mcp_servers"' in body


def find_server_members(body: bytes) -> ServerMembers:
    """Return the addresses and headers of the MCP servers that a body names; none if it is not JSON."""
    urls = set[TextMember]()
    headers = set[TextMember]()
    for place in _list_tables(try_parse(body.decode("utf-8", "surrogateescape"))):
        servers = place.get("mcp_servers")
        for server in servers if isinstance(servers, list) else ():
            if isinstance(server, Mapping) and isinstance(url := server.get("url"), str):
                urls.add(TextMember("url", url))
        if place.get("type") == "mcp":
            if isinstance(url := place.get("server_url"), str):
                urls.add(TextMember("server_url", url))
            for table in _list_tables(place.get("headers")):
                headers.update(
                    [
                        TextMember(name, value)
                        for name, value in table.items()
                        if isinstance(value, str) and name.lower() not in _PLAIN_HEADERS
                    ]
                )
    return ServerMembers(frozenset(urls), frozenset(headers))


def edit_members(body: bytes, change: Callable[[TextMember], bytes | None]) -> bytes:
    """Return a JSON body with other values of members that are texts; a change to None leaves one as it is."""

    def edit(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return found[0]
        name = try_parse(found[2].decode("utf-8", "replace"))
        value = try_parse(found[3].decode("utf-8", "replace"))
        changed = change(TextMember(name, value)) if isinstance(name, str) and isinstance(value, str) else None
        return found[0] if changed is None else found[1] + changed

    return _MEMBER.sub(edit, body)


def _list_tables(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yield every object in a JSON value."""
    waiting = [value]
    while waiting:
        place = waiting.pop()
        if isinstance(place, Mapping):
            yield place
            waiting += place.values()
        elif isinstance(place, list):
            waiting += place


_PLAIN_HEADERS = frozenset(("accept", "content-type", "mcp-protocol-version", "user-agent"))  # say nothing secret
_TEXT = rb'"(?:[^"\\]|\\.)*+"'
# A member whose value is a text, or else a whole text, so that none is read again from each quote in it.
_MEMBER = re.compile(rb"((" + _TEXT + rb")\s*+:\s*+)(" + _TEXT + rb")|" + _TEXT, re.DOTALL)
