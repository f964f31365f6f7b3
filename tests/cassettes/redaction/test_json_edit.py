"""Values of JSON are edited, also those that are split across events."""

import json
from typing import Any

import pytest

from mockserver.cassettes.redaction.json_edit import (
    Edit,
    edit_path,
    find_path,
    join_deltas,
    read_json,
    replace_fragments,
)
from mockserver.config.types import parse_json_path

TREE = {"a": {"b": [1, {"c": "x"}, "y"]}, "user": "me", "éA": None, "list": []}
FOUND: dict[str, list[Any]] = {
    "$": [TREE],
    "$.a.b[0]": [1],
    "$.a.b[-1]": ["y"],
    "$.a.b[7]": [],
    "$.a.b[-7]": [],
    "$.a.b.c": [],
    "$.a[0]": [],
    "$.a.b[*]": [1, {"c": "x"}, "y"],
    "$.a.*": [[1, {"c": "x"}, "y"]],
    "$..c": ["x"],
    "$..[0]": [1],
    "$['éA']": [None],
    "$.list[*]": [],
    "$..b..c": ["x"],
}


@pytest.mark.parametrize("path", FOUND)
def test_what_a_path_leads_to(path: str) -> None:
    found = list[Any]()
    edit_path(TREE, parse_json_path(path), found.append)
    assert found == FOUND[path]


@pytest.mark.parametrize("text", ["", "{", "[1,]", '{"a"}', "1 2", "tru", '"', "[" * 200_000 + "]" * 200_000])
def test_invalid_json_is_none(text: str) -> None:
    assert read_json(text) is None


@pytest.mark.parametrize("text", ['{"a": 1.50}', '{ "a":1,"b": [ ] }', "[NaN, 1e5]"])
def test_json_of_any_layout_keeps_its_numbers(text: str) -> None:
    found = read_json(text)
    assert found is not None
    assert repr(json.loads(found.write())) == repr(json.loads(text))


@pytest.mark.parametrize(("value", "path"), [("x", "$.a.b[1].c"), ("user", "$"), ("éA", "$"), ("none", None)])
def test_the_path_of_a_text(value: str, path: str | None) -> None:
    assert find_path(TREE, value) == path
    assert find_path({"k l": [{"é-1": value}]}, value) == '$["k l"][0].é-1'


def chat(text: str, index: int = 0) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "choices": [{"index": index, "delta": {"role": "assistant", "content": text}}]}


def call(arguments: str, index: int) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    return {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": "call_1", "function": function}]}}]
    }


def delta(text: str, item: int = 0) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": item, "content_index": 0, "delta": text}


def token(text: str) -> dict[str, Any]:
    one = {"token": text, "bytes": [1], "logprob": 0, "top_logprobs": [{"token": "other"}]}
    return {"choices": [{"index": 0, "logprobs": {"content": [one]}}]}


TOLD = {
    "chat": ([chat("a"), chat("b")], ["ab"]),
    "two choices": ([chat("a"), chat("b", 1), chat("c"), chat("d", 1)], ["ac", "bd"]),
    "arguments": ([call("a", 0), call("b", 1), call("c", 0), call("d", 1)], ["ac", "bd"]),
    "response": ([delta("a"), {"type": "ping"}, delta("b"), delta("c", 1), delta("d", 1)], ["ab", "cd"]),
    "messages": ([{"index": 0, "delta": {"type": "text_delta", "text": text}} for text in "ab"], ["ab"]),
    "completions": ([{"choices": [{"index": 0, "text": text}]} for text in "ab"], ["ab"]),
    "logprobs": ([token("a"), token("b")], ["ab"]),
    "logprobs of completions": ([{"choices": [{"index": 0, "logprobs": {"tokens": ["a", "b"]}}]}], ["ab"]),
    "one piece": ([chat("a")], []),
    "no piece": ([{"id": "a", "delta": 1}, {"id": "b"}], []),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told_in_pieces(name: str) -> None:
    events, told = TOLD[name]
    assert [lane.text for lane in join_deltas([json.dumps(event) for event in events])] == told


def test_of_completions_too() -> None:
    logprobs = {"tokens": ["a", "b"], "top_logprobs": [{"a": 0}, {"b": 0}], "text_offset": [0, 1]}
    data = json.dumps({"choices": [{"index": 0, "logprobs": logprobs}]})
    (lane,) = join_deltas([data])
    left = json.loads(replace_fragments(data, list(lane.apply([Edit(0, 2, "<K>")]))))
    assert left["choices"][0]["logprobs"] == {"tokens": ["<K>", ""], "top_logprobs": None, "text_offset": [0, 1]}
