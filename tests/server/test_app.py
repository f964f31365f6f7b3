"""The application over ASGI: paths, methods, credentials."""

import json

import pytest

from mockserver.server.live import Live
from tests.kit.local import local
from tests.kit.through import CHAT, request

RULES = """
rules:
  - {name: hi, when: {last_user: hi, namespace: default}, then: {text: Hello}}
  - {name: "naïve ☃", when: {last_user: snow}, then: {text: Hello}}
"""


@pytest.fixture
def live() -> Live:
    return local(RULES).live


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
