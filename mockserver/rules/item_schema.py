"""The provider's own tools in rules files, in the vocabulary of the Responses API.

The short forms that a table takes beside the wire's own keys are spelt out where items are compiled.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from mockserver.rules.table import Table, by_type, either

_AT_X, _AT_Y = "pixels from the left", "pixels from the top"
_HELD = "keys that are held meanwhile"


class PlaceSpec(Table):
    """A place on the screen."""

    example = "{x: 10, y: 20}"

    x: int = Field(description=_AT_X)
    y: int = Field(description=_AT_Y)


class ClickSpec(PlaceSpec):
    """Click."""

    example = "{type: click, x: 10, y: 20}"

    type: Literal["click"]
    button: Literal["left", "right", "wheel", "back", "forward"] = Field("left", description="left when absent")
    keys: list[str] | None = Field(None, description=_HELD)


class DoubleClickSpec(PlaceSpec):
    """Double-click."""

    example = "{type: double_click, x: 10, y: 20}"

    type: Literal["double_click"]
    keys: list[str] | None = Field(None, description=_HELD)


class DragSpec(Table):
    """Drag along a path."""

    example = "{type: drag, path: [{x: 10, y: 20}, {x: 30, y: 40}]}"

    type: Literal["drag"]
    path: list[PlaceSpec] = Field(min_length=1, description="where it leads, place by place")
    keys: list[str] | None = Field(None, description=_HELD)


class KeysSpec(Table):
    """Press keys together, or only press or release them."""

    example = "{type: keypress, keys: [ctrl, c]}"

    type: Literal["keypress", "key_down", "key_up"]
    keys: list[str] = Field(min_length=1, description="names of the keys")


class MoveSpec(PlaceSpec):
    """Move the pointer."""

    example = "{type: move, x: 10, y: 20}"

    type: Literal["move"]
    keys: list[str] | None = Field(None, description=_HELD)


class MouseSpec(PlaceSpec):
    """Press or release the left button at a place."""

    example = "{type: mouse_down, x: 10, y: 20}"

    type: Literal["mouse_down", "mouse_up"]


class ScrollSpec(PlaceSpec):
    """Scroll."""

    example = "{type: scroll, x: 10, y: 20, scroll_y: 100}"

    type: Literal["scroll"]
    scroll_x: int = Field(0, description="how far to the right; 0 when absent")
    scroll_y: int = Field(0, description="how far down; 0 when absent")
    keys: list[str] | None = Field(None, description=_HELD)


class TypeSpec(Table):
    """Type a text."""

    example = "{type: type, text: hello}"

    type: Literal["type"]
    text: str = Field(description="what is typed")


class PointAndTypeSpec(PlaceSpec):
    """Click and type a text."""

    example = "{type: point_and_type, x: 10, y: 20, text: hello}"

    type: Literal["point_and_type"]
    text: str = Field(description="what is typed")


class LookSpec(Table):
    """Take a screenshot, or wait."""

    example = "{type: screenshot}"

    type: Literal["screenshot", "wait"]


Action = Annotated[
    Annotated[ClickSpec, Tag("<click>")]
    | Annotated[DoubleClickSpec, Tag("<double_click>")]
    | Annotated[DragSpec, Tag("<drag>")]
    | Annotated[KeysSpec, Tag("<keypress>")]
    | Annotated[MoveSpec, Tag("<move>")]
    | Annotated[LookSpec, Tag("<screenshot>")]
    | Annotated[ScrollSpec, Tag("<scroll>")]
    | Annotated[TypeSpec, Tag("<type>")]
    | Annotated[LookSpec, Tag("<wait>")]
    | Annotated[PointAndTypeSpec, Tag("<point_and_type>")]
    | Annotated[MouseSpec, Tag("<mouse_down>")]
    | Annotated[MouseSpec, Tag("<mouse_up>")]
    | Annotated[KeysSpec, Tag("<key_down>")]
    | Annotated[KeysSpec, Tag("<key_up>")],
    by_type,
]


_CALL_ID = "id of the call, to which its result will refer; made when absent"
_SERVER = "name of the MCP server"

Ended = Annotated[Literal["completed", "incomplete"] | None, Field(description="how it ended, if not well")]
Failing = Annotated[Literal["completed", "incomplete", "failed"] | None, Field(description="how it ended, if not well")]
CallId = Annotated[str | None, Field(min_length=1, description=_CALL_ID)]
Arguments = Annotated[
    Annotated[dict[str, Any], Tag("<table>")] | Annotated[str, Tag("<text>")], either("a table or a JSON text")
]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class SourceSpec(Table):
    """A page that a search found."""

    example = "{type: url, url: https://example.org}"

    type: Literal["url"] = "url"
    url: str = Field(description="its address")


Sources = Annotated[
    list[
        Annotated[
            Annotated[str, Tag("<text>")] | Annotated[SourceSpec, Tag("<table>")],
            either("an address such as https://example.org"),
        ]
    ]
    | None,
    Field(description="addresses of what was found"),
]


class SearchSpec(Table):
    """Search the web."""

    example = "{type: search, query: weather in Oslo}"

    type: Literal["search"]
    query: str | None = Field(None, description="what is searched for")
    queries: list[str] | None = Field(None, min_length=1, description="the same, where there are several")
    sources: Sources = None


class OpenPageSpec(Table):
    """Open a page."""

    example = "{type: open_page, url: https://example.org}"

    type: Literal["open_page"]
    url: str = Field(description="its address")


class FindInPageSpec(Table):
    """Look for words in a page."""

    example = "{type: find_in_page, url: https://example.org, pattern: Oslo}"

    type: Literal["find_in_page"]
    url: str = Field(description="its address")
    pattern: str = Field(description="the words")


WebAction = Annotated[
    Annotated[SearchSpec, Tag("<search>")]
    | Annotated[OpenPageSpec, Tag("<open_page>")]
    | Annotated[FindInPageSpec, Tag("<find_in_page>")],
    by_type,
]


class WebSearchSpec(Table):
    """A web search."""

    example = "{type: web_search_call, query: weather in Oslo}"

    type: Literal["web_search_call"]
    query: str | None = Field(None, description="what is searched for")
    sources: Sources = None
    action: WebAction | None = Field(None, description="what is done instead: search, open_page or find_in_page")
    status: Failing = None


class FoundSpec(Table):
    """A passage that a file search found."""

    example = "{file_id: file-1, filename: a.txt, score: 0.9, text: Hello}"

    file_id: str | None = Field(None, description="id of the file")
    filename: str | None = Field(None, description="its name")
    score: Score | None = Field(None, description="how well it fits, 0 to 1")
    text: str | None = Field(None, description="the passage")
    attributes: dict[str, Any] | None = Field(None, description="what is known of the file")


class FileSearchSpec(Table):
    """A file search."""

    example = "{type: file_search_call, query: holidays}"

    type: Literal["file_search_call"]
    query: str | None = Field(None, description="what is searched for")
    queries: list[str] | None = Field(None, min_length=1, description="the same, where there are several")
    results: list[FoundSpec] | None = Field(None, description="what was found")
    status: Failing = None


class LogsSpec(Table):
    """What code printed."""

    example = '{type: logs, logs: "42"}'

    type: Literal["logs"]
    logs: str = Field(description="the lines")


class ImageSpec(Table):
    """An image that code produced."""

    example = "{type: image, url: https://example.org/plot.png}"

    type: Literal["image"]
    url: str = Field(description="its address")


CodeOutput = Annotated[Annotated[LogsSpec, Tag("<logs>")] | Annotated[ImageSpec, Tag("<image>")], by_type]


class CodeInterpreterSpec(Table):
    """Executed code."""

    example = "{type: code_interpreter_call, code: print(42)}"

    type: Literal["code_interpreter_call"]
    code: str = Field(description="the code")
    container_id: str | None = Field(None, min_length=1, description="id of its container; made when absent")
    outputs: list[CodeOutput] | None = Field(None, description="what it gave: logs and images")
    status: Failing = None


class ImageGenerationSpec(Table):
    """A generated image."""

    example = "{type: image_generation_call}"

    type: Literal["image_generation_call"]
    result: str | None = Field(None, description="the image in base64; a tiny one when absent")
    revised_prompt: str | None = Field(None, description="the prompt that it was made from")
    action: Literal["generate", "edit", "auto"] | None = Field(None, description="what was done")
    background: Literal["transparent", "opaque", "auto"] | None = Field(None, description="its background")
    output_format: Literal["png", "webp", "jpeg", "gif", "svg"] | None = Field(None, description="its format")
    quality: Literal["low", "medium", "high", "xhigh", "max", "auto"] | None = Field(None, description="its quality")
    size: str | None = Field(None, description="its size, such as 1024x1024")
    status: Literal["completed", "failed"] | None = Field(None, description="how it ended, if not well")


class SafetyCheckSpec(Table):
    """A check that the client must acknowledge."""

    example = "{id: cu_sc_1, code: malicious_instructions, message: Look twice}"

    id: str = Field(min_length=1, description="its id")
    code: str | None = Field(None, description="its type")
    message: str | None = Field(None, description="what it says")


class ComputerSpec(Table):
    """Computer actions."""

    example = "{type: computer_call, action: {type: click, x: 10, y: 20}}"

    type: Literal["computer_call"]
    action: Action | None = Field(None, description="what is to be done")
    actions: list[Action] | None = Field(None, min_length=1, description="the same, where there are several")
    call_id: CallId = None
    pending_safety_checks: list[SafetyCheckSpec] | None = Field(None, description="checks to acknowledge")
    status: Ended = None


class McpErrorSpec(Table):
    """Why a tool of an MCP server failed."""

    example = "{type: http_error, code: 503, message: Not now}"

    type: Literal["mcp_protocol_error", "http_error"]
    code: int = Field(description="its number")
    message: str = Field(description="what it says")


class McpExecutionErrorSpec(Table):
    """The same, as the tool itself says it."""

    example = "{type: mcp_tool_execution_error, content: []}"

    type: Literal["mcp_tool_execution_error"]
    content: Any = Field(description="what the tool says")


McpError = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[
        Annotated[McpErrorSpec, Tag("<mcp_protocol_error>")]
        | Annotated[McpErrorSpec, Tag("<http_error>")]
        | Annotated[McpExecutionErrorSpec, Tag("<mcp_tool_execution_error>")],
        by_type,
        Tag("<table>"),
    ],
    either("a text, or a table with its type"),
]


class McpCallSpec(Table):
    """A call of an MCP tool."""

    example = "{type: mcp_call, server_label: deepwiki, name: ask, arguments: {q: fjords}, output: Many.}"

    type: Literal["mcp_call"]
    server_label: str = Field(min_length=1, description=_SERVER)
    name: str = Field(min_length=1, description="name of the tool")
    arguments: Arguments = Field("{}", description="a table or a JSON text")
    output: str | None = Field(None, description="what it gave")
    error: McpError | None = Field(None, description="why it failed: a text, or the error as the API has it")
    approval_request_id: str | None = Field(None, description="id of the request that it was approved by")
    status: Failing = None


class McpToolSpec(Table):
    """A tool of an MCP server."""

    example = "{name: ask, input_schema: {type: object}}"

    name: str = Field(min_length=1, description="its name")
    description: str | None = Field(None, description="what it does")
    input_schema: dict[str, Any] | None = Field(None, description="the JSON Schema of its arguments")
    annotations: dict[str, Any] | None = Field(None, description="what else is known of it")


class McpListToolsSpec(Table):
    """The tools of an MCP server."""

    example = "{type: mcp_list_tools, server_label: deepwiki, tools: [{name: ask}]}"

    type: Literal["mcp_list_tools"]
    server_label: str = Field(min_length=1, description=_SERVER)
    tools: list[McpToolSpec] = Field([], description="its tools")
    error: str | None = Field(None, description="why they could not be listed")


class McpApprovalSpec(Table):
    """An MCP call that needs approval."""

    example = "{type: mcp_approval_request, server_label: deepwiki, name: ask}"

    type: Literal["mcp_approval_request"]
    server_label: str = Field(min_length=1, description=_SERVER)
    name: str = Field(min_length=1, description="name of the tool")
    arguments: Arguments = Field("{}", description="a table or a JSON text")


class ExecSpec(Table):
    """A command to run."""

    example = "{type: exec, command: [ls, -l]}"

    type: Literal["exec"] = Field("exec", description="exec")
    command: list[str] = Field(min_length=1, description="the command and its arguments")
    env: dict[str, str] = Field({}, description="environment variables")
    timeout_ms: int | None = Field(None, ge=0, description="how long it may take")
    user: str | None = Field(None, description="who runs it")
    working_directory: str | None = Field(None, description="where it runs")


class LocalShellSpec(Table):
    """A command for the client's shell."""

    example = "{type: local_shell_call, command: [ls, -l]}"

    type: Literal["local_shell_call"]
    command: list[str] | None = Field(None, min_length=1, description="the command and its arguments")
    action: ExecSpec | None = Field(None, description="the same with all that the API has beside it")
    call_id: CallId = None
    status: Ended = None


