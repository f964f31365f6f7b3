"""Answers in JSON: for a schema of the request, or for the schema, shape or keys that its prompt describes."""

from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure, Text
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import mentions
from mockserver.model.arguments.records import record_in
from mockserver.model.fillers import phrase
from mockserver.model.notations import form_in, notation_of
from mockserver.model.prose.choices import options_in
from mockserver.model.prose.generators import sentences, topic_of
from mockserver.model.prose.orders import is_triggered
from mockserver.model.prose.passages import result_texts
from mockserver.model.schema import instance
from mockserver.model.shapes import Described, asks_for_json, counted, described, shape, without_json_orders
from mockserver.model.tools.decisions import chosen_values
from mockserver.model.vocabulary import excerpt


def schema(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """An instance of `options["schema"]`, or of the request's schema, as JSON text."""
    requested = options.get("schema", call.options.schema)
    if requested is None and (found := _described(call, anyway=True)) is not None:
        return _text(_as_described(found, call, seed))
    try:
        return _text(_instance(requested, call, seed, call.last_user))
    except Failure:
        if not call.options.lenient_schema:
            raise
        return json(call, seed, options)


def enum(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """One of the values of the request's schema, bare: `red`, not `"red"`."""
    value = _instance(call.options.schema, call, seed, call.last_user)
    return DraftChoice((Text(value),)) if isinstance(value, str) else _text(value)


def json(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """An object as JSON text: with the schema, shape or keys that the prompt describes, or any object."""
    found = _described(call, anyway=True)
    if found is None:
        return _text(_some_object(call, seed.stream("json")))
    value = _as_described(found, call, seed)
    return _text(value if isinstance(value, Mapping) else {"items": value})


def ordered(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice | None:
    """Return the JSON that a prompt asks for when the request names no format; None if it asks for none."""
    found = _described(call)
    if found is not None:
        return _text(_as_described(found, call, seed), fenced=found.fenced)
    if any(asks_for_json(excerpt(text)) for text in (call.last_user, call.system)):
        return json(call, seed, options)
    texts = (_in_other_form(excerpt(text), call, seed) for text in (call.last_user, call.system))
    return next((DraftChoice((Text(text),)) for text in texts if text is not None), None)


def _in_other_form(order: str, call: Call, seed: Seed) -> str | None:
    """The fields that an order wants in another notation than JSON, or in a form to fill in."""
    if not is_triggered("notations", order):
        return None
    notation, by_user = notation_of(order), order == excerpt(call.last_user)
    if notation and (found := described(notation.as_json)) is not None:
        return notation.write(_as_described(found if by_user else replace(found, rest=call.last_user), call, seed))
    if (form := form_in(order)) is None:
        return None
    options, rest = options_in(form.rest)
    schema = shape(dict.fromkeys(form.names, "..."))
    for name in [name for name, inner in schema["properties"].items() if inner == {"type": "string"}][: bool(options)]:
        schema["properties"][name]["enum"] = options
    made = _as_described(Described(schema, rest=rest if by_user else call.last_user), call, seed)
    return form.filled(made) if isinstance(made, Mapping) else None


def _described(call: Call, *, anyway: bool = False) -> Described | None:
    of_user = described(call.last_user, json_anyway=anyway)
    if of_user is not None:
        return of_user
    of_system = described(call.system, json_anyway=anyway)
    if of_system is None:
        return None
    rest = without_json_orders(call.last_user) if asks_for_json(call.last_user) else call.last_user
    schema, rest = counted(of_system.schema, rest)
    return Described(schema, of_system.fenced, rest)


def _as_described(found: Described, call: Call, seed: Seed) -> Json:
    """What a prompt describes; any object if that is impossible: providers refuse schemas of requests only."""
    with suppress(Failure):
        return _instance(found.schema, call, seed, found.rest)
    return _some_object(call, seed.stream("json"))


def _instance(schema: Json, call: Call, seed: Seed, said: str) -> Json:
    said, rules = excerpt(said), excerpt(call.system)
    if quoted := _MATERIAL.search(said):
        said = quoted[1]
    results = [text for result in result_texts(call) for text in (*record_in(result, said), result)]
    spoken = mentions(*results, _without_nulls(said)).stating(chosen_values(call, schema))
    nulls = any(_without_nulls(text) != text for text in (said, rules))
    return instance(schema, seed.branch("schema"), replace(spoken, sparse=nulls and bool(spoken.text)))


def _without_nulls(text: str) -> str:
    """Return a text without the sentences that order null where nothing is known: they say no values."""
    if "null" not in text.lower():
        return text
    return "".join(sentence for sentence in _END_OF_SENTENCE.split(text) if not _NULL.search(sentence))


_END_OF_SENTENCE = lazy_pattern(r"(?<=[.!?\n;])")
_MATERIAL = lazy_pattern(r"[:\n]\s{0,9}[\"“]((?:[^\"“”\s]+\s+){3,400}[^\"“”\s]+)[\"”]")  # quoted, to be read for values
_NULL = lazy_pattern(
    r"(?i)\b(?:use|return|put|set|leave|write|give|otherwise|else|is|are|be|to|as|with)\b.{0,40}?\bnull\b"
    r"|\bnull (?:if|for|when|where)\b"
)


def _some_object(call: Call, rng: Random) -> Json:
    about = topic_of(call)
    return {
        "topic": about.subject or phrase(rng, 2),
        "answer": next(sentences(about, rng)),
        "confidence": rng.randrange(50, 100) / 100,
        "tags": [*about.words[:3]] or [phrase(rng, 1)],
    }


def _text(value: Json, *, fenced: bool = False) -> DraftChoice:
    return DraftChoice((Text(f"```json\n{compact(value)}\n```" if fenced else compact(value)),))
