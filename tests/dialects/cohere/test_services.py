"""Cohere, Jina and Voyage over real sockets: rules, errors, limits, faults, tokens, and where clients are led."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from mockserver.config.errors import ConfigError
from mockserver.core.json import try_parse
from mockserver.media.sound_files import Speech, write_wav
from mockserver.testing import MockServer
from tests.kit.local import Answered, local

Json = Any
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
RANKED = {"query": "Hello", "documents": ["a", "b", "c"], "model": "m"}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as started:
        yield started


@pytest.fixture(autouse=True)
def fresh(server: MockServer) -> None:
    server.reset()


def post(server: MockServer, path: str, body: Json, dialect: str = "cohere") -> httpx.Response:
    key = {"authorization": "Bearer k"}
    return httpx.post(server.base_url(dialect) + path, json=body, headers=key, trust_env=False, timeout=30)


@pytest.mark.parametrize(("dialect", "path"), [("cohere", "/v2/rerank"), ("jina", "/rerank"), ("voyage", "/rerank")])
def test_a_rule_ranks_for_all(server: MockServer, dialect: str, path: str) -> None:
    server.on("Hello").then({"rerank": {"order": [2, 1]}})
    answer = post(server, path, RANKED, dialect).json()
    assert [each["index"] for each in answer.get("results") or answer["data"]] == [2, 1, 0]
    assert [(call.dialect, call.operation) for call in server.calls] == [(dialect, "rerank")]


def test_a_bare_path_ranks_as_compatible_servers_do(server: MockServer) -> None:
    server.on("Hello").then({"rerank": [0.1, 0.9]})
    answer = httpx.post(f"{server.url}/v1/rerank", json={**RANKED, "top_n": 1}, trust_env=False).json()
    assert answer["results"] == [{"index": 1, "relevance_score": 0.9}]


def test_one_rule_answers_chats_of_cohere_and_openai(server: MockServer) -> None:
    server.on("Hello").reply("Hi!", reasoning="They greet.")
    content = post(server, "/v2/chat", CHAT).json()["message"]["content"]
    assert content == [{"type": "thinking", "thinking": "They greet."}, {"type": "text", "text": "Hi!"}]
    openai = httpx.post(f"{server.base_url()}/chat/completions", json=CHAT, trust_env=False).json()
    assert openai["choices"][0]["message"]["content"] == "Hi!"


ERRORS = {
    "rate_limit": (429, "You are using a Trial key"),
    "invalid_key": (401, "invalid api token"),
    "model_not_found": (404, "model '"),
    "content_filter": (498, "The request was blocked"),
    "server_error": (500, "internal server error"),
}


@pytest.mark.parametrize(("reason", "status", "message"), [(key, *value) for key, value in ERRORS.items()])
def test_errors(server: MockServer, reason: str, status: int, message: str) -> None:
    server.on("Hello").then({"error": reason})
    for path, body in (("/v2/chat", {**CHAT, "stream": True}), ("/v1/chat", {"message": "Hello"})):
        answer = post(server, path, body)
        assert answer.status_code == status
        assert answer.json()["message"].startswith(message)


@pytest.mark.parametrize("change", [str.upper, str.title, str.lower])
def test_roles_of_the_old_chat_in_capitals_or_not(server: MockServer, change: Callable[[str], str]) -> None:
    server.on(turn=1).reply("Hello again")
    turns = [{"role": change("user"), "message": "Hi"}, {"role": change("chatbot"), "message": "Hi there"}]
    assert post(server, "/v1/chat", {"message": "Hello", "chat_history": turns}).json()["text"] == "Hello again"


def test_the_old_chat_takes_a_number_of_generations() -> None:
    asked = {"message": "Hello", "num_generations": 1}
    assert local(validation="live").ask("/cohere/v1/chat", asked).status == 200


def test_results_need_no_message_in_the_old_chat(server: MockServer) -> None:
    server.on(tool_result={"exists": True}).reply("Mild")
    results = [{"call": {"name": "weather", "parameters": {}}, "outputs": [{"result": "21 degrees"}]}]
    assert post(server, "/v1/chat", {"tool_results": results}).json()["text"] == "Mild"
    assert post(server, "/v1/chat", {}).json()["message"] == "invalid request: message is required."


def test_a_stream_that_fails_ends_with_the_error(server: MockServer) -> None:
    server.on("Hello").then({"text": "One two three", "faults": [{"error_event": {"after_tokens": 2}}]})
    *_, last = post(server, "/v2/chat", {**CHAT, "stream": True}).text.removesuffix("\n\n").split("\n\n")
    name, data = last.split("\n")
    assert name == "event: message-end"
    ended = json.loads(data.removeprefix("data: "))["delta"]
    assert (ended["finish_reason"], ended["error"][:21]) == ("ERROR", "internal server error")
    *_, line = post(server, "/v1/chat", {"message": "Hello", "stream": True}).text.splitlines()
    assert (json.loads(line)["is_finished"], json.loads(line)["finish_reason"]) == (True, "ERROR")


def test_faults_of_usage_and_arguments(server: MockServer) -> None:
    server.on("Hello").then({"text": "One", "faults": ["drop_usage"]})
    *_, last, _ = post(server, "/v2/chat", {**CHAT, "stream": True}).text.removesuffix("\n\n").split("\n\n")
    assert "usage" not in last
    assert "usage" not in post(server, "/v2/chat", CHAT).json()
    server.reset()
    server.on("Hello").then({"tool_calls": [{"name": "f", "arguments": {"a": 1}}], "faults": ["bad_tool_arguments"]})
    (call,) = post(server, "/v2/chat", CHAT).json()["message"]["tool_calls"]
    assert try_parse(call["function"]["arguments"]) is None


def test_limits_are_told_in_cohere_s_headers() -> None:
    with MockServer(limits={"requests_per_minute": 1}, unmatched="generate") as limited:
        first, second = (post(limited, "/v2/chat", CHAT) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 429)
    assert first.headers["x-trial-endpoint-call-limit"] == "1"
    assert first.headers["x-trial-endpoint-call-remaining"] == "0"


def test_texts_survive_their_tokens(server: MockServer) -> None:
    text = "Hello wonderful wörld 天気 🌊\n  x"
    tokens = post(server, "/v1/tokenize", {"model": "m", "text": text}).json()
    assert "".join(tokens["token_strings"]) == text
    assert all(0 <= number < 2**53 for number in tokens["tokens"])
    assert post(server, "/v1/detokenize", {"model": "m", "tokens": tokens["tokens"]}).json()["text"] == text
    assert post(server, "/v1/tokenize", {"model": "m", "text": ""}).status_code == 400


def test_clients_are_led_here(server: MockServer) -> None:
    assert server.env["CO_API_URL"] == server.base_url("cohere") == f"{server.url}/cohere"
    assert server.env["JINA_AI_API_BASE"] == server.base_url("jina") == f"{server.url}/jina/v1"
    assert {server.env[name] for name in ("CO_API_KEY", "COHERE_API_KEY", "VOYAGE_API_KEY", "JINA_API_KEY")}
    with pytest.raises(ConfigError, match=r"use cohere: ClientV2\(base_url="):
        server.client("cohere")


def test_voyage_embeds_pictures_and_documents_in_chunks() -> None:
    def ask(path: str, **body: Json) -> Answered:
        return local().ask(f"/voyage/v1/{path}", {"model": "voyage-multimodal-3", **body})

    picture: Json = {"type": "image_url", "image_url": "https://a.example/dog.png"}
    inputs = [{"content": [picture]}, {"content": [{"type": "text", "text": "a dog"}, picture]}]
    shown = ask("multimodalembeddings", inputs=inputs).json
    assert [len(each["embedding"]) for each in shown["data"]] == [1024, 1024]
    assert shown["usage"].keys() == {"text_tokens", "image_pixels", "video_pixels", "total_tokens"}
    documents = ask("contextualizedembeddings", inputs=[["a", "b"], "c"], output_dimension=256).json["data"]
    assert [[len(each["embedding"]) for each in document["data"]] for document in documents] == [[256, 256], [256]]
    assert documents[1]["data"][0]["text"] == "c"
    assert ask("multimodalembeddings", inputs=[{"content": []}]).status == 400


def test_recordings_are_transcribed(server: MockServer) -> None:
    server.on(operation="transcriptions", last_user="The train*").then({"transcript": "Heard: {{ last_user }}"})
    answer = httpx.post(
        f"{server.base_url('cohere')}/v2/audio/transcriptions",
        data={"model": "cohere-transcribe-03-2026", "language": "en"},
        files={"file": ("a.wav", write_wav(Speech("The train leaves at noon.")))},
        headers={"authorization": "Bearer k"},
        trust_env=False,
    )
    assert answer.json() == {"text": "Heard: The train leaves at noon."}
