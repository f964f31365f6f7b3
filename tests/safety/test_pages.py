"""Requests to the providers' paths that a web page in the developer's browser could send, and answers it could show."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from mockserver.state.in_memory import MAX_NAMESPACES
from tests.kit.raw import Raw, RawResponse
from tests.kit.served import Served, served

CHAT, JSON = "POST /v1/chat/completions", "content-type: application/json"
APP = "https://app.example"
CROSS = "sec-fetch-site: cross-site"
RULES = """
version: 1
rules:
  - {when: {last_user: once}, times: 1, then: {text: counted}}
  - {when: {last_user: page}, then: {raw: {headers: {content-type: text/html}, body: <script>1</script>}}}
  - {when: {last_user: picture}, then: {raw: {headers: {content-type: image/svg+xml}, body: <svg/>}}}
  - {when: {last_user: typeless}, then: {raw: {body: <script>1</script>}}}
  - {when: {last_user: listed}, then: {raw: {headers: {content-type: "application/json, text/html"}, body: a}}}
  - {when: {last_user: bent}, then: {text: <script>1</script>, faults: [{wrong_content_type: {type: text/html}}]}}
  - {when: {last_user: plain}, then: {text: Hello}}
"""


def chat(text: str) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}).encode()


def ask(server: Served, line: str, *fields: str, body: bytes = b"", host: str = "localhost:8000") -> RawResponse:
    length = (f"content-length: {len(body)}",) if body else ()
    head = (f"{line} HTTP/1.1", f"host: {host}", *length, *fields, "connection: close", "", "")
    with Raw(server.port) as raw:
        return raw.send("\r\n".join(head).encode("latin-1") + body).receive()


@dataclass(frozen=True)
class Pair:
    """A server that records what its upstream answers, and that upstream."""

    front: Served
    upstream: Served

    @property
    def forwarded(self) -> int:
        return len(ask(self.upstream, "GET /__mockserver__/api/calls").json["calls"])


def recording(*flags: str) -> Iterator[Pair]:
    with served() as upstream:
        to = ("--upstream", f"openai={upstream.base('openai')}", "--cassette", "kept", "--record", "all")
        with served(flags=(*to, *flags)) as front:
            yield Pair(front, upstream)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    yield from recording()


@pytest.fixture(scope="module")
def open_to_pages() -> Iterator[Pair]:
    yield from recording("--cors", f"*,{APP}")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


REBOUND = "evil.test:8000"
MOZILLA = "user-agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/150.0"
OPENED = ("sec-fetch-site: none", "sec-fetch-mode: navigate", "sec-fetch-dest: document", "accept: text/html")
# Browsers say Origin and Sec-Fetch with a GET only to https, localhost and loopback addresses.
UNTRUSTED = ("0.0.0.0:8000", "[::ffff:7f00:1]:8000", "kubernetes.docker.internal:8000", "mock:8000", "10.1.2.3:8000")
HOSTILE: Mapping[str, tuple[str, tuple[str, ...], str | None, bytes]] = {
    "a fetch without a type": (CHAT, (f"origin: {APP}", CROSS), None, chat("hi")),
    "a fetch of text": (CHAT, ("content-type: text/plain; x=json", f"origin: {APP}"), None, chat("hi")),
    "a fetch of JSON": (CHAT, (JSON, f"origin: {APP}"), None, chat("hi")),
    "a sandboxed page": (CHAT, (JSON, "origin: null"), None, chat("hi")),
    "another port of this machine": (CHAT, (JSON, "origin: http://localhost:3000"), None, chat("hi")),
    "an image": ("GET /v1/models", (CROSS, "sec-fetch-mode: no-cors", "sec-fetch-dest: image"), None, b""),
    "an image from a sister site": ("GET /v1/models", ("sec-fetch-site: same-site",), None, b""),
    "a link": ("GET /v1/models", (CROSS, "sec-fetch-mode: navigate", "sec-fetch-dest: document"), None, b""),
    "a preflight": ("OPTIONS /v1/models", (f"origin: {APP}", "access-control-request-method: GET"), None, b""),
    "a service worker": ("GET /v1/models", ("service-worker: script", "sec-fetch-site: same-origin"), None, b""),
    "a prefetch that a page wants": ("GET /v1/models", ("sec-purpose: prefetch", *OPENED), None, b""),
    "a redirect of a link in a mail": ("GET /v1/models", OPENED, None, b""),
    "a name of the local network asks": (CHAT, (JSON, "origin: http://mock:8000"), "mock:8000", chat("hi")),
    **{f"an image from {host}": ("GET /v1/models", (MOZILLA,), host, b"") for host in UNTRUSTED},
    "a rebound name reads": ("GET /v1/models", (), REBOUND, b""),
    "a rebound name asks": (CHAT, (JSON, f"origin: http://{REBOUND}"), REBOUND, chat("hi")),
    "a rebound name in a namespace": ("GET /ns/a/v1/models", (), REBOUND, b""),
    "a rebound name at an unknown path": ("GET /nothing", (), REBOUND, b""),
    "a name that begins like ours": ("GET /v1/models", (), "localhost.evil.test", b""),
    "a name that begins like our address": ("GET /v1/models", (), "127.0.0.1.evil.test", b""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_of_another_origin_gets_a_403_and_nothing_is_forwarded(pair: Pair, name: str) -> None:
    line, fields, host, body = HOSTILE[name]
    received = ask(pair.front, line, *fields, body=body, host=host or "localhost:8000")
    assert (received.status, "access-control-allow-origin" in received.headers) == (403, False)
    assert received.json["error"]["type"] == "invalid_request_error"
    assert pair.forwarded == 0


@pytest.mark.parametrize("prefix", ["/azure", "/azure_openai", "/skytells", "/crazyrouter", "/tzafon", "/fireworks"])
def test_each_dialect_refuses_a_page_in_its_own_words(server: Served, prefix: str) -> None:
    received = ask(server, f"GET {prefix}/v1/models", f"origin: {APP}")
    said = json.dumps(received.json)
    assert received.status == 403
    assert APP in said
    assert "cors" in said


def test_a_refusal_names_the_setting_that_allows_the_host(server: Served) -> None:
    assert ask(server, "GET /v1/models", host=REBOUND).json["error"]["message"] == (
        'The host "evil.test:8000" is not allowed. To allow it, add evil.test to allowed_hosts.'
    )


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:8000", "[::1]", "mock", "mock:8000", "10.1.2.3", "host.docker.internal", "a.b.svc"]
)
@pytest.mark.parametrize("media", [(), (JSON,)])
def test_programs_notice_nothing(server: Served, host: str, media: tuple[str, ...]) -> None:
    received = ask(server, CHAT, *media, body=chat("plain"), host=host)
    assert (received.status, received.json["choices"][0]["message"]["content"]) == (200, "Hello")


def test_a_program_may_use_the_fetch_of_node_and_a_page_may_be_opened(server: Served) -> None:
    assert ask(server, CHAT, "user-agent: node", "sec-fetch-mode: cors", body=chat("plain"), host="mock").status == 200
    assert ask(server, CHAT, MOZILLA, body=chat("plain"), host="mock").status == 200  # a browser would say its origin
    assert ask(server, "GET /v1/models", MOZILLA, *OPENED).status == 200


def test_an_address_that_every_interface_has_is_no_sign_of_a_page() -> None:
    with served(flags=("--host", "0.0.0.0")) as everywhere:
        assert ask(everywhere, "GET /v1/models", MOZILLA, host="10.1.2.3").status == 200
        assert ask(everywhere, "GET /v1/models", MOZILLA, host="mock").status == 403


def test_a_page_makes_no_namespace_be_forgotten(server: Served) -> None:
    ours = CHAT.replace("/v1", "/ns/ours/v1")
    assert b"counted" in ask(server, ours, JSON, body=chat("once")).body
    with Raw(server.port) as raw:
        for number in range(MAX_NAMESPACES):
            raw.send(f"GET /ns/{number}/v1/models HTTP/1.1\r\nhost: localhost\r\n{CROSS}\r\n\r\n".encode())
            assert raw.receive().status == 403
    assert b"counted" not in ask(server, ours, JSON, body=chat("once")).body


def test_a_media_type_is_compared_without_its_parameters(server: Served) -> None:
    assert ask(server, CHAT, "content-type: text/plain; x=json", body=chat("plain")).status == 415
    assert ask(server, CHAT, "content-type: Application/JSON; charset=utf-8", body=chat("plain")).status == 200


def test_a_page_uses_up_no_times(server: Served) -> None:
    assert ask(server, CHAT, JSON, f"origin: {APP}", body=chat("once")).status == 403
    assert b"counted" in ask(server, CHAT, JSON, body=chat("once")).body


def test_listed_origins_are_forwarded_and_others_are_answered_but_not_forwarded(open_to_pages: Pair) -> None:
    front = open_to_pages.front
    before = open_to_pages.forwarded
    for fields in (("origin: https://evil.test",), (CROSS,)):
        assert ask(front, CHAT, JSON, *fields, body=chat("hi")).status == 403
        assert ask(front, "GET /v1/nothing", *fields).status == 404
    assert ask(front, CHAT, f"origin: {APP}", CROSS, body=chat("hi")).status == 415
    assert open_to_pages.forwarded == before
    received = ask(front, CHAT, JSON, f"origin: {APP}", CROSS, body=chat("hi"))
    assert (received.status, received.headers["access-control-allow-origin"]) == (200, APP)
    assert open_to_pages.forwarded == before + 1


DOTS = (
    "..",
    ".",
    "%2e%2e",
    "..%2f",
    "%2e%2e%2f",
    "%252e%252e",
    "..%5c",
    "..;x=1",
    "a/../b",
    "a%2f..%2fb",
    "..%00",
    "%20..%09",
    "%e2%80%a4%e2%80%a4",
    "%ef%bc%8f%e2%80%a5",
)


@pytest.mark.parametrize("name", DOTS)
def test_dot_segments_never_go_upstream(pair: Pair, name: str) -> None:
    assert ask(pair.front, f"GET /v1/models/{name}").status in (400, 404)
    assert pair.forwarded == 0


SHOWN = (
    "accept: text/html,application/xml;q=0.9,*/*;q=0.8",
    "sec-fetch-dest: iframe",
    "sec-fetch-dest: document",
    "sec-fetch-site: same-origin",  # what a page fetches may be shown later, from the browser's cache
)


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("kind", ["page", "picture", "typeless", "listed", "bent"])
def test_what_a_browser_would_show_runs_no_script(server: Served, kind: str, shown: str) -> None:
    received = ask(server, CHAT, JSON, shown, body=chat(kind))
    assert (received.status, received.headers["content-security-policy"]) == (200, "sandbox")
    assert received.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("kind", "fields"), [("page", ("accept: */*",)), ("page", ()), ("plain", SHOWN[:1])])
def test_programs_and_json_get_no_sandbox(server: Served, kind: str, fields: tuple[str, ...]) -> None:
    assert "content-security-policy" not in ask(server, CHAT, JSON, *fields, body=chat(kind)).headers


def test_a_page_of_the_upstream_runs_no_script() -> None:
    with served(RULES) as upstream, served(flags=("--upstream", f"openai={upstream.base('openai')}", "--record", "all",
                                                  "--cassette", "kept")) as front:  # fmt: skip
        for _ in range(2):
            received = ask(front, CHAT, JSON, SHOWN[0], body=chat("page"))
            assert (received.body, received.headers["content-security-policy"]) == (b"<script>1</script>", "sandbox")
