"""Equal requests have equal keys, and the nearest episode is found."""

from typing import Any

import pytest

from mockserver.cassettes.cassette import Cassette, find_traits, make_key, select_compared
from mockserver.config.settings import MatchSettings
from mockserver.core.call import Call
from mockserver.core.episode import Episode
from mockserver.server.recording.recorded_calls import parse_episode, parse_sent
from tests.kit.cassette_folder import CHAT, chat, episode

NONE = MatchSettings()


def asked(body: Any, path: str = CHAT, dialect: str = "openai", **headers: str) -> Call:
    method = "GET" if body is None else "POST"
    sent = episode(body, "", path=path, dialect=dialect, method=method, headers=headers).request
    call = parse_sent(dialect, sent)
    assert call is not None
    return call


HELLO = chat("Hello")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
OTHER_TOOL = {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}}
RESPONSE = {"model": "gpt-4o", "input": "go on"}

SAME: list[tuple[Any, Any, MatchSettings]] = [
    (HELLO, HELLO, NONE),
    (HELLO, {**HELLO, "user": "me", "metadata": {"a": "b"}, "store": True}, NONE),
    (HELLO, {**HELLO, "temperature": 0.5}, MatchSettings(ignore=("temperature",))),
    ({**HELLO, "seed": 1}, {**HELLO, "seed": 2, "temperature": 1}, MatchSettings(ignore=("seed", "temperature"))),
    (HELLO, {**HELLO, "model": "o3"}, MatchSettings(ignore=("model",))),
    ({**HELLO, "stream": True}, {**HELLO, "stream": True, "stream_options": {"include_usage": True}}, NONE),
    ({**HELLO, "tools": [TOOL, OTHER_TOOL]}, {**HELLO, "tools": [OTHER_TOOL, TOOL]}, NONE),
]
OTHERS: list[tuple[Any, Any, MatchSettings]] = [
    (HELLO, chat("Hello!"), NONE),
    (HELLO, {**HELLO, "stream": True}, NONE),
    (HELLO, {**HELLO, "stream": True}, MatchSettings(ignore=("stream",))),
    (HELLO, {**HELLO, "temperature": 0.5}, NONE),
    (HELLO, {**HELLO, "tools": [TOOL]}, NONE),
    (HELLO, {**HELLO, "model": "o3"}, NONE),
    (HELLO, {**HELLO, "user": "me"}, MatchSettings(also=("user",))),
    ({**HELLO, "metadata": {"a": "b"}}, {**HELLO, "metadata": {"a": "c"}}, MatchSettings(also=("metadata.a",))),
    (
        {**HELLO, "stream": True},
        {**HELLO, "stream": True, "stream_options": {"include_usage": True}},
        MatchSettings(also=("stream_options.include_usage",)),
    ),
]


@pytest.mark.parametrize(("one", "other", "match"), SAME)
def test_the_same(one: Any, other: Any, match: MatchSettings) -> None:
    assert make_key(asked(one), match) == make_key(asked(other), match)


@pytest.mark.parametrize(("one", "other", "match"), OTHERS)
def test_others(one: Any, other: Any, match: MatchSettings) -> None:
    assert make_key(asked(one), match) != make_key(asked(other), match)


@pytest.mark.parametrize(("recorded", "live", "match"), [*SAME, *OTHERS])
def test_a_call_that_is_known_is_looked_up_by_the_key_that_it_would_have(
    recorded: Any, live: Any, match: MatchSettings
) -> None:
    held = Cassette("a.yaml", parse_episode, match)
    held.add(episode(recorded, "{}"), 1)
    known = held.find_known_key(asked(recorded))
    assert known == (None if match.also else make_key(asked(recorded), match))  # `also` compares what calls do not mean
    assert held.find_known_key(asked(live)) in (None, make_key(asked(live), match))


def test_tools_of_gemini_are_the_same_in_any_order_of_tools_and_keys() -> None:
    def ask(*declared: Any) -> str:
        body = {"contents": [{"parts": [{"text": "Hello"}]}], "tools": [{"functionDeclarations": declared}]}
        return make_key(asked(body, "/gemini/v1beta/models/gemini-2.5-flash:generateContent", "gemini"), NONE)

    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    turned = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}
    known = ask({"name": "f", "description": "d", "parameters": schema}, {"name": "g"})
    assert ask({"name": "g"}, {"parameters": schema, "description": "d", "name": "f"}) == known
    assert ask({"name": "f", "description": "d", "parameters": turned}, {"name": "g"}) != known


def test_a_field_inside_another_is_ignored() -> None:
    def ask(match: MatchSettings, **config: Any) -> str:
        body = {"contents": [{"parts": [{"text": "Hello"}]}], **({"generationConfig": config} if config else {})}
        return make_key(asked(body, "/gemini/v1beta/models/gemini-2.5-flash:generateContent", "gemini"), match)

    ignoring = MatchSettings(ignore=("generationConfig.temperature", "generationConfig.thinkingConfig.thinkingBudget"))
    assert ask(ignoring, temperature=0.5, thinkingConfig={"thinkingBudget": 9}) == ask(ignoring)
    assert ask(ignoring, temperature=0.5, seed=2) == ask(ignoring, seed=2)
    assert ask(ignoring, seed=1) != ask(ignoring, seed=2)
    assert ask(NONE, temperature=0.5) != ask(NONE)


def test_paths_of_one_dialect_are_the_same_and_other_dialects_are_others() -> None:
    assert make_key(asked(HELLO), NONE) == make_key(asked(HELLO, "/openai/v1/chat/completions"), NONE)
    assert make_key(asked(HELLO), NONE) != make_key(asked(HELLO, "/skytells/v1/chat/completions", "skytells"), NONE)


