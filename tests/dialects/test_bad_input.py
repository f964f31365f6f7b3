"""Whatever a client sends, each dialect answers with a 4xx of its own or understands it; never with an exception."""

import json
from typing import Any

import pytest

CHAT = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]'
BAD: dict[str, bytes] = {
    "empty": b"",
    "NaN": CHAT + b',"temperature":NaN}',
    "1e400": CHAT + b',"temperature":1e400}',
    "1e400 in an unknown field": CHAT + b',"foo":[{"a":-1E400}]}',
    "lone surrogate": b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}]}',
    "invalid UTF-8": b'{"model":"\xff\xfe","messages":[]}',
    "depth 100000": b"[" * 100_000,
    "absurd integer": CHAT + b',"seed":' + b"9" * 10_000 + b"}",
    "array": b"[" + CHAT + b"}]",
    "form": b"model=m&messages=hi",
    "array for a message": b'{"model":"m","messages":[[]]}',
    "object for messages": b'{"model":"m","messages":{}}',
    "object for a role": b'{"model":"m","messages":[{"role":{},"content":""}]}',
    "array for tools": CHAT + b',"tools":{"a":1}}',
    "text for stream": CHAT + b',"stream":"true"}',
    "array for a choice": CHAT + b',"tool_choice":[]}',
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_bad_bodies(anyone: Any, body: bytes) -> None:
    if anyone.dialect.name == "ollama" and b"tool_choice" in body:
        return  # which it does not know
    reply = anyone.refuses(body)
    assert reply.status in (400, 422)
    assert json.loads(reply.body)
    assert len(reply.body) < 1200


def test_another_media_type(anyone: Any) -> None:
    if anyone.dialect.name == "ollama":  # whose documentation posts forms of curl
        assert anyone.parse(CHAT + b"}", headers={"content-type": "text/plain"}).last_user == "hi"
        return
    reply = anyone.refuses(CHAT + b"}", headers={"content-type": "text/plain"})
    if anyone.dialect.name == "fireworks":  # whose framework takes such a body for a text
        assert reply.status == 422
        assert json.loads(reply.body)["detail"][0]["input"] == CHAT.decode() + "}"
        return
    if anyone.dialect.name == "mistral":
        assert (reply.status, json.loads(reply.body)["detail"][0]["type"]) == (422, "model_attributes_type")
        return
    assert reply.status == (400 if anyone.dialect.name in ("gemini", "tzafon") else 415)
    own = b"content type must be application/json."
    usual = b"Invalid Content-Type header (text/plain), expected application/json."
    assert (own if anyone.dialect.name in ("bedrock", "cohere") else usual) in reply.body


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}])
def test_the_media_type_may_be_absent(anyone: Any, headers: dict[str, str]) -> None:
    own = {
        "bedrock": b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]',
        "gemini": b'{"contents":{"parts":{"text":"hi"}}',
    }
    chat = own.get(anyone.dialect.name, CHAT)
    assert anyone.parse(chat + b"}", headers=headers).last_user == "hi"
