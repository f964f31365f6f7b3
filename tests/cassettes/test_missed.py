"""The reports of what no episode answers.

`pytest tests/cassettes --update` rewrites the golden texts; review them as a reader of error messages would.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.match import EpisodeIndex
from mockserver.cassettes.miss import miss_report
from mockserver.config.cassettes import Match
from mockserver.core.episode import Episode
from mockserver.server.parse_recorded import parse_episode, parse_sent
from tests.kit.reels import CHAT, chat, episode, streamed

HERE = Path(__file__).parent / "misses"


def tool(name: str, **properties: Any) -> dict[str, Any]:
    """A tool that takes these."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


def said(*texts: str, **more: Any) -> dict[str, Any]:
    """A conversation in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "gpt-4o", "messages": messages, **more}


RESPONSES = "/v1/responses"
WEATHER = chat("What is the weather in Oslo?", temperature=0.2, tools=[tool("get_weather", city={"type": "string"})])
TALK = said("Who wrote Faust?", "Goethe.", "When was he born?")
EPISODES = [
    episode(WEATHER, "{}"),
    episode(TALK, "{}"),
    episode(chat("Tell me a joke about otters.", stream=True), streamed("{}", "[DONE]")),
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


def library(*episodes: Episode, match: Match | None = None) -> EpisodeIndex:
    """A cassette that holds these."""
    made = EpisodeIndex("chat.yaml", parse_episode, match or Match())
    for number, each in enumerate(episodes, 1):
        made.add(each, number)
    return made


def told(path: str, body: Any, held: EpisodeIndex) -> str:
    """The report of a request."""
    dialect = "skytells" if "skytells" in path else "openai"
    call = parse_sent(dialect, episode(body, "", path=path, method="GET" if body is None else "POST").request)
    assert call is not None
    assert not held.find(held.key(call))
    return miss_report(held, call)


@pytest.mark.parametrize("name", MISSES)
def test_the_nearest_episode_is_told(name: str, update: bool) -> None:
    report, golden = told(*MISSES[name], library(*EPISODES)), HERE / f"{name}.txt"
    if update:
        golden.write_text(report + "\n")
    assert report + "\n" == golden.read_text()


def test_every_golden_text_is_used() -> None:
    assert {file.stem for file in HERE.glob("*.txt")} == set(MISSES)


def test_an_empty_cassette_says_so() -> None:
    again = "to record it, start with --record new_episodes"
    assert told(CHAT, TALK, library()) == f"no episode of chat.yaml answers this request: it has none; {again}"
    broken = library(episode({"messages": 7}, "{}"))
    assert told(CHAT, TALK, broken).startswith(
        "no episode of chat.yaml answers this request: it has only requests that their dialects refuse"
    )


def test_what_is_compared_as_well_is_told() -> None:
    held = library(episode(TALK, "{}", headers={"x-tenant": "acme"}), match=Match(also=("header.x-tenant",)))
    assert '    header.x-tenant: only in the recording: "acme"\n' in told(CHAT, TALK, held)


@pytest.mark.parametrize(
    ("more", "advice"),
    [
        ({}, "to ignore it, remove header.x-tenant from match: {also: [...]}; "),
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
    also = Match(also=("header.x-tenant", "user"))
    held = library(episode(TALK, "{}", headers={"x-tenant": "acme"}), match=also)
    report = told(CHAT, {**TALK, **more}, held)
    assert report.splitlines()[-1] == f"{advice}to record it, start with --record new_episodes"


def test_the_nearest_is_the_one_that_says_nearly_the_same() -> None:
    held = library(
        episode(chat("are you busy"), "{}"), episode(chat("hello", temperature=0.2), "{}"), episode(chat("bye"), "{}")
    )
    assert told(CHAT, chat("hallo"), held).splitlines()[1:] == [
        '  chat.yaml#2, recorded 2026-11-22: openai chat gpt-4o "hello"',
        '    messages[0] (user): recorded "hello" | request "hallo"',
        "    temperature: only in the recording: 0.2",
        "to record it, start with --record new_episodes",
    ]


def test_what_changes_with_every_run_may_be_scrubbed() -> None:
    held = library(episode(chat("Today is 2026-01-31. What is on?"), "{}"))
    assert told(CHAT, chat("Today is 2026-02-01. What is on?"), held).splitlines()[-1] == (
        r"if that changes with every run, remove it: set scrub: [{regex: '\d+-\d+-\d+'}], and apply it to the "
        "recording with `mockserver cassette scrub chat`; to record it, start with --record new_episodes"
    )
    more = chat("Today is 2026-02-01. What is on?", seed=1)
    assert told(CHAT, more, held).splitlines()[-1] == "to record it, start with --record new_episodes"


def test_a_report_is_short_and_has_no_line_of_the_request() -> None:
    report = told(*MISSES["everything"], library(*EPISODES)).splitlines()
    assert len(report) <= 12
    assert max(map(len, report)) < 200
    assert all(line.isprintable() for line in report)


def test_of_many_the_one_that_differs_by_a_word_is_found() -> None:
    held = library(*(episode(chat(f"Question {number} of many, and so on."), "{}") for number in range(3000)))
    assert "chat.yaml#2718," in told(CHAT, chat("Question 2717 of many, and so forth."), held)
