"""Each feature of Anthropic's messages, plain and streamed: by the types of its client, and the same in both ways."""

import json
from functools import cache
from typing import Any

import pytest
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent

from tests.dialects.anthropic.features import FEATURES, PROMPT, SEA, TOLD, TOOLS, bodies, request, rules
from tests.dialects.features import FEATURES as CHAT_FEATURES
from tests.dialects.features import rules as chat_rules
from tests.kit.asgi import App, app
from tests.kit.local import local
from tests.kit.strict_messages import accumulate_message, check_completion, check_message, events

PATH = "/anthropic/v1/messages"
Json = Any


@cache
def server() -> App:
    return app(rules())


@pytest.mark.parametrize("name", FEATURES)
def test_plain_and_streamed_say_the_same(name: str) -> None:
    plain, streamed = server().ask(PATH, request(name)), server().ask(PATH, request(name, stream=True))
    assert (plain.status, streamed.status) == (200, 200), plain.body
    assert streamed.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert accumulate_message(streamed.body) == check_message(plain.body)


def stop(name: str) -> tuple[Json, ...]:
    found = server().ask(PATH, request(name)).json
    texts = [block.get("text", block["type"]) for block in found["content"]]
    return found["stop_reason"], found["stop_sequence"], texts


def test_why_it_stops() -> None:
    assert stop("text") == ("end_turn", None, [SEA])
    assert stop("stop") == ("stop_sequence", ", deep", ["The sea is wide"])
    assert stop("stop-at-once") == ("stop_sequence", "The", [])
    assert stop("max-tokens") == ("max_tokens", None, ["The sea is wide"])
    assert stop("no-tokens") == ("max_tokens", None, [])
    assert stop("tool-calls") == ("tool_use", None, ["Let me see.", "tool_use", "tool_use"])
    assert stop("one-tool-call") == ("tool_use", None, ["tool_use"])
    assert stop("own-finish") == ("pause_turn", None, [SEA])
    assert stop("refusal") == ("refusal", None, ["I can't help with that."])
    assert stop("hateful-prompt") == ("refusal", None, [])
    assert stop("filtered")[0] == "refusal"


def test_the_order_of_events() -> None:
    said = [event["type"] for event in events(server().ask(PATH, request("pieces", stream=True)).body)]
    assert said == [
        "message_start",
        "content_block_start",
        "ping",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_arguments_begin_with_an_empty_piece() -> None:
    found = events(server().ask(PATH, request("generated-call-named", stream=True)).body)
    deltas = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert deltas == [{"type": "input_json_delta", "partial_json": ""}]


@pytest.mark.parametrize("arguments", ["[1]", "free text"])
def test_arguments_that_are_no_object_become_one(arguments: str) -> None:
    told = app(json.dumps({"rules": [{"then": {"tool_calls": [{"name": "get", "arguments": arguments}]}}]}))
    for stream in (False, True):
        (block,) = check_message(told.ask(PATH, request("text", stream=stream)).body)["content"]
        assert block["input"] == {"input": arguments}


def test_arguments_are_streamed_with_spaces_after_colons_and_commas() -> None:
    arguments = '{"a":"x: y,z\\\\","b":[1,-2.50,{"c": "\\\\\\"d,e"}], "f":null}'
    call = {"name": "get", "arguments": arguments}
    found = (
        app(json.dumps({"rules": [{"then": {"tool_calls": [call], "chunks": {"size": 3}}}]}))
        .ask(PATH, request("text", stream=True))
        .body
    )
    pieces = [event["delta"]["partial_json"] for event in events(found) if event["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"a": "x: y,z\\\\", "b": [1, -2.50, {"c": "\\\\\\"d,e"}], "f": null}'
    assert json.loads("".join(pieces)) == json.loads(arguments)
    assert [len(piece.replace(" ", "")) for piece in pieces[1:4]] == [3, 3, 2]


def test_usage_of_a_rule() -> None:
    usage = server().ask(PATH, request("usage")).json["usage"]
    counts = [usage[f"{kind}input_tokens"] for kind in ("", "cache_creation_", "cache_read_")]
    assert (counts, usage["output_tokens"]) == ([35, 5, 60], 9)


def test_what_is_done_later_is_not_counted_at_the_start() -> None:
    for name, key in {"generated-thinking": "output_tokens_details", "generated-search": "server_tool_use"}.items():
        start, *_, ended, _ = events(server().ask(PATH, request(name, stream=True)).body)
        assert key in ended["usage"]
        assert key not in start["message"]["usage"]


