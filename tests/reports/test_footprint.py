"""Footprints as values: what is measured of calls, the file, and what is said of a footprint that grew."""

import json

import pytest
from msgspec.structs import replace

from mockserver.config.errors import ConfigError
from mockserver.core.call import Message, Prompt, Tool
from mockserver.core.plan import Usage
from mockserver.reports.calls import ReceivedCall
from mockserver.reports.footprint import (
    CallFootprint,
    Total,
    compute_cost,
    describe_changes,
    find_growth,
    find_unpriced,
    measure_calls,
    parse_prices,
    read_footprints,
    write_footprints,
    write_totals,
)
from tests.kit.calls import call
from tests.kit.received import SECRET, make_received

WEATHER = Tool("get_weather", "Gets the weather of a city", {"type": "object", "properties": {"city": {}}})
SMALL = CallFootprint(
    "openai chat",
    "gpt-4o",
    messages=2,
    prompt=100,
    tools=60,
    cached=40,
    completion=9,
    parts={"system": 20, "user": 17, "tool get_weather": 55},
)


def answered(*said: str | Message, usage: Usage | None = None, tools: tuple[Tool, ...] = ()) -> ReceivedCall:
    asked = replace(call(*said), tools=tools)
    return make_received(asked, usage=usage or Usage(asked.prompt_tokens, 5), status=200, source="generated")


def test_what_is_measured_of_a_call() -> None:
    [found] = measure_calls([answered(Message("system", "Be kind."), "How are you?", "Well?", tools=(WEATHER,))])
    assert (found.request, found.model, found.messages, found.completion) == ("openai chat", "gpt-4o", 3, 5)
    assert list(found.parts) == ["system", "user", "tool get_weather"]
    assert sum(found.parts.values()) < found.prompt  # which has some overhead, too
    assert found.parts["tool get_weather"] < found.tools < found.prompt
    assert found.texts == {}


def test_texts_are_kept_only_if_asked_for_and_without_credentials() -> None:
    asked = answered(Message("system", f"The key is {SECRET}."), "Hi!\nHo!", tools=(WEATHER,))
    [found] = measure_calls([asked], with_texts=True)
    assert found.texts["user"] == "Hi!\nHo!"
    assert SECRET not in found.texts["system"]
    assert "Gets the weather of a city" in found.texts["tool get_weather"]
    assert read_footprints(write_footprints({"test_a": [found]}), "f.yaml") == {"test_a": (found,)}


def test_the_order_of_calls_does_not_matter_and_look_ups_do_not_count() -> None:
    calls = [answered("How are you?"), answered("Hi"), make_received(call(), operation="models", status=200)]
    assert measure_calls(calls) == measure_calls(calls[::-1])
    assert len(measure_calls(calls)) == 2


def test_failed_calls_prompts_and_documents() -> None:
    failed = make_received(call("hello"), status=429)
    embedded = make_received(replace(call(), prompts=(Prompt("one"), Prompt("two words"))), status=200)
    ranked = make_received(replace(call("query"), documents=("a document",)), status=200)
    one, two, three = measure_calls([failed]) + measure_calls([embedded]) + measure_calls([ranked])
    assert (one.error, one.completion) == (429, 0)
    assert two.parts == {"prompt": two.prompt}
    assert list(three.parts) == ["user", "documents"]


@pytest.mark.parametrize(
    ("usage", "prompt", "cached"),
    [
        ({"prompt_tokens": 90, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}, 90, 64),
        ({"input_tokens": 26, "output_tokens": 7, "cache_read_input_tokens": 64}, 90, 64),
    ],
)
def test_recorded_answers_state_their_tokens(usage: dict[str, object], prompt: int, cached: int) -> None:
    body = json.dumps({"choices": [{"message": {"content": "Hi"}}], "usage": usage}).encode()
    played = make_received(call("hello"), status=200, source="cassette chat.yaml#1", pieces=[(0.0, body)])
    [found] = measure_calls([played])
    assert (found.prompt, found.cached, found.completion) == (prompt, cached, 7)


