"""What a Response repeats of the request that it answers, in the forms that clients' types expect.

Fields that the request leaves open are the style's business.
"""

from collections.abc import Iterator, Mapping

from mockserver.core.call import Call, Json

Body = Mapping[str, Json]


def echo(call: Call) -> dict[str, Json]:
    """The fields of the request as the object shows them; those that it does not name are left out."""
    body = call.raw
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
        yield "text", {**text, "format": text.get("format") or {"type": "text"}}
    if (reasoning := body.get("reasoning")) is not None:
        yield "reasoning", {"effort": None, "summary": None, **reasoning}
    if (conversation := body.get("conversation")) is not None:
        yield "conversation", {"id": conversation} if isinstance(conversation, str) else conversation
    if (tier := body.get("service_tier")) not in (None, "auto"):
        yield "service_tier", _SERVED.get(tier, tier)


def _tool(tool: Body) -> Body:
    """A tool with the keys that it always has in an object."""
    if tool["type"] != "function":
        return tool
    return {"type": "function", "description": None, "name": tool["name"], "parameters": None, "strict": True, **tool}


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
