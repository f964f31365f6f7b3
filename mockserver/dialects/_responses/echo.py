"""What a Response repeats of the request that it answers, in the forms that clients' types expect.

Fields that the request leaves open are the style's business.
"""

from collections.abc import Collection, Iterator, Mapping

from mockserver.core.call import Call, Json

Body = Mapping[str, Json]


def echo(call: Call, fields: Collection[str]) -> dict[str, Json]:
    """Those of the object's fields that the request states, as the object shows them.

    Of the request only these are read: nothing is known about others, that the dialect may take whatever they hold.
    """
    body = {key: call.raw[key] for key in fields if key in call.raw}
    shown = {key: body[key] for key in _PLAIN if body.get(key) is not None}
    shown |= {key: float(body[key]) for key in ("temperature", "top_p") if body.get(key) is not None}
    if call.background:
        shown["background"] = True
    if call.max_tokens is not None:
        shown["max_output_tokens"] = call.max_tokens
    return {**shown, **dict(_shaped(body))}


def _shaped(body: Body) -> Iterator[tuple[str, Json]]:
    """The fields that the object shows otherwise than the request writes them."""
    if tools := body.get("tools"):
        yield "tools", [_tool(tool) for tool in tools]
    if (text := body.get("text")) is not None:
        form = text.get("format") or {"type": "text"}
        yield "text", {**_known(text, _OF_TEXT), "format": _known(form, _OF_FORMATS[form["type"]])}
    if (reasoning := body.get("reasoning")) is not None:
        yield "reasoning", {"effort": None, "summary": None, **_known(reasoning, _OF_REASONING)}
    if (conversation := body.get("conversation")) is not None:
        yield "conversation", {"id": conversation if isinstance(conversation, str) else conversation["id"]}
    if (tier := body.get("service_tier")) not in (None, "auto"):
        yield "service_tier", _SERVED.get(tier, tier)


def _known(given: Body, keys: Collection[str]) -> dict[str, Json]:
    """A table of the request without what its type does not know: clients' types would not either."""
    return {key: value for key, value in given.items() if key in keys}


def _tool(tool: Body) -> Body:
    """A tool with the keys that it always has in an object."""
    if tool["type"] != "function":
        return tool
    return {"type": "function", "description": None, "name": tool["name"], "parameters": None, "strict": True, **tool}


_OF_REASONING = ("effort", "summary", "generate_summary", "context", "mode")
_OF_TEXT = ("format", "verbosity")
_OF_FORMATS: Mapping[str, Collection[str]] = {
    "text": ("type",),
    "json_object": ("type",),
    "json_schema": ("type", "name", "schema", "description", "strict"),
}
_SERVED = {"fast": "priority"}  # the tier that serves a request is called by one of its two names
_PLAIN = (
    "instructions",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "store",
    "tool_choice",
    "top_logprobs",
    "truncation",
    "user",
)
