"""Rules that come out of episodes answer what was recorded, plain and streamed, as it was answered."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockserver.cassettes.convert.rules import Generalised, make_rules, rules_file
from mockserver.cassettes.parse_response import ParsedResponse, parse_response
from mockserver.cli.cassette.convert import recorded_calls
from mockserver.core.episode import Episode
from mockserver.dialects import discover
from tests.kit.episodes import chat, chats, episode
from tests.kit.local import Local, local

CASES = Path(__file__).parents[2] / "dialects" / "cases"


def generalise(*episodes: Episode) -> Generalised:
    return make_rules(one for at, episode in enumerate(episodes, 1) for one in recorded_calls(episode, f"a.yaml#{at}"))


def server(*episodes: Episode) -> Local:
    made = generalise(*episodes)
    assert made.skipped == ()
    return local(rules_file(made.rules), unmatched="error")


def says(answering: Local, text: str, **body: Any) -> str:
    whole = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **body}
    choice = answering.ask("/v1/chat/completions", whole).json["choices"][0]
    used = choice["message"].get("tool_calls") or []
    return choice["message"]["content"] or " ".join(json.dumps(call["function"]) for call in used)


def essence(said: ParsedResponse, like: ParsedResponse) -> Any:
    """What of an answer a rule has to give back: ids and the provider's own items are made anew, and so is what an

    error did not say.
    """
    error = said.error
    if isinstance(error, dict) and isinstance(like.error, dict):
        error = {key: value for key, value in error.items() if key != "request_id" and like.error.get(key) is not None}
    parts = [[part for part in choice.parts if part.kind != "item"] for choice in said.choices]
    beside = [(choice.finish, choice.filters) for choice in said.choices]
    return said.status, parts, beside, error, said.prompt_filters


def recorded_cases() -> Iterator[Any]:
    """The requests of the dialects' own cases, each with rules and settings."""
    for file in sorted(CASES.rglob("*.yaml")):
        case = yaml.safe_load(file.read_text(encoding="utf-8"))
        request = case.get("request") or {}
        if "requests" not in case and isinstance(request.get("body"), dict) and "raw" not in file.stem:
            yield pytest.param(file.parent.name, case, id=f"{file.parent.name}/{file.stem}")


def path_of(dialect: str, request: Any) -> str:
    spoken = discover()[dialect]
    wanted = request.get("operation") or "chat"
    operation = next(one for one in spoken.operations if one.name == wanted)
    front = spoken.mounts[0] + ("/openai" if dialect == "azure_openai" else "")
    path = front + request["path"].removeprefix("/openai") if "path" in request else spoken.mounts[0] + operation.path
    query = {**operation.query, **(request.get("query") or {})}
    return path + "?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else path


@pytest.mark.parametrize(("dialect", "case"), list(recorded_cases()))
def test_the_cases_of_every_dialect_are_answered_alike(dialect: str, case: Any) -> None:
    request, path = case["request"], path_of(dialect, case["request"])
    headers = {name: str(value) for name, value in (request.get("headers") or {}).items()}
    given = {"rules": case.get("rules") or [], "settings": case.get("settings") or {}}
    recorded = episode(local(json.dumps(given)), path, request["body"], headers=headers)
    made = generalise(recorded)
    if recorded.operation not in ("chat", "completions", "responses") or not made.rules:
        return
    again = local(rules_file(made.rules), unmatched="error", strict=bool(given["settings"].get("strict")))
    kept = {key: value for key, value in request["body"].items() if key not in ("stream", "stream_options", "best_of")}
    for stream in (False, True):
        answer = episode(again, path, {**kept, **({"stream": True} if stream else {})}, headers=headers)
        came, said = parse_response(answer.reply, answer.operation), parse_response(recorded.reply, recorded.operation)
        assert essence(came, said) == essence(said, said)


def test_equal_answers_to_equal_questions_are_one_rule() -> None:
    made = generalise(*chats(("Hi", "Hello")), *chats(("Hi", "Hello"), stream=True))
    assert [rule.sources for rule in made.rules] == [("a.yaml#1", "a.yaml#2")]


