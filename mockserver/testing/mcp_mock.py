"""MCP servers in tests: declare tools, resources and prompts, answer their calls, look at these."""

import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, Self, TypedDict, Unpack
from urllib.parse import quote

from msgspec.structs import replace

from mockserver.config.errors import ConfigError, RuleError
from mockserver.config.settings import Settings
from mockserver.config.source import Document, Mistakes
from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.mcp_server import INTERNAL_ERROR, McpChange, McpServer
from mockserver.engine.mcp_streams import McpEvent
from mockserver.rules.mcp_definitions import find_servers
from mockserver.server.namespaces import DEFAULT
from mockserver.testing.assertions import Assertions, Calls
from mockserver.testing.callers import find_caller
from mockserver.testing.declared import Declared, RuleBook
from mockserver.testing.options import Details, Then, When

__tracebackhide__ = True  # pytest shows the line of the test instead
Arguments = Mapping[str, Any]  # names and types: `{"path": str, "lines?": int}`, or a JSON Schema


class McpSettings(TypedDict, total=False):
    """How an MCP server speaks, with the keys of a rules file."""

    title: str
    instructions: str
    version: str
    page: int
    versions: Sequence[str]
    sessions: bool
    sse: bool
    changes: Sequence[Mapping[str, Any]]
    auth: Literal["oauth"] | Mapping[str, str]


def find_mcp_key(settings: Settings) -> str | None:
    """Return the key that clients of MCP servers must show, if there is one."""
    return next((key for key, its in (settings.keys or {}).items() if its.allowed), None)


class McpMock(Assertions):
    """The MCP server of a name: that of a rules file with what the test adds, or one that only the test has.

    Assertions are those on `mockserver`, and regard the calls of this server only.
    """

    def __init__(self, rules: RuleBook, name: str) -> None:
        self.name = name
        self._rules = rules
        self._server = rules.server
        self._declared: dict[str, dict[str, dict[str, Any]]] = {}
        self._settings: McpSettings = {}
        self._answers: dict[tuple[str, str], DeclaredTool] = {}
        self.clear()

    def clear(self) -> None:
        """Forget what was declared."""
        self._declared = {"tools": {}, "resources": {}, "prompts": {}}
        self._answers = {}
        self._settings = {}

    def configure(self, **settings: Unpack[McpSettings]) -> Self:
        """Change how the server speaks: `configure(sessions=True)`."""
        before = self._settings
        self._settings = {**before, **settings}
        try:
            self._serve()
        except RuleError:
            self._settings = before
            raise
        return self

    def changed(self, kind: Literal["tools", "resources", "prompts"] = "tools", *, uri: str | None = None) -> None:
        """Tell the clients that listen that a list has changed, or the content of the resource of this URI."""
        server = self._serve()
        if not server.notifies:
            raise ConfigError(
                f'{find_caller().where}: no client listens to the MCP server "{self.name}" without sessions;'
                f' write mockserver.mcp("{self.name}", sessions=True)'
            )
        event = McpEvent(kind) if uri is None else McpEvent("resources", uri)
        self._server.live.engine.streams.publish(DEFAULT, self.name, event)

    @property
    def url(self) -> str:
        """The address for clients that speak streamable HTTP."""
        return f"{self._server.address}/mcp/{quote(self.name)}"

    @property
    def stdio(self) -> dict[str, Any]:
        """Command, arguments and environment for clients that start a command; it passes messages on to `url`."""
        command = {"command": sys.executable, "args": ["-m", "mockserver", "mcp", self.name]}
        key = find_mcp_key(self._server.live.settings)
        shown = {} if key is None else {"MOCKSERVER_MCP_KEY": key}
        return {**command, "env": {"MOCKSERVER_URL": self._server.address, **shown}}

    @property
    def calls(self) -> Calls:
        """The calls of its tools, resources and prompts, without handshakes and lists."""
        return self._server.calls.of(lambda call: call.asked is not None and self._serves(call.asked))

    def tool(
        self,
        name: str,
        *,
        description: str | None = None,
        input: Arguments | None = None,  # the word of rules files
        output: Arguments | None = None,
        annotations: Mapping[str, Any] | None = None,
    ) -> "DeclaredTool":
        """Declare a tool; `input` and `output` are types by name, or JSON Schemas. Call a method to answer it.

        Without an answer, rules of files answer, or a result is made where answers are generated.
        """
        stated = {"description": description, "input": _name_types(input), "output": _name_types(output)}
        self._declare("tools", name, {"name": name, **stated, "annotations": annotations})
        return self._define("tool", name)

    def resource(
        self, uri: str, text: str | None = None, *, blob: str | None = None, mime: str | None = None
    ) -> "DeclaredTool":
        """Declare a resource with its content: a text, or bytes as base64 (`blob`)."""
        self._declare("resources", uri, {"uri": uri, "text": text, "blob": blob, "mime": mime})
        return self._define("resource", uri)

    def prompt(self, name: str, *, arguments: Sequence[str] = (), description: str | None = None) -> "DeclaredTool":
        """Declare a prompt; names of arguments that end in `?` may be left out. Call a method to answer it."""
        self._declare("prompts", name, {"name": name, "arguments": list(arguments), "description": description})
        return self._define("prompt_name", name)

    def on(self, **when: Unpack[When]) -> "DeclaredTool":
        """Declare a rule for calls that match: `on(tool="read_file", arguments={"path": "note.txt"})`."""
        declared = DeclaredTool(self._rules, {"mcp": {"equals": self.name}, **when})
        self._rules.add(declared)
        return declared

    def _define(self, field: str, name: str) -> "DeclaredTool":
        """Return the answer of what is declared, in place of an earlier one."""
        earlier = self._answers.get((field, name))
        if earlier is not None:
            earlier.remove()
        when: Any = {"mcp": {"equals": self.name}, field: {"equals": name}}
        made = self._answers[field, name] = DeclaredTool(self._rules, when, is_last=True)
        return made

    def _extend(self, server: McpServer | None, made: McpServer) -> McpServer:
        """Return what a rules file says of the server, if it does, with what the test declared."""
        if server is None:
            return made
        stated = {_FIELDS.get(key, key): getattr(made, _FIELDS.get(key, key)) for key in self._settings}
        if "changes" in stated and "sessions" not in stated:
            stated["sessions"] = made.sessions
        return replace(server.apply(McpChange(0, made.tools, resources=made.resources, prompts=made.prompts)), **stated)

    def _serves(self, call: Call) -> bool:
        return call.mcp is not None and call.mcp.server == self.name

    def _list_received(self) -> Calls:
        return self.calls

    def _declare(self, kind: str, name: str, stated: Mapping[str, Any]) -> None:
        self._declared[kind][name] = {key: value for key, value in stated.items() if value is not None}
        try:
            self._serve()
        except RuleError:
            del self._declared[kind][name]
            raise

    def _serve(self) -> McpServer:
        """Give clients the server with what is declared and what files say, and return it. Raises RuleError."""
        table = {each: list(entries.values()) for each, entries in self._declared.items()}
        document = Document.from_place({"mcp": {self.name: {**self._settings, **table}}}, find_caller())
        mistakes = Mistakes(document)
        found = find_servers(document, mistakes.add)
        if mistakes.found:
            raise RuleError(*mistakes.found)
        live = self._server.live
        served = self._extend(live.engine.servers.get(self.name), found[self.name])
        space = live.namespaces.touch(DEFAULT)
        space.servers = {**space.servers, self.name: served}
        return served