def test_headers_and_queries_are_compared_where_it_is_said() -> None:
    one, other = asked(HELLO, **{"X-Tenant": "a"}), asked(HELLO, **{"x-tenant": "b"})
    assert make_key(one, NONE) == make_key(other, NONE)
    assert make_key(one, MatchSettings(also=("header.x-tenant",))) != make_key(
        other, MatchSettings(also=("header.x-tenant",))
    )
    one, other = asked(HELLO, f"{CHAT}?v=1"), asked(HELLO, f"{CHAT}?v=2")
    assert make_key(one, NONE) == make_key(other, NONE)
    assert make_key(one, MatchSettings(also=("query.v",))) != make_key(other, MatchSettings(also=("query.v",)))


def test_a_response_goes_on_from_the_one_that_it_names() -> None:
    paths = "/v1/responses"
    plain, one, two = (
        make_key(asked({**RESPONSE, **more}, paths), NONE)
        for more in ({}, {"previous_response_id": "resp_1"}, {"previous_response_id": "resp_2"})
    )
    assert len({plain, one, two, make_key(asked({**RESPONSE, "background": True}, paths), NONE)}) == 4
    ignoring = MatchSettings(ignore=("previous_response_id",))
    assert make_key(asked({**RESPONSE, "previous_response_id": "resp_1"}, paths), ignoring) == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/v1/responses/resp_1", "/v1/responses/resp_2"),
        ("/v1/responses/resp_1/input_items", "/v1/responses/resp_1/input_items?after=x"),
        ("/v1/responses/resp_1", "/v1/responses/resp_1?stream=true"),
        ("/v1/models", "/v1/models/gpt-4o"),
        ("/v1/chat/completions", "/v1/chat/completions?model=a"),
    ],
)
def test_look_ups_are_told_apart_by_path_and_query(one: str, other: str) -> None:
    assert make_key(asked(None, one), NONE) == make_key(asked(None, one), NONE)
    assert make_key(asked(None, one), NONE) != make_key(asked(None, other), NONE)


def test_the_version_of_an_api_is_not_compared_unless_it_is_said() -> None:
    one, other = (
        asked(None, f"/azure/info?api-version={version}", "azure") for version in ("2024-05-01", "2025-01-01")
    )
    assert make_key(one, NONE) == make_key(other, NONE)
    match = MatchSettings(also=("query.api-version",))
    assert make_key(one, match) != make_key(other, match)


def far(one: Any, other: Any) -> float:
    first, second = (find_traits(call, select_compared(call, NONE)) for call in (asked(one), asked(other)))
    assert first.measure_distance(second) == second.measure_distance(first)
    return first.measure_distance(second)


def test_the_nearest_differs_least() -> None:
    weather = chat("What is the weather in Oslo?", temperature=0.2)
    others = [
        weather,
        {**weather, "stream": True},
        {**weather, "temperature": 0.3},
        chat("What is the weather in Bergen?", temperature=0.2),
        chat("Tell me a joke.", temperature=0.2),
        chat("Tell me a joke."),
    ]
    distances = [far(weather, other) for other in others]
    assert distances[0] == 0
    assert distances == sorted(distances)
    assert len(set(distances)) == len(distances)


def cassette_of(*episodes: Episode) -> Cassette:
    made = Cassette("chat.yaml", parse_episode, MatchSettings())
    for number, each in enumerate(episodes, 1):
        made.add(each, number)
    return made


def key_in(held: Cassette, text: str) -> str:
    call = parse_episode(episode(chat(text), ""))
    assert call is not None
    return held.make_key(call)


def test_episodes_are_found_in_their_order() -> None:
    held = cassette_of(episode(chat("a"), "1"), episode(chat("b"), "2"), episode(chat("a"), "3"))
    assert [(entry.number, entry.reply.bytes) for entry in held.find(key_in(held, "a"))] == [(1, b"1"), (3, b"3")]
    assert [entry.reply.source for entry in held.find(key_in(held, "b"))] == ["cassette chat.yaml#2"]
    assert held.find(key_in(held, "c")) == ()
    assert [entry.number for entry in held.entries] == [1, 2, 3]


def test_other_episodes_of_the_same_cassette() -> None:
    read = list[Episode]()

    def reader(each: Episode) -> Call | None:
        read.append(each)
        return parse_episode(each)

    one, two, bad = episode(chat("a"), "1"), episode(chat("b"), "2"), episode(chat("a"), "", path="/nowhere")
    held = Cassette("chat.yaml", reader, MatchSettings()).copy_with((one, bad))
    made = held.copy_with((two, episode(chat("a"), "1"), bad))
    assert [(entry.reply.source, entry.reply.bytes) for entry in made.entries] == [
        ("cassette chat.yaml#1", b"2"),
        ("cassette chat.yaml#2", b"1"),
    ]
    assert (made.size, made.refused) == (3, [3])
    assert read == [one, bad, two, bad]
    assert (held.size, held.refused) == (2, [2])


def test_what_its_dialect_does_not_know_answers_nothing() -> None:
    held = cassette_of(episode(chat("a"), "1", path="/nowhere"), episode(chat("a"), "2"))
    assert (held.refused, held.size) == ([1], 2)
    assert [entry.number for entry in held.entries] == [2]


def test_what_its_dialect_would_refuse_is_told_apart() -> None:
    bodies = (
        {"messages": 7},
        {"messages": 8},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "v"}]}]},
    )
    held = cassette_of(*(episode(body, str(number)) for number, body in enumerate(bodies, 1)))
    for entry in held.entries:
        assert [found.number for found in held.find(entry.request.key)] == [entry.number]
    assert len(held.entries) == len(bodies)
