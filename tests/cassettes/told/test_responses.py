"""Items of a response are its parts; a stream that broke off says what it had said by then."""

import json
from typing import Any

from mockserver.cassettes.parse_response import Used, events, of_response, of_steps

ITEMS: list[Any] = [
    {"type": "reasoning", "summary": [{"text": "Hm."}, {"text": "So."}]},
    {"type": "web_search_call", "action": {"type": "search"}},
    {"type": "message", "content": [{"type": "output_text", "text": "Hi", "annotations": [{"type": "url_citation"}]}]},
    {"type": "function_call", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "name": "g", "input": "x"},
]


def steps(*rows: Any) -> Any:
    return events([(0.0, b"data: %s\n\n" % json.dumps(row).encode()) for row in rows])


def test_items_are_parts() -> None:
    (said,) = of_response({"output": ITEMS, "status": "completed"}).choices
    assert [part.kind for part in said.parts] == ["reasoning", "item", "text", "call", "call"]
    assert said.joined("reasoning") == "Hm.\nSo."
    assert said.calls == (Used("f", "{}"), Used("g", "x", custom=True))
    assert (said.finish, len(said.annotations)) == ("tool_calls", 1)


def test_how_it_ended() -> None:
    def finish(**body: Any) -> str:
        return of_response({"output": [], **body}).choices[0].finish

    assert finish() == "stop"
    assert finish(incomplete_details={"reason": "max_output_tokens"}) == "length"
    assert finish(incomplete_details={"reason": "content_filter"}) == "content_filter"
    failed = of_response({"status": "failed", "output": [], "error": {"code": "a", "message": "b"}})
    assert (failed.broken, failed.error) == (True, {"code": "a", "message": "b"})


def test_the_last_event_holds_all() -> None:
    whole = {"type": "response.completed", "response": {"output": ITEMS, "model": "m"}}
    assert of_steps(steps({"type": "response.created", "response": {}}, whole)) == of_response(whole["response"])  # type: ignore[arg-type]


def test_a_broken_stream_says_what_it_had_said() -> None:
    said = of_steps(
        steps(
            {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[3]},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "Hel"},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "lo"},
        )
    )
    assert [part.kind for part in said.choices[0].parts] == ["call", "text"]
    assert (said.choices[0].joined("text"), said.whole) == ("Hello", False)
