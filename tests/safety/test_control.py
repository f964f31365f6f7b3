"""Hostile requests to the control paths and through them, over real sockets: what a browser can be made to send."""

import json
from collections.abc import Iterator, Mapping

import pytest

from tests.kit.raw import Raw
from tests.kit.served import Served, served

RULES = """
version: 1
rules:
  - when: {last_user: {regex: '(?P<word>(?s).+)'}, path: /azure*}
    then: {text: "{{ match.word }}", headers: {x-fixed: "1"}}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


def sent(server: Served, data: bytes) -> tuple[int, Mapping[str, str], bytes]:
    with Raw(server.port) as line:
        heard = line.send(data).hear()
    return heard.status, heard.headers, heard.body


def asked(
    server: Served, line: str, *fields: str, body: bytes = b"", host: str = "localhost:8000"
) -> tuple[int, Mapping[str, str], bytes]:
    method, path = line.split()
    head = (
        f"{method} /__mockserver__{path} HTTP/1.1",
        f"host: {host}",
        f"content-length: {len(body)}",
        "connection: close",
    )
    return sent(server, "\r\n".join((*head, *fields, "", "")).encode("latin-1") + body)


CROSS, SAME = "sec-fetch-site: cross-site", "sec-fetch-site: same-site"
RULE = b'{"name": "mine", "then": {"text": "owned"}}'
FORM = "content-type: application/x-www-form-urlencoded"
HOSTILE = {
    "a rebound name reads": ("GET /api/calls", (), "evil.test:8000"),
    "a rebound name changes": ("POST /api/rules", ("content-type: application/json",), "evil.test:8000"),
    "a form": ("POST /api/rules", (FORM,), None),
    "a beacon": ("POST /api/reload", ("content-type: text/plain;charset=UTF-8", "origin: null"), None),
    "a deletion that nobody meant": ("DELETE /api/calls", (), None),
    "a cross-site fetch": ("GET /api/calls", (CROSS, "sec-fetch-mode: no-cors"), None),
    "a page that asks first": (
        "OPTIONS /api/rules",
        ("origin: https://evil.test", "access-control-request-method: POST"),
        None,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_and_told_why(server: Served, name: str) -> None:
    line, fields, host = HOSTILE[name]
    body = RULE if line.startswith("POST") else b""
    status, headers, answer = asked(server, line, *fields, body=body, host=host or "localhost:8000")
    assert status == 403
    assert json.loads(answer)["error"]
    assert not [header for header in headers if header.startswith("access-control-")]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    status, _, answer = asked(server, "GET /api/rules")
    assert status == 200
    assert b"mine" not in answer


@pytest.mark.parametrize(
    "path", ["//__mockserver__/api/calls", "/%5F_mockserver__/api/calls", "/__mockserver__//api/calls"]
)
def test_no_other_spelling_of_the_path_goes_round_it(server: Served, path: str) -> None:
    status, _, body = sent(server, f"GET {path} HTTP/1.1\r\nhost: evil.test\r\nconnection: close\r\n\r\n".encode())
    assert status in (403, 404)
    assert b'"calls"' not in body


def chat(
    server: Served, text: str, *fields: str, path: str = "/azure/chat/completions?api-version=2024-05-01-preview"
) -> Mapping[str, str]:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    head = (
        f"POST {path} HTTP/1.1",
        "host: localhost",
        f"content-length: {len(body)}",
        "connection: close",
        *fields,
        "",
        "",
    )
    status, headers, _ = sent(server, "\r\n".join(head).encode("latin-1") + body)
    assert status == 200
    return headers


def test_no_request_text_makes_a_header(server: Served) -> None:
    headers = chat(server, "a\r\nx-injected: 1\r\n\r\nHTTP/1.1 200 OK", "x-ms-client-request-id: a\x80\xff\tb")
    assert "x-injected" not in headers
    assert headers["x-ms-client-request-id"] == "ab"
    assert all(value.isascii() and value.isprintable() for value in headers.values())
