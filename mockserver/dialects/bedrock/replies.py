"""Replies of Bedrock's own operations: answers, token counts, models, inference profiles, and blocked prompts."""

from collections.abc import Callable, Mapping

from mockserver.core.call import Call
from mockserver.core.event_stream import MEDIA_TYPE
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Failure, Models, Stored, Text, Usage
from mockserver.core.seed import FROZEN_AT
from mockserver.dialects._reply import make_answer_reply, make_json_reply
from mockserver.dialects.bedrock.errors import fail_plainly, write_request_id
from mockserver.dialects.bedrock.models import find_base_model, find_vendor
from mockserver.dialects.bedrock.request import make_converse_options
from mockserver.wire.bedrock import BLOCKED, FILTERED, ConverseRenderer, replace_filtered

STREAM_TYPE = f"content-type: {MEDIA_TYPE}\r\n"
_CONVERSE = ConverseRenderer()


def render_converse(call: Call, outcome: Answer) -> Reply:
    """Return the reply of Converse, or the stream of its events."""
    options = make_converse_options(call)
    if options.guardrail is not None:
        outcome = replace_filtered(outcome, options)
    own = write_request_id(call.http, call)
    return make_answer_reply(outcome, _CONVERSE, options, own, stream=call.stream, stream_lines=STREAM_TYPE)


def render_count(call: Call, stored: Stored) -> Reply:
    """Return the reply with the tokens of a prompt."""
    return make_json_reply(200, {"inputTokens": stored.answer.usage.prompt}, lines=write_request_id(call.http, call))


Render = Callable[[Call, Answer], Reply]


def make_fail(render: Mapping[str, Render]) -> Callable[[HttpRequest, Failure, Call | None], Reply]:
    """Return the function for refused requests; `render` has that of answers, by the last segment of their paths."""

    def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
        if failure.reason == "content_filter" and failure.status is None and call is not None:
            show = render.get(http.path.rpartition("/")[2])
            if show is not None and call.operation == "chat":
                return show(call, _make_blocked(call, failure))
        return fail_plainly(http, failure, call)

    return fail


def _make_blocked(call: Call, failure: Failure) -> Answer:
    """Return the answer to a prompt that a filter blocks: not an error, but a message in place of the answer."""
    named = bool((call.raw.get("guardrailConfig") or {}).get("guardrailIdentifier"))
    choice = Choice((Text(BLOCKED if named else FILTERED),), "content_filter")
    safety = failure.details.get("safety", ())
    usage = Usage(call.prompt_tokens)
    name = f"{call.ids.prefix}{call.fingerprint[: call.ids.length]}"
    return Answer(
        name, FROZEN_AT, model=call.model, choices=(choice,), usage=usage, prompt_safety=safety, headers=failure.headers
    )


# Models and inference profiles.


def render_models(call: Call, outcome: Models) -> Reply:
    """Return the reply with a model, or with the models that a query selects."""
    query = call.http.query
    listed = [_describe(name) for name in outcome.names]
    if call.operation == "model":
        body: dict[str, Json] = {"modelDetails": listed[0]}
    else:
        wanted = {"providerName": query.get("byProvider"), "outputModalities": query.get("byOutputModality")}
        shown = [each for each in listed if all(_has(each[key], value) for key, value in wanted.items())]
        body = {"modelSummaries": shown}
    return make_json_reply(200, body, lines=write_request_id(call.http, call))


def _has(value: Json, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return wanted in value if isinstance(value, list) else str(value).lower() == wanted.lower()


def _describe(name: str) -> dict[str, Json]:
    vendor = find_vendor(name)
    embeds = "embed" in name
    words = find_base_model(name).rpartition(".")[2].split("-")
    return {
        "customizationsSupported": [],
        "inferenceTypesSupported": ["ON_DEMAND"],
        "inputModalities": ["TEXT"] if embeds else ["TEXT", "IMAGE"],
        "modelArn": name if name.startswith("arn:") else f"{_MODEL_ARN}{name}",
        "modelId": name,
        "modelLifecycle": {"status": "ACTIVE"},
        "modelName": " ".join(word.capitalize() for word in words),
        "outputModalities": ["EMBEDDING"] if embeds else ["TEXT"],
        "providerName": _VENDORS.get(vendor, vendor.capitalize() or "Amazon"),
        "responseStreamingSupported": not embeds,
    }


_MODEL_ARN = "arn:aws:bedrock:us-east-1::foundation-model/"
_PROFILE_ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/"
_VENDORS = {"openai": "OpenAI", "mistral": "Mistral AI", "ai21": "AI21 Labs", "deepseek": "DeepSeek"}


def render_profiles(call: Call, outcome: Models) -> Reply:
    """Return the reply with an inference profile, or with all of a type."""
    if call.operation == "model":
        return make_json_reply(200, _describe_profile(outcome.names[0]), lines=write_request_id(call.http, call))
    kind = call.http.query.get("type", call.http.query.get("typeEquals", "SYSTEM_DEFINED"))
    names = [name for name in outcome.names if kind == "SYSTEM_DEFINED" and "embed" not in name]
    profiles = [_describe_profile(name if _is_profile(name) else f"us.{name}") for name in names]
    return make_json_reply(200, {"inferenceProfileSummaries": profiles}, lines=write_request_id(call.http, call))


def _is_profile(name: str) -> bool:
    return name.startswith("arn:") or name.count(".") > 1


def _describe_profile(name: str) -> dict[str, Json]:
    """Return a profile; the name of an application's does not tell its model, which is a Claude here."""
    own = ":application-inference-profile/" in name
    base = _USUAL_CLAUDE if own or not find_vendor(name) else name.rpartition("/")[2].partition(".")[2]
    arn = name if name.startswith("arn:") else f"{_PROFILE_ARN}{name}"
    return {
        "description": f"Routes requests to {base}.",
        "inferenceProfileArn": arn,
        "inferenceProfileId": arn.rpartition("/")[2],
        "inferenceProfileName": arn.rpartition("/")[2],
        "models": [{"modelArn": f"{_MODEL_ARN}{base}"}],
        "status": "ACTIVE",
        "type": "APPLICATION" if own else "SYSTEM_DEFINED",
    }


_USUAL_CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
