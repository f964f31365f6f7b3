"""Pages of other origins: nothing for any of them unless they are listed, and then what browsers want to hear."""

import asyncio
from collections.abc import Mapping

import pytest
from starlette.types import Message, Receive, Scope, Send

from mockserver.server.access import is_control, with_cors

APP, OTHER = "https://app.example", "https://other.example"
CHAT = "/v1/chat/completions"
ASKS = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"x-request-id", b"req_1"), (b"retry-after", b"1")]
    if scope["path"] == "/own":
        headers = [(b"access-control-allow-origin", b"https://rule.example")]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
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


def test_where_none_is_listed_nothing_stands_in_the_way() -> None:
    assert with_cors(app, ()) is app


@pytest.mark.parametrize(
    ("origin", "origins", "allowed", "credentials"),
    [
        (APP, (APP,), APP, "true"),
        (APP, (OTHER, APP), APP, "true"),
        ("https://APP.example:443", (APP,), "https://APP.example:443", "true"),
        (APP, ("*",), "*", None),
        (OTHER, (APP,), None, None),
        ("null", (APP,), None, None),
        ("null", ("*",), "*", None),
        (APP + ".evil.test", (APP,), None, None),
    ],
)
@pytest.mark.parametrize("asks", [{}, ASKS])
def test_who_may_read(
    origin: str, origins: tuple[str, ...], allowed: str | None, credentials: str | None, asks: dict[str, str]
) -> None:
    status, got = ask({"origin": origin, **asks}, origins, method="OPTIONS" if asks else "POST")
    assert got.get("access-control-allow-origin") == allowed
    assert got.get("access-control-allow-credentials") == credentials
    assert status == (204 if asks and allowed else 405)
    assert got["vary"].startswith("Origin")


def test_a_browser_that_asks_first_is_told_all() -> None:
    status, got = ask({"origin": APP, **ASKS, "access-control-request-private-network": "true"}, method="OPTIONS")
    assert status == 204
    assert got == {
        "access-control-allow-origin": APP,
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        "access-control-allow-headers": "authorization,content-type",
        "access-control-allow-private-network": "true",
        "access-control-max-age": "600",
        "vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    }


def test_headers_that_cannot_be_are_not_echoed() -> None:
    _, got = ask({"origin": APP, **ASKS, "access-control-request-headers": "a\x1b\xe9"}, method="OPTIONS")
    assert "access-control-allow-headers" not in got


def test_a_page_can_read_the_headers_of_an_answer() -> None:
    _, got = ask({"origin": APP})
    assert got["access-control-expose-headers"] == "retry-after, x-request-id"


def test_other_clients_see_no_difference_but_vary() -> None:
    _, got = ask({})
    assert got == {"content-type": "application/json", "x-request-id": "req_1", "retry-after": "1", "vary": "Origin"}


def test_what_a_rule_says_itself_stands() -> None:
    assert ask({"origin": APP}, path="/own")[1]["access-control-allow-origin"] == "https://rule.example"


def test_options_without_a_question_is_like_any_method() -> None:
    assert ask({"origin": APP}, method="OPTIONS")[0] == 405


@pytest.mark.parametrize("path", ["/__mockserver__", "/__mockserver__/api/rules", "//__mockserver__//metrics/"])
def test_a_star_does_not_open_control_paths(path: str) -> None:
    assert is_control(path)
    for asks, method in (({}, "GET"), (ASKS, "OPTIONS")):
        assert (
            "access-control-allow-origin" not in ask({"origin": OTHER, **asks}, ("*", APP), path=path, method=method)[1]
        )
        assert (
            ask({"origin": APP, **asks}, ("*", APP), path=path, method=method)[1]["access-control-allow-origin"] == APP
        )


def test_other_paths_are_none() -> None:
    assert not any(map(is_control, ("/", CHAT, "/__mockserver__x", "/v1/__mockserver__")))
