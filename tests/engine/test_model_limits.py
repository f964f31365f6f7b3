"""How much room an answer has, in a model with a window and in one without."""

from typing import Any

import pytest

from mockserver.core.call import Call, Message, Prompt
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.engine.catalogue import (
    UNKNOWN,
    Catalogue,
    Known,
    Model,
    apply_limits,
    check_features,
    limit_for_generator,
)
from tests.kit.calls import call
from tests.kit.local import local

SMALL = Model(context_window=20)


def text(tokens: int, **fields: Any) -> Call:
    """A completion whose prompt has so many tokens."""
    prompt = Prompt("a " * tokens, (1,) * tokens)
    return call("a", prompts=(prompt,), operation="completions", model="small-1", **fields)


def fitting(asked: Call, refusing: Model, stated: Model) -> Call:
    """The call as a model takes it of which this is known, and that stated."""
    return apply_limits(asked, Known(exists=True, name="", stated=stated, properties=refusing, refusing={}), refusing)


@pytest.mark.parametrize(
    ("prompt", "asked", "allowed"),
    [(5, 10, 10), (5, 15, 15), (5, None, 15), (19, None, 1), (20, 0, 0), (5, 0, 0)],
)
@pytest.mark.parametrize("overflow", ["error", "truncate"])
def test_what_fits_is_left_alone(prompt: int, asked: int | None, allowed: int, overflow: str) -> None:
    assert fitting(text(prompt, max_tokens=asked, overflow=overflow), SMALL, SMALL).options.max_tokens == allowed


def test_more_than_fits_is_an_error_or_lowered() -> None:
    with pytest.raises(Failure, match="context_length") as caught:
        fitting(text(15, max_tokens=6), SMALL, SMALL)
    assert caught.value.details == {"limit": 20, "tokens": 21, "prompt": 15, "completion": 6}
    assert fitting(text(15, max_tokens=6, overflow="truncate"), SMALL, SMALL).options.max_tokens == 5


@pytest.mark.parametrize("overflow", ["error", "truncate"])
@pytest.mark.parametrize(("prompt", "asked"), [(20, None), (20, 1), (21, 0), (30, None)])
def test_a_prompt_that_leaves_no_room_is_an_error(prompt: int, asked: int | None, overflow: str) -> None:
    with pytest.raises(Failure) as caught:
        fitting(text(prompt, max_tokens=asked, overflow=overflow), SMALL, SMALL)
    assert caught.value.details == {"limit": 20, "tokens": prompt}


def test_a_conversation_may_be_forgotten_instead() -> None:
    long = call("word " * 50, operation="responses", model="small-1", overflow="truncate", max_tokens=9)
    assert fitting(long, SMALL, SMALL) is long


def test_without_a_window_nothing_counts() -> None:
    endless = text(30, max_tokens=10**9)
    assert fitting(endless, UNKNOWN, UNKNOWN) is endless
    listing = call("a " * 99, operation="models", model="small-1")
    assert fitting(listing, SMALL, SMALL) is listing


def test_a_published_window_refuses_but_bounds_no_answer() -> None:
    asked = text(5, max_tokens=15)
    assert fitting(asked, SMALL, UNKNOWN) is asked
    unasked = text(5)
    assert fitting(unasked, SMALL, UNKNOWN) is unasked
    with pytest.raises(Failure, match="context_length"):
        fitting(text(5, max_tokens=16), SMALL, UNKNOWN)
    assert fitting(text(5, max_tokens=16, overflow="truncate"), SMALL, UNKNOWN).options.max_tokens == 15


def test_what_a_provider_allows_by_itself_is_not_asked_for() -> None:
    usual = text(5, max_tokens=900, usual_tokens=900)
    assert fitting(usual, SMALL, SMALL).options.max_tokens == 15
    assert fitting(usual, SMALL, UNKNOWN) is usual


