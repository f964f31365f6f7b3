"""Moderations: requests as Calls, and outcomes as bodies."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mockserver.core.call import Call, IdShape, Message, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import (
    BodyModel,
    label_member,
    list_of,
    literal,
    optional,
    shape,
    tag_union,
    text_or,
    union_by,
    usually,
)
from mockserver.dialects._openai_api.chat_bodies import TextPart
from mockserver.dialects._openai_api.embeddings import MAX_INPUTS
from mockserver.dialects._parse import read_request
from mockserver.dialects._reply import RequestLines, make_json_reply
from mockserver.kinds.moderations import CATEGORIES, Judgement, Moderations

USUAL_MODEL = "omni-moderation-latest"


def _tag_input(value: Any) -> str:
    return "<parts>" if isinstance(value, list) and value and isinstance(value[0], dict) else "<strings>"


_texts = list_of(str, 1, MAX_INPUTS)
Part = tag_union("type", TextPart, shape(type=literal("image_url"), image_url=shape(url=str)))
ModerationInputs = usually(
    _texts,
    union_by(_tag_input, label_member("<strings>", _texts), label_member("<parts>", list_of(Part, 1, MAX_INPUTS))),
)

# `POST /moderations`.
ModerationBody = shape(input=text_or("<an array>", ModerationInputs), model=optional(str))
MODERATION = BodyModel(ModerationBody)


def make_moderation_operation(dialect: str, lines: RequestLines) -> Operation:
    """Return the moderation operation of a dialect whose replies have these header lines."""

    def render(call: Call, outcome: Moderations) -> Reply:
        body = render_moderations(outcome, list_input_types(call))
        return make_json_reply(200, body, lines=lines(call.http, call), headers=outcome.headers)

    return Operation("moderations", "POST", "/moderations", parse=partial(parse_moderations, dialect), render=render)


def parse_moderations(dialect: str, http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a body: several texts are judged separately, the parts of one input together."""
    body, parsed = read_request(MODERATION, http, refuse=refuse, validation=validation, is_closed=True)
    messages = _read_messages(parsed["input"])
    texts = [message.text for message in messages]
    meaning = {"input": parsed["input"] if messages[0].parts else texts[0] if len(texts) == 1 else texts}
    return Call(
        dialect=dialect,
        operation="moderations",
        model=parsed.get("model") or USUAL_MODEL,
        http=http,
        meaning={**body, "model": parsed.get("model") or USUAL_MODEL, **meaning},
        raw=body,
        messages=messages,
        prompts=tuple(map(Prompt, texts)),
        ids=IdShape("modr-", 32, "hex"),
    )


def list_input_types(call: Call) -> tuple[str, ...]:
    """Return the types of the inputs that are judged together: text, image or both."""
    given = call.raw["input"]
    if isinstance(given, list) and given and isinstance(given[0], dict):
        kinds = {"image" if part["type"] == "image_url" else "text" for part in given}
        return tuple(kind for kind in ("text", "image") if kind in kinds)
    return ("text",)


def _read_messages(given: Json) -> tuple[Message, ...]:
    if isinstance(given, str):
        return (Message("user", given),)
    if given and isinstance(given[0], str):
        return tuple(Message("user", text) for text in given)
    text = "\n".join(part["text"] for part in given if part["type"] == "text")
    return (Message("user", text, parts=tuple(part for part in given if part["type"] != "text")),)


def render_moderations(outcome: Moderations, inputs: Sequence[str]) -> dict[str, Json]:
    """Return the body; `inputs` names the kinds of input that were judged: text, image."""
    return {
        "id": outcome.id,
        "model": outcome.model,
        "results": map_lazily(lambda result: _render_result(result, inputs), outcome.results),
    }


def _render_result(result: Judgement, inputs: Sequence[str]) -> Mapping[str, Json]:
    applied = {name: [kind for kind in inputs if kind == "text" or name in _IMAGE_CATEGORIES] for name in CATEGORIES}
    return {
        "flagged": bool(result.flagged),
        "categories": {name: name in result.flagged for name in CATEGORIES},
        "category_scores": {name: result.scores.get(name, 0.0) for name in CATEGORIES},
        "category_applied_input_types": applied,
    }


# What is looked for in images too.
_IMAGE_CATEGORIES = frozenset(
    ("self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "violence", "violence/graphic")
)
