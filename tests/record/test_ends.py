"""Answers that break off, and clients that leave."""

import time

import pytest

from tests.kit.raw import Raw
from tests.kit.relaying import relaying
from tests.kit.scripts import ANSWER, DONE, HELLO, STREAM, base, ended
from tests.kit.upstream import Upstream


@pytest.mark.parametrize("script", ["dropped", "reset", "too short", "dropped at the end"])
def test_what_breaks_off_is_broken_off(up: Upstream, script: str, caplog: pytest.LogCaptureFixture) -> None:
    with relaying(base(up, script)) as relay, Raw(relay.port) as raw:
        raw.send(STREAM)
        came = raw.rest()
        assert ended(relay).startswith("disconnected after ")
    assert came.startswith(b"HTTP/1.1 200")
    assert not came.endswith(b"0\r\n\r\n")
    assert (ANSWER if script == "too short" else HELLO) in came
    assert relay.episodes == []
    assert f"The upstream of openai, 127.0.0.1:{up.port}, broke off its answer: " in caplog.text


def test_the_last_event_does_not_wait_long_for_the_end(up: Upstream) -> None:
    with relaying(base(up, "slow to close")) as relay, Raw(relay.port) as raw:
        raw.send(STREAM)
        began, came = time.monotonic(), b""
        while DONE not in came:
            came += raw.socket.recv(65536)
        assert relay.episode.reply.bytes == HELLO + DONE
        assert time.monotonic() - began < 0.8
        assert not came.endswith(b"0\r\n\r\n")
        while not came.endswith(b"0\r\n\r\n"):
            came += raw.socket.recv(65536)
    assert len(relay.episodes) == 1


@pytest.mark.parametrize("script", ["endless", "stalled", "silent"])
def test_a_client_that_leaves(up: Upstream, script: str) -> None:
    with relaying(base(up, script)) as relay:
        with Raw(relay.port) as raw:
            raw.send(STREAM)
            up.asked()
            if script != "silent":
                assert raw.socket.recv(65536)
        assert up.left() == script
        assert ended(relay).startswith("client left")
    assert relay.episodes == []


def test_a_client_that_leaves_once_all_was_said(up: Upstream) -> None:
    with relaying(base(up, "left at the end")) as relay:
        relay.kept.takes = 0.2
        with Raw(relay.port) as raw:
            raw.send(STREAM)
            up.asked()
            assert raw.socket.recv(65536)
            time.sleep(0.1)
        assert up.left() == "left-at-the-end"
        ended(relay)
        assert relay.episode.reply.bytes == HELLO + DONE


def test_an_upstream_that_stalls(up: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    with relaying(base(up, "stalled"), upstream_timeout="200ms") as relay, Raw(relay.port) as raw:
        came = raw.send(STREAM).rest()
        assert up.left() == "stalled"
    assert "broke off its answer: sent nothing for 0.2 s (upstream_timeout)." in caplog.text
    assert HELLO in came
    assert not came.endswith(b"0\r\n\r\n")
    assert relay.episodes == []
