"""What Anthropic would refuse and this server lets through: with `off`, and what betas bring that it does not know."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.validation import Validation
from tests.dialects.conftest import Speaker
from tests.kit.local import Answered, Local, local

Json = Any
ROOT = "/anthropic/v1"
USUAL = {"model": "claude-opus-5-5", "max_tokens": 10, "messages": [{"role": "user", "content": "Hello"}]}
NEW = {"anthropic-version": "2026-10-21"}
RULE = "rules: [{when: {operation: chat}, then: {text: Hi}}]"

# What coding agents send with betas that the official client does not name, and where it stands.
BETAS = {
    "field": ({"later": 1}, "later"),
    "block's field": ({"system": [{"type": "text", "text": "a", "later": 1}]}, "system.0.later"),
    "message's field": (
        {"messages": [*USUAL["messages"], {"role": "user", "content": "a", "later": 1}]},
        "messages.1.later",
    ),
    "tool's field": (
        {"tools": [{"name": "a", "input_schema": {"type": "object"}, "later": 1}]},
        "tools.0.custom.later",
    ),
    "block": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "later"}]}]},
        "messages.0.content.1",
    ),
    "source": (
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "later"}}]}]},
        "messages.0.content.0.image.source",
    ),
    "thinking": ({"thinking": {"type": "later", "depth": 3}}, "thinking"),
    "word": ({"output_config": {"effort": "later"}}, "output_config.effort"),
    "caching": ({"cache_control": {"type": "ephemeral", "ttl": "9h"}}, "cache_control.ephemeral.ttl"),
    "tool without a name": ({"tools": [{"type": "later"}]}, "tools.0"),
    "choice of tools": ({"tool_choice": {"type": "later"}}, "tool_choice"),
}


def ask(body: Json, *betas: str, path: str = "messages", rules: str = RULE, **settings: Json) -> Answered:
    headers = {**NEW, **({"anthropic-beta": ", ".join(betas)} if betas else {})}
    return local(rules, **settings).ask(f"{ROOT}/{path}", {**USUAL, **body}, headers=headers)


def results(server: Local, batch: str) -> list[Json]:
    path = f"{ROOT}/messages/batches/{batch}"
    assert server.ask(path, b"", method="GET").json["processing_status"] == "ended"
    return [json.loads(line) for line in server.ask(f"{path}/results", b"", method="GET").body.splitlines()]


@pytest.mark.parametrize("name", BETAS)
def test_an_unknown_beta_brings_what_is_unknown(name: str) -> None:
    body, place = BETAS[name]
    assert ask(body).status == 400
    assert ask(body, "context-1m-2025-08-07").status == 400
    answered = ask(body, "context-1m-2025-08-07", "later-2027-01-01")
    assert (answered.status, answered.json["content"][0]["text"]) == (200, "Hi")
    said = "anthropic-beta names later-2027-01-01, which this server does not know; unknown fields were accepted"
    assert answered.remarks == (f"{said}: {place}",)
    assert ask(body, "later-2027-01-01", lint="off").remarks == ()


@pytest.mark.parametrize(
    "body", [{"max_tokens": "9"}, {"messages": []}, {"later": 1, "max_tokens": None}, {"messages": [{"role": "user"}]}]
)
def test_an_unknown_beta_brings_nothing_else(body: Json) -> None:
    refused, told = ask(body, "later-2027-01-01"), ask({key: body[key] for key in body if key != "later"})
    assert refused.json["error"]["message"] == told.json["error"]["message"]


def test_rules_see_what_was_let_through_and_it_tells_requests_apart() -> None:
    rule = "rules: [{when: {body: later.depth}, then: {text: Seen}}]"
    assert ask({"later": {"depth": 3}}, "later-2027-01-01", rules=rule).json["content"][0]["text"] == "Seen"
    ids = [ask({"later": depth}, "later-2027-01-01", rules="").json["id"] for depth in (1, 2)]
    assert ids[0] != ids[1]


def test_unknown_betas_of_batches_and_token_counts() -> None:
    counted = {key: USUAL[key] for key in ("model", "messages")}
    server, headers = local(), {**NEW, "anthropic-beta": "later-2027-01-01"}
    count = server.ask(f"{ROOT}/messages/count_tokens", {**counted, "later": 1}, headers=headers)
    assert (count.status, len(count.remarks)) == (200, 1)
    requests = [{"custom_id": name, "params": {**USUAL, "later": 1}} for name in "ab"]
    made = server.ask(f"{ROOT}/messages/batches", {"requests": requests}, headers=headers)
    assert (made.status, len(made.remarks)) == (200, 1)
    assert [each["result"]["type"] for each in results(server, made.json["id"])] == ["succeeded", "succeeded"]


# What coding agents really send, with and without the betas that they name for it.
AGENT_REQUESTS = {
    "effort of a system message": (
        {"messages": [*USUAL["messages"], {"role": "system", "content": "x", "output_config": {"effort": "medium"}}]},
        "per-turn-control-2026-07-01",
    ),
    "system message that only configures": (
        {"messages": [*USUAL["messages"], {"role": "system", "output_config": {"effort": "low"}}]},
        "mid-conversation-output-config-2026-07-01",
    ),
    "system message in mid-conversation": (
        {
            "messages": [
                *USUAL["messages"],
                {"role": "assistant", "content": "Yes?"},
                {"role": "system", "content": [{"type": "text", "text": "9 left"}], "clear_at": "next_user_message"},
                *USUAL["messages"],
            ]
        },
        "mid-conversation-system-2026-04-07",
    ),
    "no safeguards": ({"safeguards": []}, "dangerous-tool-use-2026-09-03"),
    "safeguards": (
        {"safeguards": [{"type": "dangerous_tool_use", "classifier_context": {"cwd": "/"}}]},
        "dangerous-tool-use-2026-09-03",
    ),
    "scope of caching": (
        {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "scope": "global"}}]},
        "prompt-caching-scope-2026-01-05",
    ),
    "budget of a task": (
        {"output_config": {"task_budget": {"type": "tokens", "total": 20000}}},
        "task-budgets-2026-03-13",
    ),
}


@pytest.mark.parametrize("name", AGENT_REQUESTS)
def test_coding_agents_are_answered(name: str) -> None:
    body, beta = AGENT_REQUESTS[name]
    thinking = {"thinking": {"type": "adaptive"}}
    for more in ({}, {"model": "claude-fable-5-1"}, {"model": "claude-fable-5-1", **thinking}):
        for betas in ((), (beta,)):
            answered = ask({**body, **more}, *betas)
            assert (answered.status, answered.remarks) == (200, ()), answered.body
            assert ask({**body, **more}, *betas, rules="").status == 200


@pytest.mark.parametrize("name", AGENT_REQUESTS)
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1", "claude-fable-6"])
def test_thoughts_stand_among_what_coding_agents_send(name: str, model: str) -> None:
    """The answer has a thought, comes back, and is answered again."""
    body, beta = AGENT_REQUESTS[name]
    rule = "rules: [{then: {reasoning: Hm., text: Hi}}]"
    first = {**USUAL, "model": model, "thinking": {"type": "adaptive"}, **body}
    answered = ask(first, beta, rules=rule)
    assert (answered.status, answered.json["content"][0]["type"]) == (200, "thinking"), answered.body
    back = {"role": "assistant", "content": answered.json["content"]}
    messages = [*first["messages"], back, *USUAL["messages"]]
    again = ask({**first, "messages": messages}, beta, rules=rule)
    assert (again.status, again.remarks) == (200, ()), again.body


def test_the_latest_effort_counts() -> None:
    later = [*USUAL["messages"], {"role": "system", "content": "x", "output_config": {"effort": "low"}}]
    body = {**USUAL, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
    asked = (Speaker("anthropic").parse({**body, "messages": each}) for each in (later, later[:1]))
    assert [call.options.effort for call in asked] == ["low", "high"]


# Wrong in as many ways as there are; what is right in each is read.
WRONG = [
    {"max_tokens": None},
    {"max_tokens": "many"},
    {"later": {"depth": 3}},
    {"system": [{"type": "later"}, {"type": "text", "text": "Be kind."}]},
    {"system": 5},
    {"tools": [{"type": "openrouter:web_search"}, {"name": "a b"}, {"name": "a", "input_schema": {"type": "object"}}]},
    {"tools": [{"name": "a", "input_schema": {"type": "object"}}] * 2},
    {"tool_choice": {"type": "tool", "name": "nope"}},
    {"tool_choice": {"type": "any"}},
    {"thinking": {"type": "enabled", "budget_tokens": 5}},
    {"thinking": {"type": "enabled", "budget_tokens": 99999}, "top_k": 3},
    {"temperature": 99, "top_p": "x"},
    {"stop_sequences": [" ", 5, "stop"]},
    {"metadata": {"user_id": 5, "session": "s"}},
    {"output_config": {"effort": "huge", "format": {"type": "json_schema"}}},
    {"thread": {"type": "later"}, "container": 5, "context_management": []},
    {
        "messages": [
            {"role": "user", "content": [{"type": "video_url", "video_url": {}}, {"type": "text", "text": "Hello"}]}
        ]
    },
    {"messages": [{"role": "tool", "content": "x"}, {"role": "user", "content": "Hello", "name": "Ann"}]},
    {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t9"}, {"type": "text", "text": "Hello"}],
            }
        ]
    },
    {
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "!", "name": "a"}]},
        ]
    },
]


@pytest.mark.parametrize("body", WRONG)
def test_off_reads_what_can_be_read(body: Json) -> None:
    rule = "rules: [{when: {last_user: Hello}, then: {text: Hi}}]"
    answered = ask(body, rules=rule, validation="off")
    assert (answered.status, answered.json["content"][0]["text"]) == (200, "Hi"), answered.body
    assert ask(body, rules="", validation="off").status == 200
    counted = {key: value for key, value in body.items() if key in ("messages", "tools", "system", "later", "thinking")}
    assert ask(counted, path="messages/count_tokens", rules="", validation="off").json["input_tokens"] > 0


@pytest.mark.parametrize(
    "body", [{}, {"model": "m"}, {"messages": USUAL["messages"]}, [], {"model": 5, "messages": []}]
)
def test_off_needs_a_model_and_messages(body: Json) -> None:
    for path in ("messages", "messages/count_tokens"):
        assert local(validation="off").ask(f"{ROOT}/{path}", body).status == 400


def test_off_for_batches() -> None:
    server = local(validation="off")
    params = {"model": "m", "messages": USUAL["messages"], "stream": True, "later": 1}
    requests = [
        {"custom_id": "a", "params": params},
        {"custom_id": "a", "params": {**params, "max_tokens": "x"}},
        {"custom_id": "any id", "params": params},
        {"custom_id": 7, "params": params},
        {"custom_id": "b", "params": {"model": "m"}},
    ]
    made = server.ask(f"{ROOT}/messages/batches", {"requests": requests, "later": 1})
    assert made.status == 200, made.body
    told = results(server, made.json["id"])
    assert [(each["custom_id"], each["result"]["type"]) for each in told] == [
        ("a", "succeeded"),
        ("a", "succeeded"),
        ("any id", "succeeded"),
        ("b", "errored"),
    ]


def test_off_for_text_completions() -> None:
    body = {"model": "m", "prompt": "Hello", "max_tokens_to_sample": "x", "stop_sequences": [" ", 3], "later": 1}
    assert local().ask(f"{ROOT}/complete", body).status == 400
    assert local(validation="off").ask(f"{ROOT}/complete", body).json["completion"]
    assert local(validation="off").ask(f"{ROOT}/complete", {"model": "m"}).status == 400


def test_off_for_files() -> None:
    part = b'--x\r\ncontent-disposition: form-data; name="%b"\r\n\r\n%b\r\n'
    body = part % (b"file", b"hello") + part % (b"expires_in_seconds", b"soon") + b"--x--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    assert local().ask(f"{ROOT}/files", body, headers=headers).status == 400
    assert local(validation="off").ask(f"{ROOT}/files", body, headers=headers).json["size_bytes"] == 5
    assert local(validation="off").ask(f"{ROOT}/files", b"", headers=headers).status == 400


HI = Message("user", "Hi")
# Turns in forms that chats have and Anthropic has not, and how they are read.
FORMS: dict[str, tuple[Json, list[Message]]] = {
    "a text for a list": ("Hi", [HI]),
    "no role": ([{"content": "Hi"}], [HI]),
    "a role of its own": ([{"role": "critic", "content": "Hi"}], [HI]),
    "a developer": ([{"role": "developer", "content": "Be brief."}], [Message("system", "Be brief.")]),
    "one block for a list": ([{"role": "user", "content": {"type": "text", "text": "Hi"}}], [HI]),
    "texts for blocks": ([{"role": "user", "content": ["H", "i"]}], [HI]),
    "texts as Responses have them": ([{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], [HI]),
    "an image": (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}]}],
        [Message("user", "", ({"type": "image_url", "image_url": {"url": "https://a.test/b.png"}},))],
    ),
    "calls and results": (
        [
            {
                "role": "assistant",
                "content": "Well",
                "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "x", "content": "5"},
        ],
        [
            Message("assistant", "Well", tool_calls=(ToolCall("x", "f", '{"a":1}'),)),
            Message("tool", "5", tool_call_id="x"),
        ],
    ),
    "arguments as text": (
        [{"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": '{"a": 1}'}]}],
        [Message("assistant", "", tool_calls=(ToolCall("", "f", '{"a":1}'),))],
    ),
    "a result without an id": (
        [{"role": "user", "content": [{"type": "tool_result", "content": {"degrees": 5}}]}],
        [Message("tool", '{"degrees":5}', tool_call_id="")],
    ),
    "what is no turn": ([5, {"role": "user", "content": "Hi"}, None], [HI]),
}


def unchecked(body: Json) -> Call:
    speaker = Speaker("anthropic")
    return speaker.operation("chat").read_call(speaker.request({**USUAL, **body}), Validation.OFF)


@pytest.mark.parametrize("name", FORMS)
def test_turns_of_chats_are_read(name: str) -> None:
    turns, expected = FORMS[name]
    assert list(unchecked({"messages": turns}).messages) == expected


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"name": "f", "description": "d"},
        {"name": "f", "description": "d", "input_schema": {"type": "string"}},
    ],
)
def test_tools_of_chats_are_read(tool: Json) -> None:
    call = unchecked({"tools": [tool], "tool_choice": {"type": "function", "function": {"name": "f"}}})
    assert call.tools == (Tool("f", "d", {"type": "object"}),)
    assert call.tool_choice == ToolChoice("named", ("f",))


@pytest.mark.parametrize("messages", [[], [5], [{}], [{"content": 5}], None, 5])
def test_what_says_nothing_is_refused(messages: Json) -> None:
    answered = ask({"messages": messages}, validation="off")
    assert answered.status == 400
    assert answered.json["error"]["message"].startswith("messages")
