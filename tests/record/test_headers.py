"""Headers, paths and keys, on both ways through a relay."""

import pytest

from tests.kit.raw import Raw, post
from tests.kit.relaying import relaying
from tests.kit.scripts import ANSWER, BODY, HI, base, failed, received
from tests.kit.upstream import Upstream


def test_headers_of_an_answer(up: Upstream) -> None:
    with relaying(base(up, "odd heads")) as relay:
        got = received(relay, HI)  # which takes no header twice
    assert got.headers["x-request-id"] == "Req_1"
    assert got.headers["x-mockserver-source"] == "forwarded"
    assert "2001" not in got.headers["date"]
    assert not {"x-hop", "keep-alive", "proxy-authenticate", "connection"} & set(got.headers)
    names = [name for name, _ in relay.episode.reply.headers]
    assert names == ["content-type", "x-request-id", "content-length"]


def test_headers_of_a_request(up: Upstream) -> None:
    body = BODY
    sent = ("Authorization: Bearer sk-1", "Connection: keep-alive, X-Hop", "X-Hop: 1", "TE: trailers")
    more = ("X-Mockserver-Timing: off", "User-Agent: Test/1", "X-Tenant: a", "Proxy-Authorization: Basic eA==")
    with relaying(base(up, "plain")) as relay:
        received(relay, post(body, *sent, *more))
    asked = up.asked()
    assert asked.header("authorization") == "Bearer sk-1"
    assert asked.header("user-agent") == "Test/1"
    assert asked.header("x-tenant") == "a"
    assert asked.header("host") == f"127.0.0.1:{up.port}"
    assert asked.header("content-length") == str(len(body))
    names = {name.lower() for name, _ in asked.headers}
    assert names == {
        "authorization", "user-agent", "x-tenant", "host", "content-length", "content-type", "x-mockserver-relay"
    }  # fmt: skip
    recorded = [name for name, _ in relay.episode.request.headers]
    assert {"content-type", "authorization", "user-agent", "x-tenant", "proxy-authorization"} <= set(recorded)


def test_namespaces_and_queries(up: Upstream) -> None:
    with relaying(base(up, "plain")) as relay:
        received(relay, post(BODY, path="/ns/a%20b/openai/v1/chat/completions?a=%2F&b[]=c"))
        received(relay, b"GET /v1/models/ft%3Agpt%2F1 HTTP/1.1\r\nhost: x\r\n\r\n")
    first, second = up.asked(), up.asked()
    assert first.target == "/chat/completions?a=%2F&b[]=c"
    assert second.target == "/models/ft%3Agpt%2F1"
    assert relay.episodes[0].request.path == "/openai/v1/chat/completions"
    assert relay.episodes[0].request.query == "a=%2F&b[]=c"


def test_connections_are_used_again(up: Upstream) -> None:
    with relaying(base(up, "plain")) as relay, Raw(relay.port) as raw:
        for _ in range(3):
            assert raw.send(HI).receive().body == ANSWER
    assert len({up.connection() for _ in range(3)}) == 1


def test_the_key_of_an_upstream_stands_in_for_the_client_s(up: Upstream) -> None:
    environ = {"MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-true", "MOCKSERVER_UPSTREAM_KEY_AZURE": "azure-true"}
    addresses = {"openai": base(up, "plain"), "azure": base(up, "chunked"), "tzafon": base(up, "echo")}
    body = BODY
    with relaying(addresses, environ=environ) as relay:
        received(relay, post(body, "authorization: Bearer sk-mine"))
        received(
            relay,
            post(
                body,
                "authorization: Bearer mine",
                "api-key: mine",
                path="/azure/chat/completions?api-version=2024-05-01-preview",
            ),
        )
        received(relay, post(body, "authorization: Bearer mine", path="/tzafon/v1/chat/completions"))
    openai, azure, tzafon = up.asked(), up.asked(), up.asked()
    assert openai.header("authorization") == "Bearer sk-true"
    assert (azure.header("api-key"), azure.header("authorization")) == ("azure-true", None)
    assert (tzafon.script, tzafon.header("authorization")) == ("echo", "Bearer mine")
    assert "sk-true" not in repr(relay.episodes)


def test_the_key_of_an_upstream_replaces_that_of_a_query(up: Upstream) -> None:
    body, path = b'{"contents": [{"parts": [{"text": "Hi"}]}]}', "/gemini/v1/models/m:generateContent?key=mine&alt=json"
    for key, target in (("true", "alt=json"), ("", "key=mine&alt=json")):
        with relaying({"gemini": base(up, "plain")}, environ={"MOCKSERVER_UPSTREAM_KEY_GEMINI": key}) as relay:
            received(relay, post(body, path=path))
        asked = up.asked()
        assert (asked.target.partition("?")[2], asked.header("x-goog-api-key")) == (target, key or None)


def test_a_key_that_no_header_can_hold_is_not_told(up: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    with relaying(base(up, "plain"), environ={"MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-one\nsk-two"}) as relay:
        got = received(relay, HI)
    assert got.status == 502
    assert failed(got) == (
        f"The upstream of openai, 127.0.0.1:{up.port}, was not called: a header of the request, or its key, has "
        "characters that are not allowed in headers."
    )
    assert "sk-one" not in caplog.text
    assert relay.episodes == []
