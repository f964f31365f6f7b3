"""What models refuse of a Converse request that the service itself accepts. Only the live service does.

A request to Claude is checked as the Messages request for which it stands.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from mockserver.core.json import Json, try_parse
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._parse import Body
from mockserver.dialects.anthropic.bodies import MESSAGES, read_as_anthropic
from mockserver.dialects.anthropic.conflicts import VERSIONS, find_conflicts, find_live_conflicts
from mockserver.dialects.anthropic.request import INTERLEAVED_THINKING_BETA, KNOWN_BETAS
from mockserver.dialects.bedrock.models import find_base_model, is_claude, is_profile


def find_model_refusals(body: Body, *, model: str, stream: bool) -> Iterator[str]:
    """Yield why the model refuses a request that the service accepts, in the words of the live service."""
    if is_profile(model):  # its model is not known
        return
    if is_claude(model):
        yield from (f"The model returned the following errors: {why}" for why in _find_refusals_of_claude(body, model))
        return
    base = find_base_model(model)
    if any(point.get("ttl") == "1h" for point in _list_cache_points(body)):
        yield "Extended TTL prompt caching is only supported for Anthropic models"
    for field in _list_unknown_fields(body, base):
        yield f"This model doesn't support the {field} field. Remove {field} and try again."
    if (body.get("toolConfig") or {}).get("tools"):
        if _TOOLLESS.match(base):
            yield "This model doesn't support tool use."
        if stream and _WITHOUT_STREAMED_TOOLS.match(base):
            yield "This model doesn't support tool use in streaming mode."
    if _SEPARATING.match(base):
        yield from _find_mixed_turns(body)


# By the id of the model, without geography and version.
_TOOLLESS = re.compile(r"deepseek\.r1|amazon\.titan-text")
_WITHOUT_STREAMED_TOOLS = re.compile(r"meta\.llama|ai21\.jamba")
_SEPARATING = re.compile(r"meta\.|mistral\.")


def _list_unknown_fields(body: Body, base: str) -> Iterator[str]:
    """Yield the fields that a model of another vendor than Anthropic does not know."""
    limits = body.get("inferenceConfig") or {}
    unknown = next((fields for name, fields in _UNKNOWN_FIELDS.items() if base.startswith(name)), ())
    yield from (field for field in unknown if limits.get(field) is not None)
    blocks = [block for message in body.get("messages") or () for block in message.get("content") or ()]
    if any(((block.get("reasoningContent") or {}).get("reasoningText") or {}).get("signature") for block in blocks):
        yield "reasoningContent.reasoningText.signature"


_UNKNOWN_FIELDS: Mapping[str, tuple[str, ...]] = {
    "moonshot.": ("temperature",),
    "openai.gpt-6": ("temperature",),
    "xai.grok": ("temperature", "topP", "stopSequences"),
}


def _list_cache_points(body: Body) -> Iterator[Body]:
    """Yield all marks of what to cache, with those in results of tools."""
    contents = [message.get("content") or () for message in body.get("messages") or ()]
    results = [(block.get("toolResult") or {}).get("content") or () for content in contents for block in content]
    tools = (body.get("toolConfig") or {}).get("tools") or ()
    for blocks in (*contents, *results, body.get("system") or (), tools):
        yield from (block["cachePoint"] for block in blocks if block.get("cachePoint"))


def _find_mixed_turns(body: Body) -> Iterator[str]:
    """Yield turns with tool blocks beside others."""
    for at, message in enumerate(body.get("messages") or ()):
        kinds = {key for block in message.get("content") or () for key in block if block[key] is not None}
        for key, name in (("toolUse", "tool use"), ("toolResult", "tool result")):
            if key in kinds and not kinds.isdisjoint(_SPOKEN):
                yield (
                    f"messages.{at}.content: Conversation blocks and {name} blocks cannot be provided in the same turn."
                )


_SPOKEN = frozenset(("text", "image", "document", "video", "audio"))


def _find_refusals_of_claude(body: Body, model: str) -> Iterator[str]:
    extra = body.get("additionalModelRequestFields")
    extra = dict(extra) if isinstance(extra, Mapping) else {}
    if "reasoning_config" in extra:  # the first name of `thinking`
        extra["thinking"] = extra.pop("reasoning_config")
    named = extra.pop("anthropic_beta", None)
    betas = [beta for beta in named if isinstance(beta, str)] if isinstance(named, list) else []
    extra.pop("anthropic_version", None)
    asked = {**_write_as_messages(body, find_base_model(model).partition(".")[2]), **extra}
    try:
        read = read_as_anthropic(
            MESSAGES, asked, validation=Validation.PUBLISHED, tolerant=not KNOWN_BETAS.issuperset(betas)
        )
    except Failure as failure:
        yield failure.message or ""
        return
    yield from find_conflicts(read, VERSIONS[0], interleaved=INTERLEAVED_THINKING_BETA in betas)
    yield from find_live_conflicts(read)


def _write_as_messages(body: Body, model: str) -> dict[str, Json]:
    """Return the Messages request that a Converse request to Claude becomes, without what cannot be wrong there."""
    limits: Body = body.get("inferenceConfig") or {}
    config: Body = body.get("toolConfig") or {}
    made: dict[str, Json] = {
        "model": model,
        "max_tokens": limits.get("maxTokens") or _UNLIMITED,
        "messages": list(_write_turns(body.get("messages") or ())),
    }
    names = {"temperature": "temperature", "topP": "top_p", "stopSequences": "stop_sequences"}
    made |= {name: limits[key] for key, name in names.items() if limits.get(key) is not None}
    specs = [tool["toolSpec"] for tool in config.get("tools") or () if tool.get("toolSpec")]
    if specs:
        made["tools"] = [
            {"name": spec["name"], "input_schema": spec["inputSchema"].get("json"), "strict": spec.get("strict")}
            for spec in specs
        ]
        choice: Body = config.get("toolChoice") or {}
        if choice.get("tool"):
            made["tool_choice"] = {"type": "tool", "name": choice["tool"]["name"]}
        elif choice.get("any") is not None:
            made["tool_choice"] = {"type": "any"}
    if output := _write_output(body.get("outputConfig") or {}):
        made["output_config"] = output
    return made


_UNLIMITED = 1 << 40  # tokens


def _write_output(config: Body) -> dict[str, Json]:
    schema = (((config.get("textFormat") or {}).get("structure") or {}).get("jsonSchema") or {}).get("schema")
    parsed = try_parse(schema) if isinstance(schema, str) else None
    made: dict[str, Json] = {"format": {"type": "json_schema", "schema": parsed}} if isinstance(parsed, dict) else {}
    return {**made, **({"effort": config["effort"]} if config.get("effort") else {})}


def _write_turns(turns: Iterable[Body]) -> Iterator[dict[str, Json]]:
    """Yield the turns, with ordinals for ids, as those of Bedrock have more letters, and with results first."""
    ordinals: dict[str, str] = {}
    for turn in turns:
        blocks = [_write_block(block, ordinals) for block in turn["content"]]
        blocks.sort(key=lambda block: block["type"] != "tool_result")
        yield {"role": turn["role"], "content": blocks}


def _write_block(block: Body, ordinals: dict[str, str]) -> dict[str, Json]:
    match block:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"toolUse": {"toolUseId": name, **call}}:
            held = call.get("input")
            identity = ordinals.setdefault(str(name), f"t{len(ordinals)}")
            served = call.get("type") == "server_tool_use"
            return {
                "type": "server_tool_use" if served else "tool_use",
                "id": identity,
                "name": call["name"],
                "input": held if isinstance(held, dict) else {},
            }
        case {"toolResult": {"toolUseId": name}}:
            identity = ordinals.setdefault(str(name), f"t{len(ordinals)}")
            return {"type": "tool_result", "tool_use_id": identity, "content": _WHATEVER}
        case {"reasoningContent": {"reasoningText": {"text": text, **more}}}:
            signed = {"signature": more["signature"]} if more.get("signature") is not None else {}
            return {"type": "thinking", "thinking": text, **signed}
        case {"reasoningContent": {"redactedContent": str(data)}}:
            return {"type": "redacted_thinking", "data": data}
    return {"type": "text", "text": _WHATEVER}


_WHATEVER = "-"  # the text of what is not checked here
