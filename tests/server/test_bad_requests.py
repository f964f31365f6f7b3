"""Whatever a client sends, it gets an answer or its dialect's own 4xx: never a 5xx, a traceback or a hang.

Bodies field by field: tests/dialects. Random ones over sockets: tests/fuzz.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tests.dialects.features import URLS
from tests.dialects.invariants import a_body_is_one_line, has_shape
from tests.kit.asgi import App, app
from tests.kit.local import Answered

HI: Mapping[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
CHAT = "/v1/chat/completions"
WITH_X = b'{"model":"m","messages":[{"role":"user","content":"x"}],"x":%b}'
each_dialect = pytest.mark.parametrize("dialect", URLS)


@cache
def server() -> App:
    return app(max_body=200_000)


def ask(dialect: str, body: Any = HI, **more: Any) -> Answered:
    return server().ask(more.pop("path", URLS[dialect]), body, **more)


def assert_refused(answered: Answered, dialect: str, *statuses: int) -> None:
    """Check for the dialect's own error, by default of a bad body."""
    expected = statuses or ((422,) if dialect == "fireworks" else (400,))
    assert answered.status in expected, answered.body
    a_body_is_one_line(answered)
    has_shape(answered.json, dialect, "error")
    assert answered.source == "invalid"


def message(answered: Answered) -> str:
    error = answered.json.get("error")
    return str((error if isinstance(error, dict) else answered.json)["message"])


def saying(text: bytes) -> bytes:
    """A body whose message is this JSON text."""
    return b'{"model":"m","messages":[{"role":"user","content":%b}]}' % text


BROKEN: Mapping[str, bytes] = {
    "empty": b"",
    "cut": saying(b'"x')[:-3],
    "trailing comma": b'{"model":"m",}',
    "single quotes": b"{'model':'m'}",
    "two values": b"{}{}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "an array": b"[]",
    "null": b"null",
    "minus 1e999": WITH_X % b"[-1e999]",
    "a number of 5000 digits": WITH_X % (b"9" * 5000),
    "surrogates in the wrong order": saying(b'"\\udc00\\ud800"'),
    "a lone surrogate in a key": WITH_X % b'{"\\ud800":1}',
    "overlong UTF-8": saying(b'"\xc0\xaf"'),
    "a raw NUL in a string": saying(b'"a\x00b"'),
    "a duplicate key in another spelling": b'{"model":"m","mod\\u0065l":"n","messages":[]}',
    "depth 101 of objects": WITH_X % (b'{"a":' * 100 + b"1" + b"}" * 100),
    "depth 90000, never closed": b"[" * 90_000,
}


@pytest.mark.parametrize("dialect", ["openai", "azure", "fireworks"])
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_broken_body_is_refused(dialect: str, body: bytes) -> None:
    assert_refused(ask(dialect, body), dialect)


@each_dialect
def test_sizes_and_media_types(dialect: str) -> None:
    assert_refused(ask(dialect, saying(b'"%b"' % (b"x" * 200_000))), dialect, 413)
    assert ask(dialect, saying(b'"%b"' % (b"x" * 190_000))).status == 200
    other = {"fireworks": 422, "tzafon": 400}.get(dialect, 415)  # what their frameworks make of an unparsed body
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert_refused(ask(dialect, headers={"content-type": media}), dialect, other)
    for media in ("application/json; charset=utf-8", "application/problem+JSON", ""):
        assert ask(dialect, headers={"content-type": media}).status == 200


@each_dialect
def test_an_unknown_model_is_refused(dialect: str) -> None:
    narrow = app(models="gpt-5*,m1")
    for model in ("GPT-5", "m1 ", "m1\n", "\u2028", "m" * 10_000, "{0.__class__}"):
        assert_refused(narrow.ask(URLS[dialect], {**HI, "model": model}), dialect, 404)
    assert narrow.ask(URLS[dialect], {**HI, "model": "gpt-5-mini"}).status == 200


@pytest.mark.parametrize(
    ("path", "dialect", "near"),
    [
        ("/v1/chat/completion", "openai", "POST /v1/chat/completions"),
        ("/skytells/v1/chat", "skytells", "POST /skytells/v1/chat/completions"),
        ("/crazyrouter/v1/model", "crazyrouter", "GET /crazyrouter/v1/models"),
        ("/azure/chat/completion?api-version=2024-05-01-preview", "azure", "POST /azure/chat/completions"),
        ("/ns/mine/v1/chat/completion", "openai", "POST /v1/chat/completions"),
        ("/", "openai", "Invalid URL (POST /)"),
        ("/v1/%F0%9F%8C%8A/%00/%0A", "openai", ""),
        ("/v1/%ff", "openai", ""),
        ("/ns/mine/skytells/v1/a%0Ab", "skytells", ""),
        ("/azure/" + "chat/" * 1000, "azure", ""),
        *((path, "openai", "") for path in ("/ns", "/ns/mine/", "/ns//v1/chat/completions", "/ns/a/ns/b/v1/models")),
    ],
)
def test_an_unknown_path_is_a_404_that_names_the_nearest(path: str, dialect: str, near: str) -> None:
    answered = ask(dialect, b"", path=path)
    assert_refused(answered, dialect, 404)
    assert near in message(answered)


@pytest.mark.parametrize(
    ("path", "dialect", "allowed"),
    [
        (CHAT, "openai", "POST, GET"),
        ("/azure/info", "azure", "GET"),
        ("/v1/chat/completions/x", "openai", "GET, POST, DELETE"),
        ("/ns/mine/v1/responses", "openai", "POST"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "BREW"])
def test_a_wrong_method_is_a_405_that_names_the_right_one(path: str, dialect: str, allowed: str, method: str) -> None:
    answered = ask(dialect, b"", path=path, method=method)
    assert_refused(answered, dialect, 405)
    assert answered.headers["allow"] == allowed


@pytest.mark.parametrize(
    "path",
    [
        "/v1//chat///completions//",
        "//ns//mine/openai/v1/chat/completions",
        "/ns/%F0%9F%8C%8A%20/v1/chat/completions",
        "/v1/chat/completions?a&b=%ff&=&&a=1&a=2&stream=nonsense",
    ],
)
def test_a_path_written_oddly_is_served(path: str) -> None:
    assert ask("openai", path=path).status == 200


ODD_HEADERS: Mapping[str, str] = {
    "authorization": "bearer \xff\xfe {key}%s" + "k" * 60_000,
    "x-api-key": "",
    "api-key": "\xe9",
    "x-stainless-retry-count": "9" * 5000,
    "x-ms-client-request-id": "\xff\x7f a",
    "content-type": "application/json; charset=utf-16",
    "azureml-model-deployment": "\xff",
}


@each_dialect
def test_odd_headers_harm_nobody(dialect: str) -> None:
    strict = app(keys="sk-test")
    for headers in ({name: value} for name, value in ODD_HEADERS.items()):
        assert ask(dialect, headers=headers).status == 200
        assert_refused(strict.ask(URLS[dialect], HI, headers=headers), dialect, 401)
    assert strict.ask(URLS[dialect], HI, headers={"authorization": "Bearer sk-test"}).status == 200


@each_dialect
def test_the_greatest_number_of_choices(dialect: str) -> None:
    body = {**HI, "n": 128, "stream": True, "logprobs": True, "top_logprobs": 5 if dialect == "fireworks" else 20}
    answered = ask(dialect, body, headers={"extra-parameters": "pass-through"})
    assert answered.status == 200
    assert answered.body.endswith(b"data: [DONE]\n\n")
