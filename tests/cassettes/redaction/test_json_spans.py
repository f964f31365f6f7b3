"""Values of JSON are edited in place, also those that are split across events."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.json_spans import (
    JsonSpan,
    apply_edits,
    find_spans,
    joined_deltas,
    json_string,
    parse_spans,
    path_of,
    span_at,
    text_spans,
    with_fragments,
)
from mockserver.config.types import steps

TEXT = '{ "a": {"b": [1, {"c": "x"}, "y"]}, "user" :"me","é\\u0041":null, "list":[] }'

FOUND = {
    "$": [TEXT],
    "$.a.b[0]": ["1"],
    "$.a.b[-1]": ['"y"'],
    "$.a.b[7]": [],
    "$.a.b[-7]": [],
    "$.a.b.c": [],
    "$.a[0]": [],
    "$.a.b[*]": ["1", '{"c": "x"}', '"y"'],
    "$.a.*": ['[1, {"c": "x"}, "y"]'],
    "$..c": ['"x"'],
    "$..[0]": ["1"],
    "$.user": ['"me"'],
    "$['éA']": ["null"],
    "$.list[*]": [],
    "$..b..c": ['"x"'],
}


def root(text: str) -> JsonSpan:
    """The whole of a text that is JSON."""
    place = parse_spans(text)
    assert place is not None
    return place


@pytest.mark.parametrize("path", FOUND)
def test_what_a_path_leads_to(path: str) -> None:
    places = find_spans(root(TEXT), steps(path))
    assert [TEXT[place.start : place.end] for place in places] == FOUND[path]


@pytest.mark.parametrize(
    "text", ["", " ", "{", "[1,]", "[,1]", '{"a"}', '{"a":}', "{1:2}", "[1 2]", "1 2", "tru", '"', "[}"]
)
def test_what_is_no_json(text: str) -> None:
    assert parse_spans(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_all_that_is_json_is_read(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert rebuilt(root(text), text) == value


def rebuilt(place: JsonSpan, text: str) -> Any:
    """The value that stands at a place, made of those within it."""
    if place.inner is None:
        return json.loads(text[place.start : place.end]) if place.text is None else place.text
    pairs = [(name, rebuilt(inner, text)) for name, inner in place.inner]
    return dict(pairs) if place.names is not None else [value for _, value in pairs]


def test_of_a_name_that_stands_twice_a_path_finds_both() -> None:
    text = '{"a":1,"a":2}'
    assert len(find_spans(root(text), steps("$.a"))) == 2
    last = span_at(root(text), ("a",))
    assert last is not None
    assert last.start == 11
    assert span_at(root(text), ("b", 1)) is None


def test_edits_leave_the_rest_as_it_is() -> None:
    (user,) = find_spans(root(TEXT), steps("$.user"))
    assert apply_edits(TEXT, [(user.start, user.end, '"<x>"')]) == TEXT.replace('"me"', '"<x>"')


def test_of_an_edit_within_another_the_outer_one_counts() -> None:
    assert apply_edits("abcdef", [(2, 3, "-"), (1, 4, "+"), (5, 6, "*")]) == "a+e*"


def test_texts_are_names_and_values() -> None:
    said = [place.text for place in text_spans(root('{"a":["b",1,{"c":null}]}'))]
    assert said == ["a", "b", None, "c", None]


@pytest.mark.parametrize(("piece", "path"), [('"x"', "$.a.b[1].c"), ("null", '$["é\\\\u0041"]'), ('"user"', "$")])
def test_the_path_of_an_offset(piece: str, path: str) -> None:
    assert (
        path_of(root(TEXT.replace("\\u0041", "\\\\u0041")), TEXT.replace("\\u0041", "\\\\u0041").index(piece)) == path
    )


def test_a_text_is_written_as_its_neighbours_are() -> None:
    assert json_string("é", '"a"') == '"\\u00e9"'
    assert json_string("é", '"ü"') == '"é"'


def test_what_is_too_deep_is_none() -> None:
    assert parse_spans("[" * 200_000 + "]" * 200_000) is None


def spent(text: str, path: str) -> float:
    """Seconds of work for a text."""
    start = process_time()
    place = parse_spans(text)
    if place is not None:
        find_spans(place, steps(path))
    return process_time() - start


EVIL = {
    "lists": "[" * 50 + "]" * 50,
    "objects": '{"a":' * 50 + "1" + "}" * 50,
    "flat": "1",
    "broken": "[",
    "text": '"\\n"',
}


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("path", ["$..*..*", "$..a..a", "$[*]"])
def test_twice_as_much_takes_about_twice_as_long(evil: str, path: str) -> None:
    def text(size: int) -> str:
        return f"[{','.join([EVIL[evil]] * (size // len(EVIL[evil])))}]"

    half, whole = (min(spent(text(size), path) for _ in range(3)) for size in (20_000, 40_000))
    assert whole < 4 * half + 0.2


def chat(text: str, index: int = 0) -> dict[str, Any]:
    """An event of a chat."""
    return {"id": "chatcmpl-1", "choices": [{"index": index, "delta": {"role": "assistant", "content": text}}]}


def call(arguments: str, index: int) -> dict[str, Any]:
    """An event of a chat that tells of a tool's call."""
    function = {"name": "f", "arguments": arguments}
    return {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": "call_1", "function": function}]}}]
    }


