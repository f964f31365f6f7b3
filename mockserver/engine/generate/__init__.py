"""The model without weights: makes an answer up where no rule gives one, the same for the same call.

GENERATORS names every kind that a rule can ask for; `auto` is what an unmatched request gets. A generator draws all
chance from the stream it is handed, and leaves the request's limits to those who make the draft an answer.
"""

import json as encoding
from collections.abc import Callable, Mapping

from mockserver.core.call import Call, Json, ToolCall
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Random
from mockserver.engine.draft import DraftChoice
from mockserver.engine.generate.prose import echo, lorem, phrase, prose, sentence, words
from mockserver.engine.generate.schema import instance

Generator = Callable[[Call, Random, Mapping[str, Json]], DraftChoice]


def auto(call: Call, rng: Random, options: Mapping[str, Json]) -> DraftChoice:
    """What the request's response format asks for: an instance of a schema, an object, or prose."""
    return _OF_FORMAT.get(call.response_format, prose)(call, rng, options)


def schema(call: Call, rng: Random, options: Mapping[str, Json]) -> DraftChoice:
    """An instance of `options["schema"]`, or of the schema that the request gives, as JSON text."""
    return _json_text(instance(options.get("schema", call.schema), rng))


def json(call: Call, rng: Random, options: Mapping[str, Json]) -> DraftChoice:
    """Some object as JSON text."""
    made = {
        "topic": phrase(rng, 2),
        "answer": sentence(rng),
        "confidence": rng.randrange(50, 100) / 100,
        "tags": [phrase(rng, 1) for _ in range(rng.randrange(1, 4))],
    }
    return _json_text(made)


def arguments(call: Call, rng: Random, options: Mapping[str, Json]) -> DraftChoice:
    """A call of the tool that `options["tool"]` names, with arguments that its parameters allow."""
    name = options["tool"]
    tool = call.tool(name)
    if tool is not None and tool.kind == "custom":
        return DraftChoice((ToolUse(ToolCall("", name, sentence(rng), kind="custom")),))
    made = instance(tool.parameters, rng) if tool is not None and tool.parameters else {}
    return DraftChoice((ToolUse(ToolCall("", name, _compact(made))),))


def _json_text(made: Json) -> DraftChoice:
    return DraftChoice((Text(_compact(made)),))


_compact = encoding.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

_OF_FORMAT: dict[str, Generator] = {"json_schema": schema, "json_object": json}

GENERATORS: dict[str, Generator] = {
    "auto": auto,
    "prose": prose,
    "lorem": lorem,
    "words": words,
    "echo": echo,
    "schema": schema,
    "json": json,
    "arguments": arguments,
}
