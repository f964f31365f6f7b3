"""What could be read in two ways is refused as JSON, on fresh and on used connections, and what follows is not read."""

from collections.abc import Iterator

import pytest

from tests.kit.raw import HI, Raw, post
from tests.kit.served import Served, served
from tests.safety.catalogue import CHUNKS, HEADS, SMUGGLED


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(params=["fresh", "used"])
def line(request: pytest.FixtureRequest, server: Served) -> Iterator[Raw]:
    with Raw(server.port) as connection:
        if request.param == "used":
            assert connection.is_open()
            assert connection.send(post(HI)).hear().status == 200
        yield connection


def check_refused(line: Raw, status: int) -> None:
    heard = line.hear()
    assert (heard.status, heard.headers["content-type"]) == (status, "application/json")
    assert heard.headers["connection"] == "close"
    assert set(heard.json["error"]) == {"message", "type", "param", "code"}
    assert line.rest() == b""


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_refused(name: str, line: Raw) -> None:
    sent, status = HEADS[name]
    line.send(sent + SMUGGLED)
    check_refused(line, status)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_refused_however_it_is_cut(name: str, server: Served) -> None:
    sent, status = HEADS[name]
    with Raw(server.port) as line:
        for at in range(min(len(sent), 150)):
            try:
                line.send(sent[at : at + 1])
            except OSError:  # it was refused before its end, and that is well
                break
        else:
            line.send(sent[150:] + SMUGGLED)
        check_refused(line, status)


@pytest.mark.parametrize("name", CHUNKS)
def test_a_chunked_body_is_refused(name: str, line: Raw) -> None:
    line.send(post(CHUNKS[name], "transfer-encoding: chunked") + SMUGGLED)
    check_refused(line, 400)


def test_chunks_beyond_number_are_refused(line: Raw) -> None:
    line.send(post(b"1\r\n \r\n" * 200_001, "transfer-encoding: chunked"))
    check_refused(line, 400)
