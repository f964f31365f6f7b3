"""No credential that came with a request is shown of it."""

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest

from tests.kit.asgi import App, app

KEY = "sk-proj-0a1b2c3d4e5f"
CONTROL = {"host": "localhost", "content-type": "application/json"}
RULES = "rules: [{when: {header.authorization: 'Bearer sk-other*'}, then: {text: never}}, {then: {echo: true}}]"


@pytest.fixture
def asked() -> App:
    made = app(RULES)
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": f"my key is {KEY}, in the URL {KEY}%2F and more"}],
        "metadata": {"token": "tiny"},
    }
    headers = {"authorization": f"Bearer {KEY}", "cookie": "session=abc"}
    assert made.ask(f"/v1/chat/completions?code={KEY}", body, headers=headers).status == 200
    return made


def shown(made: App, path: str, body: Any = None) -> tuple[str, Mapping[str, Any]]:
    got = made.ask(f"/__mockserver__/api/{path}", body, headers=CONTROL, method="POST" if body else "GET")
    assert got.status == 200, got.body
    return got.body.decode(), json.loads(got.body)


@pytest.mark.parametrize("path", ["calls", "calls?bodies=true", "calls/1"])
def test_calls_are_shown_without_credentials(asked: App, path: str) -> None:
    text, _ = shown(asked, path)
    assert KEY not in text
    assert "tiny" not in text
    assert "session=abc" not in text


def test_it_is_told_which_key_it_was(asked: App) -> None:
    _, call = shown(asked, "calls/1")
    assert call["request"]["headers"]["authorization"] == "Bearer sk-p...(masked)"
    assert call["request"]["query"] == {"code": "sk-p...(masked)"}
    assert call["request"]["body"]["metadata"] == {"token": "t...(masked)"}
    assert call["reply"]["body"]["choices"][0]["message"]["content"].startswith("my key is sk-p...(masked), in")


def test_an_explanation_does_not_tell_either(asked: App) -> None:
    text, _ = shown(asked, "explain", {"call": 1})
    assert KEY not in text
    assert "sk-p...(masked)" in text


def test_what_is_refused_does_not_tell_either(asked: App) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "temperature": KEY}
    assert asked.ask("/v1/chat/completions", body, headers={"authorization": f"Bearer {KEY}"}).status == 400
    got = asked.ask("/__mockserver__/api/explain", {"call": 2}, headers=CONTROL)
    assert got.status == 400
    assert KEY not in got.body.decode()


def test_a_body_with_a_content_coding_is_looked_through_too() -> None:
    made = app(RULES)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"my key is {KEY}"}], "api_key": KEY}
    coded = gzip.compress(json.dumps(body).encode())
    assert made.ask("/v1/chat/completions", coded, headers={"content-encoding": "gzip"}).status == 200
    for path in ("calls?bodies=true", "calls/1"):
        text, _ = shown(made, path)
        assert KEY not in text
        assert "my key is sk-p...(masked)" in text
    text, explained = shown(made, "explain", {"call": 1})
    assert KEY not in text
    assert explained["answered_by"].startswith("rule ")


def test_frames_are_shown_without_what_they_tell_in_pieces() -> None:
    made = app(RULES)
    body = {
        "model": "gpt-4o",
        "stream": True,
        "messages": [{"role": "user", "content": f"it is {KEY} or {KEY.upper()}!"}],
    }
    assert made.ask("/v1/chat/completions", body, headers={"authorization": f"Bearer {KEY}"}).status == 200
    text, call = shown(made, "calls/1")
    frames = [frame["data"] for frame in call["reply"]["frames"] if frame["data"] != "[DONE]"]
    said = "".join(frame["choices"][0]["delta"].get("content") or "" for frame in frames if frame["choices"])
    assert said == "it is sk-p...(masked) or sk-p...(masked)!"
    assert KEY not in text


@pytest.mark.parametrize(
    "written",
    [
        KEY.upper(),
        "".join(f"%{byte:02X}" for byte in KEY.encode()),
        "".join(f"%{byte:02x}" for byte in KEY.encode()),
        b64encode(f"user:{KEY}".encode()).decode(),
    ],
)
@pytest.mark.parametrize("path", ["calls?bodies=true", "calls/1"])
def test_however_a_credential_is_written(written: str, path: str) -> None:
    made = app(RULES)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"it is <{written}>"}]}
    assert made.ask("/v1/chat/completions", body, headers={"cookie": f"session={KEY}"}).status == 200
    text, _ = shown(made, path)
    assert written not in text
    assert "it is <sk-p...(masked)>" in text


def test_the_query_of_a_call_that_is_explained_is_looked_through() -> None:
    made = app("rules: [{when: {last_user: never}, then: {text: never}}]")
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"it is {KEY}"}]}
    assert made.ask(f"/v1/chat/completions?code={KEY}", body).status == 200
    text, _ = shown(made, "explain", {"call": 1})
    assert "it is sk-p...(masked)" in text
    assert KEY not in text