_FIELDS = {"auth": "login"}  # of McpServer, by the keys of a rules file


class DeclaredTool(Declared):
    """A rule for the calls of a tool, a resource or a prompt; call one of its methods to give it an answer."""

    def __init__(self, rules: RuleBook, when: When, *, is_last: bool = False) -> None:
        super().__init__(rules, (), None, when)
        self.is_last = is_last

    def reply(self, text: str | Callable[..., Any] | None = None, **then: Unpack[Then]) -> Self:
        """Answer with a text, with `json=`, or with other keys of a rule's `then`.

        A function is called with the arguments as keywords; it returns a text, or a value that is sent as JSON.
        """
        if not callable(text):
            return super().reply(text, **then)
        function = text

        def answer(call: Call) -> str | Mapping[str, Any]:
            returned = function(**({} if call.mcp is None else call.mcp.arguments))
            is_answer = isinstance(returned, str | Coroutine)  # the second of which is a mistake
            return returned if is_answer else {"json": returned}

        return super().reply(answer, **then)

    def fail(self, error: Any = "the tool failed", **details: Unpack[Details]) -> Self:
        """Answer with a failed result (`isError`) of this text or JSON; with an HTTP error for a status such as 503."""
        if isinstance(error, int):
            return super().fail(error, **details)
        if "resource" in self._when or "prompt_name" in self._when:
            return self.then({"error": {"code": INTERNAL_ERROR, "message": str(error)}})
        return self.then({"tool_error": error})

    def _answer(self, then: Mapping[str, Any], responder: Any = None) -> Self:
        self._rules.add(self)
        return super()._answer(then, responder)


def _name_types(stated: Arguments | None) -> dict[str, Json] | None:
    """Return types by name as a rules file has them."""
    if stated is None:
        return None
    named = {}
    for name, kind in stated.items():
        if isinstance(kind, type) and kind not in _TYPES:
            known = ", ".join(each.__name__ for each in _TYPES)
            raise ConfigError(f"{find_caller().where}: {name} cannot have the type {kind.__name__}; use {known}")
        named[name] = _TYPES[kind] if isinstance(kind, type) else kind
    return named


_TYPES: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
}