def test_an_answer_has_a_limit_of_its_own() -> None:
    brief = Model(max_output_tokens=8)
    with pytest.raises(Failure, match="unsupported") as caught:
        fitting(text(1, max_tokens=9), brief, brief)
    assert caught.value.details == {"feature": "max_output_tokens", "limit": 8, "asked": 9}
    assert fitting(text(1, max_tokens=9, overflow="truncate"), brief, brief).options.max_tokens == 8
    assert fitting(text(1, max_tokens=8), brief, brief).options.max_tokens == 8
    assert fitting(text(1), brief, brief).options.max_tokens == 8
    assert fitting(text(1), brief, UNKNOWN).options.max_tokens is None


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"usual_tokens": 16}, 16),
        ({"usual_tokens": 16, "max_tokens": 9}, 9),  # what is left of a window
        ({"ignore_eos": True}, 2048),
        ({"ignore_eos": True, "max_tokens": 7}, 7),
        ({"ignore_eos": True, "usual_tokens": 9}, 9),
        ({"ignore_eos": True, "usual_tokens": 5000}, 2048),
        ({"ignore_eos": True, "usual_tokens": 5000, "max_tokens": 4000}, 4000),
        ({"ignore_eos": True, "max_tokens": 10**9}, 99_999),
    ],
)
def test_what_no_rule_gives(fields: dict[str, Any], most: int | None) -> None:
    assert limit_for_generator(text(1, **fields)).options.max_tokens == most


CHAT = {"messages": [{"role": "user", "content": "one two three four five six seven"}]}


@pytest.mark.parametrize(
    ("more", "status"),
    [({}, 200), ({"max_tokens": 7}, 200), ({"max_tokens": 8}, 400), ({"max_completion_tokens": 999}, 400)],
)
def test_a_chat_has_a_window_too(more: dict[str, Any], status: int) -> None:
    server = local('settings: {models: {"small*": {context_window: 20}, "*": }}')
    assert server.ask("/v1/chat/completions", {"model": "small", **CHAT, **more}).status == status
    assert server.ask("/v1/chat/completions", {"model": "big", **CHAT, **more}).status == 200


def test_a_rule_is_within_the_window_as_well() -> None:
    server = local(
        """
settings: {models: {small: {context_window: 20}}}
rules:
  - then: {text: " a b c d e f g h i j k l m n o p q r s t u v w x y z"}
"""
    )
    answered = server.ask("/v1/completions", {"model": "small", "prompt": "one two three four five"})
    assert answered.json["choices"][0]["finish_reason"] == "length"
    assert answered.json["usage"]["total_tokens"] == 20


NOTHING = Model(tools=False, vision=False, json_schema=False, reasoning=False, sampling=False)
EVERYTHING = Model(tools=True, vision=True, json_schema=True, reasoning=True, sampling=True)
IMAGE = Message("user", "See", parts=({"type": "image_url", "image_url": {"url": "x"}},))
ASKED = {
    "tools": call("a", tools=["t"]),
    "vision": call(IMAGE),
    "json_schema": call("a", response_format="json_schema"),
    "reasoning": call("a", effort="low"),
    "sampling": call("a", raw={"temperature": 0.2}),
}


@pytest.mark.parametrize("feature", ASKED)
def test_what_a_model_lacks_is_refused(feature: str) -> None:
    with pytest.raises(Failure, match="unsupported") as caught:
        check_features(ASKED[feature], NOTHING)
    assert caught.value.details["feature"] == feature
    check_features(ASKED[feature], UNKNOWN)
    check_features(ASKED[feature], EVERYTHING)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"effort": "none"},
        {"response_format": "json_object"},
        {"raw": {"temperature": 1, "top_p": 1.0, "presence_penalty": 0, "logprobs": False, "max_tokens": None}},
        {"operation": "completions", "raw": {"max_tokens": 5}},
        {"operation": "models", "response_format": "json_schema"},
    ],
)
def test_what_any_model_can_do(fields: dict[str, Any]) -> None:
    check_features(call("a", **fields), NOTHING)


