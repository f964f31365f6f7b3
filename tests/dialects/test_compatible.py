"""The dialect `compatible`: its table of hosts, hosts of the settings, what rules say of them, and what they show."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from mockserver.config.errors import ConfigError
from mockserver.config.hosts import HOST_NAMES
from mockserver.config.layers import assemble
from mockserver.config.source import read
from mockserver.core.plan import REASONS
from mockserver.dialects import discover, discover_all, list_hosts
from mockserver.dialects._clients import CLIENT_CONFIGS
from mockserver.dialects.compatible.errors import STYLES
from mockserver.dialects.compatible.hosts import HOSTS
from mockserver.server.recording.player import make_sent
from mockserver.server.recording.recorded_calls import parse_sent
from tests.dialects.features import FEATURES, PROMPT, rules
from tests.kit.local import Answered, Local, local

Json = Any
HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
THOUGHT = yaml.safe_dump({"rules": [{"then": {"reasoning": "Hm.", "text": "Hi!"}}]})


def ask(server: Local, path: str, **more: Json) -> Answered:
    return server.ask(path, {**HELLO, **more})


def test_the_names_in_settings_are_those_of_the_table() -> None:
    assert set(HOST_NAMES) == set(HOSTS) == set(STYLES) == set(list_hosts("compatible"))


@pytest.mark.parametrize("name", HOST_NAMES)
def test_clients_are_pointed_at_mounts(name: str) -> None:
    mounts = discover_all()[name].mounts
    assert mounts == CLIENT_CONFIGS[name].mounts
    assert {f"/{name}", f"/{name}/v1"} <= set(mounts)
    bases = [text.removeprefix("{address}") for text in CLIENT_CONFIGS[name].variables.values() if "{address}" in text]
    assert all(base in mounts for base in bases)


@pytest.mark.parametrize("name", HOST_NAMES)
def test_what_a_host_lacks_is_known(name: str) -> None:
    """So that its 404 offers a rule rather than the address of another provider."""
    dialect = discover_all()[name]
    served = {operation.path for operation in dialect.operations}
    for path in ("/completions", "/embeddings", "/responses", "/rerank"):
        assert (path in served) != (path in dialect.missing), path


@pytest.mark.parametrize("name", HOST_NAMES)
def test_every_host_has_words_for_every_reason(name: str) -> None:
    style = STYLES[name]
    assert all(style.rows[reason].status for reason in REASONS)
    assert REASONS.keys() <= style.table.messages.keys()


_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


@pytest.mark.parametrize(
    "asked",
    [
        {"response_format": {"type": "json_object", "schema": _SCHEMA}},  # Together, llama.cpp
        {"response_format": {"type": "json_schema", "schema": _SCHEMA}},
        {"response_format": {"type": "json_object", "value": _SCHEMA}},  # Hugging Face
        {"response_format": {"type": "json", "value": _SCHEMA}},
        {"structured_outputs": {"json": _SCHEMA}},  # vLLM
        {"structured_outputs": {"json": json.dumps(_SCHEMA)}},
        {"guided_json": _SCHEMA},  # vLLM before 0.12
    ],
)
def test_a_schema_in_the_place_of_a_host_is_followed(asked: Json) -> None:
    sent = {"model": "m", "messages": [{"role": "user", "content": "Jason Liu is 30 years old"}]}
    answer = local().ask("/vllm/chat/completions", {**sent, **asked})
    assert json.loads(answer.json["choices"][0]["message"]["content"]) == {"name": "Jason Liu", "age": 30}


def test_openrouter_shows_what_its_clients_require() -> None:
    answer = local().ask("/openrouter/responses", {"model": "m", "input": "Hello"}).json
    assert (answer["frequency_penalty"], answer["presence_penalty"]) == (0, 0)
    chunks = ask(local(), "/openrouter/chat/completions", stream=True).frames
    assert not any("system_fingerprint" in chunk for chunk in chunks)


def test_together_reads_how_many_alternatives_to_show() -> None:
    for asked, shown in ((2, 2), (1, 1), (True, 0)):
        answer = ask(local(), "/together/chat/completions", logprobs=asked).json
        assert {len(token["top_logprobs"]) for token in answer["choices"][0]["logprobs"]["content"]} == {shown}
    assert ask(local(), "/together/chat/completions", logprobs=0).json["choices"][0]["logprobs"] is None
    refused = ask(local(), "/together/chat/completions", logprobs="many")
    assert (refused.status, refused.json["error"]["param"]) == (400, "logprobs")
    assert "a boolean or integer" in refused.json["error"]["message"]
    assert ask(local(), "/deepseek/chat/completions", logprobs=1).status == 400


def test_groq_shows_what_it_could_not_read() -> None:
    rule = {"error": {"status": 400, "code": "tool_use_failed", "message": "Failed.", "data": "<function=f>"}}
    server = local(yaml.safe_dump({"rules": [{"then": rule}]}))
    told = {"message": "Failed.", "type": "invalid_request_error", "code": "tool_use_failed"}
    told["failed_generation"] = "<function=f>"
    whole = ask(server, "/groq/chat/completions")
    assert (whole.status, whole.json) == (400, {"error": told})
    streamed = ask(server, "/groq/chat/completions", stream=True)
    assert (streamed.status, streamed.frames) == (200, [{"error": {**told, "status_code": 400}}])
    assert streamed.body.startswith(b"event: error\n")


def test_texts_of_hosts_whose_clients_expect_another_shape() -> None:
    asked = {"model": "m", "prompt": "Hello", "max_tokens": 3}
    assert "system_fingerprint" in local().ask("/cerebras/completions", asked).json
    answer = local().ask("/together/completions", asked).json
    assert (answer["object"], answer["prompt"]) == ("text.completion", [])
    *chunks, done = local().ask("/together/completions", {**asked, "stream": True}).frames
    assert ({chunk["object"] for chunk in chunks}, done) == ({"completion.chunk"}, "[DONE]")


@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_stream_says_what_the_whole_answer_says(name: str) -> None:
    server, path = local(rules(), lint="off"), f"/{name}/chat/completions"
    for feature, asked in FEATURES.items():
        if not asked.only:
            body = {"model": feature, "messages": [{"role": "user", "content": PROMPT}], **asked.body}
            whole, streamed = server.ask(path, body), server.ask(path, {**body, "stream": True})
            if lacks(name, body):
                assert (whole.status, streamed.status) == (400, 400), feature
            else:
                assert (whole.status, streamed.status) == (200, 200), (feature, whole.body)
                say_the_same(whole, streamed)


def lacks(name: str, body: Json) -> bool:
    """Whether a host refuses what is asked."""
    if name == "groq":
        return body.get("n", 1) > 1 or body.get("logprobs") is True
    return name == "deepseek" and (body.get("response_format") or {}).get("type") == "json_schema"


def say_the_same(whole: Answered, streamed: Answered) -> None:
    said = {choice["index"]: say(choice["message"]) for choice in whole.json["choices"]}
    assert join(streamed.frames) == said
    usage = [chunk["usage"] for chunk in streamed.frames if chunk != "[DONE]" and chunk.get("usage")]
    assert not usage or usage[-1] == whole.json["usage"]


_SPOKEN = ("content", "refusal", "reasoning_content", "reasoning")


def say(message: Mapping[str, Json]) -> Json:
    calls = [call.get("function") or call.get("custom") for call in message.get("tool_calls") or ()]
    calls += [message["function_call"]] if message.get("function_call") else []
    return {key: message.get(key) or "" for key in _SPOKEN} | {"calls": calls}


def join(frames: list[Json]) -> dict[int, Json]:
    """The messages of a stream, by the index of their choice."""
    found: dict[int, Json] = {}
    for choice in (choice for chunk in frames if chunk != "[DONE]" for choice in chunk["choices"]):
        message = found.setdefault(choice["index"], {"calls": [], **dict.fromkeys(_SPOKEN, "")})
        delta = choice["delta"]
        for key in _SPOKEN:
            message[key] += delta.get(key) or ""
        pieces = [
            (piece["index"], piece.get("function") or piece.get("custom")) for piece in delta.get("tool_calls") or ()
        ]
        for at, piece in [*pieces, *([(0, delta["function_call"])] if delta.get("function_call") else [])]:
            if at == len(message["calls"]):
                message["calls"].append({})
            for key, text in piece.items():
                message["calls"][at][key] = message["calls"][at].get(key, "") + text
    return found


@pytest.mark.parametrize(
    ("when", "paths"),
    [
        ({}, ["/v1", "/groq", "/groq/openai/v1", "/vllm/v1"]),
        ({"dialect": "compatible"}, ["/groq", "/groq/openai/v1", "/vllm/v1"]),
        ({"host": "groq"}, ["/groq", "/groq/openai/v1"]),
        ({"host": ["groq", "vllm"]}, ["/groq", "/groq/openai/v1", "/vllm/v1"]),
        ({"host": {"exists": False}}, ["/v1"]),
        ({"path": "/openai/v1/chat/completions"}, ["/groq/openai/v1"]),
        ({"path": "/groq*"}, ["/groq", "/groq/openai/v1"]),
    ],
    ids=str,
)
def test_rules_for_hosts(when: Json, paths: list[str]) -> None:
    server = local(yaml.safe_dump({"rules": [{"when": when, "then": {"text": "Hi!"}}]}))
    places = ["/v1", "/groq", "/groq/openai/v1", "/vllm/v1"]
    found = [place for place in places if "rule" in (ask(server, f"{place}/chat/completions").source or "")]
    assert found == paths


def test_a_host_of_the_settings() -> None:
    acme = {"prefixes": ["/api/v2"], "reasoning": "thoughts", "role": "every", "usage": "last", "comment": "BUSY"}
    acme |= {"errors": "vllm", "statuses": {"rate_limit": 420}, "models": ["acme-1"], "extras": {"region": "eu"}}
    server = local(THOUGHT, hosts={"acme": acme})
    for front in ("/acme", "/acme/v1", "/acme/api/v2"):
        whole = ask(server, f"{front}/chat/completions").json
        assert whole["choices"][0]["message"]["thoughts"] == "Hm."
        assert whole["region"] == "eu"
    streamed = ask(server, "/acme/chat/completions", stream=True)
    assert streamed.body.startswith(b": BUSY\n\ndata: ")
    *chunks, usage, done = streamed.frames
    assert (usage["choices"], usage["usage"], done) == ([], whole["usage"], "[DONE]")
    assert all(chunk["choices"][0]["delta"]["role"] == "assistant" for chunk in chunks)
    assert "".join(chunk["choices"][0]["delta"].get("thoughts") or "" for chunk in chunks) == "Hm."
    listed = server.ask("/acme/models", method="GET").json["data"]
    assert [model["id"] for model in listed] == ["acme-1"]
    limited = local("rules: [{then: {error: rate_limit}}]", hosts={"acme": acme})
    refused = ask(limited, "/acme/chat/completions")
    assert (refused.status, refused.json["error"]["code"]) == (420, 420)


@pytest.mark.parametrize(
    ("reasoning", "content", "shown"),
    [("think", "<think>\nHm.\n</think>\n\nHi!", None), ("none", "Hi!", None), ("reasoning", "Hi!", "Hm.")],
)
@pytest.mark.parametrize("like", ["deepseek", "openrouter", "vllm"])
def test_where_reasoning_is(like: str, reasoning: str, content: str, shown: str | None) -> None:
    server = local(THOUGHT, hosts={"acme": {"like": like, "reasoning": reasoning}})
    message = ask(server, "/acme/chat/completions").json["choices"][0]["message"]
    assert message["content"] == content
    assert message.get("reasoning") == shown
    deltas = [
        choice["delta"]
        for chunk in ask(server, "/acme/chat/completions", stream=True).frames
        if chunk != "[DONE]"
        for choice in chunk["choices"]
    ]
    assert "".join(delta.get("content") or "" for delta in deltas) == content
    assert "".join(delta.get("reasoning") or "" for delta in deltas) == (shown or "")


@pytest.mark.parametrize("history", ["require", "refuse", "ignore"])
def test_histories_of_a_host_of_the_settings(history: str) -> None:
    server = local(hosts={"acme": {"history": history}}, replay="error")
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    made = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = {"role": "tool", "tool_call_id": "call_1", "content": "clear"}
    statuses = [
        ask(server, "/acme/chat/completions", messages=[*HELLO["messages"], {**made, **thought}, told]).status
        for thought in ({}, {"reasoning_content": ""})
    ]
    assert statuses == {"require": [400, 200], "refuse": [200, 400], "ignore": [200, 200]}[history]


def test_thinking_that_is_off_needs_no_reasoning() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    told = {"role": "tool", "tool_call_id": "call_1", "content": "clear"}
    messages = [*HELLO["messages"], {"role": "assistant", "tool_calls": [call]}, told]
    server = local(replay="error")
    asked = {"model": "deepseek-v4-flash", "messages": messages}
    assert ask(server, "/deepseek/chat/completions", **asked).status == 400
    assert ask(server, "/deepseek/chat/completions", **asked, thinking={"type": "disabled"}).status == 200


def test_a_built_in_host_can_be_changed() -> None:
    server = local(THOUGHT, hosts={"vllm": {"reasoning": "reasoning_content"}})
    message = ask(server, "/vllm/v1/chat/completions").json["choices"][0]["message"]
    assert message["reasoning_content"] == "Hm."
    assert "reasoning" not in message
    assert ask(local(THOUGHT), "/vllm/v1/chat/completions").json["choices"][0]["message"]["reasoning"] == "Hm."


def test_a_host_at_the_bare_paths() -> None:
    for settings in ({"dialect": "groq"}, {"dialect": "compatible", "hosts": {"compatible": {"like": "groq"}}}):
        message = ask(local(THOUGHT, **settings), "/v1/chat/completions").json["choices"][0]["message"]
        assert message["reasoning"] == "Hm."


def test_a_host_takes_no_path_of_another_dialect() -> None:
    others = [dialect for dialect in discover().values() if dialect.name != "compatible"]
    names = {name for each in others for name in (each.name, *(mount.split("/")[1] for mount in each.mounts))}
    names -= {*list_hosts("compatible")}  # Anthropic's clients reach one of these, too
    assert len(names) > 10
    for name in names:
        document = read(f"settings: {{hosts: {{{name}: {{}}}}}}".encode(), "rules.yaml")
        with pytest.raises(ConfigError, match="this name begins other paths of mockserver"):
            assemble({}, {}, (document,), dialects=discover_all())


WRONG = {
    "hosts: {acme: {like: grok}}": 'not "grok"; did you mean "groq"?',
    "hosts: {acme: {resoning: x}}": 'unknown setting "resoning"; did you mean "reasoning"?',
    "hosts: {Acme: {}}": "hosts.Acme: this name is part of a path; use lower-case letters, digits, - and _",
    "hosts: {openai: {}}": "hosts.openai: this name begins other paths of mockserver; choose another",
    "hosts: {acme: {prefixes: [api]}}": 'prefixes[0]: must be the start of a path, such as /api/v1, not "api"',
    "hosts: {acme: {statuses: {rate_limits: 420}}}": 'unknown error "rate_limits"; did you mean "rate_limit"?',
    "hosts: {acme: {statuses: {quota: 200}}}": "hosts.acme.statuses.quota must be at least 400, not 200",
    "hosts: {acme: {extras: {usage: 1}}}": "hosts.acme.extras.usage: every answer has this key; choose another",
    "upstream: {grok: 'https://api.example'}": 'not "grok"; did you mean "groq"?',
    "validation: {groq: live}": 'not "groq"',
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=WRONG)
def test_mistakes_in_settings(text: str, message: str) -> None:
    document = read(f"settings: {{{text}}}".encode(), "rules.yaml")
    with pytest.raises(ConfigError) as raised:
        assemble({}, {}, (document,), dialects=discover_all())
    assert str(raised.value).startswith("rules.yaml:1:")
    assert message in str(raised.value)


def test_the_upstream_of_a_host_of_the_settings() -> None:
    document = read(b"settings: {hosts: {acme: {}}}", "rules.yaml")
    settings = assemble({"upstream": "acme=https://acme.example/v1"}, {}, (document,), dialects=discover_all())
    assert settings.upstream == {"acme": "https://acme.example/v1"}


REMARK = "the answer has reasoning, which {} does not show in {}"
PLACES = {
    "/v1/chat/completions": "openai",
    "/azure-openai/openai/v1/chat/completions": "azure_openai",
    "/skytells/v1/chat/completions": "skytells",
    "/azure/chat/completions?api-version=2024-05-01-preview": None,
    "/crazyrouter/v1/chat/completions": None,
    "/fireworks/v1/chat/completions": None,
    "/tzafon/v1/chat/completions": None,
    **{f"/{name}/chat/completions": None for name in HOST_NAMES},
}


@pytest.mark.parametrize(("path", "lacking"), PLACES.items(), ids=PLACES)
def test_reasoning_that_a_dialect_does_not_show_gets_a_remark(path: str, lacking: str | None) -> None:
    (*remarks,) = ask(local(THOUGHT), path).remarks
    assert [remark.partition(": ")[2] for remark in remarks] == ([REMARK.format(lacking, "chat")] if lacking else [])


def test_reasoning_that_an_operation_does_not_show_gets_a_remark() -> None:
    server = local(THOUGHT)
    assert server.ask("/v1/responses", {"model": "m", "input": "Hello"}).remarks == ()
    (remark,) = server.ask("/v1/completions", {"model": "m", "prompt": "Hello"}).remarks
    assert remark.endswith(REMARK.format("openai", "completions"))
    assert local(THOUGHT, lint="off").ask("/v1/completions", {"model": "m", "prompt": "Hello"}).remarks == ()


def test_recordings_of_one_host_are_not_anothers() -> None:
    from mockserver.core.http import HttpRequest

    def parse(path: str, **hosts: Json) -> Any:
        settings = assemble({"hosts": hosts}, {}, (), dialects=discover_all())
        body, kind = json.dumps(HELLO).encode(), ((b"content-type", b"application/json"),)
        return parse_sent("compatible", make_sent(HttpRequest("POST", path, headers=kind, body=body)), settings.hosts)

    groq, again, vllm = (parse(f"{front}/chat/completions") for front in ("/groq/openai/v1", "/groq", "/vllm/v1"))
    assert groq.fingerprint == again.fingerprint != vllm.fingerprint
    assert [groq.label, vllm.label] == ["groq", "vllm"]
    assert parse("/acme/chat/completions") is None
    assert parse("/acme/chat/completions", acme={}).label == "acme"


RANKED = {"model": "m", "query": "The sea", "documents": ["A street", {"text": "The quiet sea"}]}
RANKING = local("{rules: [{when: {operation: rerank}, then: {rerank: [0.2, 0.9]}}]}")


@pytest.mark.parametrize("path", ["/vllm/rerank", "/vllm/v1/rerank", "/vllm/v2/rerank"])
def test_vllm_ranks_at_the_paths_of_jina_and_cohere(path: str) -> None:
    found = RANKING.ask(path, RANKED).json
    first, second = found["results"]
    assert list(found) == ["id", "model", "usage", "results"]
    assert first == {"index": 1, "relevance_score": 0.9, "document": {"text": "The quiet sea", "multi_modal": None}}
    assert second["index"] == 0
    assert [len(RANKING.ask(path, {**RANKED, "top_n": top}).json["results"]) for top in (0, 1)] == [2, 1]


@pytest.mark.parametrize(
    ("more", "document"),
    [({}, {}), ({"return_documents": True, "rank_fields": ["text"]}, {"text": '{"text":"The quiet sea"}'})],
)
def test_together_shows_documents_that_are_wanted(more: Json, document: Json) -> None:
    found = RANKING.ask("/together/v1/rerank", {**RANKED, **more, "top_n": 1}).json
    assert (found["object"], found["usage"]["completion_tokens"]) == ("rerank", 0)
    assert found["results"] == [{"index": 1, "relevance_score": 0.9, "document": document}]


def test_openrouter_tells_who_has_ranked() -> None:
    found = RANKING.ask("/openrouter/api/v1/rerank", {**RANKED, "model": "cohere/rerank-v3.5", "top_n": 1}).json
    assert (found["provider"], found["usage"]["search_units"]) == ("Cohere", 1)
    assert found["results"] == [{"index": 1, "relevance_score": 0.9, "document": {"text": "The quiet sea"}}]


@pytest.mark.parametrize("path", ["/vllm/rerank", "/together/v1/rerank", "/openrouter/api/v1/rerank"])
def test_a_host_refuses_to_rank_nothing(path: str) -> None:
    answered = RANKING.ask(path, {**RANKED, "documents": []})
    assert (answered.status, "documents" in json.dumps(answered.json["error"])) == (400, True)


def test_only_some_hosts_rank() -> None:
    hosts = list_hosts("compatible")
    ranking = [name for name, host in hosts.items() if any(each.name == "rerank" for each in host.operations)]
    assert sorted(ranking) == ["openrouter", "together", "vllm"]
    assert [name for name, host in hosts.items() if "/rerank" not in host.missing] == ranking


@pytest.mark.parametrize("name", [name for name, host in HOSTS.items() if "responses" in host.operations])
def test_responses_of_hosts(name: str) -> None:
    server = local("rules: [{when: {host: " + name + "}, then: {text: Hi!}}]")
    whole = server.ask(f"/{name}/responses", {"model": "m", "input": "Hello"})
    assert whole.json["output"][0]["content"][0]["text"] == "Hi!"
    streamed = server.ask(f"/{name}/v1/responses", {"model": "m", "input": "Hello", "stream": True})
    assert streamed.frames[-1]["response"]["output"] == whole.json["output"]
    refused = server.ask(f"/{name}/responses", {"model": "m", "input": 5})
    asked = server.ask(f"/{name}/chat/completions", {"model": "m", "messages": 5})
    assert (refused.status, refused.json.keys()) == (400, asked.json.keys())
