import pytest

from mockserver.core.http import Frame
from mockserver.core.plan import Raw
from tests.kit.rules import respond, then_mistakes

TEXT = (("content-type", "text/plain; charset=utf-8"),)
JSON = (("content-type", "application/json"),)
EVENTS = (("content-type", "text/event-stream"),)

MADE = {
    "{raw: {body: hello}}": Raw(200, TEXT, b"hello"),
    "{raw: {body: '{{ last_user }} é'}}": Raw(200, TEXT, "{{ last_user }} é".encode()),
    "{raw: {status: 503, body: {a: [1]}}}": Raw(503, JSON, b'{"a":[1]}'),
    "{raw: {body: null}}": Raw(200, TEXT, b"null"),
    "{raw: {status: 204}}": Raw(204, TEXT),
    "{raw: {headers: {Content-Type: text/html, x-a: b}, body: <p>}}": Raw(
        200, (("content-type", "text/html"), ("x-a", "b")), b"<p>"
    ),
    '{raw: {frames: ["data: {\\n\\n", {a: 1}, 2]}}': Raw(
        200, EVENTS, frames=(b"data: {\n\n", Frame(b'{"a":1}'), Frame(b"2"))
    ),
    "{raw: {frames: []}}": Raw(200, EVENTS, frames=()),
}


@pytest.mark.parametrize(("then", "raw"), MADE.items())
def test_bytes_as_given(then, raw):
    assert respond(then).outcome == raw


BAD = {
    "{raw: hello}": '6: "raw" expects a table, not "hello"; write {status: 200, body: hello}',
    "{raw: {body: a, frames: [b]}}": '16: "body" and "frames" are two bodies; keep one',
    "{raw: {status: 42}}": '15: "status" expects at least 200, not 42',
    "{raw: {headers: {a: b, connection: close}}}": '35: the server writes "connection" itself; leave it out',
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_raw_replies_that_cannot_be(then, mistake):
    assert then_mistakes(then) == [mistake]
