"""The reports of misses.

`pytest tests/cassettes --update` rewrites the golden texts; review them as a reader of error messages would.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.cassette import Cassette
from mockserver.cassettes.miss import SHOWN, compare_fields, find_varying_pattern, report_miss
from mockserver.config.settings import MatchSettings
from mockserver.config.spelling import FLAGS
from mockserver.core.episode import Episode
from mockserver.core.text import show_value
from mockserver.server.recording.recorded_calls import parse_episode, parse_sent
from tests.kit.cassette_folder import CHAT, chat, episode, make_recorded_stream

HERE = Path(__file__).parent / "misses"


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


def said(*texts: str, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "gpt-4o", "messages": messages, **more}


RESPONSES = "/v1/responses"
WEATHER = chat("What is the weather in Oslo?", temperature=0.2, tools=[tool("get_weather", city={"type": "string"})])
TALK = said("Who wrote Faust?", "Goethe.", "When was he born?")
EPISODES = [
    episode(WEATHER, "{}"),
    episode(TALK, "{}"),
    episode(chat("Tell me a joke about otters.", stream=True), make_recorded_stream("{}", "[DONE]")),
    episode({"model": "gpt-4o", "input": "Hello"}, "{}", path=RESPONSES, operation="responses"),
    episode(
        {"model": "gpt-4o", "input": "And?", "previous_response_id": "resp_1"},
        "{}",
        path=RESPONSES,
        operation="responses",
    ),
    episode(None, "{}", path="/v1/models", operation="models", method="GET"),
]
MISSES: Mapping[str, tuple[str, Any]] = {
    "a-word-off": (CHAT, {**WEATHER, "messages": chat("What is the weather in Bergen?")["messages"]}),
    "a-parameter": (CHAT, {**WEATHER, "temperature": 0.7, "seed": 4}),
    "a-parameter-missing": (CHAT, {key: value for key, value in WEATHER.items() if key != "temperature"}),
    "another-model": (CHAT, {**WEATHER, "model": "gpt-4o-mini"}),
    "a-tool-more": (CHAT, {**WEATHER, "tools": [*WEATHER["tools"], tool("get_time")]}),
    "a-tool-changed": (
        CHAT,
        {**WEATHER, "tools": [tool("get_weather", city={"type": "string"}, unit={"enum": ["C"]})]},
    ),
    "a-tool-less": (CHAT, {**WEATHER, "tools": None}),
    "a-message-more": (
        CHAT,
        said("Who wrote Faust?", "Goethe.", "When was he born?", "In 1749.", "And when did he die?"),
    ),
    "an-answer-changed": (CHAT, said("Who wrote Faust?", "Johann Wolfgang von Goethe.", "When was he born?")),
    "plain-not-streamed": (CHAT, chat("Tell me a joke about otters.")),
    "streamed-not-plain": (CHAT, {**TALK, "stream": True}),
    "another-operation": (RESPONSES, {"model": "gpt-4o", "input": "Who wrote Faust?"}),
    "another-conversation": (RESPONSES, {"model": "gpt-4o", "input": "And?", "previous_response_id": "resp_2"}),
    "nothing-alike": (CHAT, chat("Translate this into Latin.", model="o3", reasoning_effort="low")),
    "another-dialect": ("/skytells/v1/chat/completions", WEATHER),
    "another-model-looked-up": ("/v1/models/gpt-4o", None),
    "everything": (
        CHAT,
        {
            **chat("What\n\u202eis \x1b[31m" + "x" * 500, model="m\nodel", stream=True),
            **dict.fromkeys(("seed", "n", "top_p", "presence_penalty", "frequency_penalty", "max_tokens"), 1),
        },
    ),
}


def cassette(*episodes: Episode, match: MatchSettings | None = None) -> Cassette:
    made = Cassette("chat.yaml", parse_episode, match or MatchSettings())
    for number, each in enumerate(episodes, 1):
        made.add(each, number)
    return made


def told(path: str, body: Any, held: Cassette) -> str:
    dialect = "skytells" if "skytells" in path else "openai"
    call = parse_sent(dialect, episode(body, "", path=path, method="GET" if body is None else "POST").request)
    assert call is not None
    assert not held.find(held.make_key(call))
    return report_miss(held, call, FLAGS)


@pytest.mark.parametrize("name", MISSES)
def test_the_nearest_episode_is_told(name: str, update: bool) -> None:
    report, golden = told(*MISSES[name], cassette(*EPISODES)), HERE / f"{name}.txt"
    if update:
        golden.write_text(report + "\n")
    assert report + "\n" == golden.read_text()


def test_what_is_compared_as_well_is_told() -> None:
    held = cassette(episode(TALK, "{}", headers={"x-tenant": "acme"}), match=MatchSettings(also=("header.x-tenant",)))
    assert '    header.x-tenant: only in the recording: "acme"\n' in told(CHAT, TALK, held)


@pytest.mark.parametrize(
    ("more", "advice"),
    [
        (
            {"seed": 1, "user": "me"},
            "to ignore it, remove user, header.x-tenant from match: {also: [...]} and set match: {ignore: [seed]}; ",
        ),
        ({"model": "o3"}, ""),
    ],
)
def test_what_is_compared_because_somebody_said_so_is_taken_out_where_that_stands(
    more: dict[str, Any], advice: str
) -> None:
    also = MatchSettings(also=("header.x-tenant", "user"))
    held = cassette(episode(TALK, "{}", headers={"x-tenant": "acme"}), match=also)
    report = told(CHAT, {**TALK, **more}, held)
    assert report.splitlines()[-1] == f"{advice}to record it, set --record new_episodes"


def test_what_changes_with_every_run_may_be_scrubbed() -> None:
    held = cassette(episode(chat("Today is 2026-01-31. What is on?"), "{}"))
    assert told(CHAT, chat("Today is 2026-02-01. What is on?"), held).splitlines()[-1] == (
        r"if that changes with every run, remove it: set scrub: [{regex: '\d+-\d+-\d+'}], and apply it to the "
        "recording with `mockserver cassette scrub chat`; to record it, set --record new_episodes"
    )
    more = chat("Today is 2026-02-01. What is on?", seed=1)
    assert told(CHAT, more, held).splitlines()[-1] == "to record it, set --record new_episodes"


@pytest.mark.parametrize(
    ("recorded", "asked", "pattern"),
    [
        ("What is the weather in Oslo on 2026-11-28?", "What is the weather in Oslo on 2026-11-29?", r"\d+-\d+-\d+"),
        ("In the morning I want order 17, please.", "In the morning I want order 18, please.", r"order \d+"),
        ("First line.\nOrder 17\nand more of it", "First line.\nOrder 18\nand more of it", r"Order \d+"),
    ],
)
def test_what_changes_is_found_wherever_it_stands(recorded: str, asked: str, pattern: str) -> None:
    held = cassette(episode(chat(recorded), "{}"))
    assert f"set scrub: [{{regex: '{pattern}'}}]" in told(CHAT, chat(asked), held)


def test_a_recording_from_before_the_scrub_is_to_be_scrubbed() -> None:
    held = cassette(episode(chat("Today is 2026-01-31. What is on?"), "{}"))
    assert told(CHAT, chat("Today is <scrubbed>. What is on?"), held).splitlines()[-1] == (
        "the recording is not scrubbed yet: `mockserver cassette scrub chat` does that"
    )


def test_for_texts_that_differ_otherwise_nothing_is_suggested() -> None:
    held = cassette(episode(chat("What is the weather in Oslo on 2026-11-28?"), "{}"))
    assert "scrub" not in told(CHAT, chat("What is the weather in Rome on 2026-11-28?"), held)


USER = {"role": "user", "content": "What is the weather in Oslo today?"}
FORECAST = {
    "type": "function",
    "function": {"name": "weather", "parameters": '{"type":"object","properties":{}}'},
}
TIME = {"type": "function", "function": {"name": "time"}}
STRICT = {"type": "function", "function": {**FORECAST["function"], "strict": True}}  # type: ignore[dict-item]
TYPED = {"type": "function", "function": {"name": "weather", "parameters": '{"type":"object","required":["a"]}'}}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"seed": 1}, {}, ["seed: only in the recording: 1"]),
    ({}, {"seed": 1}, ["seed: only in the request: 1"]),
    ({"n": 1}, {"n": True}, ["n: recorded 1 | request true"]),
    ({"stop": ["a"]}, {"stop": "a"}, ['stop: recorded ["a"] | request "a"']),
    (
        {"messages": [user("a")]},
        {"messages": [user([{"type": "text", "text": "a"}])]},
        ['messages[0] (user): recorded "a" | request [{"type": "text", "text": "a"}]'],
    ),
    (
        {"messages": [USER]},
        {"messages": [{"role": "system", "content": "Be brief"}, USER]},
        ['messages[0] (system): only in the request: "Be brief"'],
    ),
    (
        {"messages": [user("a")]},
        {"messages": [{"role": "system", "content": "a"}]},
        ['messages[0] (system).role: recorded "user" | request "system"'],
    ),
    ({"input": [USER]}, {"input": "abd"}, [f'input: recorded {show_value([USER], SHOWN)} | request "abd"']),
    ({"tools": [TIME, FORECAST]}, {"tools": [TIME]}, ["tool weather: only in the recording"]),
    ({"tools": [FORECAST]}, {}, ["tool weather: only in the recording"]),
    ({"tools": [FORECAST]}, {"tools": [STRICT]}, ["tool weather.strict: only in the request: true"]),
    (
        {"tools": [FORECAST]},
        {"tools": [TYPED]},
        [
            'tool weather.parameters.required: only in the request: ["a"]',
            "tool weather.parameters.properties: only in the recording: {}",
        ],
    ),
    ({"tools": [FORECAST, TIME]}, {"tools": [TIME, STRICT]}, ["tool weather.strict: only in the request: true"]),
    (
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "x"}]},
        ['tools[0] (x).type: recorded "web_search" | request "x"'],
    ),
]


@pytest.mark.parametrize(("recorded", "asked", "told"), CASES)
def test_each_is_a_line(recorded: dict[str, Any], asked: dict[str, Any], told: list[str]) -> None:
    assert list(map(str, compare_fields(recorded, asked))) == told


def test_long_texts_are_cut_around_what_differs() -> None:
    one, other = "x" * 5000 + "Oslo" + "y" * 5000, "x" * 5000 + "Bergen" + "y" * 5000
    (found,) = compare_fields({"prompt": one}, {"prompt": other})
    assert str(found) == (f'prompt: recorded "…{"x" * 16}Oslo{"y" * 16}…" | request "…{"x" * 16}Bergen{"y" * 16}…"')


def test_no_request_writes_a_line_of_its_own() -> None:
    text = "a\n\u202e\x1b[31m"
    found = compare_fields(
        {"messages": [user("b", name=text)]}, {"messages": [user(text)], text: text, "tools": [text]}
    )
    assert found
    assert all(str(each).isprintable() for each in found)


FOUND = {
    r"\d+-\d+-\d+": ("Today is 2026-01-31.", "Today is 2026-02-01."),
    r"order \d+": ("Where is order 41?", "Where is order 42?"),
    r"req_\d+": ("see req_7, please", "see req_123, please"),
    r"\d+:\d+:\d+\.\d+": ("at 10:00:00.5", "at 11:01:59.25"),
    r"\d+/\d+|order \d+": ("on 1/2 order 3", "on 2/2 order 4"),
    r"\bcall_(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{8,}": ("see call_abc123XYZ.", "see call_Xk9fQb2Lm."),
    r"\btoolu_(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{16,}": ("toolu_01A09q90qw90lq917835lq9", "toolu_01T1x1fJ34qAmk2tNTrN7Up6"),
    r"\bchatcmpl-(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{16,}": (
        "of chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "of chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
    ),
    r"\bresp_[0-9a-fA-F-]{16,}": (
        "after resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "after resp_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b",
    ),
    r"\bsession-[0-9a-fA-F-]{16,}": (
        "in session-550e8400-e29b-41d4-a716-446655440000",
        "in session-123e4567-e89b-12d3-a456-426614174abc",
    ),
    r"\bmy-user-(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{8,}|order \d+": (
        "my-user-3f9a1c2e, order 7",
        "my-user-90bc17de, order 8",
    ),
    "[0-9a-fA-F-]{16,}": ("id 550e8400-e29b-41d4-a716-446655440000", "id 123e4567-e89b-12d3-a456-426614174abc"),
}
NONE = [
    ("the weather in Oslo", "the weather in Rome"),
    ("it is 7", "it is seven"),
    ("7", "8"),
    ("2 + 7", "2 + 8"),
    ("order 41 in Oslo", "order 42 in Rome"),
    ("order 41", "order 41 and 42"),
    ("the same", "the same"),
    ("a1 b1 c1 d1", "a2 b2 c2 d2"),
    ("call get_weather", "call get_forecasts"),
    ("call get_weather2day", "call get_forecast3day"),
    ("section-chapter12", "section-appendix3"),
    ("in release-2024beta1", "in release-2025alpha2"),
    ("in gpt-4o-mini-2024", "in gpt-4o-2024"),
    ("use claude-sonnet-4", "use claude-haiku-3"),
    ("call_abc123XYZ", "toolu_abc123XYZ"),
    ("call_abc123XYZ", "call_forwarding"),
    ("a2b4c6d8e0", "b3d5f7h9j1"),
    ("pre-internationalization", "pre-institutionalization"),
    ("", ""),
]


@pytest.mark.parametrize("pattern", FOUND)
def test_what_changes_is_found(pattern: str) -> None:
    one, other = FOUND[pattern]
    assert find_varying_pattern(one, other) == pattern
    assert re.sub(pattern, "<>", one) == re.sub(pattern, "<>", other)


@pytest.mark.parametrize(("one", "other"), NONE)
def test_what_differs_in_more_is_another_text(one: str, other: str) -> None:
    assert find_varying_pattern(one, other) is None
