"""MCP servers as values: what a server offers, and what a client asks of it (https://modelcontextprotocol.io)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.core.json import Json

MODERN = ("2026-07-28",)  # revisions, latest first
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
META = "io.modelcontextprotocol/"  # how the keys of the protocol begin in what a message says of itself
UNCACHED: Mapping[str, Json] = {"ttlMs": 0, "cacheScope": "private"}  # a client that caches would hide calls
VERSIONS = (*MODERN, *LEGACY)
BATCHING = "2025-03-26"  # the only one with arrays of messages
OPEN_STREAM = "GET"  # these two stand for the method where a request has no message
END_SESSION = "DELETE"
# The steps of a login, as methods.
LOGIN = "login/"
RESOURCE_METADATA = f"{LOGIN}resource"
SERVER_METADATA = f"{LOGIN}server"
REGISTER = f"{LOGIN}register"
AUTHORIZE = f"{LOGIN}authorize"
TOKEN = f"{LOGIN}token"
REPLY = "response"  # stands for the method where a client answers a request of the server


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
    """A prompt; its arguments are texts, of which some are `required`. `values`: those that are completed."""

    name: str
    description: str | None = None
    arguments: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()
    values: Mapping[str, Sequence[str]] = {}


Entry = TypeVar("Entry")


class McpChange(Struct, frozen=True):
    """How what a server offers changes after some calls. What is added replaces what has the same name or URI."""

    after: int
    tools: tuple[McpTool, ...] = ()
    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    removed: Mapping[str, frozenset[str]] = {}  # names and URIs, by the kind of list


class McpLogin(Struct, frozen=True):
    """How clients prove who they are: with this `token`, or with one that they get by OAuth."""

    token: str | None = None


class McpServer(Struct, frozen=True):
    """What a server offers, and how it speaks.

    `page`: how many entries a page of a list has; None: all. `versions`: the revisions that it knows. `sessions`:
    clients must repeat an id that they get. `sse`: whether answers are streams; None: if there is something to notify.
    """

    name: str
    title: str | None = None
    instructions: str | None = None
    version: str = "1.0.0"
    tools: tuple[McpTool, ...] = ()
    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    page: int | None = None
    versions: tuple[str, ...] = VERSIONS
    sessions: bool = False
    sse: bool | None = None
    changes: tuple[McpChange, ...] = ()
    login: McpLogin | None = None

    @property
    def notifies(self) -> bool:
        """Whether it tells clients that its lists have changed, on streams that they open."""
        return self.sessions or bool(self.changes)

    def change(self, calls: int) -> "McpServer":
        """Return the server as it is after that many calls."""
        changed = self
        for each in self.changes:
            if each.after <= calls:
                changed = changed.apply(each)
        return changed

    def apply(self, change: McpChange) -> "McpServer":
        """Return the server after a change."""
        gone = change.removed
        return replace(
            self,
            tools=_merge(self.tools, change.tools, removed=gone.get("tools", _NOTHING), name=lambda tool: tool.name),
            resources=_merge(
                self.resources, change.resources, removed=gone.get("resources", _NOTHING), name=lambda each: each.uri
            ),
            prompts=_merge(
                self.prompts, change.prompts, removed=gone.get("prompts", _NOTHING), name=lambda prompt: prompt.name
            ),
        )

    def defines(self, request: "McpRequest") -> bool:
        """Return whether it offers the tool, the resource or the prompt that a call is for."""
        match request.method:
            case "tools/call":
                return self.find_tool(request.target) is not None
            case "resources/read":
                return self.find_resource(request.target) is not None
            case "prompts/get":
                return self.find_prompt(request.target) is not None
        return True

    def find_tool(self, name: str) -> McpTool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def find_resource(self, uri: str) -> McpResource | None:
        return next((resource for resource in self.resources if resource.uri == uri), None)

    def find_prompt(self, name: str) -> McpPrompt | None:
        return next((prompt for prompt in self.prompts if prompt.name == name), None)


_NOTHING = frozenset[str]()


def _merge(
    before: tuple[Entry, ...], added: tuple[Entry, ...], removed: frozenset[str], name: Callable[[Entry], str]
) -> tuple[Entry, ...]:
    """Return entries without those removed, with those added: in place of one of the same name, else at the end."""
    new = {name(entry): entry for entry in added}
    kept = [new.pop(name(entry), entry) for entry in before if name(entry) not in removed]
    return (*kept, *new.values())


class McpRequest(Struct, frozen=True):
    """One message of a client to the server of a name.

    `target` is the name of a tool or a prompt, or the URI of a resource. Of a notification, `id` is None. `is_modern`:
    it needs no handshake and says everything itself, as revisions from 2026-07-28 on. `problem`: why it is refused
    once it is known that there is such a server.
    """

    server: str
    method: str
    params: Mapping[str, Json]
    id: str | int | float | None
    version: str
    is_modern: bool
    problem: Exception | None = None
    session: str | None = None
    token: str | None = None
    states_version: bool = False  # whether a header or the message itself states it
    calls: int = 0  # of the server before this one, if these change it
    reply: Mapping[str, Json] = {}  # what a client answers to a request of the server

    @property
    def meta(self) -> Mapping[str, Json]:
        """What the message says about itself."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def replies(self) -> Mapping[str, Mapping[str, Json]]:
        """What the client answers to what an earlier answer asked, by the names of the questions."""
        stated = self.params.get("inputResponses")
        replies = stated.items() if isinstance(stated, Mapping) else ()
        return {name: reply for name, reply in replies if isinstance(reply, Mapping)}

    @property
    def client_answer(self) -> Mapping[str, Json] | None:
        """What the client answers to all questions, as one object; None if it has not been asked."""
        if not self.replies:
            return None
        answer: dict[str, Json] = {}
        for reply in self.replies.values():
            content = reply.get("content")
            answer |= content if "action" in reply and isinstance(content, Mapping) else reply
        return answer

    @property
    def client_action(self) -> str | None:
        """What the client does about what it is asked: accept, decline, cancel or error; None: it was not asked."""
        if not self.replies:
            return None
        actions = [_find_action(reply) for reply in self.replies.values()]
        return next((action for action in actions if action != "accept"), "accept")

    @property
    def is_handshake(self) -> bool:
        return self.method in HANDSHAKES

    @property
    def is_housekeeping(self) -> bool:
        """Whether its answer says nothing that is worth recording."""
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


