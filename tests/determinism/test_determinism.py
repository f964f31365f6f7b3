"""The same bytes everywhere: in any process, order and hash seed, and over a socket. Other Pythons: tests/interpreters.

`pytest tests/determinism --update` rewrites golden.json. A change of it is a breaking change: say so in the changelog.
"""

import json
from collections.abc import Mapping

import pytest

from mockserver.dialects import discover
from tests.determinism.requests import (
    GOLDEN,
    Request,
    ask_here,
    ask_there,
    assert_same,
    requests,
    rules,
    shuffled,
)
from tests.kit.served import served

Answers = Mapping[str, str]


@pytest.fixture(scope="module")
def golden() -> Answers:
    found: Answers = json.loads(GOLDEN.read_text())
    return found


def test_golden_in_any_order(update: bool) -> None:
    mixed = shuffled(requests(), 1)
    found = ask_here([*mixed, *mixed[::-5]])  # a fifth comes twice
    if update:
        GOLDEN.write_text(json.dumps({one.name: found[one.name] for one in requests()}, indent=1) + "\n")
    assert_same(found, json.loads(GOLDEN.read_text()))


def test_there_is_enough_gold(golden: Answers) -> None:
    assert len(golden) == len(requests()) >= 60, "each request has a name of its own"
    assert {name.partition(" ")[0] for name in golden} == set(discover())
    answered = [name for name, found in golden.items() if found.startswith("200")]
    assert len(set(map(golden.get, answered))) > 0.9 * len(answered), "nearly every answer is one of its own"


def test_every_request_has_a_name_of_its_own() -> None:
    names = [one.name for one in requests()]
    assert len(set(names)) == len(names)


def test_another_process_hash_seed_time_zone_and_language_with_requests_side_by_side(golden: Answers) -> None:
    there = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with served(rules(), environ={**there, "PYTHONHASHSEED": "random"}) as server:
        assert_same(ask_there(shuffled(requests(), 4), server.address), golden)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "stated"),
    [
        ("/openai/v1/chat/completions", {"temperature": 1, "n": 1, "response_format": {"type": "text"}}),
        ("/skytells/v1/chat/completions", {"temperature": 0.7, "top_p": 0.95, "tool_choice": "none"}),
        ("/crazyrouter/v1/chat/completions", {"top_p": 1, "logprobs": False, "parallel_tool_calls": True}),
        ("/azure/chat/completions?api-version=2024-05-01-preview", {"temperature": 1, "frequency_penalty": 0}),
        ("/fireworks/v1/completions", {"n": 1, "echo": False, "ignore_eos": False, "raw_output": False}),
        ("/tzafon/v1/responses", {"temperature": 1, "truncation": "disabled", "tool_choice": "auto", "tools": []}),
    ],
)
def test_stated_defaults_change_no_byte(path: str, stated: Mapping[str, object], stream: bool) -> None:
    said = {"input": "hi"} if "responses" in path else {"messages": [{"role": "user", "content": "hi"}]}
    body = {"model": "m", **({"prompt": "hi"} if path.endswith("v1/completions") else said), "stream": stream}
    bodies = {"stated": {**body, **stated}, "left out": body}
    found = ask_here([Request(name, path, json.dumps(each).encode()) for name, each in bodies.items()])
    assert found["stated"] == found["left out"]
    assert found["stated"].startswith("200")
