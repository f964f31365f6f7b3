"""The model without weights: makes an answer up where no rule gives one, the same for the same call.

GENERATORS names every kind that a rule can ask for; `auto` is what an unmatched request gets. A generator draws all
chance from the seed that it is handed, and leaves the request's limits to those who make the draft an answer.
"""

import json as encoding
from collections.abc import Callable, Mapping

from mockserver.core.call import Call, Json, Tool
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.engine.draft import DraftChoice
from mockserver.engine.generate.prompt import mentions
from mockserver.engine.generate.prose import echo, lorem, phrase, prose, sentence, words
from mockserver.engine.generate.reasoning import reasoning
from mockserver.engine.generate.schema import instance
from mockserver.engine.generate.tools import tool_use, tool_uses, waits

Generator = Callable[[Call, Seed, Mapping[str, Json]], DraftChoice]


def auto(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What a model would do: call the tools that are asked for, or else answer in the form that is asked for."""
    uses = tool_uses(call, seed)
    told = () if any(map(waits, uses)) else _OF_FORMAT.get(call.response_format, prose)(call, seed, options).parts
    return DraftChoice((*reasoning(call, seed), *uses, *told))


def schema(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """An instance of `options["schema"]`, or of the schema that the request gives, as JSON text."""
    return _json_text(instance(options.get("schema", call.schema), seed.branch("schema"), mentions(call.last_user)))


def json(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Some object as JSON text."""
    rng = seed.stream("json")
    made = {
        "topic": phrase(rng, 2),
        "answer": sentence(rng),
        "confidence": rng.randrange(50, 100) / 100,
        "tags": [phrase(rng, 1) for _ in range(rng.randrange(1, 4))],
    }
    return _json_text(made)


def arguments(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """A call of the tool that `options["tool"]` names, with arguments that its parameters allow."""
    name = options["tool"]
    return DraftChoice((tool_use(call.tool(name) or Tool(name), mentions(call.last_user), seed),))


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
