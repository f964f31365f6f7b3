"""Paths: where things stand, and what an unknown one most likely meant."""

import pytest
from starlette.routing import compile_path

from mockserver.dialects import discover
from mockserver.server.routes import find, nearest, operation_at, owner, places

KNOWN = places(discover(), "openai")


def test_a_model_id_may_hold_slashes() -> None:
    found = find("/v1/models/accounts/fireworks/models/x", KNOWN)
    assert found is not None
    assert found[1] == {"model": "accounts/fireworks/models/x"}


def test_the_bare_paths_speak_the_default_dialect() -> None:
    found = find("/v1/chat/completions", places(discover(), "skytells"))
    assert found is not None
    assert found[0].dialect.name == "skytells"


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/v1/chat/completion", "POST /v1/chat/completions"),
        ("/chat/completions", "POST /v1/chat/completions"),
        ("/v1/modles", "GET /v1/models"),
        ("/azure/chat/complete", "POST /azure/chat/completions"),
        ("/zzz", None),
    ],
)
def test_the_nearest_path_is_named(path: str, near: str | None) -> None:
    assert nearest(near.split()[0] if near else "POST", path, KNOWN) == near


@pytest.mark.parametrize(
    ("path", "dialect"), [("/azure/nope", "azure"), ("/skytells", "skytells"), ("/v1/nope", "openai"), ("/", "openai")]
)
def test_an_unknown_path_belongs_to_the_dialect_in_front(path: str, dialect: str) -> None:
    assert owner(path, discover(), "openai").name == dialect


def test_the_straight_way_to_a_path_leads_where_the_first_place_stands_that_has_it() -> None:
    patterns = [(compile_path(place.path)[0], place.path) for place in KNOWN]
    fixed = dict.fromkeys(place.path for place in KNOWN if "{" not in place.path)
    assert len(fixed) > 40
    assert {path: next(where for pattern, where in patterns if pattern.match(path)) for path in fixed} == {
        path: path for path in fixed
    }


def test_the_operation_at_a_path() -> None:
    known = places(discover(), "openai")
    assert operation_at("POST", "/azure/chat/completions", known) == "chat"
    assert operation_at("HEAD", "/v1/models", known) == "models"
    assert operation_at("DELETE", "/v1/models", known) is None
    assert operation_at("GET", "/nowhere", known) is None
