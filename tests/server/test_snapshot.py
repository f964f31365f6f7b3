"""From ASGI to a value."""

from collections.abc import Iterable
from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.server.snapshot import ClientLeftError, path_of, read_body, snapshot


def receiver(messages: Iterable[dict[str, Any]]) -> Any:
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    return receive


def request(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("messages", "body"),
    [
        ([request(b"abc")], b"abc"),
        ([request(b"ab", more=True), request(b"c")], b"abc"),
        ([request(b"", more=True), request(b"")], b""),
        ([{"type": "http.request"}], b""),
        ([request(b"12345678")], b"12345678"),
    ],
)
async def test_the_body_is_joined(messages: list[dict[str, Any]], body: bytes) -> None:
    assert await read_body(receiver(messages), 8) == body


@pytest.mark.parametrize(
    "messages",
    [
        [request(b"123456789")],
        [request(b"12345", more=True), request(b"6789")],
        [request(b"x" * 40, more=True), request(b"x" * 41, more=True)],  # not read to its end, which never comes
    ],
)
async def test_a_body_over_the_limit_is_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(Failure) as refused:
        await read_body(receiver(messages), 8)
    assert (refused.value.reason, refused.value.message) == ("too_large", "The request body is larger than 8 bytes.")


async def test_a_client_that_leaves_is_told_apart() -> None:
    with pytest.raises(ClientLeftError):
        await read_body(receiver([request(b"1", more=True), {"type": "http.disconnect"}]), 8)


def test_a_snapshot_keeps_what_the_wire_said() -> None:
    scope = {
        "method": "POST",
        "path": "/ns/mine/v1/chat/completions",
        "root_path": "/ns/mine",
        "query_string": b"a=1&b=%20x&empty=&a=2&c[]=1&c%5B%5D=2",
        "headers": ((b"x-one", b"1"), (b"x-one", b"2")),
        "path_params": {"namespace": "mine"},
    }
    http = snapshot(scope, b"{}", "mine")
    assert (http.method, http.path, http.namespace) == ("POST", "/v1/chat/completions", "mine")
    assert http.query == {"a": "2", "b": " x", "empty": "", "c[]": "1,2"}
    assert (http.header("X-One"), http.header("x-two")) == ("1", None)
    assert path_of({"path": "/a"}) == "/a"
