"""The requests as Fireworks publishes them: the closed one for completions (its seed), and its chat.

Only validates. Members of unions are labelled as FastAPI names them in `loc`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Tag, TypeAdapter
from pydantic_core import PydanticKnownError
from typing_extensions import TypedDict

from mockserver.dialects._chat.models import (
    ChatTool,
    ChatToolChoice,
    FunctionChoice,
    FunctionDefinition,
    RequestMessage,
    StreamOptions,
)
from mockserver.dialects._completions import MAX_PROMPTS


def whole(value: Any) -> Any:
    """An integer, however it is written; anything else is refused here or by the type."""
    if isinstance(value, str):
        raise PydanticKnownError("int_type" if _reads_as(int, value) else "int_parsing")
    if isinstance(value, float):
        if not value.is_integer():
            raise PydanticKnownError("int_from_float")
        return int(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticKnownError("float_type" if _reads_as(float, value) else "float_parsing")
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


def _truth(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticKnownError("bool_type" if value.lower() in _TRUTHS else "bool_parsing")
    if isinstance(value, int) and not isinstance(value, bool):
        raise PydanticKnownError("bool_type" if value in (0, 1) else "bool_parsing")
    return value


def _reads_as(kind: type[int] | type[float], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _one_refused(value: Any) -> Any:
    """Keep only the first entry that will be refused, so that a large object gives one error, not thousands."""
    if not isinstance(value, Mapping) or len(value) <= _MANY:
        return value
    return next(({key: entry} for key, entry in value.items() if type(entry) not in _FITTING), value)


_TRUTHS = frozenset(("0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"))
_FITTING = (int, float, str)
_MANY = 64

Int = Annotated[int, BeforeValidator(whole), Tag("int")]
Number = Annotated[float, BeforeValidator(_number), Tag("float")]
Bool = Annotated[bool, BeforeValidator(_truth), Tag("bool")]
Text = Annotated[str, Tag("str")]
Texts = Annotated[list[str], Field(fail_fast=True), Tag("list[str]")]
Ints = Annotated[list[Int], Field(fail_fast=True), Tag("list[int]")]
Pairs = Annotated[dict[str, str], BeforeValidator(_one_refused)]
Bias = Annotated[float, BeforeValidator(_number), Field(ge=-100.0, le=100.0)]
Biases = Annotated[dict[str, Bias], BeforeValidator(_one_refused)]
Share = Annotated[float, BeforeValidator(_number), Field(ge=0.0, le=1.0)]
FromZeroToTwo = Annotated[float, BeforeValidator(_number), Field(ge=0.0, le=2.0)]
Penalty = Annotated[float, BeforeValidator(_number), Field(ge=-2.0, le=2.0)]
FewInt = Annotated[int, BeforeValidator(whole), Field(ge=0, le=5), Tag("int")]


_CLOSED = ConfigDict(strict=True, extra="forbid", defer_build=True)
Object = dict[str, Any]


class ImageURL(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    url: Required[str]
    detail: str | None


class VideoURL(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    url: Required[str]
    detail: str | None
    max_frames: Int | None
    spatial_limit: Int | None
    sample_fps: Number | None


class ChatMessageContent(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    type: Required[str]
    text: str | None
    image_url: ImageURL | None
    video_url: VideoURL | None


Contents = Annotated[list[ChatMessageContent], Field(fail_fast=True), Tag("list[ChatMessageContent]")]


class PredictedOutput(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    content: Required[Text | Contents]
    type: Literal["content"]


class ThinkingConfigEnabled(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    type: Required[Literal["enabled"]]
    budget_tokens: Annotated[int, BeforeValidator(whole), Field(ge=1024)] | None
    keep: Literal["all"] | None
    budget_end_str: str | None


class ThinkingConfigDisabled(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    type: Required[Literal["disabled"]]


Schema = Text | Annotated[Object, Tag("dict[str,any]")]


def _with_schema(answer: "ResponseFormat") -> "ResponseFormat":
    if answer["type"] == "json_schema" and answer.get("json_schema") is None and answer.get("schema") is None:
        raise ValueError('a response_format of type "json_schema" needs a json_schema')
    if answer["type"] == "grammar" and answer.get("grammar") is None:
        raise ValueError('a response_format of type "grammar" needs a grammar')
    return answer


class ResponseFormat(TypedDict, total=False):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    type: Required[Literal["json_object", "json_schema", "grammar", "text"]]
    schema: Schema | None
    grammar: str | None
    json_schema: Schema | None


Format = Annotated[ResponseFormat, AfterValidator(_with_schema)]
_EFFORTS = "literal['low','medium','high','xhigh','max','none']"
Effort = Annotated[Literal["low", "medium", "high", "xhigh", "max", "none"], Tag(_EFFORTS)]
Thinking = (
    Annotated[ThinkingConfigEnabled, Tag("ThinkingConfigEnabled")]
    | Annotated[ThinkingConfigDisabled, Tag("ThinkingConfigDisabled")]
)
Stops = Annotated[list[str], Field(max_length=4, fail_fast=True), Tag("list[str]")]
ListsOfTexts = Annotated[list[Texts], Field(fail_fast=True), Tag("list[list[str]]")]
Prompts = (
    Text
    | Annotated[list[str], Field(max_length=MAX_PROMPTS, fail_fast=True), Tag("list[str]")]
    | Ints
    | Annotated[list[Ints], Field(max_length=MAX_PROMPTS, fail_fast=True), Tag("list[list[int]]")]
)


class Sampling(TypedDict, total=False):
    model: Required[str]
    user: str | None
    prompt_cache_key: str | None
    prompt_cache_isolation_key: str | None
    raw_output: Bool | None
    perf_metrics_in_response: Bool | None
    stream: Bool | None
    n: Annotated[int, BeforeValidator(whole), Field(ge=1, le=128)]
    service_tier: Literal["auto", "default", "flex", "priority"]
    stop: Text | Stops | None
    max_tokens: Int | None
    max_completion_tokens: Int | None
    temperature: FromZeroToTwo | None
    top_k: Annotated[int, BeforeValidator(whole), Field(ge=0, le=100)] | None
    top_p: Share | None
    min_p: Share | None
    typical_p: Share | None
    frequency_penalty: Penalty | None
    presence_penalty: Penalty | None
    repetition_penalty: FromZeroToTwo | None
    mirostat_target: Number | None
    mirostat_lr: Number | None
    seed: Int | None
    logprobs: FewInt | Bool | None
    top_logprobs: Annotated[int, BeforeValidator(whole), Field(ge=0, le=5)] | None
    echo: Bool | None
    echo_last: Int | None
    ignore_eos: Bool
    context_length_exceeded_behavior: Literal["error", "truncate"]
    response_format: Format | None
    logit_bias: Biases | None
    speculation: Text | Ints | None
    prediction: Annotated[PredictedOutput, Tag("PredictedOutput")] | Text | None
    metadata: Pairs | None
    reasoning_effort: Effort | Int | Bool | None
    reasoning_history: Literal["disabled", "interleaved", "preserved"] | None
    thinking: Thinking | None
    return_token_ids: Bool | None


class CompletionRequest(Sampling, total=False):
    """`POST /completions`: closed, as the seed says."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]

    prompt: Required[Prompts]
    images: Texts | ListsOfTexts | None


class ChatCompletionRequest(Sampling, total=False):
    """`POST /chat/completions`: OpenAI's messages and tools; no seed closes it, so unknown fields are left alone."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    messages: Required[Annotated[list[RequestMessage], Field(min_length=1, fail_fast=True)]]
    tools: Annotated[list[ChatTool], Field(fail_fast=True)] | None
    tool_choice: ChatToolChoice | None
    parallel_tool_calls: Bool | None
    functions: Annotated[list[FunctionDefinition], Field(min_length=1, max_length=128, fail_fast=True)] | None
    function_call: FunctionChoice | None
    stream_options: StreamOptions | None
    prompt_truncate_len: Int | None


COMPLETION = TypeAdapter(CompletionRequest)
CHAT = TypeAdapter(ChatCompletionRequest)
COMPLETION_FIELDS = frozenset(CompletionRequest.__annotations__)
CHAT_FIELDS = frozenset(ChatCompletionRequest.__annotations__)
