"""Requests that repeat earlier answers: which belong together, and what is sent when these are recorded again."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.cassettes import chains
from mockserver.cassettes.chains import Renewal, find_chains
from mockserver.core.episode import Episode, Recorded, Sent

JSON = (("content-type", "application/json"),)


def episode(asked: Any, answer: Any, path: str = "/v1/chat/completions", operation: str = "chat") -> Episode:
    sent = Sent("POST", path, "", JSON, json.dumps(asked).encode())
    return Episode("openai", operation, "gpt-4o", sent, Recorded(200, JSON, json.dumps(answer).encode()))


def said(text: str | None, *calls: tuple[str, str]) -> dict[str, Any]:
    made = [{"id": id, "type": "function", "function": {"name": "get", "arguments": a}} for id, a in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def answer(id: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


HI = {"role": "user", "content": "Hi"}
FIRST = episode({"messages": [HI]}, answer("chatcmpl-1", said("Hello")))
SECOND = episode(
    {"messages": [HI, said("Hello"), {"role": "user", "content": "Hello"}]}, answer("chatcmpl-2", said("Yes?"))
)
ALONE = episode({"messages": [{"role": "user", "content": "Hello"}]}, answer("chatcmpl-3", said("Well")))
MADE = episode({"purpose": "batch"}, {"id": "file-abc123"}, "/v1/files", "create_file")
ASKED = episode(None, {"id": "file-abc123", "status": "ready"}, "/v1/files/file-abc123", "file")
USED = episode(
    {"input_file_id": "file-abc123"}, {"id": "batch_777", "input_file_id": "file-abc123"}, "/v1/batches", "b"
)
POLLED = episode(None, {"id": "batch_777", "output_file_id": None}, "/v1/batches/batch_777", "batch")
LISTED = episode(None, {"data": [{"id": "gpt-4o"}]}, "/v1/models", "models")


def test_what_belongs_together() -> None:
    episodes = (LISTED, FIRST, MADE, ALONE, SECOND, ASKED, USED, POLLED, POLLED)
    assert find_chains(episodes) == ((0,), (1, 4), (2, 5, 6, 7, 8), (3,))
    assert find_chains(()) == ()


def test_new_words_and_ids_in_later_requests() -> None:
    renewal = Renewal()
    renewal.learn(FIRST, episode(None, answer("chatcmpl-9", said("Good day"))))
    renewal.learn(MADE, episode(None, {"id": "file-xyz999"}))
    again = renewal.apply(SECOND.request)
    assert again is not None
    user = {"role": "user", "content": "Hello"}  # which the user says, whatever the model does
    assert json.loads(again.body)["messages"] == [HI, said("Good day"), user]
    asked = renewal.apply(ASKED.request)
    assert asked is not None
    assert asked.path == "/v1/files/file-xyz999"
    assert renewal.apply(ALONE.request) == ALONE.request


def test_ids_in_a_body_of_parts() -> None:
    renewal = Renewal()
    renewal.learn(MADE, episode(None, {"id": "file-xyz999"}))
    parts = b'--b\r\ncontent-disposition: form-data; name="file"\r\n\r\nfile-abc123\r\n--b--\r\n'
    sent = Sent("POST", "/v1/x", "", (("content-type", "multipart/form-data; boundary=b"),), parts)
    again = renewal.apply(sent)
    assert again is not None
    assert again.body == parts.replace(b"file-abc123", b"file-xyz999")


def test_calls_of_tools() -> None:
    asked = episode({"messages": [HI]}, answer("chatcmpl-1", said(None, ("call_aaa111", '{"n": 1}'))))
    result = {"role": "tool", "tool_call_id": "call_aaa111", "content": "3"}
    told = episode({"messages": [HI, said(None, ("call_aaa111", '{"n": 1}')), result]}, answer("chatcmpl-2", said("3")))
    assert find_chains((asked, told)) == ((0, 1),)
    renewal = Renewal()
    renewal.learn(asked, episode(None, answer("chatcmpl-8", said(None, ("call_bbb222", '{"n": 2}')))))
    again = renewal.apply(told.request)
    assert again is not None
    messages = [HI, said(None, ("call_bbb222", '{"n": 2}')), {**result, "tool_call_id": "call_bbb222"}]
    assert json.loads(again.body)["messages"] == messages
    other = Renewal()
    other.learn(asked, episode(None, answer("chatcmpl-8", said("No tool is needed."))))
    assert other.apply(told.request) is None  # a program would not send that


def test_streamed_answers() -> None:
    deltas = [{"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"}]
    events = [{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    frames = tuple((0.0, f"data: {json.dumps(event)}\n\n".encode()) for event in events)
    streamed = replace(FIRST, reply=Recorded(200, (("content-type", "text/event-stream"),), frames=frames))
    assert find_chains((streamed, SECOND)) == ((0, 1),)


def blocks(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


CALL = {"type": "tool_use", "name": "text", "input": {"type": "text"}}


@pytest.mark.parametrize(
    ("word", "before", "after"),
    [
        ("assistant", said("assistant"), said("image")),
        ("text", blocks({"type": "text", "text": "text"}), blocks({"type": "text", "text": "image"})),
        ("text", blocks(CALL), blocks(CALL)),
    ],
)
def test_words_of_the_protocol_stay(word: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    renewal = Renewal()
    renewal.learn(episode(None, answer("chatcmpl-1", said(word))), episode(None, answer("chatcmpl-1", said("image"))))
    again = renewal.apply(episode({"messages": [HI, before, HI]}, {}).request)
    assert again is not None
    assert json.loads(again.body)["messages"] == [HI, after, HI]


def test_texts_of_a_user_stay() -> None:
    renewal = Renewal()
    renewal.learn(FIRST, episode(None, answer("chatcmpl-1", said("Good day"))))
    embedded = episode({"input": ["Hello"]}, {}, "/v1/embeddings", "embeddings").request
    assert renewal.apply(embedded) == embedded


def test_ids_stand_alone() -> None:
    made, twelfth = (episode({"n": n}, {"id": f"batch_{n}"}, "/v1/batches", "create_batch") for n in ("777", "7771"))
    quoted = episode({"messages": [{"role": "user", "content": "see\nbatch_777"}]}, answer("chatcmpl-1", said("Yes")))
    other = replace(POLLED, request=replace(POLLED.request, path="/v1/batches/batch_7771"))
    assert find_chains((made, twelfth, other, POLLED, quoted)) == ((0, 3, 4), (1, 2))


def test_few_requests_are_searched_for_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = 0

    class Text(str):
        __slots__ = ()

        def __contains__(self, part: Any) -> bool:
            nonlocal searches
            searches += 1
            return super().__contains__(part)

    write = chains._write_out
    monkeypatch.setattr(chains, "_write_out", lambda sent: Text(write(sent)))
    episodes = [episode({"messages": [HI]}, answer(f"chatcmpl-{at}000", said(str(at)))) for at in range(100)]
    assert len(find_chains(episodes)) == 100
    assert searches == 100  # of each for the id of its own answer


def test_depth_does_not_matter() -> None:
    deep = b'{"messages":' + b"[" * 900 + b"]" * 900 + b"}"
    made = replace(FIRST, request=replace(FIRST.request, body=deep), reply=replace(FIRST.reply, body=deep))
    assert find_chains((made, made)) == ((0,), (1,))
