"""MCP over streamable HTTP: JSON-RPC messages to a named server, with and without a handshake.

Both versions of the protocol are served on one path: a message that names its revision in `_meta` needs no handshake
(2026-07-28); any other needs one. An answer with something to notify is a stream of events, whose last one has the
result.
"""

from collections.abc import Iterable
from functools import partial

from mockserver.core.mcp_server import END_SESSION, OPEN_STREAM
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._mcp.login import list_login_operations
from mockserver.dialects._mcp.recorded import readdress
from mockserver.dialects._mcp.replies import fail, render
from mockserver.dialects._mcp.request import parse, parse_bodiless
from mockserver.dialects._parse import bearer
from mockserver.kinds.mcp import SESSION

NAME = "mcp"


def _list_operations(path: str) -> Iterable[Operation]:
    yield Operation("mcp_call", "POST", path, parse, render, readdress=readdress)
    yield Operation(SESSION.name, "GET", path, partial(parse_bodiless, method=OPEN_STREAM), render)
    yield Operation(SESSION.name, "DELETE", path, partial(parse_bodiless, method=END_SESSION), render)


DIALECT = Dialect(
    name=NAME,
    mounts=("/mcp",),
    operations=(*_list_operations("/{server}"), *_list_operations(""), *list_login_operations(NAME, render)),
    credential=bearer,
    fail=fail,
    models=(),
)
