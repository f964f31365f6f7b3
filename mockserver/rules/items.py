"""The items of a response in rules files: messages, reasoning, tool calls and the provider's own tools."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from mockserver.rules.item_schema import (
    ApplyPatchOutputSpec,
    ApplyPatchSpec,
    Arguments,
    CallId,
    CodeInterpreterSpec,
    ComputerSpec,
    FileSearchSpec,
    ImageGenerationSpec,
    LocalShellSpec,
    McpApprovalSpec,
    McpCallSpec,
    McpListToolsSpec,
    ShellOutputSpec,
    ShellSpec,
    WebSearchSpec,
)
from mockserver.rules.table import Table, by_type

_NOTES = "annotations (citations), in the API's form"


class OutputTextSpec(Table):
    """Text of a message."""

    example = "{type: output_text, text: Hello}"

    type: Literal["output_text"]
    text: str = Field(description="what the client reads")
    annotations: list[dict[str, Any]] | None = Field(None, description=_NOTES)


class OutputRefusalSpec(Table):
    """A refusal in a message."""

    example = "{type: refusal, refusal: No}"

    type: Literal["refusal"]
    refusal: str = Field(description="a refusal")


Content = Annotated[
    Annotated[OutputTextSpec, Tag("<output_text>")] | Annotated[OutputRefusalSpec, Tag("<refusal>")], by_type
]


class MessageSpec(Table):
    """A separate message."""

    example = "{type: message, text: Hello}"

    type: Literal["message"]
    text: str | None = Field(None, description="what the client reads")
    annotations: list[dict[str, Any]] | None = Field(None, description=_NOTES)
    content: list[Content] | None = Field(None, min_length=1, description="its parts instead: output_text and refusal")


class ReasoningSpec(Table):
    """Reasoning."""

    example = "{type: reasoning, text: Two and two..., summary: Adding up}"

    type: Literal["reasoning"]
    text: str | None = Field(None, description="what it thinks")
    summary: str | None = Field(None, description="what is told of it; the text itself when absent")


class FunctionCallSpec(Table):
    """A function call."""

    example = "{type: function_call, name: get_weather, arguments: {city: Paris}}"

    type: Literal["function_call"]
    name: str = Field(min_length=1, description="name of the function")
    arguments: Arguments = Field(
        "auto", description="a table, a JSON string, or auto (generated from the tool's schema)"
    )
    call_id: CallId = None


class CustomToolCallSpec(Table):
    """A call of a free-text tool."""

    example = "{type: custom_tool_call, name: take_note, input: Milk}"

    type: Literal["custom_tool_call"]
    name: str = Field(min_length=1, description="name of the tool")
    input: str = Field(description="the text")
    call_id: CallId = None


SaidSpec = MessageSpec | ReasoningSpec | FunctionCallSpec | CustomToolCallSpec
ItemSpec = Annotated[
    Annotated[MessageSpec, Tag("<message>")]
    | Annotated[ReasoningSpec, Tag("<reasoning>")]
    | Annotated[FunctionCallSpec, Tag("<function_call>")]
    | Annotated[CustomToolCallSpec, Tag("<custom_tool_call>")]
    | Annotated[WebSearchSpec, Tag("<web_search_call>")]
    | Annotated[FileSearchSpec, Tag("<file_search_call>")]
    | Annotated[CodeInterpreterSpec, Tag("<code_interpreter_call>")]
    | Annotated[ImageGenerationSpec, Tag("<image_generation_call>")]
    | Annotated[ComputerSpec, Tag("<computer_call>")]
    | Annotated[McpCallSpec, Tag("<mcp_call>")]
    | Annotated[McpListToolsSpec, Tag("<mcp_list_tools>")]
    | Annotated[McpApprovalSpec, Tag("<mcp_approval_request>")]
    | Annotated[LocalShellSpec, Tag("<local_shell_call>")]
    | Annotated[ShellSpec, Tag("<shell_call>")]
    | Annotated[ShellOutputSpec, Tag("<shell_call_output>")]
    | Annotated[ApplyPatchSpec, Tag("<apply_patch_call>")]
    | Annotated[ApplyPatchOutputSpec, Tag("<apply_patch_call_output>")],
    by_type,
]

# The keys of `then` for names that the APIs use.
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("content", "output_text", "message", "output"), "text: Hello"),
    **dict.fromkeys(("function_call", "tool_use"), "tool_calls: [{name: get_weather}]"),
    **{
        kind: f"items: [{{type: {kind}, ...}}]"
        for kind in (
            *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
            *("computer_call", "mcp_call", "shell_call", "local_shell_call", "apply_patch_call"),
        )
    },
    "status": "error: {status: 500}, or finish: length for an answer that is incomplete",
    "status_code": "error: {status: 500}",
    "incomplete": "finish: length",
    "incomplete_details": "finish: length",
    "delay": "timing: {total: 2s}",
}
