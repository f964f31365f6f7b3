"""What a request needs of its model."""

from typing import Any

import pytest

from mockserver.core.call import Message
from mockserver.core.plan import Failure
from mockserver.engine.catalogue import UNKNOWN, Catalogue, Model
from mockserver.engine.model_limits import admitted, check
from tests.kit.calls import call

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
        check(ASKED[feature], NOTHING)
    assert caught.value.details["feature"] == feature
    check(ASKED[feature], UNKNOWN)
    check(ASKED[feature], EVERYTHING)


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
    check(call("a", **fields), NOTHING)


@pytest.mark.parametrize("name", ["temperature", "top_p", "presence_penalty", "logprobs", "max_tokens"])
def test_the_first_parameter_that_cannot_be_set_is_named(name: str) -> None:
    with pytest.raises(Failure) as caught:
        check(call("a", raw={name: 0.5, "seed": 3}), NOTHING)
    assert caught.value.details["param"] == name


def test_sound_is_no_image_and_neither_is_one_that_the_model_made() -> None:
    check(call(Message("user", "", parts=({"type": "input_audio"}, {"type": "image_generation_call"}))), NOTHING)


def test_a_call_is_admitted_as_its_model_takes_it() -> None:
    models = Catalogue({"plain": NOTHING, "small": Model(context_window=10)})
    assert admitted(call("a", model="small"), models).max_tokens == 3
    with pytest.raises(Failure, match="unsupported"):
        admitted(call("a", tools=["t"], model="plain"), models)
    with pytest.raises(Failure, match="unknown_model"):
        admitted(call("a", model="other"), models)