def test_the_file_is_sorted_and_has_a_line_for_each_fact() -> None:
    one, two = (
        {"test_b": [SMALL], "test_a[é: 1]": [SMALL], "test_none": []},
        {"test_a[é: 1]": [SMALL], "test_b": [SMALL]},
    )
    written = write_footprints(one)
    assert written == write_footprints(two)
    assert read_footprints(written, "f.yaml") == {"test_a[é: 1]": (SMALL,), "test_b": (SMALL,)}
    assert written.split("test_b:\n")[1].splitlines() == [
        "    total: {calls: 1, prompt: 100, tools: 60, cached: 40, completion: 9}",
        "    calls:",
        "      - request: openai chat",
        "        model: gpt-4o",
        "        messages: 2",
        "        prompt: 100",
        "        tools: 60",
        "        cached: 40",
        "        completion: 9",
        "        parts:",
        "          system: 20",
        "          user: 17",
        "          tool get_weather: 55",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("version: 2", "f.yaml: not a footprint file: Invalid enum value 2 - at `$.version`; restore it, or write it"),
        ("tests: {}", "f.yaml: not a footprint file: Object missing required field `version`; "),
        ("version: 1\ntests: {a: {calls: [{request: 3}]}}", "`$.tests[...].calls[0].request`"),
        ("version: 1\n<<<<<<< mine\n", "f.yaml:2:1: "),
    ],
)
def test_a_file_that_cannot_be_read(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_footprints(text, "f.yaml")
    assert complaint in "\n".join(mistake.render() for mistake in caught.value.mistakes)


def test_an_empty_file_has_no_tests() -> None:
    assert read_footprints(write_footprints({}), "f.yaml") == {}


def test_growth_beyond_a_share() -> None:
    assert find_growth([SMALL], [replace(SMALL, prompt=110)], 0.1) == ()
    [grown] = find_growth([SMALL], [replace(SMALL, prompt=111)], 0.1)
    assert str(grown) == "prompt 100 -> 111 (+11%)"
    assert [str(each) for each in find_growth([], [SMALL], 0.1)][:2] == ["calls 0 -> 1", "prompt 0 -> 100"]
    assert find_growth([SMALL, SMALL], [SMALL], 0.1) == ()


def test_a_cache_that_is_missed_is_growth() -> None:
    [grown] = find_growth([SMALL], [replace(SMALL, cached=0)], 0.1)
    assert str(grown) == "uncached prompt 60 -> 100 (+67%)"


def test_the_changes_of_calls_name_what_they_send() -> None:
    more = replace(SMALL, prompt=130, parts={"system": 38, "tool get_weather": 55, "tool search": 29})
    other = replace(SMALL, model="o3")
    assert list(describe_changes([SMALL, SMALL], [SMALL, more, other])) == [
        "  openai chat gpt-4o: prompt 100 -> 130",
        "    system: 20 -> 38",
        "  - user: 17",
        "  + tool search: 29",
        "+ openai chat o3: 1 call, 100 prompt tokens (60 of tools, 40 cached), 9 completion tokens",
        "    system: 20",
        "    user: 17",
        "    tool get_weather: 55",
    ]
    assert "    model: gpt-4o -> o3" in list(describe_changes([SMALL], [other]))


def test_the_changes_of_texts() -> None:
    before = replace(SMALL, texts={"system": "Be kind.\nBe short.", "user": "Hi"})
    after = replace(SMALL, texts={"system": "Be kind.\nBe brief.", "user": "Hi"})
    told = list(describe_changes([before], [after]))
    assert told[1:] == [
        "    text of system:",
        "      @@ -1,2 +1,2 @@",
        "       Be kind.",
        "      -Be short.",
        "      +Be brief.",
    ]


def test_prices() -> None:
    prices = parse_prices(["gpt-4o*: prompt 2.50, cached 1.25, completion 10", "ft:gpt:own: prompt 1"])
    assert compute_cost([SMALL], prices) == pytest.approx((60 * 2.5 + 40 * 1.25 + 9 * 10) / 1e6)
    assert compute_cost([replace(SMALL, error=500)], prices) == 0
    assert compute_cost([replace(SMALL, model="ft:gpt:own")], prices) == pytest.approx(100 / 1e6)
    assert find_unpriced([SMALL, replace(SMALL, model="o3")], prices) == ["o3"]
    assert list(write_totals({"now": [SMALL]}, prices)) == [
        "     calls  prompt  tools  cached  completion      cost",
        "now      1     100     60      40           9  0.000290",
    ]
    assert next(write_totals({"now": [SMALL]}, {})).endswith("completion")
    assert str(Total.add_up([SMALL, SMALL])).startswith("2 calls, 200 prompt tokens (120 of tools, 80 cached), ")


@pytest.mark.parametrize("line", ["gpt-4o", "gpt-4o: 2.50", "gpt-4o: prompt much", "gpt-4o: prompt 1, speed 3"])
def test_what_is_not_a_price(line: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a price; write prices per million tokens as gpt-4o\*: prompt 2\.50"):
        parse_prices([line])
