"""Hostile requests to the control paths and through them, over real sockets: what a browser can be made to send."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.kit.program import run
from tests.kit.raw import Raw
from tests.kit.served import Served, served

KEY = "sk-proj-0a1b2c3d4e5f"
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
        received = line.send(data).receive()
    return received.status, received.headers, received.body


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
    "a rebound name with its own origin": ("GET /api/calls", ("origin: http://evil.test:8000",), "evil.test:8000"),
    "a name that begins like ours": ("GET /metrics", (), "localhost.evil.test"),
    "a name that begins like our address": ("GET /metrics", (), "127.0.0.1.evil.test"),
    "an address of another machine": ("GET /api/calls", (), "192.0.2.1"),
    "a form": ("POST /api/rules", (FORM,), None),
    "a form from another page": (
        "POST /api/reset",
        (FORM, "origin: https://evil.test", "sec-fetch-site: cross-site"),
        None,
    ),
    "a form of plain text": ("POST /api/rules", ("content-type: text/plain",), None),
    "a form with a file": ("POST /api/rules", ("content-type: multipart/form-data; boundary=x",), None),
    "a fetch without a type": ("POST /api/reset", (), None),
    "a beacon": ("POST /api/reload", ("content-type: text/plain;charset=UTF-8", "origin: null"), None),
    "a deletion that nobody meant": ("DELETE /api/calls", (), None),
    "a cross-site fetch": ("GET /api/calls", (CROSS, "sec-fetch-mode: no-cors"), None),
    "a script tag": ("GET /api/calls", (CROSS, "sec-fetch-dest: script"), None),
    "a frame": (
        "GET /api/calls",
        (CROSS, "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"),
        None,
    ),
    "another port of this machine": (
        "GET /api/calls",
        ("origin: http://localhost:3000", SAME),
        None,
    ),
    "a sandboxed page": ("GET /api/calls", ("origin: null",), None),
    "a page that asks first": (
        "OPTIONS /api/rules",
        ("origin: https://evil.test", "access-control-request-method: POST"),
        None,
    ),
    "an extension's page": ("GET /api/calls", ("origin: chrome-extension://abc",), None),
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


def test_what_its_own_user_sends_is_let_in(server: Served) -> None:
    own = "origin: http://localhost:8000", "sec-fetch-site: same-origin"
    assert asked(server, "GET /api/calls", *own)[0] == 200
    assert asked(server, "DELETE /api/calls", *own, "x-mockserver-control: 1")[0] == 200
    assert asked(server, "GET /api/health", host="127.0.0.1")[0] == 200


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


@pytest.mark.parametrize(
    ("headers", "complaint"),
    [
        ('{x-a: "b\\r\\nset-cookie: c=d"}', "it must be one line without control characters"),
        ('{x-a: "b\\0"}', "it must be one line without control characters"),
        ('{"x-a\\r\\nb": c}', "is not a valid header name"),
        ("{content-length: 3}", 'the server sets "content-length" itself'),
        ("{Transfer-Encoding: chunked}", 'the server sets "transfer-encoding" itself'),
        ("{connection: close}", 'the server sets "connection" itself'),
        ('{x-a: "{{ last_user }}"}', "templates are not supported here"),
    ],
)
@pytest.mark.parametrize(
    "then", ["text: a, headers: {}", "error: {{status: 429, headers: {}}}", "raw: {{status: 200, headers: {}}}"]
)
def test_a_rule_cannot_break_the_head_of_an_answer(tmp_path: Path, headers: str, complaint: str, then: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n  - then: {" + then.format(headers) + "}\n")
    done = run("check", file)
    assert done.code == 2
    assert done.err.startswith(f"{file}:2:")
    assert complaint in done.err


def test_no_request_writes_a_line_of_the_log() -> None:
    ask = "GET {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n"
    with served(log="text") as server:
        sent(server, ask.format("/v1/%0A9%20GET%20/forged%20-%3E%20200%1B[2J%0D", KEY).encode())
        sent(server, ask.format("/v1/models", KEY).encode())
        first, second = server.log.next(), server.log.next()
    assert first is not None
    assert second is not None
    assert first.startswith(r"1 GET /v1/\x0a9 GET /forged -> 200\x1b[2J\x0d -> 404 ")
    assert second.startswith("2 GET /v1/models -> 200 ")
    assert KEY not in first + second