def delta(text: str, item: int = 0) -> dict[str, Any]:
    """An event of a response."""
    return {"type": "response.output_text.delta", "output_index": item, "content_index": 0, "delta": text}


def token(text: str) -> dict[str, Any]:
    """An event with a logprob."""
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
    assert [lane.text for lane in joined_deltas([json.dumps(event) for event in events])] == told


@pytest.mark.parametrize("data", [None, "[DONE]", '{"delta', '"delta"', "[" * 100_000 + '"delta"', ""])
def test_other_data(data: str | None) -> None:
    assert joined_deltas([data, data]) == ()


def test_pieces_are_changed_where_they_stand() -> None:
    events = [json.dumps(chat(text), indent=1) for text in ("xA", "B", "Cy", "z")]
    (lane,) = joined_deltas(events)
    pieces = list(lane.edited([(1, 4, "<K>")]))
    assert [(piece.event, piece.text) for piece in pieces] == [(0, "x<K>"), (1, ""), (2, "y")]
    assert with_fragments(events[2], pieces[2:]) == events[2].replace("Cy", "y")


def test_several_edits_of_one_piece() -> None:
    (lane,) = joined_deltas([json.dumps(chat(text)) for text in ("abcd", "efgh")])
    assert [piece.text for piece in lane.edited([(0, 1, "1"), (2, 3, "2"), (3, 5, "3")])] == ["1b23", "fgh"]


def test_what_tells_of_a_token_beside_it_goes_too() -> None:
    (lane,) = joined_deltas([data := json.dumps(token("a")), json.dumps(token("b"))])
    left = json.loads(with_fragments(data, list(lane.edited([(0, 1, "<K>")]))))
    one = {"token": "<K>", "bytes": None, "logprob": 0, "top_logprobs": []}
    assert left["choices"][0]["logprobs"]["content"] == [one]


def test_of_completions_too() -> None:
    logprobs = {"tokens": ["a", "b"], "top_logprobs": [{"a": 0}, {"b": 0}], "text_offset": [0, 1]}
    data = json.dumps({"choices": [{"index": 0, "logprobs": logprobs}]})
    (lane,) = joined_deltas([data])
    left = json.loads(with_fragments(data, list(lane.edited([(0, 2, "<K>")]))))
    assert left["choices"][0]["logprobs"] == {"tokens": ["<K>", ""], "top_logprobs": None, "text_offset": [0, 1]}


def test_what_is_no_json_stays() -> None:
    assert with_fragments("[DONE]", []) == "[DONE]"
