"""What answers say is read alike from bodies and from streams, in every wire format."""

import json
from typing import Any

import pytest

from mockserver.cassettes.formats import parse_answer, parse_response
from mockserver.cassettes.parsed_response import ParsedResponse, ParsedToolCall
from mockserver.core.episode import Recorded
from tests.kit.episodes import episode
from tests.kit.local import local

CALLS = {
    "/openai/v1/chat/completions": {"model": "gpt-4o", "messages": [{"role": "user", "content": "a"}]},
    "/fireworks/inference/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "a"}]},
    "/openai/v1/responses": {"model": "gpt-4o", "input": "a"},
    "/openai/v1/completions": {"model": "babbage-002", "prompt": "a"},
    "/cohere/v1/chat": {"model": "command-r", "message": "a"},
}
THENS: dict[str, Any] = {
    "text": {"text": "Hi there, you."},
    "cut": {"text": "Hi there", "finish": "length"},
    "tools": {"text": "I look.", "tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]},
    "refusal": {"refusal": "I would rather not."},
    "thinks": {"reasoning": "Hm.", "text": "Yes."},
}


def plain(body: Any, operation: str = "chat") -> ParsedResponse:
    return parse_response(Recorded(200, (), json.dumps(body).encode()), operation)


def streamed(*rows: Any, operation: str = "chat") -> ParsedResponse:
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return parse_response(Recorded(200, frames=tuple((0.0, f"data: {text}\n\n".encode()) for text in texts)), operation)


def chunks(*choices: Any) -> list[Any]:
    return [{"model": "m", "choices": [choice]} for choice in choices]


@pytest.mark.parametrize("then", THENS.values(), ids=THENS)
@pytest.mark.parametrize("path", CALLS)
def test_a_stream_says_what_a_plain_answer_says(path: str, then: Any) -> None:
    if path.endswith("/v1/completions") and "text" not in then:
        then = {"text": " b"}
    server = local(json.dumps({"rules": [{"then": then}]}))
    whole = episode(server, path, CALLS[path])
    pieces = episode(server, path, {**CALLS[path], "stream": True})
    assert pieces.reply.frames
    first, second = parse_answer(whole), parse_answer(pieces)
    assert first.choices == second.choices
    assert (first.complete, second.complete, first.error, second.error) == (True, True, None, None)
    assert first.choices[0].parts


def test_an_error_is_what_its_envelope_holds() -> None:
    path = "/openai/v1/chat/completions"
    server = local('{"rules": [{"then": {"error": {"status": 429, "code": "slow", "message": "Slow down."}}}]}')
    found = parse_response(episode(server, path, CALLS[path]).reply, "chat")
    assert (found.status, found.error["code"], found.error["message"]) == (429, "slow", "Slow down.")
    assert found.body == {"error": found.error}


@pytest.mark.parametrize("operation", ["chat", "completions", "responses", "embeddings", "what"])
@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"[]", b"null", b'{"choices": [1], "output": 3}', b'{"choices": [{"message": 3}]}']
)
def test_garbage_says_nothing(operation: str, body: bytes) -> None:
    for reply in (Recorded(200, (), body), Recorded(200, (), frames=((0.0, body),))):
        assert not any(choice.parts for choice in parse_response(reply, operation).choices)
    assert parse_response(Recorded(500, (), body), operation).status == 500


def test_calls_in_pieces_belong_to_their_index() -> None:
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}},
        {"index": 0, "function": {"arguments": '{"x":1}'}},
        {"index": 1, "function": {"arguments": "}"}},
    ]
    found = streamed(*chunks(*({"index": 0, "delta": {"tool_calls": [piece]}} for piece in pieces)), "[DONE]")
    assert found.choices[0].calls == (ParsedToolCall("f", '{"x":1}'), ParsedToolCall("g", "{}"))
    assert (found.model, found.complete) == ("m", True)


def test_custom_calls_and_bare_functions_are_calls_too() -> None:
    custom = {"message": {"tool_calls": [{"custom": {"name": "sql", "input": "select"}}]}, "finish_reason": "stop"}
    bare = {"index": 1, "message": {"function_call": {"name": "f", "arguments": "{}"}}}
    first, second = plain({"choices": [{"index": 0, **custom}, bare]}).choices
    assert first.calls == (ParsedToolCall("sql", "select", custom=True),)
    assert second.calls == (ParsedToolCall("f", "{}"),)


