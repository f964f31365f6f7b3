"""Bodies and their codings, on both ways through a relay."""

import gzip
import json

import pytest

from tests.kit.raw import post
from tests.kit.relaying import relaying
from tests.kit.scripts import ANSWER, BODY, DONE, ENCODE, HELLO, HI, STREAM, THERE, base, flush_events, received
from tests.kit.upstream import Upstream


@pytest.mark.parametrize("coding", ENCODE)
def test_codings_stay_on_towards_the_client_and_off_in_what_is_recorded(up: Upstream, coding: str) -> None:
    with relaying(base(up, coding)) as relay:
        whole = received(relay, HI)
    with relaying(base(up, f"{coding} stream")) as streaming:
        streamed = received(streaming, STREAM)
    assert whole.body == ENCODE[coding](ANSWER)
    assert whole.headers["content-encoding"] == streamed.headers["content-encoding"] == coding
    assert streamed.body == b"".join(flush_events(coding))
    assert relay.episode.reply.body == ANSWER
    assert relay.episode.reply.headers == (("content-type", "application/json"),)
    frames = streaming.episode.reply.frames
    assert frames is not None
    assert [data for _, data in frames] == [HELLO, THERE, DONE]
    assert frames[0][0] < frames[1][0] < frames[2][0]
    assert streaming.episode.reply.headers == (("content-type", "text/event-stream"),)
    assert {up.asked().script, up.asked().script} == {coding, f"{coding}-stream"}


def test_a_coded_request_goes_on_as_it_came(up: Upstream) -> None:
    body = BODY
    with relaying(base(up, "plain")) as relay:
        received(relay, post(gzip.compress(body), "content-encoding: gzip"))
    asked = up.asked()
    assert asked.header("content-encoding") == "gzip"
    assert gzip.decompress(asked.body) == body
    assert relay.episode.request.body == body
    assert "content-encoding" not in dict(relay.episode.request.headers)


def test_a_body_is_relayed_byte_for_byte(up: Upstream) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "ünï \u2028"}]}, indent=3).encode()
    with relaying(base(up, "plain")) as relay:
        received(relay, post(body))
    assert up.asked().body == body == relay.episode.request.body
