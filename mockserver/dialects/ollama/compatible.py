"""What Ollama serves below `/v1`, in the shapes of OpenAI and Anthropic."""

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._messages import make_messages_operation
from mockserver.dialects._openai_api.api import OpenAIApi
from mockserver.dialects._openai_api.completions import TEXT_LAYOUT
from mockserver.dialects._reply import make_model_operations
from mockserver.dialects.ollama.request import NAME, TOOL_CALL_IDS
from mockserver.wire.chat import ChatLayout, ChatRenderer
from mockserver.wire.text import TextRenderer

CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "system_fingerprint", "choices", "usage"),
    message=("role", "content", "reasoning", "tool_calls"),
    choice=("index", "message", "finish_reason", "logprobs"),
    chunk=("id", "object", "created", "model", "system_fingerprint", "choices", "usage"),
    chunk_choice=("index", "delta", "finish_reason", "logprobs"),
    optional=frozenset({"logprobs"}),
    opening_of_call={"content": ""},
    finishes={"error": "stop", "content_filter": "stop"},
    reasoning="reasoning",
    whole_calls="apart",
    empty_content="",
)
_FINGERPRINT = "fp_ollama"
_CHAT_IDS = IdShape("chatcmpl-", 3, "digits")
_TEXT_IDS = IdShape("cmpl-", 3, "digits")


def make_compatible_operations() -> tuple[Operation, ...]:
    """Return the operations below `/v1`."""
    api = OpenAIApi(
        dialect=NAME,
        chat=ChatRenderer(CHAT_LAYOUT),
        text=TextRenderer(TEXT_LAYOUT),
        lines=_write_no_lines,
    )
    asked = (
        *(_name_ids(operation) for operation in api.make_inference_operations()),
        replace(api.make_responses_operation(), over_socket=False),
        *make_model_operations(NAME, _write_no_lines, _describe_model),
    )
    return (
        *(replace(operation, path=f"/v1{operation.path}") for operation in asked),
        make_messages_operation(NAME, "/v1/messages"),
    )


def _name_ids(operation: Operation) -> Operation:
    """Return an operation whose answers have the ids and the fingerprint of Ollama's."""

    def parse(http: HttpRequest, validation: Validation) -> Call:
        if (
            http.body and http.header_values.get(b"content-type") != b"application/json"
        ):  # Ollama reads a body whatever its type
            others = [field for field in http.headers if field[0] != b"content-type"]
            http = replace(http, headers=(*others, (b"content-type", b"application/json")))
        call = operation.parse(http, validation)
        ids = _TEXT_IDS if operation.name == "completions" else _CHAT_IDS
        made = replace(call, ids=ids, tool_call_ids=TOOL_CALL_IDS)
        vars(made).update(vars(call))  # values that were computed for the call
        return made

    def render(call: Call, outcome: Answer) -> Reply:
        if type(outcome) is Answer and outcome.stated_fingerprint == "":
            outcome = replace(outcome, stated_fingerprint=_FINGERPRINT)
        return operation.render(call, outcome)

    return replace(operation, parse=parse, render=render)


def _describe_model(name: str, created: int) -> dict[str, Json]:
    return {"id": name, "object": "model", "created": created, "owned_by": "library"}


def _write_no_lines(http: HttpRequest, call: Call | None) -> str:
    return ""