@pytest.mark.parametrize("name", ["temperature", "top_p", "presence_penalty", "logprobs", "max_tokens"])
def test_the_first_parameter_that_cannot_be_set_is_named(name: str) -> None:
    with pytest.raises(Failure) as caught:
        check_features(call("a", raw={name: 0.5, "seed": 3}), NOTHING)
    assert caught.value.details["param"] == name


@pytest.mark.parametrize(
    ("model", "raw", "feature"),
    [
        ("gpt-5-mini", {"reasoning_effort": "xhigh"}, "efforts"),
        ("gpt-5.1", {"reasoning_effort": "minimal"}, "efforts"),
        ("gpt-5.1-codex", {"reasoning_effort": "none"}, "efforts"),
        ("gpt-5.2-chat-latest", {"reasoning_effort": "high"}, "efforts"),
        ("gpt-4o", {"reasoning_effort": "none"}, "reasoning"),
        ("gpt-5.2", {"max_tokens": 5}, "max_tokens"),
        ("gpt-5.2", {"reasoning_effort": "low", "temperature": 0.5}, "usual_effort"),
        ("gpt-5.6", {"temperature": 0.5}, "usual_effort"),
        ("gpt-5.4", {"reasoning_effort": "low"}, "reasoning_with_tools"),
        ("gpt-5.6", {}, "reasoning_with_tools"),
        ("gpt-5.6", {"reasoning_effort": "none", "prompt_cache_retention": "24h"}, "cache_retention"),
        ("o4-mini", {"parallel_tool_calls": False}, "parallel_choice"),
    ],
)
def test_what_a_known_model_refuses(model: str, raw: dict[str, Any], feature: str) -> None:
    with pytest.raises(Failure) as caught:
        check_features(call("a", raw=raw, tools=["t"]), Catalogue().find(model).refusing[Validation.LIVE])
    assert caught.value.details["feature"] == feature


@pytest.mark.parametrize(
    ("model", "raw"),
    [
        ("gpt-5-mini", {"reasoning_effort": "minimal"}),
        ("gpt-5.2", {"temperature": 0.5, "max_completion_tokens": 5}),
        ("gpt-5.4", {}),
        ("gpt-5.6-sol", {"reasoning_effort": "none", "temperature": 0.5}),
        ("gpt-5.6-luna", {"reasoning_effort": "none"}),
        ("gpt-4.1", {"temperature": 0.5, "max_tokens": 5, "parallel_tool_calls": False}),
        ("gpt-9", {"reasoning_effort": "max", "temperature": 0.5, "max_tokens": 5}),
    ],
)
def test_what_a_known_model_takes(model: str, raw: dict[str, Any]) -> None:
    check_features(call("a", raw=raw, tools=["t"]), Catalogue().find(model).refusing[Validation.LIVE])


def test_another_verbosity_than_the_usual_needs_a_model_that_varies() -> None:
    refusing = Catalogue().find("gpt-4o").refusing[Validation.LIVE]
    check_features(call("a", verbosity="medium"), refusing)
    with pytest.raises(Failure) as caught:
        check_features(call("a", verbosity="low"), refusing)
    assert caught.value.details == {"feature": "verbosity", "supported": ["medium"]}


def test_sound_is_no_image_and_neither_is_one_that_the_model_made() -> None:
    check_features(
        call(Message("user", "", parts=({"type": "input_audio"}, {"type": "image_generation_call"}))), NOTHING
    )


def test_a_call_is_admitted_as_its_model_takes_it() -> None:
    models = Catalogue({"plain": NOTHING, "small": Model(context_window=10)})

    def admitted(asked: Call) -> Call:
        return apply_limits(asked, models.find(asked.model), models.find_refusing(asked.dialect, asked.model))

    assert admitted(call("a", model="small")).options.max_tokens == 3
    with pytest.raises(Failure, match="unsupported"):
        admitted(call("a", tools=["t"], model="plain"))
    with pytest.raises(Failure, match="unknown_model"):
        admitted(call("a", model="other"))
