"""The OpenAPI file says what the control API does, and a client generator accepts it.

Tests of the control API hold every JSON answer to the types that the file is made from: `tests/kit/control.py`.
"""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mockserver.server.control import ROUTES
from mockserver.testing import MockServer
from tests.kit.openapi import FILE, QUERY, SHAPES, check_answer, document, keys, routes

ROOT = Path(__file__).parents[2]


def test_every_view_is_described() -> None:
    assert {route.view for routes in ROUTES.values() for route in routes.values()} == set(SHAPES)
    assert [route.path for route in routes() if not route.words.endswith(".")] == []


def test_query_parameters_are_those_that_views_read() -> None:
    assert {name for route in routes() for name in route.query} == set(QUERY)


@pytest.mark.parametrize("route", list(routes()), ids=lambda route: route.id)
def test_bodies_have_the_keys_that_views_take(route: Any) -> None:
    taken = keys(route.view)
    if taken is not None:
        assert taken == {field.encode_name for field in msgspec.structs.fields(route.shape.body)}


def test_no_field_of_an_answer_is_made_up() -> None:
    control = ROOT / "mockserver/server"
    source = "".join(
        path.read_text() for path in [*control.glob("control/*.py"), *map(control.joinpath, ("explain.py", "fleet.py"))]
    )
    named = {name for schema in document()["components"]["schemas"].values() for name in schema.get("properties", {})}
    assert [name for name in sorted(named) if f'"{name}"' not in source and f"{name}:" not in source] == []


def test_an_answer_of_another_type_is_noticed() -> None:
    check_answer("GET", "/api/health", 200, {"status": "ok"})
    with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
        check_answer("GET", "/api/health", 200, {"status": "ok", "more": 1})
    with pytest.raises(msgspec.ValidationError, match="missing required field `calls`"):
        check_answer("GET", "/api/calls?compact=true", 200, {})


def _ask(operation: str, *args: Any, **more: Any) -> Any:
    return import_module(f"made_client.api.control.{operation}").sync(*args, **more)


def test_a_generated_client_talks_to_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("post_hooks: []\n")
    command = [str(Path(sys.executable).parent / "openapi-python-client"), "generate", "--path", str(FILE)]
    command += ["--meta", "none", "--output-path", str(tmp_path / "made_client"), "--config", str(config)]
    done = subprocess.run([*command, "--fail-on-warning"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    monkeypatch.syspath_prepend(str(tmp_path))
    made, models = import_module("made_client"), import_module("made_client.models")
    rule = models.Rule.from_dict({"name": "greeting", "when": {"last_user": "*hello*"}, "then": {"text": "Hi!"}})
    with MockServer() as server, made.Client(base_url=server.url) as client:
        added = _ask("post_rules", client=client, body=rule, namespace="test-7")
        assert added.names == ["greeting"]
        asked = server.client(base_url=f"{server.url}/ns/test-7/v1").chat.completions
        asked.create(model="gpt-4o", messages=[{"role": "user", "content": "hello"}])
        (call,) = _ask("get_calls", client=client, namespace="test-7", ended="complete").calls
        assert (call.source, call.usage.completion_tokens) == ("rule api greeting", 2)
        whole = _ask("get_calls_number", call.call, client=client)
        assert [finding.ok for finding in whole.findings] == [True]
        refused = _ask("delete_rules_name", "other", client=client, namespace="test-7")
        assert refused.error.startswith('there is no added rule "other"')
