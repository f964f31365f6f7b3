"""Who may ask what: listed keys, the guard of the control paths, and pages of other origins."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mockserver.config.settings import KeySettings
from mockserver.core.plan import Failure
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.server.access import SECURITY, Guard, add_cors, check_key, check_model_allowed, is_control
from tests.kit.local import local

Headers = Mapping[str, str] | list[tuple[str, str]]


async def inner(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"x-request-id", b"req_1"), (b"cache-control", b"max-age=1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"in"})


def asked(app: ASGIApp, headers: Headers, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a request."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads the body here")

    pairs = headers.items() if isinstance(headers, Mapping) else headers
    fields = [(name.encode(), value.encode("latin-1")) for name, value in pairs]
    asyncio.run(app({"type": "http", "method": method, "path": path, "headers": fields}, receive, send))
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], head, sent[1]["body"]


# --- keys

KEYS = {"good": KeySettings(), "blocked": KeySettings(allowed=False), "narrow": KeySettings(models=("gpt-4o*", "o3"))}
MODELS = Catalogue({"gpt-*": Model(), "o3-2025": Model(aliases=("o3-latest",), resolved="o3"), "o4": Model()})


@pytest.mark.parametrize(
    ("key", "model", "reason"),
    [
        ("good", "gpt-5", None),
        ("blocked", "gpt-5", "key_not_allowed"),
        ("other", "gpt-5", "invalid_key"),
        ("", "gpt-5", "invalid_key"),
        (None, "gpt-5", "missing_key"),
        ("narrow", "gpt-4o-mini", None),
        ("narrow", "o3-2025", None),  # its answers are called o3
        ("narrow", "o3-latest", None),
        ("narrow", "", None),
        ("narrow", "gpt-5", "model_not_allowed"),
        ("narrow", "no-such-model", "unknown_model"),
    ],
)
def test_keys(key: str | None, model: str, reason: str | None) -> None:
    def enter(keys: Mapping[str, KeySettings] | None) -> None:
        check_key(key, keys)
        check_model_allowed(model, key, keys, MODELS)

    enter(None)
    if reason is None:
        enter(KEYS)
        return
    with pytest.raises(Failure) as refused:
        enter(KEYS)
    assert refused.value.reason == reason


# --- control paths

OWN = {"host": "localhost:8000"}
JSON = {"content-type": "application/json"}
API = "/__mockserver__/api/calls"
TOKEN = "open-sesame-1234"
VISIT = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


def guarded(
    headers: Headers, method: str = "GET", path: str = API, **settings: Any
) -> tuple[int, dict[str, str], bytes]:
    return asked(Guard(inner, local(**settings).live), headers, method, path)


def code(*arguments: Any, **settings: Any) -> str:
    """`in`, or the code of the refusal."""
    status, _, body = guarded(*arguments, **settings)
    return "in" if status == 200 else str(json.loads(body)["code"])


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.9.9.9", "[::1]:8000", "localhost.:8000"])
def test_loopback_hosts_are_let_in(host: str) -> None:
    assert code({"host": host}) == "in"


OTHER_HOSTS = ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "10.0.0.1:8000", "0.0.0.0:8000"]


@pytest.mark.parametrize(
    "headers",
    [
        *([("host", host)] for host in (*OTHER_HOSTS, "evil.test@localhost", "", "localhost, evil.test")),
        [],
        [("host", "localhost"), ("host", "evil.test")],
        [("host", "evil.test"), ("host", "localhost")],
    ],
)
def test_other_hosts_are_refused(headers: Headers) -> None:
    assert code(headers) == "host_not_allowed"


@pytest.mark.parametrize(
    ("settings", "host", "allowed"),
    [
        ({"allowed_hosts": "mock.test,*.corp"}, "mock.test:1", True),
        ({"allowed_hosts": "mock.test,*.corp"}, "a.corp", True),
        ({"allowed_hosts": "mock.test,*.corp"}, "a.mock.test", False),
        ({"host": "10.1.2.3"}, "10.1.2.3:8000", True),
        ({"host": "10.1.2.3"}, "10.1.2.4:8000", False),
        ({"host": "mock.corp"}, "mock.corp:8000", True),
        ({"host": "0.0.0.0"}, "10.1.2.3:8000", True),
        ({"host": "::"}, "[fe80::1]:8000", True),
        ({"host": "0.0.0.0"}, "evil.test", False),
    ],
)
def test_listed_and_bound_hosts(settings: dict[str, str], host: str, allowed: bool) -> None:
    found = code({"host": host, "x-mockserver-token": TOKEN}, control_token=TOKEN, **settings)
    assert found == ("in" if allowed else "host_not_allowed")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"origin": "http://localhost:8000"}, "in"),
        ({"origin": "https://localhost:8000"}, "in"),
        ({"origin": "http://localhost:3000"}, "origin_not_allowed"),
        ({"origin": "https://evil.test"}, "origin_not_allowed"),
        ({"origin": "null"}, "origin_not_allowed"),
        ({"origin": "http://localhost:8000.evil.test"}, "origin_not_allowed"),
        ({"sec-fetch-site": "same-origin"}, "in"),
        ({"sec-fetch-site": "cross-site"}, "cross_site"),
        (VISIT, "in"),
        ({**VISIT, "sec-fetch-dest": "iframe"}, "cross_site"),
        ({**VISIT, "sec-fetch-mode": "no-cors"}, "cross_site"),
    ],
)
def test_pages_of_other_origins_stay_out(headers: dict[str, str], expected: str) -> None:
    assert code(OWN | headers) == expected


def test_other_pages_change_nothing_and_a_star_lists_no_origin() -> None:
    assert code(OWN | JSON | VISIT, "POST") == "cross_site"
    page = OWN | {"origin": "https://app.example", "sec-fetch-site": "cross-site"}
    assert [code(page, cors=cors) for cors in ("https://app.example,*", "*")] == ["in", "origin_not_allowed"]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, False),
        ({"content-type": "application/x-www-form-urlencoded"}, False),
        ({"content-type": "text/plain; application/json"}, False),
        ({"content-type": "Application/JSON; charset=utf-8"}, True),
        ({"content-type": "application/yaml"}, True),
        ({"x-mockserver-control": "1"}, True),
        ({"x-mockserver-control": ""}, False),
        ({"authorization": "Bearer x"}, True),
    ],
)
def test_a_change_must_be_meant(method: str, headers: dict[str, str], allowed: bool) -> None:
    assert code(OWN | headers, method) == ("in" if allowed else "not_meant")


@pytest.mark.parametrize("settings", [{}, {"host": "0.0.0.0"}])
@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, False),
        ({"authorization": f"bearer  {TOKEN} "}, True),
        ({"x-mockserver-token": TOKEN}, True),
        ({"authorization": f"Basic {TOKEN}"}, False),
        ({"x-mockserver-token": TOKEN[:-1]}, False),
        ({"x-mockserver-token": TOKEN + "é"}, False),
        ({"cookie": f"token={TOKEN}"}, False),
    ],
)
def test_a_token_that_is_set_is_required(headers: dict[str, str], allowed: bool, settings: dict[str, str]) -> None:
    assert code(OWN | headers, control_token=TOKEN, **settings) == ("in" if allowed else "token")


def test_beyond_loopback_a_random_token_is_required_except_for_health() -> None:
    one, two = (local(host="0.0.0.0").live.control_token or "" for _ in range(2))
    assert (one != two, len(one) >= 32, local().live.control_token) == (True, True, None)
    health = "/__mockserver__/api/health"
    assert code(OWN, "GET", health, host="0.0.0.0") == "in"
    assert code({"host": "evil.test"}, "GET", health, host="0.0.0.0") == "host_not_allowed"
    for path in ("/__mockserver__/metrics", "/__mockserver__/api/rules/x/api/health"):
        assert code(OWN, "GET", path, host="0.0.0.0") == "token"


def test_refusals_say_why_and_what_to_do() -> None:
    status, headers, body = guarded({"host": "evil.test"})
    assert (status, headers["content-type"]) == (403, "application/json")
    assert body.decode() == (
        '{"error": "The host \\"evil.test\\" is not allowed. '
        'To allow it, add evil.test to allowed_hosts.", "code": "host_not_allowed"}'
    )
    status, headers, body = guarded(OWN, host="0.0.0.0")
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="mockserver"')
    assert json.loads(body)["error"] == (
        "Control paths require a token here: send authorization: Bearer TOKEN or x-mockserver-token: TOKEN. "
        "The server made it when it started, and mockserver serve printed it then; "
        "the setting control_token sets one of your own."
    )
    for settings in ({}, {"host": "0.0.0.0"}):
        _, _, body = guarded(OWN | {"x-mockserver-token": "wrong"}, control_token=TOKEN, **settings)
        refused = json.loads(body)
        assert refused["token"] == (
            "It is the setting control_token: MOCKSERVER_CONTROL_TOKEN, --control-token or settings of a rules file. "
            "The server does not print it."
        )
        assert refused["error"].startswith("The token is wrong: ")
        assert refused["error"].endswith(refused["token"])
    _, _, body = guarded(OWN | {"origin": "\x1b[2J" + "é" * 5000})
    assert (len(body) < 1500, b"\x1b" in body) == (True, False)


@pytest.mark.parametrize(("headers", "caching"), [(OWN, "max-age=1"), ({"host": "evil.test"}, "no-store")])
def test_answers_have_security_headers(headers: dict[str, str], caching: str) -> None:
    _, got, _ = guarded(headers)
    assert {name.decode() for name, _ in SECURITY} <= got.keys()
    assert (got["x-content-type-options"], got["cache-control"]) == ("nosniff", caching)


# --- CORS

APP, OTHER = "https://app.example", "https://other.example"
CHAT = "/v1/chat/completions"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}


def crossing(
    headers: Headers, origins: tuple[str, ...] = (APP,), *, path: str = CHAT, method: str = "POST"
) -> tuple[int, dict[str, str]]:
    return asked(add_cors(inner, origins), headers, method, path)[:2]


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
    status, got = crossing({"origin": origin, **preflight}, origins, method="OPTIONS" if preflight else "POST")
    assert got.get("access-control-allow-origin") == allowed
    assert (allowed == "*") is ("access-control-allow-credentials" not in got)
    assert status == (400 if preflight and not allowed else 200)
    if preflight and allowed:
        assert got["access-control-allow-headers"] == "authorization,content-type"
    elif allowed:
        assert (got["access-control-expose-headers"], got["x-request-id"]) == ("*", "req_1")


def test_other_clients_see_no_difference_but_vary() -> None:
    assert crossing({}) == (200, {"x-request-id": "req_1", "cache-control": "max-age=1", "vary": "Origin"})
    assert add_cors(inner, ()) is inner


@pytest.mark.parametrize("path", ["/__mockserver__", "/__mockserver__/api/rules", "//__mockserver__//metrics/"])
def test_a_star_does_not_open_control_paths(path: str) -> None:
    assert not is_control(path.replace("ver__", "ver__x"))
    for more, method in (({}, "GET"), (PREFLIGHT, "OPTIONS")):
        for origin, allowed in ((OTHER, None), (APP, APP)):
            _, got = crossing({"origin": origin, **more}, ("*", APP), path=path, method=method)
            assert got.get("access-control-allow-origin") == allowed
