"""The requests as Fireworks publishes them: the closed one for completions (its seed), and its chat.

Only validates. Members of unions are labelled as FastAPI names them in `loc`.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import AfterValidator, BeforeValidator, Field, Tag, TypeAdapter
from pydantic_core import PydanticKnownError

from mockserver.dialects._chat.models import (
    ChatTool,
    ChatToolChoice,
    FunctionChoice,
    FunctionDefinition,
    RequestMessage,
    StreamOptions,
)
from mockserver.dialects._completions import MAX_PROMPTS
from mockserver.dialects._shared.fields import (
    Object,
    checked,
    closed_shape,
    label,
    mapping,
    maybe,
    one_of,
    several,
    strict_shape,
    unset,
    words,
)


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


def integer(least: int | None = None, most: int | None = None) -> Any:
    """An integer within bounds."""
    return checked(int, BeforeValidator(whole), Field(ge=least, le=most), Tag("int"))


def number(least: float, most: float) -> Any:
    """A float within bounds."""
    return checked(float, BeforeValidator(_number), Field(ge=least, le=most))


Int = checked(int, BeforeValidator(whole), Tag("int"))
Number = checked(float, BeforeValidator(_number), Tag("float"))
Bool = checked(bool, BeforeValidator(_truth), Tag("bool"))
Text = label("str", str)
Texts = label("list[str]", several(str))
Ints = label("list[int]", several(Int))
Pairs = checked(mapping(str), BeforeValidator(_one_refused))
Bias = number(-100.0, 100.0)
Biases = checked(mapping(Bias), BeforeValidator(_one_refused))
Share, FromZeroToTwo, Penalty = number(0.0, 1.0), number(0.0, 2.0), number(-2.0, 2.0)
FewInt = integer(0, 5)

ImageURL = closed_shape(url=str, detail=maybe(str))
VideoURL = closed_shape(
    url=str, detail=maybe(str), max_frames=maybe(Int), spatial_limit=maybe(Int), sample_fps=maybe(Number)
)
Content = closed_shape(type=str, text=maybe(str), image_url=maybe(ImageURL), video_url=maybe(VideoURL))
PredictedOutput = closed_shape(
    content=one_of(Text, label("list[ChatMessageContent]", several(Content))), type=unset(words("content"))
)
ThinkingConfigEnabled = closed_shape(
    type=words("enabled"),
    budget_tokens=maybe(checked(int, BeforeValidator(whole), Field(ge=1024))),
    keep=maybe(words("all")),
    budget_end_str=maybe(str),
)
Thinking = one_of(
    label("ThinkingConfigEnabled", ThinkingConfigEnabled),
    label("ThinkingConfigDisabled", closed_shape(type=words("disabled"))),
)
Schema = one_of(Text, label("dict[str,any]", Object))


def _with_schema(answer: Object) -> Object:
    if answer["type"] == "json_schema" and answer.get("json_schema") is None and answer.get("schema") is None:
        raise ValueError('a response_format of type "json_schema" needs a json_schema')
    if answer["type"] == "grammar" and answer.get("grammar") is None:
        raise ValueError('a response_format of type "grammar" needs a grammar')
    return answer


ResponseFormat = closed_shape(
    type=words("json_object", "json_schema", "grammar", "text"),
    schema=maybe(Schema),
    grammar=maybe(str),
    json_schema=maybe(Schema),
)
Effort = label(
    "literal['low','medium','high','xhigh','max','none']", words("low", "medium", "high", "xhigh", "max", "none")
)
Prompts = one_of(
    Text,
    label("list[str]", several(str, most=MAX_PROMPTS)),
    Ints,
    label("list[list[int]]", several(Ints, most=MAX_PROMPTS)),
)
_SAMPLING: dict[str, Any] = {
    "model": str,
    "user": maybe(str),
    "prompt_cache_key": maybe(str),
    "prompt_cache_isolation_key": maybe(str),
    "raw_output": maybe(Bool),
    "perf_metrics_in_response": maybe(Bool),
    "stream": maybe(Bool),
    "n": unset(checked(int, BeforeValidator(whole), Field(ge=1, le=128))),
    "service_tier": unset(words("auto", "default", "flex", "priority")),
    "stop": maybe(one_of(Text, label("list[str]", several(str, most=4)))),
    "max_tokens": maybe(Int),
    "max_completion_tokens": maybe(Int),
    "temperature": maybe(FromZeroToTwo),
    "top_k": maybe(checked(int, BeforeValidator(whole), Field(ge=0, le=100))),
    "top_p": maybe(Share),
    "min_p": maybe(Share),
    "typical_p": maybe(Share),
    "frequency_penalty": maybe(Penalty),
    "presence_penalty": maybe(Penalty),
    "repetition_penalty": maybe(FromZeroToTwo),
    "mirostat_target": maybe(Number),
    "mirostat_lr": maybe(Number),
    "seed": maybe(Int),
    "logprobs": maybe(one_of(FewInt, Bool)),
    "top_logprobs": maybe(checked(int, BeforeValidator(whole), Field(ge=0, le=5))),
    "echo": maybe(Bool),
    "echo_last": maybe(Int),
    "ignore_eos": unset(Bool),
    "context_length_exceeded_behavior": unset(words("error", "truncate")),
    "response_format": maybe(checked(ResponseFormat, AfterValidator(_with_schema))),
    "logit_bias": maybe(Biases),
    "speculation": maybe(one_of(Text, Ints)),
    "prediction": maybe(one_of(label("PredictedOutput", PredictedOutput), Text)),
    "metadata": maybe(Pairs),
    "reasoning_effort": maybe(one_of(Effort, Int, Bool)),
    "reasoning_history": maybe(words("disabled", "interleaved", "preserved")),
    "thinking": maybe(Thinking),
    "return_token_ids": maybe(Bool),
}
# `POST /completions`: closed, as the seed says.
CompletionRequest = closed_shape(
    **_SAMPLING,
    prompt=Prompts,
    images=maybe(one_of(Texts, label("list[list[str]]", several(Texts)))),
)
# `POST /chat/completions`: OpenAI's messages and tools; no seed closes it, so unknown fields are left alone.
ChatCompletionRequest = strict_shape(
    **_SAMPLING,
    messages=several(RequestMessage, 1),
    tools=maybe(several(ChatTool)),
    tool_choice=maybe(ChatToolChoice),
    parallel_tool_calls=maybe(Bool),
    functions=maybe(several(FunctionDefinition, 1, 128)),
    function_call=maybe(FunctionChoice),
    stream_options=maybe(StreamOptions),
    prompt_truncate_len=maybe(Int),
)
COMPLETION = TypeAdapter(CompletionRequest)
CHAT = TypeAdapter(ChatCompletionRequest)
COMPLETION_FIELDS = frozenset(CompletionRequest.__annotations__)
CHAT_FIELDS = frozenset(ChatCompletionRequest.__annotations__)
