"""The requests as Fireworks publishes them; members of unions have the labels of FastAPI's `loc`.

`integer` and `number` are called like those of `_fields`, and accept what Fireworks does.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticKnownError

from mockserver.config.tables import AfterValidator, BeforeValidator
from mockserver.core.json import Json
from mockserver.dialects import _fields
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    closed_shape,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    optional,
    schema_of,
    shape,
    tag_union,
    union,
    usually,
)
from mockserver.dialects._openai_api.chat_bodies import (
    AllowedTools,
    ChatTool,
    FunctionChoice,
    FunctionDefinition,
    NamedCustom,
    NamedFunction,
    StreamOptions,
    make_chat_model,
    make_message_type,
)
from mockserver.dialects._openai_api.completions import MAX_PROMPTS

ToolChoice = union(
    label_member("<a string>", literal("none", "auto", "required", "any")),
    label_member("<an object>", tag_union("type", NamedFunction, NamedCustom, AllowedTools)),
)


def read_integer(value: Any) -> Any:
    """Return a whole number as an int. Refuse texts and fractions; leave any other value for the type to refuse."""
    if isinstance(value, str):
        raise PydanticKnownError("int_type" if _can_read_as(int, value) else "int_parsing")
    if isinstance(value, float):
        if not value.is_integer():
            raise PydanticKnownError("int_from_float")
        return int(value)
    return value


def _read_number(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticKnownError("float_type" if _can_read_as(float, value) else "float_parsing")
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


def _read_truth(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticKnownError("bool_type" if value.lower() in _TRUTHS else "bool_parsing")
    if isinstance(value, int) and not isinstance(value, bool):
        raise PydanticKnownError("bool_type" if value in (0, 1) else "bool_parsing")
    return value


def _can_read_as(kind: type[int] | type[float], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _select_refused(value: Any) -> Any:
    """Keep only the first entry that will be refused, so that a large object gives one error, not thousands."""
    if not isinstance(value, Mapping) or len(value) <= _MANY_KEYS:
        return value
    return next(({key: entry} for key, entry in value.items() if type(entry) not in _FITTING), value)


_TRUTHS = frozenset(("0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"))
_FITTING = (int, float, str)
_MANY_KEYS = 64


def integer(least: int | None = None, most: int | None = None) -> Any:
    """Return the type of whole numbers, which may be written as floats."""
    usual = _fields.integer(-_LARGEST if least is None else least, _LARGEST if most is None else most)
    return label_member("int", usually(usual, BeforeValidator(read_integer)(_fields.integer(least, most))))


_LARGEST = 2**53  # of the integers that are not looked at more closely


def number(least: float | None = None, most: float | None = None) -> Any:
    """Return the type of numbers."""
    usual = _fields.number(least, most)
    return usually(usual, BeforeValidator(_read_number)(usual))


Int = integer()
Number = number()
Bool = label_member("bool", usually(bool, BeforeValidator(_read_truth)(schema_of(bool))))
Text = label_member("str", str)
Texts = label_member("list[str]", list_of(str))
Ints = label_member("list[int]", list_of(Int))
Pairs = usually(mapping(str), BeforeValidator(_select_refused)(mapping(str)))
Bias = number(-100.0, 100.0)
Biases = usually(mapping(Bias), BeforeValidator(_select_refused)(mapping(Bias)))
Share = number(0.0, 1.0)
FromZeroToTwo = number(0.0, 2.0)
Penalty = number(-2.0, 2.0)
FewInt = integer(0, 5)

ImageURL = closed_shape(url=str, detail=optional(str))
VideoURL = closed_shape(
    url=str, detail=optional(str), max_frames=optional(Int), spatial_limit=optional(Int), sample_fps=optional(Number)
)
Content = closed_shape(type=str, text=optional(str), image_url=optional(ImageURL), video_url=optional(VideoURL))
PredictedOutput = closed_shape(
    content=union(Text, label_member("list[ChatMessageContent]", list_of(Content))), type=not_null(literal("content"))
)
ThinkingConfigEnabled = closed_shape(
    type=literal("enabled"),
    budget_tokens=optional(integer(1024)),
    keep=optional(literal("all")),
    budget_end_str=optional(str),
)
ThinkingConfigDisabled = closed_shape(type=literal("disabled"))
Thinking = usually(
    tag_union("type", ThinkingConfigEnabled, ThinkingConfigDisabled),
    union(
        label_member("ThinkingConfigEnabled", ThinkingConfigEnabled),
        label_member("ThinkingConfigDisabled", ThinkingConfigDisabled),
    ),
)
Schema = union(Text, label_member("dict[str,any]", Object))


def _complete_format(answer: dict[str, Json]) -> dict[str, Json]:
    if answer["type"] == "json_schema" and answer.get("json_schema") is None and answer.get("schema") is None:
        raise ValueError('a response_format of type "json_schema" needs a json_schema')
    if answer["type"] == "grammar" and answer.get("grammar") is None:
        raise ValueError('a response_format of type "grammar" needs a grammar')
    return answer


ResponseFormat = closed_shape(
    type=literal("json_object", "json_schema", "grammar", "text"),
    schema=optional(Schema),
    grammar=optional(str),
    json_schema=optional(Schema),
)
Effort = label_member(
    "literal['low','medium','high','xhigh','max','none']", literal("low", "medium", "high", "xhigh", "max", "none")
)
_FewTexts = label_member("list[str]", list_of(str, most=MAX_PROMPTS))
Prompts = usually(
    union(Text, _FewTexts),
    union(Text, _FewTexts, Ints, label_member("list[list[int]]", list_of(Ints, most=MAX_PROMPTS))),
)
_SAMPLING: dict[str, Any] = {
    "model": str,
    "user": optional(str),
    "prompt_cache_key": optional(str),
    "prompt_cache_isolation_key": optional(str),
    "raw_output": optional(Bool),
    "perf_metrics_in_response": optional(Bool),
    "stream": optional(Bool),
    "n": not_null(integer(1, 128)),
    "service_tier": not_null(literal("auto", "default", "flex", "priority")),
    "stop": optional(union(Text, label_member("list[str]", list_of(str, most=4)))),
    "max_tokens": optional(Int),
    "max_completion_tokens": optional(Int),
    "temperature": optional(FromZeroToTwo),
    "top_k": optional(integer(0, 100)),
    "top_p": optional(Share),
    "min_p": optional(Share),
    "typical_p": optional(Share),
    "frequency_penalty": optional(Penalty),
    "presence_penalty": optional(Penalty),
    "repetition_penalty": optional(FromZeroToTwo),
    "mirostat_target": optional(Number),
    "mirostat_lr": optional(Number),
    "seed": optional(Int),
    "logprobs": optional(union(FewInt, Bool)),
    "top_logprobs": optional(FewInt),
    "echo": optional(Bool),
    "echo_last": optional(Int),
    "ignore_eos": not_null(Bool),
    "context_length_exceeded_behavior": not_null(literal("error", "truncate")),
    "response_format": optional(AfterValidator(_complete_format)(ResponseFormat)),
    "logit_bias": optional(Biases),
    "speculation": optional(union(Text, Ints)),
    "prediction": optional(union(label_member("PredictedOutput", PredictedOutput), Text)),
    "metadata": optional(Pairs),
    "reasoning_effort": optional(union(Effort, integer(1), Bool)),
    "reasoning_history": optional(literal("disabled", "interleaved", "preserved")),
    "thinking": optional(Thinking),
    "return_token_ids": optional(Bool),
}
# `POST /completions`: closed, as published.
CompletionRequest = closed_shape(
    **_SAMPLING, prompt=Prompts, images=optional(union(Texts, label_member("list[list[str]]", list_of(Texts))))
)
# `POST /chat/completions`: OpenAI's messages and tools; Fireworks publishes no schema, so unknown fields are allowed,
# and contents without parts, as LangChain sends them.
ChatCompletionRequest = shape(
    **_SAMPLING,
    messages=list_of(make_message_type(None), 1),
    tools=optional(list_of(ChatTool)),
    tool_choice=optional(ToolChoice),
    parallel_tool_calls=optional(Bool),
    functions=optional(list_of(FunctionDefinition, 1, 128)),
    function_call=optional(FunctionChoice),
    stream_options=optional(StreamOptions),
    prompt_truncate_len=optional(Int),
)
COMPLETION = BodyModel(CompletionRequest)
CHAT = make_chat_model(ChatCompletionRequest)

# `POST /rerank` (https://docs.fireworks.ai/api-reference/rerank-documents).
RERANK = BodyModel(
    shape(
        model=optional(str),
        query=str,
        documents=list_of(str, 1),
        top_n=optional(integer(1)),
        return_documents=optional(bool),
        task=optional(str),
    )
)
