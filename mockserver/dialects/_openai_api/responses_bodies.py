"""The Responses request as OpenAI publishes it, field by field with types and bounds; no field is required."""

from typing import Any

from msgspec import UNSET

from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Schema,
    check_shape,
    integer,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    number,
    open_shape,
    optional,
    shape,
    tag_union,
    text,
    text_or,
    union,
    union_by,
    usually,
)
from mockserver.dialects._openai_api.chat_bodies import (
    ACCOUNT_FIELDS,
    NAME_PATTERN,
    Efforts,
    JsonObjectFormat,
    Metadata,
    Name,
    PromptCacheKey,
    TextFormat,
    ToolMode,
    Verbosity,
)
from mockserver.dialects._openai_api.lenient import read_flat_tools, read_items


def _tag_part(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return _PART_TAGS.get(kind, "<a part>") if isinstance(kind, str) else "<a part>"


_TEXTUAL = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_PART_TAGS = {**dict.fromkeys(_TEXTUAL, "<a text>"), "refusal": "<a refusal>"}
_Text = open_shape(type=literal(*_TEXTUAL), text=str)
_Refusal = open_shape(type=literal("refusal"), refusal=str)
Part = usually(
    tag_union("type", _Text, _Refusal, open_shape(type=literal("input_image", "input_audio", "input_file"))),
    union_by(
        _tag_part,
        label_member("<a text>", _Text),
        label_member("<a refusal>", _Refusal),
        label_member("<a part>", open_shape(type=str)),
    ),
)


def _tag_item(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in (None, "message"):
        return "<an item>"
    bare = kind is None and isinstance(item, dict) and "id" in item and "role" not in item and "content" not in item
    return "<a reference>" if bare else "<a message>"


def make_input_type(part: Any, **fields: Any) -> Any:
    """Return the type of `input`: a text, or items."""
    return text_or("<an array of objects>", make_items_type(part, **fields))


def make_items_type(part: Any, **fields: Any) -> Any:
    """Return the type of items: messages may lack their type, and so may references to stored items."""
    content = text_or("<an array of objects>", list_of(part))
    role = literal("user", "assistant", "system", "developer")
    item = union_by(
        _tag_item,
        label_member("<a message>", open_shape(role=role, content=content, **fields)),
        label_member("<an item>", open_shape(type=str)),
        label_member("<a reference>", open_shape(id=str)),
    )
    kind = not_null(literal("message", *_USUAL_ITEMS))
    usual = open_shape(type=kind, role=not_null(role), content=not_null(content), **fields)
    return list_of(usually(check_shape(_refuse_partial, usual), item))


def _refuse_partial(item: Any) -> None:
    """Raise ValueError for a message without role or content, which other items need not have."""
    if item.type in (UNSET, "message") and (item.role is UNSET or item.content is UNSET):
        raise ValueError("no role or content")


_USUAL_ITEMS = (
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
    "item_reference", "web_search_call", "file_search_call", "code_interpreter_call", "mcp_call",
)  # fmt: skip


Input = make_input_type(Part)


# Tools, choices and formats are flat, unlike chat's.
Grammar = shape(type=literal("grammar"), definition=str, syntax=literal("lark", "regex"))
CustomTool = shape(
    type=literal("custom"), name=str, description=optional(str), format=optional(tag_union("type", TextFormat, Grammar))
)


def make_function_tool_type(name: Any) -> Any:
    """Return the type of a function that is offered, whose name has this type."""
    about = {"description": optional(str), "parameters": optional(Object), "strict": optional(bool)}
    return shape(type=literal("function"), name=name, **about)


def make_tools_type(function_name: Any, **own: Any) -> Any:
    """Return the type of `tools`: functions, custom tools, the `own` of the provider, and any others with a type."""

    def find_tag(tool: Any) -> str:
        found = tool.get("type") if isinstance(tool, dict) else None
        return found if isinstance(found, str) and (found in ("function", "custom") or found in own) else "<a tool>"

    function = make_function_tool_type(function_name)
    usual_others = open_shape(type=literal(*(kind for kind in _USUAL_TOOLS if kind not in own)))
    return usually(
        tag_union("type", function, CustomTool, *own.values(), usual_others),
        union_by(
            find_tag,
            label_member("function", function),
            label_member("custom", CustomTool),
            *(label_member(kind, tool) for kind, tool in own.items()),
            label_member("<a tool>", open_shape(type=str)),  # one of the provider's own, or one that it reaches (`mcp`)
        ),
    )


_USUAL_TOOLS = ("web_search", "web_search_preview", "file_search", "code_interpreter", "mcp", "computer_use_preview")


ImageTool = open_shape(type=literal("image_generation"), partial_images=optional(integer(0, 3)))
# As in the calls of a namespace, whose bounds are published.
FunctionName = text(1, 128, pattern=NAME_PATTERN)
NamespaceTool = open_shape(
    type=literal("namespace"),
    name=text(1, 64, pattern=NAME_PATTERN),
    description=optional(str),
    tools=list_of(tag_union("type", make_function_tool_type(FunctionName), CustomTool), 1),
)
ResponseTool = make_tools_type(FunctionName, image_generation=ImageTool, namespace=NamespaceTool)

ResponseNamedTool = shape(type=literal("function", "custom"), name=str)
McpChoice = shape(type=literal("mcp"), server_label=str, name=optional(str))
ResponseAllowedTools = shape(type=literal("allowed_tools"), mode=literal("auto", "required"), tools=list_of(Object))
HOSTED_CHOICES = (
    "file_search",
    "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
    "computer", "computer_use", "computer_use_preview",
    "code_interpreter", "image_generation", "local_shell", "shell", "apply_patch", "programmatic_tool_calling",
)  # fmt: skip
ChosenTool = tag_union("type", ResponseNamedTool, McpChoice, ResponseAllowedTools, shape(type=literal(*HOSTED_CHOICES)))
ResponseToolChoice = union(ToolMode, label_member("<an object>", ChosenTool))


def make_text_options_type(schema_name: Any) -> Any:
    """Return the type of `text`; the name of a JSON Schema in it has the type `schema_name`."""
    schema = shape(
        type=literal("json_schema"), name=schema_name, schema=Object, description=optional(str), strict=optional(bool)
    )
    form = tag_union("type", TextFormat, JsonObjectFormat, schema)
    return shape(format=optional(form), verbosity=optional(Verbosity))


Summary = literal("auto", "concise", "detailed")
ReasoningOptions = shape(
    effort=optional(Efforts),
    summary=optional(Summary),
    generate_summary=optional(Summary),
    context=optional(literal("auto", "current_turn", "all_turns")),
    mode=optional(str),
)
PromptTemplate = shape(id=str, version=optional(str), variables=optional(mapping(text_or("<an object>", Object))))
INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)

# `POST /responses` (https://platform.openai.com/docs/api-reference/responses).
ResponseBody = shape(
    model=not_null(str),
    input=not_null(Input),
    instructions=optional(str),
    max_output_tokens=optional(integer(16)),
    max_tool_calls=optional(int),
    parallel_tool_calls=optional(bool),
    temperature=optional(number(0, 2)),
    top_p=optional(number(0, 1)),
    top_logprobs=optional(integer(0, 20)),
    text=optional(make_text_options_type(Name)),
    tools=optional(list_of(ResponseTool)),
    tool_choice=optional(ResponseToolChoice),
    reasoning=optional(ReasoningOptions),
    include=optional(list_of(literal(*INCLUDABLE))),
    store=optional(bool),
    background=optional(bool),
    previous_response_id=optional(str),
    conversation=optional(text_or("<an object>", shape(id=str))),
    prompt=optional(PromptTemplate),
    truncation=optional(literal("auto", "disabled")),
    stream=optional(bool),
    stream_options=optional(shape(include_obfuscation=optional(bool))),
    service_tier=optional(literal("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")),
    metadata=optional(Metadata),
    prompt_cache_retention=optional(literal("in_memory", "24h")),
    context_management=optional(list_of(shape(type=str, compact_threshold=optional(int)))),
    background_options=optional(Object),
    access_programs=optional(Object),
    image=optional(Object),
    generate=optional(bool),  # over a WebSocket: false only warms up
    **ACCOUNT_FIELDS,
)


def make_responses_model(schema: Schema) -> BodyModel:
    """Return the model of a Responses body, which reads unusual items and tools if nothing is checked."""
    return BodyModel(schema, conversation={"input": read_items}, lenient={"tools": read_flat_tools})


RESPONSE = make_responses_model(ResponseBody)
# `POST /responses/input_tokens` and `/responses/compact`, whose input may be null.
RESPONSE_INPUT = make_responses_model(
    shape(
        **{
            **ResponseBody["fields"],
            **shape(model=optional(str), input=optional(Input), personality=not_null(text(most=64)))["fields"],
        }
    )
)

# Conversations take items, too: when they are made, and later.
NEW_CONVERSATION = BodyModel(
    shape(items=optional(make_items_type(Part)), metadata=optional(Metadata)), conversation={"items": read_items}
)
NEW_ITEMS = BodyModel(shape(items=make_items_type(Part)), conversation={"items": read_items})

# Bounds that only the live API checks.
MAX_ID = 64  # characters of the id of an item or a call
LIVE_RESPONSE = BodyModel(
    shape(
        input=not_null(
            text_or(
                "<an array of objects>",
                list_of(
                    shape(
                        id=optional(text(most=MAX_ID)),
                        call_id=optional(text(1, MAX_ID)),
                        namespace=optional(text(1, 64, pattern=NAME_PATTERN)),
                    )
                ),
            )
        ),
        prompt_cache_key=optional(PromptCacheKey),
    )
)