class CommandsSpec(Table):
    """Commands to run."""

    example = "{commands: [ls -l]}"

    commands: list[str] = Field(min_length=1, description="the commands")
    max_output_length: int | None = Field(None, ge=0, description="characters of output that are wanted")
    timeout_ms: int | None = Field(None, ge=0, description="how long they may take")


class EnvironmentSpec(Table):
    """Where commands run."""

    example = "{type: local}"

    type: Literal["local", "container_reference"]
    container_id: str | None = Field(None, description="id of the container")


class ShellSpec(Table):
    """Commands for a shell."""

    example = "{type: shell_call, commands: [ls -l]}"

    type: Literal["shell_call"]
    commands: list[str] | None = Field(None, min_length=1, description="the commands")
    action: CommandsSpec | None = Field(None, description="the same with all that the API has beside it")
    environment: EnvironmentSpec | None = Field(None, description="where they run")
    call_id: CallId = None
    status: Ended = None


class OperationSpec(Table):
    """A change of one file."""

    example = "{type: update_file, path: a.py, diff: '-a'}"

    type: Literal["create_file", "update_file", "delete_file"]
    path: str = Field(min_length=1, description="path of the file")
    diff: str | None = Field(None, description="what changes; not for delete_file")


class ApplyPatchSpec(Table):
    """A change to one file."""

    example = "{type: apply_patch_call, operation: {type: delete_file, path: a.py}}"

    type: Literal["apply_patch_call"]
    operation: OperationSpec = Field(description="the change")
    call_id: CallId = None


class PrintedSpec(Table):
    """What one command printed, and how it ended."""

    example = "{stdout: hello, exit_code: 0}"

    stdout: str = Field("", description="what it printed")
    stderr: str = Field("", description="its error output")
    exit_code: int | None = Field(None, description="its exit code; 0 when absent")
    timed_out: Literal[True] | None = Field(None, description="it took too long")


class ShellOutputSpec(Table):
    """The output of the preceding shell call."""

    example = "{type: shell_call_output, output: [{stdout: hello}]}"

    type: Literal["shell_call_output"]
    output: list[PrintedSpec] = Field(min_length=1, description="one for each command")
    max_output_length: int | None = Field(None, ge=0, description="characters of output that were wanted")
    call_id: CallId = None
    status: Ended = None


class ApplyPatchOutputSpec(Table):
    """The result of the preceding patch."""

    example = "{type: apply_patch_call_output, output: Done}"

    type: Literal["apply_patch_call_output"]
    output: str | None = Field(None, description="what is told of it")
    call_id: CallId = None
    status: Literal["completed", "failed"] | None = Field(None, description="how it ended, if not well")
