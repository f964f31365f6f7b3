"""MCP servers as values: what a server offers, and what a client asks of it (https://modelcontextprotocol.io)."""

from collections.abc import Mapping

from msgspec import Struct, field

from mockserver.core.json import Json

MODERN, LEGACY = ("2026-07-28",), ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # revisions, latest first
META = "io.modelcontextprotocol/"  # how the keys of the protocol begin in what a message says of itself
UNCACHED: Mapping[str, Json] = {"ttlMs": 0, "cacheScope": "private"}  # a client that caches would hide calls


class McpTool(Struct, frozen=True):
    """A tool; `input` and `output` are JSON Schemas, the second None if its results have no structure."""

    name: str
    title: str | None = None
    description: str | None = None
    input: Mapping[str, Json] = field(default_factory=lambda: {"type": "object"})
    output: Mapping[str, Json] | None = None
    annotations: Mapping[str, Json] | None = None


class McpResource(Struct, frozen=True):
    """A resource with its content: a `text`, or bytes as base64 (`blob`)."""

    uri: str
    name: str
    text: str | None = None
    blob: str | None = None
    mime: str | None = None
    description: str | None = None


class McpPrompt(Struct, frozen=True):
    """A prompt; its arguments are texts, of which some are `required`."""

    name: str
    description: str | None = None
    arguments: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()


class McpServer(Struct, frozen=True):
    """What a server offers. `page`: how many entries a page of a list has; None: all."""

    name: str
    title: str | None = None
    instructions: str | None = None
    version: str = "1.0.0"
    tools: tuple[McpTool, ...] = ()
    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    page: int | None = None

    def find_tool(self, name: str) -> McpTool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def find_resource(self, uri: str) -> McpResource | None:
        return next((resource for resource in self.resources if resource.uri == uri), None)

    def find_prompt(self, name: str) -> McpPrompt | None:
        return next((prompt for prompt in self.prompts if prompt.name == name), None)


class McpRequest(Struct, frozen=True):
    """One message of a client to the server of a name.

    `target` is the name of a tool or a prompt, or the URI of a resource. Of a notification, `id` is None. `is_modern`:
    it needs no handshake and says everything itself, as revisions from 2026-07-28 on.
    """

    server: str
    method: str
    params: Mapping[str, Json]
    id: str | int | float | None
    version: str
    is_modern: bool

    @property
    def is_handshake(self) -> bool:
        return self.method in HANDSHAKES

    @property
    def is_housekeeping(self) -> bool:
        """Return whether its answer says nothing that is worth recording."""
        return self.id is None or self.method in _HOUSEKEEPING

    @property
    def target(self) -> str:
        return str(self.params.get("uri" if self.method.startswith("resources/") else "name", ""))

    @property
    def arguments(self) -> Mapping[str, Json]:
        arguments = self.params.get("arguments")
        return arguments if isinstance(arguments, Mapping) else {}


SESSION_OPERATION = "mcp_session"  # the operation of all messages but calls
HANDSHAKES = ("initialize", "server/discover")  # with a session, and without one
_HOUSEKEEPING = frozenset(
    ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen")
)
UPSTREAM = "mcp/"  # how the name begins of the upstream that is an MCP server: `mcp/files`


def is_upstream_name(name: str) -> bool:
    """Return whether an upstream is an MCP server, by its name: `mcp/files`."""
    server = name.removeprefix(UPSTREAM)
    return server != name and server != "" and "/" not in server


# The codes of errors (JSON-RPC 2.0, 5.1, and MCP 2026-07-28).
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNKNOWN_RESOURCE, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32002, -32020, -32022
UNMATCHED = -32001  # of our own: no rule answers
SERVER_ERROR = -32000
