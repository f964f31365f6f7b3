"""The list of models and one model, as OpenAI and its look-alikes tell them."""

from collections.abc import Mapping

from mockserver.core.call import Call, Json
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Models

OWNER = "mockserver"


def parse_models(dialect: str, http: HttpRequest, strict: bool) -> Call:
    """The Call of `GET /models`, or of `GET /models/{model}` where the path names one."""
    model = http.path_params.get("model", "")
    return Call(dialect, "model" if model else "models", model, http, {"model": model})


def models_body(call: Call, models: Models) -> Mapping[str, Json]:
    """The one model that was asked for, or the list of all (`wire/openai.md` section 8)."""
    listed = [{"id": name, "object": "model", "created": models.created, "owned_by": OWNER} for name in models.names]
    return listed[0] if call.operation == "model" else {"object": "list", "data": listed}
