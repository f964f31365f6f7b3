"""Who may come to the control paths: a table of requests, and what each gets."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from mockserver.server.access import SECURITY, Guard
from tests.kit.local import local

OWN = {"host": "localhost:8000"}
JSON = {"content-type": "application/json"}
API = "/__mockserver__/api/calls"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"cache-control", b"max-age=1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"in"})


def ask(
    headers: Mapping[str, str] | list[tuple[str, str]], method: str = "GET", path: str = API, **settings: Any
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a request to a guarded application."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    pairs = headers.items() if isinstance(headers, Mapping) else headers
    fields = [(name.encode(), value.encode("latin-1")) for name, value in pairs]
    scope = {"type": "http", "method": method, "path": path, "headers": fields}
    asyncio.run(Guard(app, local(**settings).live)(scope, receive, send))
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], head, sent[1]["body"]


def code(*arguments: Any, **settings: Any) -> str:
    """`in`, or the code of the refusal."""
    status, _, body = ask(*arguments, **settings)
    return "in" if status == 200 else str(json.loads(body)["code"])


HOSTS = {
    "localhost": "in",
    "LOCALHOST:1": "in",
    "127.0.0.1:8000": "in",
    "127.9.9.9": "in",
    "[::1]:8000": "in",
    "localhost.:8000": "in",
    "evil.test": "host_not_allowed",
    "localhost.evil.test": "host_not_allowed",
    "127.0.0.1.evil.test": "host_not_allowed",
    "10.0.0.1:8000": "host_not_allowed",
    "0.0.0.0:8000": "host_not_allowed",
    "evil.test@localhost": "host_not_allowed",
    "": "host_not_allowed",
    "localhost, evil.test": "host_not_allowed",
}


@pytest.mark.parametrize(("host", "expected"), HOSTS.items())
def test_names_of_this_machine_alone(host: str, expected: str) -> None:
    assert code({"host": host}) == expected


def test_no_host_and_two_of_them() -> None:
    assert code({}) == "host_not_allowed"
    assert code([("host", "localhost"), ("host", "evil.test")]) == "host_not_allowed"
    assert code([("host", "evil.test"), ("host", "localhost")]) == "host_not_allowed"


@pytest.mark.parametrize(
    ("settings", "host", "expected"),
    [
        ({"allowed_hosts": "mock.test,*.corp"}, "mock.test:1", "in"),
        ({"allowed_hosts": "mock.test,*.corp"}, "a.corp", "in"),
        ({"allowed_hosts": "mock.test,*.corp"}, "a.mock.test", "host_not_allowed"),
        ({"allowed_hosts": "*"}, "evil.test", "in"),
        ({"host": "10.1.2.3"}, "10.1.2.3:8000", "in"),
        ({"host": "10.1.2.3"}, "10.1.2.4:8000", "host_not_allowed"),
        ({"host": "mock.corp"}, "mock.corp:8000", "in"),
        ({"host": "0.0.0.0"}, "10.1.2.3:8000", "in"),
        ({"host": "::"}, "[fe80::1]:8000", "in"),
        ({"host": "0.0.0.0"}, "evil.test", "host_not_allowed"),
    ],
)
def test_names_that_are_listed_or_bound(settings: dict[str, str], host: str, expected: str) -> None:
    given = {"host": host, "x-mockserver-token": "open-sesame"}
    assert code(given, control_token="open-sesame", **settings) == expected


ORIGINS = [
    ({"origin": "http://localhost:8000"}, "in"),
    ({"origin": "https://localhost:8000"}, "in"),
    ({"origin": "http://localhost:3000"}, "origin_not_allowed"),
    ({"origin": "http://localhost"}, "origin_not_allowed"),
    ({"origin": "https://evil.test"}, "origin_not_allowed"),
    ({"origin": "null"}, "origin_not_allowed"),
    ({"origin": ""}, "origin_not_allowed"),
    ({"origin": "http://localhost:8000.evil.test"}, "origin_not_allowed"),
    ({"sec-fetch-site": "same-origin"}, "in"),
    ({"sec-fetch-site": "none"}, "in"),
    ({"sec-fetch-site": "cross-site"}, "cross_site"),
    ({"sec-fetch-site": "same-site"}, "cross_site"),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, "in"),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, "cross_site"),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}, "cross_site"),
]


@pytest.mark.parametrize(("headers", "expected"), ORIGINS)
def test_pages_of_other_origins_stay_out(headers: dict[str, str], expected: str) -> None:
    assert code(OWN | headers) == expected


@pytest.mark.parametrize(
    ("origin", "cors", "expected"),
    [
        ("https://app.example", "https://app.example", "in"),
        ("https://app.example", "https://app.example,*", "in"),
        ("https://app.example", "*", "origin_not_allowed"),
        ("https://app.example.evil.test", "https://app.example", "origin_not_allowed"),
    ],
)
def test_listed_origins_come_in_and_a_star_lists_none(origin: str, cors: str, expected: str) -> None:
    assert code(OWN | {"origin": origin, "sec-fetch-site": "cross-site"}, cors=cors) == expected


CHANGES = [
    ({}, "not_meant"),
    ({"content-type": "application/x-www-form-urlencoded"}, "not_meant"),
    ({"content-type": "multipart/form-data; boundary=x"}, "not_meant"),
    ({"content-type": "text/plain"}, "not_meant"),
    ({"content-type": "text/plain; application/json"}, "not_meant"),
    ({"content-type": "application/json"}, "in"),
    ({"content-type": "Application/JSON; charset=utf-8"}, "in"),
    ({"content-type": "application/yaml"}, "in"),
    ({"x-mockserver-control": "1"}, "in"),
    ({"x-mockserver-control": ""}, "not_meant"),
    ({"authorization": "Bearer x"}, "in"),
]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(("headers", "expected"), CHANGES)
def test_a_change_must_be_meant(method: str, headers: dict[str, str], expected: str) -> None:
    assert code(OWN | headers, method) == expected


TOKEN = "open-sesame-1234"
TOKENS = [
    ({}, "token"),
    ({"authorization": f"Bearer {TOKEN}"}, "in"),
    ({"authorization": f"bearer  {TOKEN} "}, "in"),
    ({"x-mockserver-token": TOKEN}, "in"),
    ({"authorization": f"Basic {TOKEN}"}, "token"),
    ({"authorization": TOKEN}, "token"),
    ({"x-mockserver-token": TOKEN[:-1]}, "token"),
    ({"x-mockserver-token": TOKEN + "é"}, "token"),
    ({"x-mockserver-token": ""}, "token"),
    ({"cookie": f"token={TOKEN}"}, "token"),
]


@pytest.mark.parametrize("settings", [{}, {"host": "0.0.0.0"}])
@pytest.mark.parametrize(("headers", "expected"), TOKENS)
def test_a_token_that_is_set_is_wanted(headers: dict[str, str], expected: str, settings: dict[str, str]) -> None:
    assert code(OWN | headers, control_token=TOKEN, **settings) == expected


def test_beyond_loopback_one_is_made_at_random() -> None:
    one, two = (local(host="0.0.0.0").live.control_token for _ in range(2))
    assert one
    assert two
    assert one != two
    assert len(one) >= 32
    assert local().live.control_token is None


def test_health_wants_no_token_but_the_right_host() -> None:
    for path in ("/__mockserver__/api/health", "/__mockserver__/api/ready"):
        assert code(OWN, "GET", path, host="0.0.0.0") == "in"
        assert code({"host": "evil.test"}, "GET", path, host="0.0.0.0") == "host_not_allowed"
    assert code(OWN, "GET", "/__mockserver__/metrics", host="0.0.0.0") == "token"
    assert code(OWN, "GET", "/__mockserver__/api/rules/x/api/health", host="0.0.0.0") == "token"


def test_a_refusal_says_why_and_what_to_do() -> None:
    status, headers, body = ask({"host": "evil.test"})
    assert status == 403
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["error"] == (
        'The request names the host "evil.test", which is none of this server\'s. '
        "If it is, add it to the setting allowed_hosts: --allowed-hosts evil.test"
    )
    status, headers, body = ask(OWN, host="0.0.0.0")
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="mockserver"')
    assert json.loads(body)["error"] == (
        "Control paths want a token here: send authorization: Bearer TOKEN or x-mockserver-token: TOKEN; "
        "the server printed it at start."
    )


def test_what_the_client_says_is_quoted_and_cut() -> None:
    _, _, body = ask(OWN | {"origin": "\x1b[2J" + "é" * 5000})
    assert len(body) < 1500
    assert b"\x1b" not in body


@pytest.mark.parametrize("headers", [OWN, {"host": "evil.test"}])
def test_every_answer_carries_headers_against_frames_and_sniffing(headers: dict[str, str]) -> None:
    _, got, _ = ask(headers)
    assert {name.decode() for name, _ in SECURITY} <= got.keys()
    assert got["x-content-type-options"] == "nosniff"
    assert got["content-security-policy"] == "frame-ancestors 'none'"
    assert got["cache-control"] == ("max-age=1" if headers is OWN else "no-store")  # what the application says stands