@pytest.mark.parametrize("operation", ["chat", "completions"])
def test_choices_grow_in_parallel(operation: str) -> None:
    def piece(index: int, text: str, **more: Any) -> Any:
        return {"index": index, **({"delta": {"content": text}} if operation == "chat" else {"text": text}), **more}

    rows = chunks(piece(1, "b"), piece(0, "a"), piece(1, "c", finish_reason="length"))
    found = streamed(*rows, operation=operation)
    assert [(choice.join_texts("text"), choice.finish) for choice in found.choices] == [("a", ""), ("bc", "length")]
    assert not found.complete
    assert streamed(*rows, "[DONE]", operation=operation).complete


def test_usage_errors_and_filters_of_a_stream() -> None:
    filters = {"prompt_filter_results": [{"content_filter_results": {"hate": {}}}]}
    found = streamed(filters, {"usage": {"total_tokens": 3}}, {"error": {"message": "no"}})
    assert (found.usage, found.error, found.broken) == ({"total_tokens": 3}, {"message": "no"}, True)
    assert found.prompt_filters == {"hate": {}}
    assert plain({"choices": []}).prompt_filters is None


ITEMS: list[Any] = [
    {"type": "reasoning", "summary": [{"text": "Hm."}, {"text": "So."}]},
    {"type": "web_search_call", "action": {"type": "search"}},
    {"type": "message", "content": [{"type": "output_text", "text": "Hi", "annotations": [{"type": "url_citation"}]}]},
    {"type": "function_call", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "name": "g", "input": "x"},
]


def test_the_last_chunk_of_perplexity_ends_its_stream() -> None:
    first, last = chunks({"delta": {"content": "Hi"}}, {"delta": {"content": ""}, "finish_reason": "stop"})
    assert not streamed(first, last).complete
    assert streamed(first, {**last, "object": "chat.completion.done"}).complete


def test_items_are_parts() -> None:
    (found,) = plain({"output": ITEMS, "status": "completed"}, "responses").choices
    assert [part.kind for part in found.parts] == ["reasoning", "item", "text", "call", "call"]
    assert found.join_texts("reasoning") == "Hm.\nSo."
    assert found.calls == (ParsedToolCall("f", "{}"), ParsedToolCall("g", "x", custom=True))
    assert (found.finish, len(found.annotations)) == ("tool_calls", 1)


def test_a_response_by_its_last_event_or_by_its_finished_items() -> None:
    last = {"type": "response.completed", "response": {"output": ITEMS, "incomplete_details": {"reason": "max_output"}}}
    found = streamed({"type": "response.created", "response": {}}, last, operation="responses")
    assert found == plain(last["response"], "responses")
    assert found.choices[0].finish == "length"
    item = {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[3]}
    error = {"type": "error", "message": "b"}
    broken, failed = streamed(item, operation="responses"), streamed(item, error, operation="responses")
    assert [part.kind for part in broken.choices[0].parts] == ["call"]
    assert (broken.complete, failed.complete, failed.error) == (False, True, error)
    failed = plain({"status": "failed", "output": [], "error": {"code": "a", "message": "b"}}, "responses")
    assert (failed.broken, failed.error) == (True, {"code": "a", "message": "b"})


def test_a_response_that_breaks_off_says_what_had_come() -> None:
    def delta(at: int, text: str) -> Any:
        return {"type": "response.output_text.delta", "output_index": at, "delta": text}

    done = {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[2]}
    error = {"type": "error", "message": "b"}
    found = streamed(delta(0, "H"), done, delta(1, "Half of "), delta(1, "this"), error, operation="responses")
    assert [part.text for part in found.choices[0].parts] == ["Hi", "Half of this"]
    assert (found.broken, found.error) == (True, error)


@pytest.mark.parametrize(
    ("form", "body", "complete"),
    [
        ("contents", '[{"candidates": [{"finishReason": "STOP"}]}]', True),
        ("contents", '[{"candidates": [{"content": {"par', False),
        ("contents", "", False),
        ("mcp_call", '[{"id": 1, "result": {}}]', True),
        ("chat", "[]", True),
    ],
)
def test_only_geminis_streams_are_lists(form: str, body: str, complete: bool) -> None:
    read = parse_response(Recorded(200, (), body.encode()), form)
    assert read.complete is complete
    assert bool(read.choices) is (form == "contents" and complete)
