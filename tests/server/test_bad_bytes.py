"""Bad input over a real socket: the dialect's own 4xx arrives whole, and the server lives on."""

from collections.abc import Iterator

import pytest

from tests.dialects.features import URLS
from tests.dialects.invariants import has_shape
from tests.kit.raw import HI, Raw, chunked, post
from tests.kit.served import Served, served

LIMIT = 300_000


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(f"version: 1\nsettings: {{max_body: {LIMIT}}}\n") as running:
        yield running


@pytest.fixture
def line(server: Served) -> Iterator[Raw]:
    with Raw(server.port) as connection:
        yield connection


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (HI[:-1] + b',"temperature":NaN}', 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b" " * LIMIT * 9, 413),
    ],
    ids=["nothing", "NaN", "depth", "far over the limit"],
)
def test_a_bad_body(line: Raw, dialect: str, body: bytes, status: int) -> None:
    heard = line.send(post(body, path=URLS[dialect])).hear()
    assert heard.status == (422 if (status, dialect) == (400, "fireworks") else status)
    assert (heard.headers["content-type"], heard.headers["x-mockserver-source"]) == ("application/json", "invalid")
    has_shape(heard.json, dialect, "error")


@pytest.mark.parametrize(("spaces", "status"), [(7, 413), (5, 200)])
def test_a_body_in_chunks_has_the_same_limit(line: Raw, spaces: int, status: int) -> None:
    body = chunked(*[b" " * 50_000] * spaces, HI)
    assert line.send(post(body, "transfer-encoding: chunked")).hear().status == status


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ns/%F0%9F%8C%8A/v1//chat/completions?x=%ff&&=", 200),
        ("/v1/%00%0d%0aset-cookie:%20x", 404),
        ("/v1/%ff%fe", 404),
        ("/v1/chat/completion?" + "x" * 15_000, 404),
        ("/v1/models", 405),
    ],
)
def test_an_odd_path(line: Raw, path: str, status: int) -> None:
    heard = line.send(post(HI, path=path)).hear()
    assert heard.status == status
    assert "set-cookie" not in heard.headers
    assert heard.headers.get("allow") == ("GET" if status == 405 else None)


def test_a_refusal_keeps_the_connection(line: Raw) -> None:
    assert [heard.status for heard in (line.send(post(b"{") + post(HI)).hear(), line.hear())] == [400, 200]
