"""The list of models and one model, as OpenAI and its look-alikes tell them."""

from collections.abc import Callable, Mapping

from mockserver.core.call import Call, Json
from mockserver.core.documents import Models
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Success
from mockserver.dialects import Operation
from mockserver.dialects._shared.reply import json_reply

OWNER = "mockserver"


def model_operations(
    dialect: str, headers: Callable[[HttpRequest, Call | None], Headers]
) -> tuple[Operation, Operation]:
    """`GET /models` and `GET /models/{model}` of a dialect, whose answers carry its own headers."""

    def parse(http: HttpRequest, strict: bool) -> Call:
        model = http.path_params.get("model", "")
        return Call(dialect, "model" if model else "models", model, http, {"model": model})

    def render(call: Call, outcome: Success) -> Reply:
        assert isinstance(outcome, Models)  # noqa: S101  # the engine answers an operation in its own kind
        return json_reply(200, models_body(call, outcome), headers(call.http, call))

    return (
        Operation("models", "GET", "/models", parse, render),
        Operation("model", "GET", "/models/{model:path}", parse, render),
    )


def models_body(call: Call, models: Models) -> Mapping[str, Json]:
    """The one model that was asked for, or the list of all (`wire/openai.md` section 8)."""
    listed = [{"id": name, "object": "model", "created": models.created, "owned_by": OWNER} for name in models.names]
    return listed[0] if call.operation == "model" else {"object": "list", "data": listed}
