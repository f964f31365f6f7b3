"""Upstreams that refuse, and those that do not answer at all."""

import socket

import pytest

from tests.kit.raw import Raw, post
from tests.kit.relaying import relaying
from tests.kit.scripts import ANSWER, BODY, HI, base, failed, received
from tests.kit.upstream import Upstream


def test_errors_are_relayed_and_recorded(up: Upstream) -> None:
    with relaying(base(up, "limited")) as relay:
        got = received(relay, HI)
    with relaying(base(up, "failing")) as failing:
        assert received(failing, HI).body == b"<h1>502</h1>"
    assert got.status == 429
    assert got.headers["retry-after"] == "7"
    assert got.headers["x-ratelimit-remaining-requests"] == "0"
    assert got.json["error"]["message"] == "slow down"
    assert relay.episode.reply.status == 429
    assert dict(relay.episode.reply.headers)["retry-after"] == "7"
    assert failing.episode.reply.status == 502
    assert {up.asked().script, up.asked().script} == {"limited", "failing"}


def test_an_upstream_that_does_not_listen() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with relaying(f"http://127.0.0.1:{port}/v1") as relay:
            got = received(relay, post(BODY, "authorization: Bearer sk-secret-one"))
    assert got.status == 502
    why = "refuses connections; check that it runs, and the setting upstream."
    assert failed(got) == f"The upstream of openai, 127.0.0.1:{port}, {why}"
    assert got.headers["x-mockserver-source"] == "forwarded"
    assert relay.episodes == []


SILENT = {
    "plain": ("https", 502, ""),
    "silent": ("http", 504, "did not answer within 0.2 s (upstream_timeout)."),
    "no http": ("http", 502, "gave"),
}
SILENT["hung up"] = ("http", 502, "gave no answer: Server disconnected without sending a response")


@pytest.mark.parametrize("script", SILENT)
def test_an_upstream_that_does_not_answer(up: Upstream, script: str, caplog: pytest.LogCaptureFixture) -> None:
    scheme, status, told = SILENT[script]
    with relaying(base(up, script).replace("http", scheme, 1), upstream_timeout="200ms") as relay:
        got = received(relay, HI)
    assert got.status == status
    assert failed(got).startswith(f"The upstream of openai, 127.0.0.1:{up.port}, {told}")
    assert failed(got) in caplog.messages
    assert relay.episodes == []


def test_upstreams_that_are_unknown_or_answer_oddly(up: Upstream) -> None:
    for upstream, told in (
        ("http://nowhere.invalid/v1", "The upstream of openai, nowhere.invalid, cannot be found: "),
        ({"azure": "http://127.0.0.1:1"}, "No upstream is set for openai; set one, such as --upstream openai=https://"),
        (base(up, "odd status"), "The upstream of openai answered with the status 999, which is not valid in HTTP."),
    ):
        with relaying(upstream) as relay:
            got = received(relay, HI)
        assert (got.status, relay.episodes) == (502, [])
        assert failed(got).startswith(told)
    with relaying(base(up, "elsewhere")) as relay:  # redirects are not followed
        got = received(relay, HI)
    assert (got.status, got.headers["location"]) == (307, "http://127.0.0.1:1/")


def test_errors_are_not_recorded_if_so_configured(up: Upstream) -> None:
    with relaying(base(up, "limited"), record_errors=False) as relay:
        assert received(relay, HI).status == 429
    assert relay.episodes == []


def test_a_proxy_of_the_environment(up: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{up.port}")
    with relaying("http://api.nowhere.invalid/plain") as relay:
        assert received(relay, HI).body == ANSWER
    assert up.asked().header("host") == "api.nowhere.invalid"


def test_a_server_that_stops(up: Upstream) -> None:
    with relaying(base(up, "silent")) as relay, Raw(relay.port) as raw:
        raw.send(HI)
        up.asked()
        relay.running.stop()
        assert raw.receive().status == 503
        assert up.left() == "silent"
    assert relay.episodes == []
