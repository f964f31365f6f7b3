"""Every control path is known by name, says what it takes, and is bounded."""

from pathlib import Path
from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.server.control import ITEMS, VIEWS, Control
from tests.kit.watched import Watched, watched


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    return watched(tmp_path, "rules: [{name: hi, when: {last_user: hi}, then: {text: Hello}}]", max_body="10KB")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("call", "did you mean /__mockserver__/api/calls?"),
        ("calls/", "did you mean /__mockserver__/api/calls?"),
        ("rule", "did you mean /__mockserver__/api/rules?"),
        ("helth", "did you mean /__mockserver__/api/health?"),
        ("", "there are /api/health, /api/ready, /api/calls,"),
        ("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", "there are /api/health, /api/ready, /api/calls,"),
    ],
)
def test_an_unknown_path_is_told_the_nearest(server: Watched, path: str, hint: str) -> None:
    got = server.api(path)
    assert (got.status, hint in got.json["error"]) == (404, True), got.json


@pytest.mark.parametrize(("path", "views"), [(path, views) for path, views in VIEWS.items()])
def test_a_wrong_method_is_told_the_right_ones(server: Watched, path: str, views: object) -> None:
    got = server.api(path.removeprefix("/api/") if path != "/metrics" else "../metrics", method="PATCH")
    if path != "/metrics":
        assert (got.status, got.headers["allow"]) == (405, ", ".join(VIEWS[path]))
        assert got.json["error"].endswith("not PATCH")


def test_items_know_their_methods_too(server: Watched) -> None:
    for path in ITEMS:
        assert server.api(path.removeprefix("/api/") + "1", method="PUT").status == 405


def test_head_is_answered_like_get(server: Watched) -> None:
    assert server.api("health", method="HEAD").status == 200


def test_a_body_is_bounded(server: Watched) -> None:
    got = server.api("rules", b"x" * 10_001)
    assert (got.status, got.json["error"]) == (413, "The request body is larger than 10000 bytes.")


async def test_a_body_that_never_comes_gets_its_own_status(server: Watched) -> None:
    heads = list[int]()

    async def receive() -> Any:
        raise Failure("bad_parameter", "It took too long.", status=408)

    async def send(message: Any) -> None:
        heads.append(message.get("status", 0))

    scope = {"type": "http", "method": "POST", "path": "/api/rules", "query_string": b"", "headers": ()}
    await Control(server.live)(scope, receive, send)
    assert heads == [408, 0]


@pytest.mark.parametrize("path", ["state?namespace=", "rules?namespace=%0a", "calls?namespace=" + "x" * 101])
def test_a_namespace_that_may_not_be_is_refused(server: Watched, path: str) -> None:
    got = server.api(path)
    assert (got.status, got.json["error"].startswith("a namespace has 1 to 100 printable characters")) == (400, True)


def test_control_requests_stand_in_no_journal(server: Watched) -> None:
    server.get("health")
    server.api("nothing")
    assert server.calls() == []


def test_no_dialect_stands_in_the_way(tmp_path: Path) -> None:
    for dialect in ("azure", "azure_openai", "fireworks", "openai"):
        assert watched(tmp_path, dialect=dialect).get("health") == {"status": "ok"}


def test_slashes_too_many_do_not_matter(server: Watched) -> None:
    got = server.app.ask("//__mockserver__//api/health", method="GET", headers={"host": "127.0.0.1"})
    assert got.json == {"status": "ok"}
