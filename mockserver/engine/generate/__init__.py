"""The model without weights: makes an answer up where no rule gives one, the same for the same call.

GENERATORS names every kind that a rule can ask for; `auto` is what an unmatched request gets. A generator draws all
chance from the seed that it is handed, and leaves the request's limits to those who make the draft an answer.
"""

import json as encoding
from collections.abc import Callable, Mapping

from mockserver.core.call import Call, Json, Tool
from mockserver.core.plan import Text
from mockserver.core.seed import Random, Seed
from mockserver.engine.draft import DraftChoice
from mockserver.engine.generate.forms import formed, shaped
from mockserver.engine.generate.forms.code import continued
from mockserver.engine.generate.forms.frames import framed
from mockserver.engine.generate.markdown import markdown
from mockserver.engine.generate.passages import passage
from mockserver.engine.generate.prompt import mentions
from mockserver.engine.generate.prose import echo, joint, lorem, phrase, prose, system, text_on, topic_of, words
from mockserver.engine.generate.reasoning import after, reasoning
from mockserver.engine.generate.results import texts, told
from mockserver.engine.generate.schema import instance
from mockserver.engine.generate.sentences import sentences
from mockserver.engine.generate.tools import recalled, tool_use, tool_uses, waits
from mockserver.engine.generate.tools.transcript import retold
from mockserver.engine.generate.topic import excerpt
from mockserver.engine.generate.wanted import Wanted, asks_for_json, matter, wanted

Generator = Callable[[Call, Seed, Mapping[str, Json]], DraftChoice]


def auto(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What a model would do: call the tools that are asked for, or else answer in the form that is asked for.

    A prompt may ask for JSON of a shape, for its own words, an option, a sum, a list, a table, code or verses; all
    else is answered in prose.
    """
    call = retold(call)
    thoughts = reasoning(call, seed)
    left = after(call, thoughts)
    uses = tool_uses(left, seed)
    if any(map(waits, uses)):
        return DraftChoice((*thoughts, *uses))
    answer = _OF_FORMAT.get(call.response_format, reply)(recalled(left, seed), seed, options)
    return DraftChoice((*thoughts, *uses, *answer.parts))


def reply(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """A text that does what the prompt asks for: JSON of the shape it describes, what tools gave back, or prose."""
    asked = wanted_json(call)
    if asked is not None:
        return _json_text(_instance(asked.schema, call, seed, asked.rest), fenced=asked.fenced)
    if any(asks_for_json(excerpt(text)) for text in (call.last_user, system(call))):
        return json(call, seed, options)
    said = told(call, seed)
    return DraftChoice((Text(_answered(call, seed, options) if said is None else said),))


def _answered(call: Call, seed: Seed, options: Mapping[str, Json]) -> str:
    """The text that the prompt orders; prose where it orders none, is to have a length, or is never to end."""
    about, rng = topic_of(call), seed.stream("prose")
    if call.prompts and (code := continued(call.prompts[0].text[-_READ_OF_CODE:])) is not None:
        return code
    free = "tokens" in options or call.ignore_eos
    rules = system(call)
    made = None if free else formed(about, rules, rng) or passage(call, about) or shaped(about, rules, rng)
    answer = text_on(about, call, rng, options) if made is None else made
    return joint(call) + (answer if free else framed(answer, (about.text, excerpt(rules))))


def wanted_json(call: Call, *, anyway: bool = False) -> Wanted | None:
    """The JSON that the last user message wants, or the one who runs the model."""
    of_user = wanted(call.last_user, json_anyway=anyway)
    if of_user is not None:
        return of_user
    of_system = wanted(system(call), json_anyway=anyway)
    rest = matter(call.last_user) if asks_for_json(call.last_user) else call.last_user
    return None if of_system is None else Wanted(of_system.schema, of_system.fenced, rest)


def schema(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """An instance of `options["schema"]`, or of the schema that the request gives, as JSON text."""
    asked = options.get("schema", call.schema)
    if asked is None and (found := wanted_json(call, anyway=True)) is not None:
        return _json_text(_instance(found.schema, call, seed, found.rest))
    return _json_text(_instance(asked, call, seed, call.last_user))


def json(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """An object as JSON text: of the schema, the shape or the keys that the prompt names, or some object."""
    asked = wanted_json(call, anyway=True)
    if asked is None:
        return _json_text(_some_object(call, seed.stream("json")))
    made = _instance(asked.schema, call, seed, asked.rest)
    return _json_text(made if isinstance(made, Mapping) else {"items": made})


def _instance(asked: Json, call: Call, seed: Seed, said: str) -> Json:
    return instance(asked, seed.branch("schema"), mentions(*texts(call), excerpt(said)))


def _some_object(call: Call, rng: Random) -> Json:
    about = topic_of(call)
    return {
        "topic": about.subject or phrase(rng, 2),
        "answer": next(sentences(about, rng)),
        "confidence": rng.randrange(50, 100) / 100,
        "tags": [*about.words[:3]] or [phrase(rng, 1)],
    }


def arguments(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """A call of the tool that `options["tool"]` names, with arguments that its parameters allow."""
    name = options["tool"]
    return DraftChoice((tool_use(call.tool(name) or Tool(name), mentions(call.last_user), seed),))


def _json_text(made: Json, *, fenced: bool = False) -> DraftChoice:
    return DraftChoice((Text(f"```json\n{_compact(made)}\n```" if fenced else _compact(made)),))


_compact = encoding.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

_READ_OF_CODE = 2000  # characters

_OF_FORMAT: dict[str, Generator] = {"json_schema": schema, "json_object": json}

GENERATORS: dict[str, Generator] = {
    "auto": auto,
    "prose": prose,
    "lorem": lorem,
    "words": words,
    "echo": echo,
    "schema": schema,
    "json": json,
    "markdown": markdown,
    "arguments": arguments,
}
