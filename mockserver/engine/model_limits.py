"""Model limits: the context window, the output limit, and features that a model lacks.

Knows windows as numbers, not where they are set.
"""

from collections.abc import Callable, Mapping

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.tokens import IMAGES
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.model.prose.generators import MAX_TEXT_TOKENS


def fitting(call: Call, refusing: Model, stated: Model) -> Call:
    """Return the call within its model's limits. Raises Failure if it asks for more.

    What is merely published refuses requests; what is `stated` bounds answers too, even those that a rule gives.
    """
    if call.operation not in ANSWERED:
        return call
    if refusing.max_output_tokens is not None:
        call = _within_output(call, refusing.max_output_tokens)
    if refusing.context_window is not None:
        call = _within_window(call, refusing.context_window, bounds=stated.context_window is not None)
    return call if stated.max_output_tokens is None else _at_most(call, stated.max_output_tokens)


def _asked(call: Call) -> int | None:
    """Return how many tokens the client asks for; the provider's default does not count."""
    return call.options.max_tokens if call.options.usual_tokens is None else None


def _at_most(call: Call, tokens: int) -> Call:
    most = call.options.max_tokens
    return call.limited(tokens if most is None else min(most, tokens))


def _within_output(call: Call, limit: int) -> Call:
    asked = _asked(call)
    if asked is None or asked <= limit:
        return call
    if call.options.overflow == "error":
        raise Failure("unsupported", details={"feature": "max_output_tokens", "limit": limit, "asked": asked})
    return _at_most(call, limit)


def _within_window(call: Call, window: int, *, bounds: bool) -> Call:
    prompt, asked = call.prompt_tokens, _asked(call)
    if prompt > window and call.options.overflow == "truncate" and not call.prompts and call.operation in _FORGETFUL:
        return call  # the start of the conversation is dropped
    if prompt >= window and (asked != 0 or prompt > window):
        raise _too_long(call, window, 0)
    room = window - prompt
    if asked is not None and asked > room and call.options.overflow == "error":
        raise _too_long(call, window, asked)
    return _at_most(call, room) if bounds or (asked is not None and asked > room) else call


def for_generator(call: Call) -> Call:
    """Return the call for a generator: up to the provider's default limit, or to the last allowed token."""
    options = call.options
    most = _ENDLESS if options.ignore_eos and options.max_tokens is None else options.max_tokens
    if options.usual_tokens is not None:
        most = options.usual_tokens if most is None else min(most, options.usual_tokens)
    if options.ignore_eos and most is not None:
        most = min(most, MAX_TEXT_TOKENS - 1)
    return call if most is None or most == options.max_tokens else call.limited(most)


def _too_long(call: Call, window: int, asked: int) -> Failure:
    details = {"limit": window, "tokens": call.prompt_tokens + asked}
    both = {"prompt": call.prompt_tokens, "completion": asked} if asked else {}
    return Failure("context_length", details={**details, **both})


_ENDLESS = 2048  # tokens of a text that ignores the end of text
ANSWERED = ("chat", "completions", "responses")
_FORGETFUL = ("responses",)


def within_limits(call: Call, models: Catalogue) -> Call:
    """Return the call as its model accepts it. Raises Failure if the model is unknown or lacks a feature."""
    models.admit(call.model)
    known = models.find(call.model)
    check(call, known.refusing)
    return fitting(call, known.refusing, known.stated)


def check(call: Call, model: Model) -> None:
    """Raise Failure (`unsupported`, with the `feature` in its details) for what the model is known to lack."""
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
    return {} if call.options.response_format == "json_schema" else None


def _reasoning(call: Call) -> Mapping[str, Json] | None:
    return {} if call.options.effort not in (None, "none") else None


def _sampling(call: Call) -> Mapping[str, Json] | None:
    """Return the first sampling parameter that differs from its default."""
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
