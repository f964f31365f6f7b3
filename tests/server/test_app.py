"""The application over ASGI: paths, methods, credentials."""

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


@pytest.mark.parametrize("path", ["/ns/mine/v1/chat/completions", "/ns/mine//v1/chat/completions/"])
def test_a_namespace_may_stand_in_front(live: Live, path: str) -> None:
    got = request(live, path)
    assert got.headers["x-mockserver-source"] == "generated"
    assert [row.namespace for row in live.journal][-1] == "mine"


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
