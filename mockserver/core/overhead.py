"""What a prompt costs in tokens beyond its texts: the frame of each message, tools, images.

OpenAI publishes the price of messages and images; how tools are laid out was found by comparing counts: as TypeScript.
Its three published examples come out to the token. Knows conversations, in no provider's shape.
"""

import json
from collections.abc import Iterator, Mapping

from mockserver.core.conversation import Message, Tool
from mockserver.core.images import size_of
from mockserver.core.json_text import Json
from mockserver.core.tokens import Tokenizer

_PER_MESSAGE, _PRIMING, _NAMED = 3, 3, 1
_TOOLS, _SHARED, _PER_PART = 9, 4, 85  # tools stand in the system message, and need none of their own where it is
_IMAGE, _TILE, _SIDE, _SHORTEST, _LONGEST = 85, 170, 512, 768, 2048  # tokens, tokens, then pixels
_USUAL_IMAGE = (1024, 1024)  # of one that is only linked to
_DEEPEST = 8  # levels of a tool's parameters; below them an object is an object


def prompt_tokens(messages: tuple[Message, ...], tools: tuple[Tool, ...], tokenizer: Tokenizer) -> int:
    """How many tokens a conversation and its tools have."""
    tokens = _PRIMING + sum(_of_message(message, tokenizer) for message in messages)
    if not tools:
        return tokens
    shared = _SHARED if any(message.role in ("system", "developer") for message in messages) else 0
    return tokens + _TOOLS - shared + tokenizer.count(declared(tools))


def _of_message(message: Message, tokenizer: Tokenizer) -> int:
    calls = sum(tokenizer.count(call.name) + tokenizer.count(call.arguments) for call in message.tool_calls)
    name = _NAMED + tokenizer.count(message.name) if message.name else 0
    parts = sum(map(part_tokens, message.parts))
    role = tokenizer.count(message.role) if tokenizer.exact else 0  # the estimate leaves it out
    return _PER_MESSAGE + role + tokenizer.count(message.text) + name + calls + parts


def part_tokens(part: Mapping[str, Json]) -> int:
    """What a part of a message costs that is no text: an image by its size, anything else a fixed price."""
    image = part.get("image_url")
    if not isinstance(image, Mapping):
        return _PER_PART
    if image.get("detail") == "low":
        return _IMAGE
    url = image.get("url")
    return image_tokens(*(size_of(url) if isinstance(url, str) else None) or _USUAL_IMAGE)


def image_tokens(width: int, height: int) -> int:
    """The price of an image in detail: scaled into a square of 2048, then to a shorter side of 768, then by tiles."""
    longest = max(width, height, 1)
    if longest > _LONGEST:
        width, height = width * _LONGEST // longest, height * _LONGEST // longest
    shortest = max(min(width, height), 1)
    if shortest > _SHORTEST:
        width, height = width * _SHORTEST // shortest, height * _SHORTEST // shortest
    return _IMAGE + _TILE * -(-max(width, 1) // _SIDE) * -(-max(height, 1) // _SIDE)


def declared(tools: tuple[Tool, ...]) -> str:
    """The tools as the model reads them: a namespace of functions in TypeScript."""
    lines = [line for tool in tools for line in _function(tool)]
    return "\n".join(("namespace functions {", "", *lines, "} // namespace functions"))


def _function(tool: Tool) -> Iterator[str]:
    if tool.description:
        yield f"// {tool.description}"
    if tool.grammar is not None:
        yield from (f"// {line}" for line in tool.grammar[1].splitlines())
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    if tool.kind == "custom":
        yield f"type {tool.name} = (_: string) => any;"
    elif not isinstance(properties, Mapping) or not properties:
        yield f"type {tool.name} = () => any;"
    else:
        yield f"type {tool.name} = (_: {{"
        yield from _members(tool.parameters, 0)
        yield "}) => any;"
    yield ""


def _members(schema: Mapping[str, Json], depth: int) -> Iterator[str]:
    required, properties, indent = schema.get("required"), schema.get("properties"), " " * (2 * depth)
    if not isinstance(properties, Mapping):
        return
    needed = frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()
    for name, told in properties.items():
        described = told.get("description") if isinstance(told, Mapping) else None
        if isinstance(described, str) and depth < 2:
            yield f"{indent}// {described}"
        yield f"{indent}{name}{'' if name in needed else '?'}: {_type(told, depth)},"


def _type(schema: Json, depth: int) -> str:
    """The TypeScript of a schema; what has no word there is `any`."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    if isinstance(choices := schema.get("enum"), list):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    for key in ("anyOf", "oneOf"):
        if isinstance(several := schema.get(key), list):
            return " | ".join(_type(one, depth + 1) for one in several)
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = dict.fromkeys(one for one in kind if isinstance(one, str))  # each once, or hostile ones take forever
        return " | ".join(_type({**schema, "type": one}, depth) for one in kinds)
    match kind:
        case "array":
            return f"{_type(schema.get('items'), depth + 1)}[]"
        case "object":
            inner = [*_members(schema, depth + 1)]
            return "\n".join(("{", *inner, " " * (2 * depth) + "}")) if inner else "object"
    return _WORDS.get(kind, "any") if isinstance(kind, str) else "any"


_WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
