"""How bodies are read: which are refused and in which words, which are accepted, what becomes of them, what they mean.

The tables are in requests/. Each group of rows names a dialect and an operation; a row says what a body adds to the
group's `base`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml
from msgspec import Struct
from msgspec.structs import asdict, fields
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import response_create_params, response_includable, tool_choice_types_param

from mockserver.core.call import Call
from mockserver.core.http import Reply
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._openai_api.chat_bodies import CHAT as CHAT_MODEL
from mockserver.dialects._openai_api.responses_bodies import HOSTED_CHOICES, INCLUDABLE
from mockserver.dialects._openai_api.responses_bodies import RESPONSE as RESPONSE_MODEL
from mockserver.dialects.fireworks.bodies import COMPLETION as COMPLETION_MODEL
from tests.dialects.conftest import HEADERS

Json = Any
Speak = Callable[[str], Any]


class _Loader(yaml.CSafeLoader):
    """Reads `!repeat [x, 3]` too: three times a text or a list."""

    def repeated(self, node: yaml.SequenceNode) -> Json:
        value, times = self.construct_sequence(node, deep=True)
        return value * times


_Loader.add_constructor("!repeat", _Loader.repeated)


def table(name: str) -> dict[str, Json]:
    text = (Path(__file__).parent / "requests" / f"{name}.yaml").read_text(encoding="utf-8")
    return dict(yaml.load(text, _Loader))


def rows(name: str, key: str = "rows") -> list[Any]:
    return [
        pytest.param({**group, "dialect": dialect}, row, id=f"{title} {number} {dialect}")
        for title, group in table(name).items()
        for dialect in group["dialect"].split()
        for number, row in enumerate(group.get(key, ()), 1)
    ]


def body(group: Json, added: Json) -> Json:
    return {key: value for key, value in {**group.get("base", {}), **added}.items() if value != "$absent"}


def parse(speaker: Any, group: Json, added: Json, *, validation: Validation = Validation.PUBLISHED) -> Call:
    http = speaker.request(body(group, added), headers=group.get("headers", HEADERS))
    call: Call = speaker.operation(group["operation"]).read_call(http, validation)
    return call


def refused(speaker: Any, group: Json, added: Json, *, validation: Validation) -> Reply:
    with pytest.raises(Failure) as caught:
        parse(speaker, group, added, validation=validation)
    reply: Reply = speaker.fail(caught.value)
    return reply


def _mode(group: Json) -> Validation:
    return Validation(group.get("validation", Validation.PUBLISHED))


def error(reply: Reply) -> Json:
    """What a reply says is wrong; details of validation are put in short form."""
    told = json.loads(reply.body)
    if isinstance(told.get("error"), dict):
        return told["error"]
    if isinstance(details := told.get("detail"), list):
        places = [f"{'.'.join(map(str, detail['loc'][1:]))}: {detail['type']}" for detail in details]
        return {"errors": places, "message": details[0]["msg"]}
    return {**told, "http": reply.status, **{f"detail.{key}": value for key, value in told.get("detail", {}).items()}}


@pytest.mark.parametrize(("group", "row"), rows("refused"))
def test_refused(speak: Speak, group: Json, row: Json) -> None:
    speaker, (added, *said) = speak(group["dialect"]), row
    validation = _mode(group)
    reply = refused(speaker, group, added, validation=validation)
    assert reply.status in (400, 422)
    assert [error(reply)[column] for column in group["columns"]] == said
    if validation is Validation.LIVE:
        assert parse(speaker, group, added).operation == group["operation"]
    else:
        refused(speaker, group, added, validation=Validation.LIVE)
    yields_a_call_where_nothing_is_checked(speaker, group, added)


def yields_a_call_where_nothing_is_checked(speaker: Any, group: Json, added: Json) -> None:
    whole = all(key in body(group, added) for key in group.get("base", ()))
    try:
        call = parse(speaker, group, added, validation=Validation.OFF)
    except Failure:
        assert not whole or not _NEEDED.isdisjoint(added) or not added or "base" not in group
    else:
        assert call.operation == group["operation"]


_NEEDED = {"model", "messages", "prompt", "input"}


@pytest.mark.parametrize(("group", "row"), [row for row in rows("refused") if row.id.startswith("chats of openai ")])
def test_look_alikes_use_the_same_words(speak: Speak, group: Json, row: Json) -> None:
    added, param, _, message = row
    where = param.replace(".[", "[")  # only OpenAI itself has two ways to write a path
    named = message if where in message else f"{message} (parameter: '{where}')"  # where the envelope names none
    for lookalike, words in (("skytells", message), ("crazyrouter", named)):
        said = error(refused(speak(lookalike), group, added, validation=Validation.PUBLISHED))
        assert (said["message"], said["code"]) == (words, "invalid_parameter")


@pytest.mark.parametrize(("group", "row"), rows("accepted"))
def test_accepted(speak: Speak, group: Json, row: Json) -> None:
    assert parse(speak(group["dialect"]), group, row, validation=_mode(group)).raw == body(group, row)


@pytest.mark.parametrize(("group", "row"), rows("parsed"))
def test_parsed(speak: Speak, group: Json, row: Json) -> None:
    added, expected = row
    call = parse(speak(group["dialect"]), group, added, validation=_mode(group))
    found = {name: getattr(call if hasattr(call, name) else call.options, name) for name in expected}
    assert {name: plain(value) for name, value in found.items()} == expected


def plain(value: Any) -> Json:
    """Structs as mappings of what is not the default, tuples as lists."""
    if isinstance(value, Struct):
        usual = {
            each.name: each.default_factory() if callable(each.default_factory) else each.default
            for each in fields(value)
        }
        return {name: plain(found) for name, found in asdict(value).items() if found != usual[name]}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("group", "row"), rows("meaning", "same"))
def test_the_same_meaning(speak: Speak, group: Json, row: Json) -> None:
    one, other = (parse(speak(group["dialect"]), group, added).fingerprint for added in row)
    assert one == other


@pytest.mark.parametrize(("group", "row"), rows("meaning", "different"))
def test_different_meanings(speak: Speak, group: Json, row: Json) -> None:
    one, other = (parse(speak(group["dialect"]), group, added).fingerprint for added in row)
    assert one != other


CHAT, RESPONSE, COMPLETION = (
    table("accepted")[title] for title in ("chats of openai", "responses of openai", "completions of fireworks")
)
NOT_NULL = {"prompt", "n", "service_tier", "ignore_eos", "context_length_exceeded_behavior"}  # in Fireworks' schema


@pytest.mark.parametrize(
    ("group", "field"),
    [
        *((CHAT, field) for field in sorted(CHAT_MODEL.fields - {"model", "messages"})),
        *((RESPONSE, field) for field in sorted(RESPONSE_MODEL.fields - {"model", "input"})),
    ],
)
def test_null_means_nothing(speak: Speak, group: Json, field: str) -> None:
    speaker = speak("openai")
    assert parse(speaker, group, {field: None}).fingerprint == parse(speaker, group, {}).fingerprint


@pytest.mark.parametrize("field", sorted(COMPLETION_MODEL.fields - {"model"}))
def test_null_in_a_completion_of_fireworks(speak: Speak, field: str) -> None:
    if field in NOT_NULL:
        said = error(refused(speak("fireworks"), COMPLETION, {field: None}, validation=Validation.PUBLISHED))["errors"]
        assert {place.partition(":")[0].partition(".")[0] for place in said} == {field}
    else:
        assert parse(speak("fireworks"), COMPLETION, {field: None}).raw[field] is None


@pytest.mark.parametrize(
    "added",
    [
        *({"tool_choice": {"type": kind}} for kind in HOSTED_CHOICES),
        *({"include": [name]} for name in INCLUDABLE),
    ],
)
def test_every_choice_and_inclusion(speak: Speak, added: Json) -> None:
    assert parse(speak("openai"), RESPONSE, added).raw == added


def test_every_field_of_the_official_client_is_known() -> None:
    assert set(CompletionCreateParamsNonStreaming.__annotations__) <= CHAT_MODEL.fields
    base = response_create_params.ResponseCreateParamsBase
    of_sockets = {"generate"}  # a warm-up, which is sent as a socket's event
    assert base.__annotations__.keys() | {"stream"} | of_sockets == RESPONSE_MODEL.fields
    assert set(get_args(response_includable.ResponseIncludable)) == set(INCLUDABLE)
    theirs = get_type_hints(tool_choice_types_param.ToolChoiceTypesParam)["type"]
    assert set(get_args(theirs)) <= set(HOSTED_CHOICES)


def test_what_the_client_sent_is_quoted_within_bounds(speak: Speak) -> None:
    assert (
        len(refused(speak("openai"), CHAT, {"verbosity": "x" * 10_000, "n": 0}, validation=Validation.PUBLISHED).body)
        < 400
    )
