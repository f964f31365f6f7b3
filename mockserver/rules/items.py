"""The items of a response in rules files: messages, reasoning, tool calls and the provider's own tools.

The keys are those of the Responses API; `core.hosted_tools` expands the short forms beside them.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mockserver.config.tables import AsTable, AsText, ByShape, LazyType, LazyUnion, Table, Tag, field, make_table

_NOTES = "annotations (citations), in the API's form"
NAMESPACE = "namespace of the tool (default: the one in which the request offers a tool of this name)"
_CALL_ID = "id of the call, to which its result refers (default: generated)"

CallId = Annotated[str | None, field(min_length=1, description=_CALL_ID)]
Namespace = Annotated[str | None, field(min_length=1, description=NAMESPACE)]
Arguments = Annotated[AsTable[dict[str, Any]] | AsText[str], ByShape("a table or a JSON text")]


class OutputTextSpec(Table):
    """Text of a message."""

    example = "{type: output_text, text: Hello}"

    type: Literal["output_text"]
    text: str = field(description="the text")
    annotations: list[dict[str, Any]] | None = field(None, description=_NOTES)


class OutputRefusalSpec(Table):
    """A refusal in a message."""

    example = "{type: refusal, refusal: No}"

    type: Literal["refusal"]
    refusal: str = field(description="a refusal")


class MessageSpec(Table):
    """A separate message."""

    example = "{type: message, text: Hello}"

    type: Literal["message"]
    text: str | None = field(None, description="the text")
    annotations: list[dict[str, Any]] | None = field(None, description=_NOTES)
    content: list[Annotated[OutputTextSpec | OutputRefusalSpec, field(discriminator="type")]] | None = field(
        None, min_length=1, description="its parts instead: output_text and refusal"
    )


class ReasoningSpec(Table):
    """Reasoning."""

    example = "{type: reasoning, text: Two and two..., summary: Adding up}"

    type: Literal["reasoning"]
    text: str | None = field(None, description="the reasoning")
    summary: str | None = field(None, description="the summary (default: the text)")


class FunctionCallSpec(Table):
    """A function call."""

    example = "{type: function_call, name: get_weather, arguments: {city: Paris}}"

    type: Literal["function_call"]
    name: str = field(min_length=1, description="name of the function")
    arguments: Arguments = field(
        "auto", description="a table, a JSON string, or auto (generated from the tool's schema)"
    )
    call_id: CallId = None
    namespace: Namespace = None


class CustomToolCallSpec(Table):
    """A call of a free-text tool."""

    example = "{type: custom_tool_call, name: take_note, input: Milk}"

    type: Literal["custom_tool_call"]
    name: str = field(min_length=1, description="name of the tool")
    input: str = field(description="the text")
    call_id: CallId = None
    namespace: Namespace = None


_SOME = Annotated[list[str], field(min_length=1)]
_NAME = Annotated[str, field(min_length=1)]
_COUNT = Annotated[int, field(ge=0)]
_Keys = Mapping[str, tuple[Any, str]]

# The type and description of each key of the provider's own tools, unless a table has its own.
_KEYS: _Keys = {
    "annotations": (dict[str, Any], "further properties"),
    "approval_request_id": (str, "id of the approval request"),
    "arguments": (Arguments, "a table or a JSON text"),
    "attributes": (dict[str, Any], "attributes of the file"),
    "background": (Literal["transparent", "opaque", "auto"], "the background"),
    "button": (Literal["left", "right", "wheel", "back", "forward"], "the mouse button (default: left)"),
    "call_id": (_NAME, _CALL_ID),
    "code": (str, "the code"),
    "command": (_SOME, "the command and its arguments"),
    "commands": (_SOME, "the commands"),
    "container_id": (_NAME, "id of the container (default: generated)"),
    "content": (Any, "the result, in the API's form"),
    "description": (str, "what the tool does"),
    "diff": (str, "the change as a diff; not for delete_file"),
    "env": (dict[str, str], "environment variables"),
    "error": (str, "why it failed"),
    "exit_code": (int, "the exit code (default: 0)"),
    "file_id": (str, "id of the file"),
    "filename": (str, "its name"),
    "id": (_NAME, "its id"),
    "input_schema": (dict[str, Any], "the JSON Schema of its arguments"),
    "keys": (list[str], "keys held down at the same time"),
    "logs": (str, "the lines"),
    "max_output_length": (_COUNT, "the maximum number of characters of output"),
    "message": (str, "the message"),
    "name": (_NAME, "name of the tool"),
    "output": (str, "the output"),
    "output_format": (Literal["png", "webp", "jpeg", "gif", "svg"], "the image format"),
    "path": (_NAME, "path of the file"),
    "pattern": (str, "the words"),
    "quality": (Literal["low", "medium", "high", "xhigh", "max", "auto"], "the image quality"),
    "queries": (_SOME, "the same, if there are several"),
    "query": (str, "what to search for"),
    "result": (str, "the image in base64 (default: a tiny one)"),
    "revised_prompt": (str, "the prompt that was used for the image"),
    "score": (Annotated[float, field(ge=0, le=1, allow_inf_nan=False)], "how well it matches, from 0 to 1"),
    "scroll_x": (int, "how far to scroll to the right (default: 0)"),
    "scroll_y": (int, "how far to scroll down (default: 0)"),
    "server_label": (_NAME, "name of the MCP server"),
    "size": (str, "the image size, such as 1024x1024"),
    "stderr": (str, "the output to stderr"),
    "stdout": (str, "the output to stdout"),
    "text": (str, "the text"),
    "timed_out": (Literal[True], "the command took too long"),
    "timeout_ms": (_COUNT, "the timeout in milliseconds"),
    "url": (str, "its address"),
    "user": (str, "the user who runs it"),
    "working_directory": (str, "the directory in which it runs"),
    "x": (int, "pixels from the left"),
    "y": (int, "pixels from the top"),
}


def _make_item_table(called: str, about: str, example: str, keys: str, /, **own: Any) -> Any:
    """Return a table with these keys, `?` after optional ones; those in `own` have types of their own."""

    def make() -> type[Table]:
        fields: dict[str, Any] = {}
        for key in keys.split():
            name = key.removesuffix("?")
            kind, description = own.get(name) or _KEYS[name]
            may = key.endswith("?")
            fields[name] = (kind | None if may else kind, field(None if may else ..., description=description))
        return make_table(f"{called}Spec", Table, fields, __doc__=about, example=example)

    return Annotated[Any, LazyType(make)]


def _make_typed(kind: str, about: str, example: str, keys: str = "", /, **own: Any) -> tuple[str, Any]:
    """Return a `type` and its table, in which it comes first unless the keys place it."""
    shown = f"{{type: {kind}, {example}}}" if example else f"{{type: {kind}}}"
    keys = keys if "type" in keys.split() else f"type {keys}"
    return kind, _make_item_table(kind.title().replace("_", ""), about, shown, keys, **own, type=(Literal[kind], None))


def _choose_by_type(*tables: tuple[str, Any]) -> Any:
    return Annotated[Any, LazyUnion(dict(tables))]


def _make_list(table: Any, **limits: Any) -> Any:
    return Annotated[list.__class_getitem__(table), field(**limits)]


_PRESSED = (_SOME, "names of the keys")
_PATH = _make_list(_make_item_table("Place", "A point on the screen.", "{x: 10, y: 20}", "x y"), min_length=1)
Action = _choose_by_type(
    _make_typed("click", "Click.", "x: 10, y: 20", "x y type button? keys?"),
    _make_typed("double_click", "Double-click.", "x: 10, y: 20", "x y type keys?"),
    _make_typed(
        "drag",
        "Drag along a path.",
        "path: [{x: 10, y: 20}, {x: 30, y: 40}]",
        "path keys?",
        path=(_PATH, "the points along the path"),
    ),
    _make_typed("keypress", "Press keys together.", "keys: [ctrl, c]", "keys", keys=_PRESSED),
    _make_typed("move", "Move the pointer.", "x: 10, y: 20", "x y type keys?"),
    _make_typed("screenshot", "Take a screenshot.", ""),
    _make_typed("scroll", "Scroll.", "x: 10, y: 20, scroll_y: 100", "x y type scroll_x? scroll_y? keys?"),
    _make_typed("type", "Type text.", "text: hello", "text"),
    _make_typed("wait", "Wait.", ""),
    _make_typed("point_and_type", "Click and type text.", "x: 10, y: 20, text: hello", "x y type text"),
    _make_typed("mouse_down", "Press the left button at a point.", "x: 10, y: 20", "x y type"),
    _make_typed("mouse_up", "Release the left button at a point.", "x: 10, y: 20", "x y type"),
    _make_typed("key_down", "Press keys.", "keys: [shift]", "keys", keys=_PRESSED),
    _make_typed("key_up", "Release keys.", "keys: [shift]", "keys", keys=_PRESSED),
)


def _make_status(*words: str) -> tuple[Any, str]:
    return Literal[("completed", "in_progress", *words)], "the status, unless completed"


_WITHOUT_FAILURE = _make_status("incomplete")
_DONE = _make_status()
_SEARCHED = _make_status("searching", "incomplete", "failed")
_DONE_OR_FAILED = (Literal["completed", "failed"], "the status, unless completed")
_WHOLE_ACTION = "the same as the API's object, with its other fields"
_MCP_CODE = (int, "the error's number")

_SOURCE = _make_item_table(
    "Source",
    "A page that a search found.",
    "{type: url, url: https://example.org}",
    "type? url",
    type=(Literal["url"], "url"),
)
_SOURCES = (
    _make_list(
        Annotated[AsText[str] | Annotated[_SOURCE, Tag("<table>")], ByShape("an address such as https://example.org")]
    ),
    "addresses of the pages found",
)
_WEB_ACTION = _choose_by_type(
    _make_typed("search", "Search the web.", "query: weather in Oslo", "query? queries? sources?", sources=_SOURCES),
    _make_typed("open_page", "Open a page.", "url: https://example.org", "url"),
    _make_typed(
        "find_in_page", "Search for words on a page.", "url: https://example.org, pattern: Oslo", "url pattern"
    ),
    _make_typed(
        "find", "Search for words on a page (Tzafon).", "url: https://example.org, pattern: Oslo", "url pattern"
    ),
)
_FOUND = _make_item_table(
    "FoundPassage",
    "A passage that a file search found.",
    "{file_id: file-1, filename: a.txt, score: 0.9, text: Hello}",
    "file_id? filename? score? text? attributes?",
)
_CODE_OUTPUT = _choose_by_type(
    _make_typed("logs", "What code printed.", 'logs: "42"', "logs"),
    _make_typed("image", "An image that code produced.", "url: https://example.org/plot.png", "url"),
)
_CHECK = _make_item_table(
    "SafetyCheck",
    "A check that the client must acknowledge.",
    "{id: cu_sc_1, code: malicious_instructions, message: Look twice}",
    "id code? message?",
    code=(str, "its type"),
)
_MCP_ERROR = _choose_by_type(
    _make_typed(
        "mcp_protocol_error",
        "A violation of the MCP protocol.",
        "code: -32602, message: Not now",
        "code message",
        code=_MCP_CODE,
    ),
    _make_typed(
        "http_error", "An HTTP error of the MCP server.", "code: 503, message: Not now", "code message", code=_MCP_CODE
    ),
    _make_typed("mcp_tool_execution_error", "An error in the tool itself.", "content: []", "content"),
)
_TEXT_OR_MCP_ERROR: Any = Annotated[
    AsText[str] | Annotated[_MCP_ERROR, Tag("<table>")], ByShape("a text, or a table with its type")
]
_MCP_TOOL = _make_item_table(
    "McpTool",
    "A tool of an MCP server.",
    "{name: ask, input_schema: {type: object}, annotations: {readOnlyHint: true}}",
    "name description? input_schema? annotations?",
)
_EXEC = _make_item_table(
    "Exec",
    "A command to run.",
    "{type: exec, command: [ls, -l]}",
    "type? command env? timeout_ms? user? working_directory?",
    type=(Literal["exec"], "exec"),
)
_SHELL = _make_item_table(
    "ShellCommands", "Commands to run.", "{commands: [ls -l]}", "commands max_output_length? timeout_ms?"
)
_ENVIRONMENTS = (Literal["local", "container_reference"], "on the client's machine, or in a container")
_ENVIRONMENT = _make_item_table(
    "Environment", "Where commands run.", "{type: local}", "type container_id?", type=_ENVIRONMENTS
)
_OPERATION = _make_item_table(
    "Operation",
    "A change to one file.",
    "{type: update_file, path: a.py, diff: '-a'}",
    "type path diff?",
    type=(Literal["create_file", "update_file", "delete_file"], "what to do with the file"),
)
_PRINTED = _make_item_table(
    "CommandOutput",
    "The output of one command, and how it ended.",
    "{stdout: hello, exit_code: 0}",
    "stdout? stderr? exit_code? timed_out?",
)

_INPUT = (dict[str, Any], "the input, a table")
# Tools that Anthropic runs, by the beginning of the type of their results.
_RESULTS: Mapping[str, str] = {
    "web_search": "a web search",
    "web_fetch": "fetching a page",
    "code_execution": "running code",
    "bash_code_execution": "running a command",
    "text_editor_code_execution": "editing a file",
    "tool_search": "searching for tools",
    "mcp": "an MCP tool",
}
_HOSTED = (
    _make_typed(
        "web_search_call",
        "A web search.",
        "query: weather in Oslo",
        "query? sources? action? status?",
        sources=_SOURCES,
        action=(_WEB_ACTION, "the action instead of a query: search, open_page, find_in_page or find"),
        status=_SEARCHED,
    ),
    _make_typed(
        "file_search_call",
        "A file search.",
        "query: holidays",
        "query? queries? results? status?",
        results=(_make_list(_FOUND), "the passages found"),
        status=_SEARCHED,
    ),
    _make_typed(
        "code_interpreter_call",
        "Executed code.",
        "code: print(42)",
        "code container_id? outputs? status?",
        outputs=(_make_list(_CODE_OUTPUT), "the outputs: logs and images"),
        status=_make_status("interpreting", "incomplete", "failed"),
    ),
    _make_typed(
        "image_generation_call",
        "A generated image.",
        "",
        "result? revised_prompt? action? background? output_format? quality? size? status?",
        action=(Literal["generate", "edit", "auto"], "what was done with the image"),
        status=_make_status("generating", "failed"),
    ),
    _make_typed(
        "computer_call",
        "Computer actions.",
        "action: {type: click, x: 10, y: 20}",
        "action? actions? call_id? pending_safety_checks? status?",
        action=(Action, "the action"),
        actions=(_make_list(Action, min_length=1), "the same, if there are several"),
        pending_safety_checks=(_make_list(_CHECK), "checks to acknowledge"),
        status=_WITHOUT_FAILURE,
    ),
    _make_typed(
        "mcp_call",
        "A call of an MCP tool.",
        "server_label: deepwiki, name: ask, arguments: {q: fjords}, output: Many.",
        "server_label name arguments? output? error? approval_request_id? status?",
        error=(_TEXT_OR_MCP_ERROR, "why it failed: a text, or the error as the API has it"),
        status=_make_status("calling", "incomplete", "failed"),
    ),
    _make_typed(
        "mcp_list_tools",
        "The tools of an MCP server.",
        "server_label: deepwiki, tools: [{name: ask}]",
        "server_label tools? error?",
        tools=(_make_list(_MCP_TOOL), "its tools"),
    ),
    _make_typed(
        "mcp_approval_request",
        "An MCP call that needs approval.",
        "server_label: deepwiki, name: ask",
        "server_label name arguments?",
    ),
    _make_typed(
        "local_shell_call",
        "A command for the client's shell.",
        "command: [ls, -l]",
        "command? action? call_id? status?",
        action=(_EXEC, _WHOLE_ACTION),
        status=_WITHOUT_FAILURE,
    ),
    _make_typed(
        "shell_call",
        "Commands for a shell.",
        "commands: [ls -l]",
        "commands? action? environment? call_id? status?",
        action=(_SHELL, _WHOLE_ACTION),
        environment=(_ENVIRONMENT, "where they run"),
        status=_WITHOUT_FAILURE,
    ),
    _make_typed(
        "shell_call_output",
        "The output of the preceding shell call.",
        "output: [{stdout: hello}]",
        "output max_output_length? call_id? status?",
        output=(_make_list(_PRINTED, min_length=1), "one for each command"),
        status=_WITHOUT_FAILURE,
    ),
    _make_typed(
        "apply_patch_call",
        "A change to one file.",
        "operation: {type: delete_file, path: a.py}",
        "operation call_id? status?",
        operation=(_OPERATION, "the change"),
        status=_DONE,
    ),
    _make_typed(
        "apply_patch_call_output",
        "The result of the preceding patch.",
        "output: Done",
        "output? call_id? status?",
        status=_DONE_OR_FAILED,
    ),
    _make_typed(
        "server_tool_use",
        "Anthropic: a call of a tool that it runs.",
        "name: web_fetch, input: {url: https://example.org}",
        "name input id?",
        input=_INPUT,
    ),
    _make_typed(
        "mcp_tool_use",
        "Anthropic: a call of an MCP tool.",
        "name: ask, server_name: deepwiki, input: {q: fjords}",
        "name server_name input id?",
        server_name=(_NAME, "name of the MCP server"),
        input=_INPUT,
    ),
    *(
        _make_typed(
            f"{tool}_tool_result",
            f"Anthropic: the result of {what}, in the API's form.",
            "content: [{type: text, text: Many.}]",
            "content tool_use_id? is_error?",
            tool_use_id=(_NAME, "id of its call (default: that of the call before it)"),
            is_error=(bool, "whether it failed"),
        )
        for tool, what in _RESULTS.items()
    ),
    _make_typed(
        "redacted_thinking", "Anthropic: redacted thinking.", "data: c2VhbGVk", "data", data=(str, "the hidden data")
    ),
    _make_typed("container_upload", "Anthropic: a file in the container.", "file_id: file_1", "file_id"),
)

# Uses of the provider's own tools are checked here and expanded when an answer is made.
if TYPE_CHECKING:

    class HostedSpec(Table):
        type: str

    ItemSpec = MessageSpec | ReasoningSpec | FunctionCallSpec | CustomToolCallSpec | HostedSpec
else:
    _SPEC_BY_TYPE = {
        "message": MessageSpec,
        "reasoning": ReasoningSpec,
        "function_call": FunctionCallSpec,
        "custom_tool_call": CustomToolCallSpec,
    }
    ItemSpec = _choose_by_type(
        *((kind, Annotated[Any, LazyType(partial(_SPEC_BY_TYPE.get, kind))]) for kind in _SPEC_BY_TYPE), *_HOSTED
    )

# The keys of `then` for names that the APIs use.
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("content", "output_text", "message", "output"), "text: Hello"),
    **dict.fromkeys(("function_call", "tool_use"), "tool_calls: [{name: get_weather}]"),
    **{
        kind: f"items: [{{type: {kind}, ...}}]"
        for kind in (
            "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
            "computer_call", "mcp_call", "shell_call", "local_shell_call", "apply_patch_call",
        )
    },
    "status_code": "error: {status: 500}",
    "incomplete": "finish: length",
    "incomplete_details": "finish: length",
    "delay": "timing: {total: 2s}",
}  # fmt: skip
