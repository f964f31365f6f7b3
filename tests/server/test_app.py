"""The application over ASGI: paths, methods, credentials, headers that say where an answer came from."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.server.app import admit, build_app
from mockserver.server.live import Live
from tests.kit.local import local

CHAT = "/v1/chat/completions"
BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()
RULES = """
rules:
  - {name: hi, when: {last_user: hi, namespace: default}, then: {text: Hello}}
  - {name: "naïve ☃", when: {last_user: snow}, then: {text: Hello}}
"""


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes
    sends: int

    @property
    def error(self) -> Any:
        return json.loads(self.body)["error"]


def request(  # size: the parts of a request
    live: Live, path: str, body: bytes = BODY, *, method: str = "POST", headers: Any = ()
) -> Got:
    """One request through the whole application."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": tuple(headers),
    }
    asyncio.run(build_app(live)(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], headers, b"".join(message["body"] for message in sent[1:]), len(sent) - 1)


@pytest.fixture
def live() -> Live:
    return local(RULES).live


def test_an_answer_says_where_it_came_from(live: Live) -> None:
    first, second = request(live, CHAT), request(live, "/v1/models", method="GET")
    assert first.headers["x-mockserver-source"].endswith("rules.yaml:3 hi")
    assert (first.headers["x-mockserver-call"], second.headers["x-mockserver-call"]) == ("1", "2")
    assert second.headers["x-mockserver-source"] == "generated"


def test_these_headers_can_be_turned_off() -> None:
    got = request(local(RULES, source_headers=False).live, CHAT)
    assert not [name for name in got.headers if name.startswith("x-mockserver")]


def test_any_name_of_a_rule_fits_into_a_header(live: Live) -> None:
    body = BODY.replace(b'"hi"', b'"snow"')
    assert request(live, CHAT, body).headers["x-mockserver-source"].endswith(r"na\xefve \u2603")


def test_a_stream_without_timing_is_one_send(live: Live) -> None:
    got = request(live, CHAT, BODY.replace(b'"model"', b'"stream": true, "model"'))
    assert got.sends == 1
    assert got.body.count(b"\n\n") > 3
    assert got.body.endswith(b"data: [DONE]\n\n")


def test_the_journal_notes_what_was_served(live: Live) -> None:
    request(live, CHAT)
    request(live, "/azure/nope")
    rows = [(row.path, row.dialect, row.status, row.ended) for row in live.journal]
    assert rows == [(CHAT, "openai", 200, "complete"), ("/azure/nope", "azure", 404, "complete")]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/chat/completion", 404, "Did you mean POST /v1/chat/completions?"),
        ("/skytells/v1/chat", 404, "Did you mean POST /skytells/v1/chat/completions?"),
        ("/", 404, "Invalid URL (POST /)"),
        ("/ns/a/v1/chat/completion", 404, "Did you mean POST /v1/chat/completions?"),
    ],
)
def test_an_unknown_path_names_the_nearest(live: Live, path: str, status: int, said: str) -> None:
    got = request(live, path)
    assert got.status == status
    assert said in got.error["message"]
    assert got.headers["x-mockserver-source"] == "invalid"


def test_an_unknown_path_gets_the_error_of_its_dialect(live: Live) -> None:
    body = json.loads(request(live, "/azure/nope").body)
    assert (body["status"], body["error"]) == (404, "Not Found")


@pytest.mark.parametrize("path", ["//v1/chat/completions", "/v1/chat/completions/", "/v1//chat///completions//"])
def test_slashes_too_many_do_not_matter(live: Live, path: str) -> None:
    assert request(live, path).status == 200


@pytest.mark.parametrize("path", ["/ns/mine/v1/chat/completions", "/ns/mine//v1/chat/completions/"])
def test_a_namespace_may_stand_in_front(live: Live, path: str) -> None:
    got = request(live, path)
    assert got.headers["x-mockserver-source"] == "generated"
    assert [row.namespace for row in live.journal][-1] == "mine"


@pytest.mark.parametrize(
    ("path", "method", "allow"),
    [(CHAT, "PUT", "POST, GET"), ("/v1/models", "DELETE", "GET"), ("/azure/info", "PUT", "GET")],
)
def test_a_wrong_method_is_told_the_right_one(live: Live, path: str, method: str, allow: str) -> None:
    got = request(live, path, method=method)
    assert (got.status, got.headers["allow"]) == (405, allow)


def test_head_is_answered_like_get(live: Live) -> None:
    assert request(live, "/v1/models", method="HEAD").status == 200


def test_a_body_over_the_limit_gets_the_413_of_the_dialect() -> None:
    got = request(local(max_body="1KB").live, "/skytells/v1/chat/completions", b"x" * 1001)
    assert (got.status, got.error["status"]) == (413, 413)


@pytest.mark.parametrize(
    ("header", "status", "code"),
    [
        ((b"authorization", b"Bearer sk-good"), 200, None),
        ((b"authorization", b"Bearer sk-bad"), 401, "invalid_api_key"),
        ((b"x-other", b"sk-good"), 401, None),
    ],
)
def test_keys_of_the_settings_are_required(header: tuple[bytes, bytes], status: int, code: str | None) -> None:
    got = request(local(keys=["sk-good"]).live, CHAT, headers=(header,))
    assert got.status == status
    if status != 200:
        assert got.error["code"] == code


def test_without_keys_any_credential_will_do() -> None:
    admit(None, None)
    admit("anything", None)
    with pytest.raises(Failure):
        admit("anything", ("else",))


async def test_a_client_that_leaves_early_is_noted(live: Live) -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": CHAT, "root_path": "", "query_string": b"", "headers": ()}
    await build_app(live)(scope, receive, send)
    assert [row.ended for row in live.journal] == ["client left"]
