"""What a request needs of its model: tools, images, schemas, an effort, a temperature. What it lacks is refused.

Knows features by the names that the settings give them, no provider's words.
"""

from collections.abc import Callable, Mapping

from mockserver.core.call import Call, Json
from mockserver.core.images import IMAGES
from mockserver.core.plan import Failure
from mockserver.engine.catalogue import Catalogue
from mockserver.engine.models import Model
from mockserver.engine.window import ANSWERED, fitting


def admitted(call: Call, models: Catalogue) -> Call:
    """The call as its model takes it. Raises Failure if there is none of that name, or it lacks what is asked."""
    models.admit(call.model)
    known = models.find(call.model)
    check(call, known.refusing)
    return fitting(call, known.refusing, known.stated)


def check(call: Call, model: Model) -> None:
    """Refuse what the model is known to lack. Raises Failure (`unsupported`), whose details name the `feature`."""
    if call.operation not in ANSWERED:
        return
    for feature, needed in _NEEDED.items():
        if getattr(model, feature) is False and (details := needed(call)) is not None:
            raise Failure("unsupported", details={"feature": feature, **details})


def _tools(call: Call) -> Mapping[str, Json] | None:
    return {} if call.tools else None


def _vision(call: Call) -> Mapping[str, Json] | None:
    shown = any(part.get("type") in IMAGES for message in call.messages for part in message.parts)
    return {} if shown else None


def _json_schema(call: Call) -> Mapping[str, Json] | None:
    return {} if call.response_format == "json_schema" else None


def _reasoning(call: Call) -> Mapping[str, Json] | None:
    return {} if call.effort not in (None, "none") else None


def _sampling(call: Call) -> Mapping[str, Json] | None:
    """The first of the parameters that stand at their defaults in such a model."""
    for name, default in _DEFAULTS.items():
        value = call.raw.get(name)
        if value is not None and value != default:
            return {"param": name, "default": default}
    renamed = call.operation == "chat" and call.raw.get("max_tokens") is not None
    return {"param": "max_tokens"} if renamed else None


_DEFAULTS: Mapping[str, Json] = {
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "top_logprobs": 0,
    "logit_bias": {},
}
_NEEDED: Mapping[str, Callable[[Call], Mapping[str, Json] | None]] = {
    "tools": _tools,
    "vision": _vision,
    "json_schema": _json_schema,
    "reasoning": _reasoning,
    "sampling": _sampling,
}
