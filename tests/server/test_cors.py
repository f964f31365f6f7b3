"""Pages of other origins: nothing for any of them unless they are listed."""

import asyncio
from collections.abc import Mapping

import pytest
from starlette.types import Message, Receive, Scope, Send

from mockserver.server.access import is_control, with_cors

APP, OTHER = "https://app.example", "https://other.example"
CHAT = "/v1/chat/completions"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 405, "headers": [(b"x-request-id", b"req_1")]})
    await send({"type": "http.response.body", "body": b"{}"})


def ask(
    headers: Mapping[str, str], origins: tuple[str, ...] = (APP,), *, path: str = CHAT, method: str = "POST"
) -> tuple[int, dict[str, str]]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads the body here")

    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": fields}
    asyncio.run(with_cors(app, origins)(scope, receive, send))
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_without_origins_the_application_is_not_wrapped() -> None:
    assert with_cors(app, ()) is app


@pytest.mark.parametrize(
    ("origin", "origins", "allowed"),
    [
        (APP, (OTHER, APP), APP),
        ("https://APP.example:443", (APP,), "https://APP.example:443"),
        (OTHER, ("*", APP), "*"),
        ("null", ("*",), "*"),
        (APP, ("*", APP), APP),
        (OTHER, (APP,), None),
        ("null", (APP,), None),
        (APP + ".evil.test", (APP,), None),
    ],
)
@pytest.mark.parametrize("preflight", [{}, PREFLIGHT])
def test_allowed_origins(origin: str, origins: tuple[str, ...], allowed: str | None, preflight: dict[str, str]) -> None:
    status, got = ask({"origin": origin, **preflight}, origins, method="OPTIONS" if preflight else "POST")
    assert got.get("access-control-allow-origin") == allowed
    assert (allowed == "*") is ("access-control-allow-credentials" not in got)
    assert status == ((200 if allowed else 400) if preflight else 405)
    if preflight and allowed:
        assert got["access-control-allow-headers"] == "authorization,content-type"
    elif allowed:
        assert (got["access-control-expose-headers"], got["x-request-id"]) == ("*", "req_1")


def test_other_clients_see_no_difference_but_vary() -> None:
    assert ask({}) == (405, {"x-request-id": "req_1", "vary": "Origin"})


@pytest.mark.parametrize("path", ["/__mockserver__", "/__mockserver__/api/rules", "//__mockserver__//metrics/"])
def test_a_star_does_not_open_control_paths(path: str) -> None:
    for more, method in (({}, "GET"), (PREFLIGHT, "OPTIONS")):
        for origin, allowed in ((OTHER, None), (APP, APP)):
            _, got = ask({"origin": origin, **more}, ("*", APP), path=path, method=method)
            assert got.get("access-control-allow-origin") == allowed


def test_paths_that_are_no_control_paths() -> None:
    assert not any(map(is_control, ("/", CHAT, "/__mockserver__x", "/v1/__mockserver__")))