def test_what_differs_in_a_span_that_the_answer_repeats_is_a_pattern() -> None:
    recorded = [
        chat(f"What is the weather in {city}?", {"tool_calls": [{"name": "get", "arguments": {"city": city}}]})
        for city in ("Oslo", "New York", "Rio de Janeiro")
    ]
    made = generalise(*recorded)
    assert len(made.rules) == 1
    answering = local(rules_file(made.rules), unmatched="error")
    assert '\\"Bern\\"' in says(answering, "What is the weather in Bern?")
    assert '\\"New York\\"' in says(answering, "What is the weather in New York?")


def test_what_differs_in_a_span_and_is_answered_alike_is_a_wildcard() -> None:
    made = generalise(*chats(("Is *order* 12 on its way?", "Yes."), ("Is *order* 77 on its way?", "Yes.")))
    assert [rule.when["last_user"] for rule in made.rules] == [r"Is \*order\* * on its way?"]
    assert says(local(rules_file(made.rules)), "Is *order* 9 on its way?") == "Yes."


def test_what_is_hardly_alike_stays_apart() -> None:
    made = generalise(*chats(("Say hi", "OK"), ("Delete it", "OK"), ("Who are you?", "Ada"), ("Who am I?", "Bob")))
    assert len(made.rules) == 4


def test_a_conversation_is_told_apart_by_what_differs() -> None:
    tools = [{"type": "function", "function": {"name": "get", "parameters": {}}}]
    call = {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}

    def after(result: str) -> list[Any]:
        user: Any = {"role": "user", "content": "Weather?"}
        return [
            user,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": result},
        ]

    answering = server(
        chat("Weather?", {"tool_calls": [{"name": "get", "arguments": {}}]}, tools=tools),
        chat("", {"text": "It rains."}, tools=tools, messages=after("rain")),
        chat("", {"text": "It snows."}, tools=tools, messages=after("snow")),
        chat("Weather?", {"text": "I cannot know."}),
        chat("Weather?", {"text": "Mini does not know."}, model="gpt-4o-mini"),
    )
    assert says(answering, "Weather?", tools=tools) == '{"name": "get", "arguments": "{}"}'
    assert says(answering, "", messages=after("rain"), tools=tools) == "It rains."
    assert says(answering, "", messages=after("snow"), tools=tools) == "It snows."
    assert says(answering, "Weather?") == "I cannot know."
    assert says(answering, "Weather?", model="gpt-4o-mini") == "Mini does not know."


def test_what_nothing_tells_apart_is_answered_in_turn() -> None:
    answering = server(*chats(("Roll!", "1"), ("Roll!", "4"), ("Roll!", "4"), ("Roll!", "6")))
    assert [says(answering, "Roll!") for _ in range(6)] == ["1", "4", "4", "6", "6", "6"]


def test_texts_that_look_like_templates_or_yaml_stay_texts() -> None:
    odd: Sequence[str] = (
        "{{ call.model }}",
        "{% if %}",
        "{# a #}",
        "a: b\n- c",
        "no",
        "1e3",
        "*a",
        "\\*",
        "é\u2028\x7f",
        " ",
    )
    answering = server(*(chat(text, {"echo": True}) for text in odd))
    for text in odd:
        assert says(answering, text) == text


def test_what_no_rule_can_say_is_left() -> None:
    cut = chat("a", {"text": "b"}, stream=True)
    frames = (cut.reply.frames or ())[:-1]
    vectors = episode(local(), "/openai/v1/embeddings", {"model": "m", "input": "a"})
    half = chat("a", {"text": "half"})
    half = replace(half, reply=replace(half.reply, body=half.reply.body.replace(b"half", b"\\ud800")))
    made = generalise(replace(cut, reply=replace(cut.reply, frames=frames)), vectors, half)
    assert made.rules == ()
    assert made.skipped == (
        ("a.yaml#1", "its stream breaks off"),
        ("a.yaml#2", "embeddings cannot become a rule; keep the cassette"),
        ("a.yaml#3", "it contains half of a character"),
    )
