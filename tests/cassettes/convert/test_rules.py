"""Rules made from episodes answer what was recorded, plain and streamed, as it was answered."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace

from mockserver.cassettes.formats import parse_response
from mockserver.cassettes.parsed_response import ParsedChoice, ParsedPart, ParsedResponse, ParsedToolCall
from mockserver.cassettes.to_rules import (
    AnsweredCall,
    DraftedRules,
    RuleDraft,
    UnsupportedError,
    add_conditions,
    generalise,
    make_rules,
    make_then,
    write_rules_file,
)
from mockserver.cli.cassette.convert import read_recorded_calls
from mockserver.core.episode import Episode
from mockserver.server.routes import find_routes
from tests.dialects.case_files import Case, all_cases
from tests.kit.episodes import chat, chats, episode
from tests.kit.local import Local, local

TEXT = ParsedPart("text", "a")
SAFE = {"hate": {"filtered": False, "severity": "safe"}}
TRIPPED = {"violence": {"filtered": True, "severity": "high"}, "hate": {"filtered": False, "severity": "low"}}

ANSWERS: list[tuple[ParsedResponse, Any]] = [
    (ParsedResponse((ParsedChoice((TEXT,), "length"),)), {"text": "a", "finish": "length"}),
    (
        ParsedResponse((ParsedChoice((TEXT, ParsedPart("reasoning", "r"))),)),
        {"parts": [{"text": "a"}, {"reasoning": "r"}]},
    ),
    (
        ParsedResponse(
            (ParsedChoice((ParsedPart("item", item={"type": "web_search_call", "id": "ws_1", "query": "{{"}), TEXT)),)
        ),
        {"items": [{"type": "web_search_call", "query": '{{ "{" }}{'}], "text": "a"},
    ),
    (
        ParsedResponse((ParsedChoice((TEXT,), "content_filter", filters=TRIPPED),), prompt_filters=SAFE),
        {
            "text": "a",
            "content_filter": {"on": "completion", "category": "violence", "severity": "high"},
            "annotate": {"completion": {"hate": "low"}},
        },
    ),
    (ParsedResponse(status=502, error="<html>", body="<html>"), {"raw": {"status": 502, "body": "<html>"}}),
    (
        ParsedResponse(status=400, error={"message": "m", "innererror": {"content_filter_result": TRIPPED}}),
        {"content_filter": {"on": "prompt", "category": "violence", "severity": "high"}},
    ),
]


@pytest.mark.parametrize(("said", "made"), ANSWERS, ids=range(len(ANSWERS)))
def test_what_is_said_becomes_then(said: ParsedResponse, made: Any) -> None:
    assert make_then(said) == made


def test_when_to_come_back() -> None:
    busy = ParsedResponse(status=429, error={"message": "m"})
    assert make_then(busy, "2")["retry_after"] == "2s"
    assert "retry_after" not in make_then(busy, "Thu, 09 Oct 2025 08:53:20 GMT")
    assert make_then(ParsedResponse(status=429, error="no", body="no"), "2")["raw"]["headers"] == {"retry-after": "2"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (ParsedResponse(), "its answer has no content that a rule can give"),
        (ParsedResponse((ParsedChoice((TEXT,)),), complete=False), "its stream breaks off"),
        (ParsedResponse((ParsedChoice((TEXT,), "bored"),)), "no rule can end with the reason bored"),
        (
            ParsedResponse((ParsedChoice((ParsedPart("call", call=ParsedToolCall("", "{}")),)),)),
            "it calls a tool without a name",
        ),
    ],
)
def test_what_no_rule_gives(said: ParsedResponse, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        make_then(said)


def asked(then: str, **fields: Any) -> AnsweredCall:
    return AnsweredCall(f"#{then}", {"text": then}, {"operation": "chat", **fields})


def whens(*fit: Any) -> list[Any]:
    return [dict(rule.when) for rule in add_conditions(fit)]


def test_tools_that_answered() -> None:
    named = {"last_user": "a", "tool_result.name": "f", "tool_result.text": "x"}
    assert whens(asked("1", **named), asked("2", **{**named, "tool_result.text": "y"})) == [
        {"operation": "chat", "last_user": "a", "tool_result": {"name": "f", "text": "x"}},
        {"operation": "chat", "last_user": "a", "tool_result": {"name": "f", "text": "y"}},
    ]
    assert whens(asked("1", **{"last_message": "x", "tool_result.text": "x"})) == [
        {"operation": "chat", "last_message": "x", "tool_result": {"text": "x"}}
    ]


def learned(*episodes: Episode) -> DraftedRules:
    return make_rules(
        one for at, episode in enumerate(episodes, 1) for one in read_recorded_calls(episode, f"a.yaml#{at}")
    )


def server(*episodes: Episode) -> Local:
    made, skipped = learned(*episodes)
    assert skipped == []
    return local(write_rules_file(made), unmatched="error")


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


KNOWN = find_routes("openai")
# Gemini asks for a stream in the path; its recordings have tests of their own. A conversation is in no rules file.
CASES = [
    case
    for case in all_cases()
    if isinstance(case.body, dict) and "raw" not in case.name and case.dialect not in ("bedrock", "gemini")
    if "conversation" not in case.body
    if KNOWN.find_operation_name("POST", case.path.partition("?")[0]) in ("chat", "completions", "responses")
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_cases_of_every_dialect_are_answered_alike(case: Case) -> None:
    body = cast(dict[str, Any], case.body)
    given = {"rules": case.content.get("rules") or [], "settings": case.settings}
    recorded = episode(local(json.dumps(given)), case.path, body, headers=case.headers)
    made, _ = learned(recorded)
    if not made:  # what the case says is no answer
        return
    again = local(write_rules_file(made), unmatched="error", validation=case.settings.get("validation", "published"))
    kept = {key: value for key, value in body.items() if key not in ("stream", "stream_options", "best_of")}
    for stream in (False, True):
        answer = episode(again, case.path, {**kept, **({"stream": True} if stream else {})}, headers=case.headers)
        came, said = parse_response(answer.reply, answer.operation), parse_response(recorded.reply, recorded.operation)
        assert essence(came, said) == essence(said, said)


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
    made, skipped = learned(replace(cut, reply=replace(cut.reply, frames=frames)), vectors, half)
    assert made == []
    assert skipped == [
        ("a.yaml#1", "its stream breaks off"),
        ("a.yaml#2", "embeddings cannot become a rule; keep the cassette"),
        ("a.yaml#3", "it contains half of a surrogate pair"),
    ]


def rules(*said: tuple[str, Any]) -> list[RuleDraft]:
    made = [
        RuleDraft((f"#{at}",), {"operation": "chat", "last_user": text}, then)
        for at, (text, then) in enumerate(said, 1)
    ]
    return generalise(made, "last_user")


def test_a_span_that_the_answer_repeats() -> None:
    (made,) = rules(("Greet Ada.", {"text": "Hi Ada!"}), ("Greet Jean-Luc Picard.", {"text": "Hi Jean-Luc Picard!"}))
    assert made.sources == ("#1", "#2")
    assert made.when == {"operation": "chat", "last_user": {"regex": r"^Greet (?P<value>.+?)\.$"}}
    assert made.then == {"text": "Hi {{ match.value }}!"}


@pytest.mark.parametrize(
    "said",
    [
        [("Greet Ada", {"text": "Hi"}), ("Shun Bob", {"text": "Hi"})],
        [("Greet Ada", {"text": "Hi"}), ("Greet Bob", {"text": "Hi"})],
        [("Greet Ada now please", {"text": "Hi"}), ("Greet Bob now please", {"text": "Ho"})],
        [("Greet Ada", {"tool_calls": [{"name": "Ada"}]}), ("Greet Bob", {"tool_calls": [{"name": "Bob"}]})],
        [("Ada", {"text": "Ada"}), ("Bob", {"text": "Bob"})],
        [("Greet Ada", {"text": "Adam"}), ("Greet Bob", {"text": "Bobm"})],
    ],
)
def test_what_is_no_sign_of_a_pattern(said: Any) -> None:
    assert len(rules(*said)) == 2


def test_it_reads_well() -> None:
    rules = [
        RuleDraft(("a.yaml#1", "a.yaml#2"), {"operation": "chat", "last_user": "Hi"}, {"text": "Two\nlines"}),
        RuleDraft(("a.yaml#3",), {"operation": "chat"}, {"text": "x"}, times=2),
        RuleDraft(("a.yaml#3",), {"operation": "chat"}, {"text": "y" * 120}),
    ]
    assert write_rules_file(rules).startswith(
        "version: 1\n"
        "rules:\n"
        "  - name: a.yaml#1, a.yaml#2\n"
        "    when:\n"
        "      operation: chat\n"
        "      last_user: Hi\n"
        "    then:\n"
        "      text: |-\n"
        "        Two\n"
        "        lines\n"
        "  - name: a.yaml#3\n"
        "    when:\n"
        "      operation: chat\n"
        "    times: 2\n"
        "    then:\n"
        "      text: x\n"
        "  - name: a.yaml#3 (2)\n"
    )
