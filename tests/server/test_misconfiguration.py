"""Which answers tell how the provider was asked, and not what."""

import pytest

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import HttpRequest
from mockserver.server.recorder import misconfiguration

KEPT = {
    "an answer": (200, "{}"),
    "a limit": (429, '{"error": {"message": "slow down"}}'),
    "a broken server": (502, "<h1>502</h1>"),
    "a request that is refused": (400, '{"error": {"message": "no such role"}}'),
    "a model of OpenAI": (404, '{"error": {"message": "The model `gpt-9` does not exist", "code": "model_not_found"}}'),
    "a model of Ollama": (404, '{"error": {"message": "model \\"x\\" not found, try pulling it first"}}'),
    "a model by its code": (404, '{"error": {"code": "model_not_found"}}'),
    "a deployment": (404, '{"error": {"code": "DeploymentNotFound", "message": "If you created the deployment ..."}}'),
    "a response": (404, '{"error": {"message": "Response with id \'resp_1\' not found.", "code": null}}'),
    "a response of Tzafon": (404, '{"error": {"message": "Not found", "param": "response_id", "code": 404}}'),
    "a model of Gemini": (404, '[{"error": {"code": 404, "message": "models/x is not found for API version v1"}}]'),
    "a model of OpenRouter": (404, '{"error": {"message": "No endpoints found for lab/x.", "code": 404}}'),
}
ASTRAY = {
    "a path of OpenAI": '{"error": {"message": "Invalid URL (POST /chat/completions)", "code": null}}',
    "a list of models": '{"error": {"message": "Invalid URL (GET /models)", "code": null}}',
    "a path of Azure": '{"error": {"code": "404", "message": "Resource not found"}}',
    "a path with deployments": '{"error": {"message": "no route /openai/deployments/lab/x"}}',
    "a path of Kong": '{"message": "no Route matched with those values", "request_id": "1f3a"}',
    "a path of Anthropic": '{"error": {"type": "not_found_error", "message": "Not Found"}, "request_id": "req_1"}',
    "a path of Azure's inference": '{"error": "The route is not valid for the deployed model"}',
    "an error with an id": '{"id": "e7", "error": "Not Found"}',
    "a path of vLLM": '{"detail": "Not Found"}',
    "a path of nginx": '<html id="model"><h1>404 Not Found</h1></html>',
    "a path of Go": "404 page not found",
    "nothing": "",
}


def call(dialect: str, model: str = "lab/x") -> Call:
    return Call(dialect, "chat", model, HttpRequest("POST", "/v1/chat/completions"), meaning={})


@pytest.mark.parametrize("name", KEPT)
def test_what_answers_what_was_asked(name: str) -> None:
    status, body = KEPT[name]
    assert (
        misconfiguration(Recorded(status, (), body.encode()), call("openai", "x" if "lab" not in body else "lab/x"))
        is None
    )


@pytest.mark.parametrize("name", ASTRAY)
def test_a_wrong_address(name: str) -> None:
    assert misconfiguration(Recorded(404, (), ASTRAY[name].encode()), call("azure_openai")) == (
        "404: the URL in --upstream azure_openai=URL looks wrong (is /v1 missing?) (--record-errors records it too)"
    )


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key(status: int) -> None:
    assert misconfiguration(
        Recorded(status, (), b'{"error": {"message": "no model for this key"}}'), call("azure_openai")
    ) == (
        f"{status}: the upstream rejected the API key; give the client a valid one, or set "
        "MOCKSERVER_UPSTREAM_KEY_AZURE_OPENAI (--record-errors records it too)"
    )