def test_annotations_that_anthropic_has_no_form_for_are_not_sent() -> None:
    notes = [{"type": "file_citation", "file_id": "f", "index": 1}, {"type": "url_citation", "url": None}]
    for annotations, kept in ((notes[:1], None), (notes, ["web_search_result_location"])):
        told = app(json.dumps({"rules": [{"then": {"text": SEA, "annotations": annotations}}]}))
        for stream in (False, True):
            (block,) = check_message(told.ask(PATH, request("text", stream=stream)).body)["content"]
            assert (block.get("citations") and [each["type"] for each in block["citations"]]) == kept


def test_the_tools_of_the_provider_are_not_called() -> None:
    for tool in ({"type": "advisor_20260301", "name": "advisor"}, {"type": "computer_toolset_20260801", "name": "a"}):
        asked = [{"role": "user", "content": f"Ask the {tool['name']}, please."}]
        found = server().ask(PATH, request("generated", messages=asked, tools=[tool])).json["content"]
        assert [block["type"] for block in found] == ["text"]


def test_what_clients_add_to_results_does_not_hide_them() -> None:
    reminder = {"type": "text", "text": "<system-reminder>\nYour todo list is empty.\n</system-reminder>\n"}
    turns = [*TOLD[:2], {"role": "user", "content": [*TOLD[2]["content"], reminder]}]
    assert "clear" in server().ask(PATH, request("generated", messages=turns, **TOOLS)).json["content"][0]["text"]
    told = server().ask(PATH, request("tool-result", messages=turns)).json["content"][0]["text"]
    assert told == "It is clear."
    turns[2]["content"][-1] = {"type": "text", "text": "Thanks!"}
    ruled = app("rules: [{when: {last_message: Thanks!}, then: {text: Welcome}}]")
    assert ruled.ask(PATH, request("text", messages=turns)).json["content"][0]["text"] == "Welcome"


def test_what_a_client_says_of_tools_that_it_loaded_is_part_of_the_result() -> None:
    search = {"name": "ToolSearch", "description": "Find tools.", "input_schema": {"type": "object"}}
    loaded = [{"type": "tool_reference", "tool_name": TOOLS["tools"][0]["name"]}]
    turns = [
        TOLD[0],
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ToolSearch", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": loaded},
                {"type": "text", "text": "Tool loaded."},
            ],
        },
    ]
    asked = request("generated", messages=turns, tools=[search, *TOOLS["tools"]])
    (use,) = check_message(server().ask(PATH, asked).body)["content"]
    assert use["name"] == TOOLS["tools"][0]["name"]
    ruled = app('rules: [{when: {tool_result: {text: "Tool loaded."}}, then: {text: Good}}]')
    assert ruled.ask(PATH, asked).json["content"][0]["text"] == "Good"
    turns[-1]["content"][-1]["text"] = "And now of Bergen?"
    ruled = app('rules: [{when: {last_user: "*Bergen*"}, then: {text: Good}}]')
    asked = request("generated", messages=turns, tools=[search, *TOOLS["tools"]])
    assert ruled.ask(PATH, asked).json["content"][0]["text"] == "Good"


def test_calls_of_a_toolset_name_it() -> None:
    calls = [{"name": "screenshot", "arguments": {}}, {"name": "get_time", "arguments": {}}]
    told = app(json.dumps({"rules": [{"then": {"tool_calls": calls}}]}))
    tools = [*TOOLS["tools"], {"type": "browser_toolset_20260801"}]
    for stream in (False, True):
        found = check_message(told.ask(PATH, request("text", tools=tools, stream=stream)).body)["content"]
        assert [block.get("toolset_name") for block in found] == ["browser", None]
    assert "toolset_name" not in told.ask(PATH, request("text", **TOOLS)).json["content"][0]


@pytest.mark.parametrize("toolset", ["computer", "browser"])
def test_a_toolset_is_called(toolset: str) -> None:
    asked = {"tools": [{"type": f"{toolset}_toolset_20260801"}], "messages": [{"role": "user", "content": "Go ahead."}]}
    found = server().ask(PATH, request("generated", **asked)).json["content"]
    assert [block["type"] for block in found] == ["text"]
    found = check_message(server().ask(PATH, request("generated", **asked, tool_choice={"type": "any"})).body)[
        "content"
    ]
    assert [(block["name"], block["input"], block["toolset_name"]) for block in found] == [("screenshot", {}, toolset)]


def test_a_filtered_request_of_a_batch_is_refused() -> None:
    told = app("rules: [{when: {operation: chat}, then: {error: content_filter}}]")
    path = f"{PATH}/batches"
    batch = told.ask(path, {"requests": [{"custom_id": "a", "params": request("text")}]}).json
    counts = told.ask(f"{path}/{batch['id']}", method="GET").json["request_counts"]
    assert (counts["succeeded"], counts["errored"]) == (1, 0)
    result = json.loads(told.ask(f"{path}/{batch['id']}/results", method="GET").body)["result"]
    assert (result["type"], result["message"]["stop_reason"]) == ("succeeded", "refusal")


