"""The 404 of a path that people guess says where that stands which they look for there."""

import pytest

from mockserver.dialects import discover_all
from mockserver.server.app import Site
from mockserver.server.control import ROUTES
from mockserver.server.landmarks import PLACES, SEE_HOME, find_first_below, write_landmark
from mockserver.server.routes import drop_dialect_segment, find_routes
from tests.kit.asgi import App
from tests.kit.local import local

ENDPOINTS = find_routes("openai").endpoints


def test_every_place_is_there() -> None:
    assert set(PLACES) - {"/"} <= set(ROUTES)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/metrics", "Did you mean /__mockserver__/metrics?"),
        ("/v1/Metrics", "Did you mean /__mockserver__/metrics?"),
        ("/healthz", "Did you mean /health?"),
        ("/api/health", "Did you mean /health?"),
        ("/anthropic/health", "Did you mean /health?"),
        ("/requests", "Did you mean /__mockserver__/api/calls?namespace=a%20b"),
        ("/ui", "The inspector is at /__mockserver__/."),
        ("/docs", SEE_HOME),
        ("/openapi.json", SEE_HOME),
        ("/ns", "The name of a namespace is missing: /ns/NAME."),
        ("/v1", "Requests go below it, as POST /v1/chat/completions does."),
        ("/anthropic", "Requests go below it, as POST /anthropic/v1/messages does."),
        ("/gemini/v1", "Requests go below it, as POST /gemini/v1beta/models/{model}:generateContent does."),
        ("/azure", "Requests go below it, as POST /azure/chat/completions does."),
        ("/azure-openai/openai/deployments/d", "POST /azure-openai/openai/deployments/{deployment}/chat/completions"),
    ],
)
def test_a_guess_is_told_the_place(path: str, told: str) -> None:
    assert told in str(write_landmark(path, "a b", endpoints=ENDPOINTS, has_inspector=True))


@pytest.mark.parametrize(
    "path", ["/v1/chat", "/v2", "/gemini/v2", "/repos/a/metrics", "/v1/chat/metrics", "/mcp/health"]
)
def test_other_paths_are_no_guesses(path: str) -> None:
    assert write_landmark(path, "default", endpoints=ENDPOINTS, has_inspector=True) is None


@pytest.mark.parametrize("dialect", discover_all())
def test_every_base_url_says_what_goes_below_it(dialect: str) -> None:
    for mount in discover_all()[dialect].mounts:
        assert str(find_first_below(mount, ENDPOINTS)).startswith(f"POST {mount}/")
    own = find_routes(dialect).endpoints
    for mount in filter(None, map(drop_dialect_segment, discover_all()[dialect].mounts)):
        assert str(find_first_below(mount, own)).startswith(f"POST {mount}/")


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("GET", "/metrics", "Did you mean /__mockserver__/metrics?"),
        ("POST", "/ns/ada/reset", "Did you mean /__mockserver__/api/reset?namespace=ada?"),
        ("POST", "/openai/v1/", f"Requests go below it, as POST /openai/v1/chat/completions does. {SEE_HOME}"),
        ("GET", "/nowhere", f"A rule with this path can answer it. {SEE_HOME}"),
    ],
)
def test_the_404_tells_it(method: str, path: str, told: str) -> None:
    got = App(Site(local().live)).ask(path, method=method)
    assert (got.status, got.json["error"]["message"].endswith(f". {told}")) == (404, True), got.json


def test_a_client_of_another_provider_is_told_in_its_own_words() -> None:
    got = App(Site(local().live)).ask("/v1/model/anthropic.claude-v2/converse", {})
    assert (got.status, got.headers["x-amzn-errortype"].partition(":")[0]) == (404, "UnknownOperationException")
    assert got.json["message"].endswith(". Did you mean POST /bedrock/model/{model}/converse?")
    got = App(Site(local().live)).ask("/openai/v1/messages", {})
    assert got.json["error"]["message"] == "Not found. Did you mean POST /anthropic/v1/messages?"


def test_a_method_that_only_another_provider_takes_there_is_told_so() -> None:
    got = App(Site(local().live)).ask("/v1/models/gemini-2.5-flash:generateContent", {})
    assert (got.status, got.headers["allow"]) == (405, "GET, DELETE")
    assert got.json["error"]["message"].endswith(". Did you mean POST /gemini/v1beta/models/{model}:generateContent?")
    got = App(Site(local().live)).ask("/v1/models", {})
    assert got.json["error"]["message"] == "Not allowed to POST on /v1/models."


def test_load_generators_find_the_health_of_a_model_server() -> None:
    server = local()
    got = App(Site(server.live)).ask("/health", method="GET")
    assert (got.status, got.json) == (200, {"status": "ok"})
    assert App(Site(server.live)).ask("/health", method="HEAD").status == 200
    guarded = App(Site(local("settings: {keys: [sk-one]}").live))
    asked = ("/health", "/vllm/health", "/vllm/ping", "/vllm/version")
    assert [guarded.ask(path, method="GET").status for path in asked] == [200, 200, 200, 401]


def test_a_rule_answers_a_guessed_path() -> None:
    got = App(Site(local("rules: [{when: {path: /health}, then: {json: fine}}]").live)).ask("/health", method="GET")
    assert (got.status, got.json) == (200, "fine")


def test_the_404_does_not_lead_to_an_inspector_that_is_off() -> None:
    got = App(Site(local("settings: {inspector: false}").live)).ask("/ui", method="GET")
    assert got.json["error"]["message"].endswith(". The inspector is off: start the server with --inspector.")