def _find_action(reply: Mapping[str, Json]) -> str:
    return "error" if "error" in reply else str(reply.get("action", "accept"))


class McpNotice(Struct, frozen=True):
    """What a client is told while it waits for the answer to a call: progress or a log line, some seconds after."""

    kind: Literal["progress", "message"]
    params: Mapping[str, Json]
    at: float = 0.0


class McpQuestion(Struct, frozen=True):
    """What a client is asked before a call is answered, as a request of the protocol."""

    name: str
    method: str
    params: Mapping[str, Json]
    needs: str  # the capability of the client


class McpExtras(Struct, frozen=True):
    """What an answer of a tool, a resource or a prompt has besides its content. `sse`: as of the server.

    `request_state` is what clients repeat with their replies to the questions. `stream`: the name of the stream in its
    session, if the client may take it up again.
    """

    notices: tuple[McpNotice, ...] = ()
    questions: tuple[McpQuestion, ...] = ()
    sse: bool | None = None
    request_state: str = ""
    stream: str | None = None


class McpState(Struct, frozen=True):
    """What a server says of itself: in handshakes and lists. `session` is the id of one that begins."""

    server: McpServer
    session: str | None = None
    values: tuple[str, ...] = ()  # the completions of an argument


class McpEventId(Struct, frozen=True):
    """The place of an event in a session: of which stream it is, and how many came before it there."""

    stream: str
    number: int

    def __str__(self) -> str:
        return f"{self.stream}-{self.number}"


class McpSent(Struct, frozen=True):
    """A message of a stream that a client may take up again after it."""

    id: McpEventId
    message: object


class McpStream(Struct, frozen=True, eq=False):
    """Messages of the server as they come, on a stream of their own; a number is seconds to wait for the next.

    The last may be an outcome: it answers the request. `begins_at`: where a client takes it up that got no message.
    """

    messages: Iterator[object]
    begins_at: McpEventId | None = None


class McpDocument(Struct, frozen=True):
    """What is said in JSON outside of the protocol, as in logins; `location`: where the client is sent."""

    body: Mapping[str, Json]
    status: int = 200
    location: str | None = None


# The codes of errors (JSON-RPC 2.0, 5.1, and MCP 2026-07-28).
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNKNOWN_RESOURCE = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
UNMATCHED = -32001  # of our own: no rule answers
SERVER_ERROR = -32000