def test_what_was_asked_for_is_in_the_message() -> None:
    found = server().ask(PATH, request("asked-for")).json
    assert found["diagnostics"] == {"cache_miss_reason": None}
    assert found["context_management"] == {"applied_edits": []}
    assert found["container"]["id"].startswith("container_01")
    assert found["usage"]["speed"] == "fast"


@pytest.mark.parametrize("name", FEATURES)
def test_counted_tokens_are_those_of_the_usage(name: str) -> None:
    body = next(body for body in bodies("input_tokens") if body["model"] == name)
    counted, used = server().ask(f"{PATH}/count_tokens", body).json, server().ask(PATH, request(name)).json["usage"]
    assert name == "usage" or counted == {"input_tokens": used["input_tokens"]}


def test_ids_and_headers() -> None:
    answered = server().ask(PATH, request("tool-call"))
    assert answered.json["content"][0]["id"].startswith("toolu_01")
    assert answered.headers["request-id"].startswith("req_01")
    assert "anthropic-ratelimit-requests-limit" not in answered.headers
    failed = server().ask(PATH, {})
    assert failed.json["request_id"] == failed.headers["request-id"]


def test_bookkeeping_changes_no_answer() -> None:
    told = {"metadata": {"user_id": "u"}, "service_tier": "auto", "speed": "standard", "temperature": 1, "stream": True}
    plain, other = request("generated"), request("generated", **told)
    cached = [{"role": "user", "content": [{"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}}]}]
    bare = [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}]
    first = server().ask(PATH, plain).json["id"]
    assert accumulate_message(server().ask(PATH, other).body)["id"] == first
    assert len({server().ask(PATH, {**plain, "messages": said}).json["id"] for said in (cached, bare)}) == 1
    assert server().ask(PATH, {**plain, "stop_sequences": ["zzz"]}).json["id"] != first


def test_a_thread_goes_on() -> None:
    tools = {**TOOLS, "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]}
    first = server().ask(PATH, request("thread", **tools)).json
    use = first["content"][-1]
    assert (use["type"], use["input"]) == ("tool_use", {"city": "Oslo"})
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": '{"sky": "clear"}'}
    thread = {"type": "continue", "previous_message_id": first["id"]}
    body = {"model": "thread", "max_tokens": 99, "messages": [{"role": "user", "content": [result]}], "thread": thread}
    second = server().ask(PATH, body).json
    assert "clear" in second["content"][0]["text"]
    unknown = server().ask(PATH, {**body, "thread": {**thread, "previous_message_id": "msg_nope"}})
    assert (unknown.status, unknown.json["error"]["details"]) == (404, {"error_code": "thread_not_found"})


def test_the_bare_path_is_anthropics() -> None:
    assert server().ask("/v1/messages", request("text")).json["type"] == "message"
    assert server().ask("/v1/messages/count_tokens", {"model": "m", "messages": []}).json["type"] == "error"
    assert server().ask("/v1/models", method="GET").json["object"] == "list"  # OpenAI's


FACTS = "The grass is green. The sky is blue.\nWater is wet."
ENABLED = {"citations": {"enabled": True}}
WHOLE = {"type": "text", "media_type": "text/plain", "data": FACTS}
BLOCKS = {
    "type": "content",
    "content": [{"type": "text", "text": "Grass is green."}, {"type": "text", "text": "A blue sky."}],
}
FOUND = {"type": "search_result", "source": "https://a.example", "title": "Sky", "content": BLOCKS["content"]}
CITED = {
    "text": (
        {"type": "document", "source": WHOLE, "title": "Facts", **ENABLED},
        {"type": "char_location", "cited_text": "The sky is blue.", "document_index": 1, "document_title": "Facts"}
        | {"start_char_index": 20, "end_char_index": 36, "file_id": None},
    ),
    "blocks": (
        {"type": "document", "source": BLOCKS, **ENABLED},
        {"type": "content_block_location", "cited_text": "A blue sky.", "document_index": 1, "document_title": None}
        | {"start_block_index": 1, "end_block_index": 2, "file_id": None},
    ),
    "search result": (
        {**FOUND, **ENABLED},
        {"type": "search_result_location", "cited_text": "A blue sky.", "source": "https://a.example", "title": "Sky"}
        | {"search_result_index": 0, "start_block_index": 1, "end_block_index": 2},
    ),
}


@pytest.mark.parametrize(("block", "citation"), CITED.values(), ids=CITED.keys())
def test_documents_are_cited(block: Json, citation: Json) -> None:
    silent = {"type": "document", "source": {"type": "url", "url": "https://example.org"}}
    content = [silent, block, {"type": "text", "text": "What colour is the sky?"}]
    body = request("generated", messages=[{"role": "user", "content": content}])
    plain = check_message(server().ask(PATH, body).body)
    assert plain["content"] == [{"citations": [citation], "type": "text", "text": citation["cited_text"]}]
    assert accumulate_message(server().ask(PATH, {**body, "stream": True}).body) == plain


def test_an_answer_goes_on_from_its_beginning() -> None:
    asked = {"role": "user", "content": "Give me JSON with a name and an age."}
    texts = [
        server().ask(PATH, request("generated", messages=said)).json["content"][0]["text"]
        for said in ([asked], [asked, {"role": "assistant", "content": "{"}])
    ]
    assert json.loads(texts[0]).keys() == json.loads("{" + texts[1]).keys() == {"name", "age"}


def test_a_text_completion_goes_on_from_its_beginning() -> None:
    prompt = "\n\nHuman: Give me JSON with a name and an age.\n\nAssistant: {"
    body = {"model": "m", "prompt": prompt, "max_tokens_to_sample": 99}
    assert json.loads("{" + app("").ask("/anthropic/v1/complete", body).json["completion"]).keys() == {"name", "age"}


def test_a_tool_for_the_final_answer_is_called_without_being_forced() -> None:
    about = "The final response which ends this conversation"
    tool = {"name": "final_result", "description": about, "input_schema": TOOLS["tools"][0]["input_schema"]}
    asked = [{"role": "user", "content": "Where were the Olympics of 2012?"}]
    found = server().ask(PATH, request("generated", messages=asked, tools=[tool])).json["content"]
    assert [block["type"] for block in found] == ["tool_use"]
    found = server().ask(PATH, request("generated", messages=asked, tools=TOOLS["tools"])).json["content"]
    assert [block["type"] for block in found] == ["text"]


def test_text_completions() -> None:
    prompt = "Be kind.\n\nHuman: Hi\n\nAssistant: Hello.\n\nHuman: Go on\n\nAssistant:"
    rule = {"when": {"last_user": "Go on", "system": "Be kind.", "turn": 1}, "then": {"text": "One two. Three."}}
    told = app(json.dumps({"rules": [rule]}))
    body = {"model": "claude-2", "prompt": prompt, "max_tokens_to_sample": 99, "stop_sequences": [" Three"]}
    plain = check_completion(told.ask("/anthropic/v1/complete", body).body)
    assert (plain["completion"], plain["stop_reason"], plain["stop"]) == ("One two.", "stop_sequence", " Three")
    assert check_completion(told.ask("/anthropic/v1/complete", {**body, "stream": True}).body) == plain
    cut = told.ask("/anthropic/v1/complete", {**body, "max_tokens_to_sample": 1}).json
    assert (cut["completion"], cut["stop_reason"]) == ("One", "max_tokens")
    blank, asked = {**body, "stop_sequences": [" "]}, {"anthropic-version": "2023-06-01"}
    assert local().ask("/anthropic/v1/complete", blank, headers=asked).status == 200
    refused = local(validation="live").ask("/anthropic/v1/complete", blank, headers=asked).json["error"]["message"]
    assert refused == "stop_sequences: each stop sequence must contain non-whitespace"
    assert told.ask("/anthropic/v1/complete", {"model": "m"}).json["error"]["message"] == "prompt: Field required"


def test_a_conversation_is_compacted() -> None:
    body = request("text", compaction={"type": "summarize"})
    plain = server().ask(PATH, body).json
    assert (plain["stop_reason"], plain["usage"]["input_tokens"], plain["usage"]["output_tokens"]) == (
        "compaction",
        0,
        0,
    )
    assert plain["usage"]["iterations"][0]["output_tokens"] > 0
    (block,) = BetaMessage.model_validate(plain).content
    assert block.type == "compaction"
    assert block.content == SEA
    streamed = list(events(server().ask(PATH, {**body, "stream": True}).body, BetaRawMessageStreamEvent))
    (delta,) = [event["delta"] for event in streamed if event["type"] == "content_block_delta"]
    assert delta["content"] == SEA
    assert "iterations" not in streamed[0]["message"]["usage"]
    assert streamed[-2]["usage"]["iterations"] == plain["usage"]["iterations"]


CHATS = [name for name, feature in CHAT_FEATURES.items() if name != "tool-result" and not feature.only]


@pytest.mark.parametrize("name", CHATS)
def test_what_a_rule_gives_to_chats_is_a_message(name: str) -> None:
    for more in ({}, {"max_tokens": 3}, {"stop_sequences": ["e"]}):
        body = request("text", model=name, **TOOLS, **more)
        plain, streamed = (chats().ask(PATH, {**body, "stream": stream}).body for stream in (False, True))
        assert accumulate_message(streamed) == check_message(plain)


@cache
def chats() -> App:
    return app(chat_rules())
