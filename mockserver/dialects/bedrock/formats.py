"""The bodies of InvokeModel for models that continue a prompt, in the words of the schemas that check them."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from mockserver.core.json import find_in
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel, Object, integer, list_of, number, optional, shape
from mockserver.dialects._parse import Body, Complaint, clip, read_body
from mockserver.wire.bedrock_families import COMMAND, COMMAND_R, DEEPSEEK, LLAMA, MISTRAL, TITAN, TextFormat


def refuse_input(why: str) -> Failure:
    """Return the Failure of a body that the schema of its model refuses."""
    return Failure("bad_parameter", f"Malformed input request: {why}, please reformat your input and try again.")


def refuse_malformed(complaint: Complaint) -> Failure:
    """Return the Failure of a body that does not fit its JSON Schema."""
    path = complaint.path
    got = complaint.got
    place = "#" + "".join(f"/{clip(str(step))}" for step in path)
    outer = "#" + "".join(f"/{clip(str(step))}" for step in path[:-1])
    match complaint.kind:
        case "missing":
            return refuse_input(f"{outer}: required key [{clip(str(path[-1]))}] not found")
        case "type":
            expected = _TYPES.get(complaint.expected[0], complaint.expected[0])
            return refuse_input(f"{place}: expected type: {expected}, found: {_KINDS.get(type(got), 'Null')}")
        case "value":
            return refuse_input(f"{place}: {clip(str(got))} is not a valid enum value")
        case "short" | "long":
            word = "minimum" if complaint.kind == "short" else "maximum"
            if isinstance(got, list):
                return refuse_input(f"{place}: expected {word} item count: {complaint.bound}, found: {len(got)}")
            size = len(got) if isinstance(got, str | dict) else 0
            return refuse_input(f"{place}: expected {word[:3]}Length: {complaint.bound}, actual: {size}")
        case "below" | "above":
            side = "greater" if complaint.kind == "below" else "less"
            return refuse_input(f"{place}: {clip(str(got), 40)} is not {side} or equal to {complaint.bound}")
    return refuse_input(f"{place}: {complaint.message or 'invalid value'}")


_TYPES = {
    "a string": "String",
    "an integer": "Integer",
    "a decimal": "Number",
    "a boolean": "Boolean",
    "an array": "JSONArray",
    "an object": "JSONObject",
}
_KINDS: Mapping[type, str] = {
    str: "String",
    bool: "Boolean",
    int: "Integer",
    float: "BigDecimal",
    list: "JSONArray",
    dict: "JSONObject",
}


class Prompted(Struct, frozen=True, kw_only=True):
    """A format whose prompt is a text.

    `model` describes its requests, and `reads(model, body)` tells whether a request has this format. `prompt` is the
    key of the prompt; `limit` and `stops` are the paths to the most tokens and to the stop sequences. `shown` is the
    format of answers.
    """

    model: BodyModel
    reads: Callable[[str, Body], bool]
    shown: TextFormat
    prompt: str
    limit: tuple[str, ...]
    stops: tuple[str, ...]

    def read(self, body: Body, validation: Validation) -> Body:
        """Return the readable fields of a body. Raises Failure."""
        return read_body(self.model, body, refuse=refuse_malformed, validation=validation).body

    def list_messages(self, body: Body) -> list[tuple[str, str]]:
        """Return the roles and texts of a conversation, which ends with the prompt."""
        before = [
            ("assistant" if each.get("role") == "CHATBOT" else "user", str(each.get("message", "")))
            for each in body.get("chat_history") or ()
        ]
        return [*before, ("user", str(body.get(self.prompt, "")))]

    def find_limit(self, body: Body) -> int | None:
        """Return the most tokens of an answer, if they are stated."""
        found = find_in(body, *self.limit)
        return int(found) if isinstance(found, int) else None

    def list_stops(self, body: Body) -> tuple[str, ...]:
        """Return the stop sequences of a body."""
        found = find_in(body, *self.stops)
        return tuple(stop for stop in found if isinstance(stop, str)) if isinstance(found, list) else ()


_SHARE = optional(number(0, 1))
_STOPS = optional(list_of(str))
_TITAN = shape(
    inputText=str,
    textGenerationConfig=optional(
        shape(maxTokenCount=optional(integer(0)), temperature=_SHARE, topP=_SHARE, stopSequences=_STOPS)
    ),
)
_LLAMA = shape(prompt=str, max_gen_len=optional(integer(1)), temperature=_SHARE, top_p=_SHARE)
_MISTRAL = shape(
    prompt=str,
    max_tokens=optional(integer(1)),
    temperature=_SHARE,
    top_p=_SHARE,
    top_k=optional(integer(0)),
    stop=_STOPS,
)
_COMMAND = shape(prompt=str, max_tokens=optional(integer(1)), p=_SHARE, k=optional(number(0)), stop_sequences=_STOPS)
_COMMAND_R = shape(
    message=str,
    chat_history=optional(list_of(Object)),
    max_tokens=optional(integer(1)),
    stop_sequences=_STOPS,
)


def _match_names(*names: str, key: str) -> Callable[[str, Body], bool]:
    """Return the `reads` of a format: the model has one of these words in its id, and the body is not a chat."""

    def reads(model: str, body: Body) -> bool:
        return any(name in model for name in names) and (key in body or "messages" not in body)

    return reads


# The first that reads a request: by the model's id, else by the key of the prompt.
PROMPTED: Mapping[str, Prompted] = {
    "titan": Prompted(
        model=BodyModel(_TITAN),
        reads=lambda model, body: "titan" in model or ("inputText" in body and "nova" not in model),
        shown=TITAN,
        prompt="inputText",
        limit=("textGenerationConfig", "maxTokenCount"),
        stops=("textGenerationConfig", "stopSequences"),
    ),
    "llama": Prompted(
        model=BodyModel(_LLAMA),
        reads=_match_names("llama", key="prompt"),
        shown=LLAMA,
        prompt="prompt",
        limit=("max_gen_len",),
        stops=("stop",),
    ),
    "command_r": Prompted(
        model=BodyModel(_COMMAND_R),
        reads=lambda model, body: "command-r" in model or ("message" in body and "messages" not in body),
        shown=COMMAND_R,
        prompt="message",
        limit=("max_tokens",),
        stops=("stop_sequences",),
    ),
    "command": Prompted(
        model=BodyModel(_COMMAND),
        reads=_match_names("cohere.command", key="prompt"),
        shown=COMMAND,
        prompt="prompt",
        limit=("max_tokens",),
        stops=("stop_sequences",),
    ),
    "deepseek": Prompted(
        model=BodyModel(_MISTRAL),
        reads=_match_names("deepseek.r1", key="prompt"),
        shown=DEEPSEEK,
        prompt="prompt",
        limit=("max_tokens",),
        stops=("stop",),
    ),
    "mistral": Prompted(
        model=BodyModel(_MISTRAL),
        reads=lambda model, body: "prompt" in body or ("mistral." in model and "messages" not in body),
        shown=MISTRAL,
        prompt="prompt",
        limit=("max_tokens",),
        stops=("stop",),
    ),
}
