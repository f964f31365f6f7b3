"""MCP servers whose tools the provider calls itself: Responses with a tool `mcp`, and Anthropic's `mcp_servers`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from mockserver.testing import MockServer

RULES = """
version: 1
mcp:
  files:
    tools:
      - name: read_file
        description: Reads a file.
        input: {path: string}
        annotations: {readOnlyHint: true}
        then: {text: "contents of {{ arguments.path }}"}
      - {name: delete_file, description: Deletes a file., input: {path: string}, then: {tool_error: not allowed}}
rules:
  - name: second time
    when: {mcp: files, arguments.path: twice.txt}
    times: 1
    then: {text: first}
  - name: down
    when: {mcp: files, arguments.path: down.txt}
    then: {error: 503}
  - name: refused
    when: {mcp: files, arguments.path: refused.txt}
    then: {error: {code: -32000, message: no}}
  - name: scripted
    when: {last_user: "*script*"}
    then:
      steps:
        - tool_calls: [{name: read_file, arguments: {path: note.txt}}]
        - text: "It says: {{ tool_result.text }}"
  - name: loop
    when: {last_user: "*again and again*"}
    then: {tool_calls: [{name: read_file, arguments: {path: note.txt}}]}
  - name: both
    when: {last_user: "*both*"}
    then: {tool_calls: [{name: read_file, arguments: {path: a.txt}}, {name: own, arguments: {}}]}
  - name: elsewhere
    when: {last_user: "*elsewhere*"}
    then:
      steps:
        - tool_calls: [{name: search, arguments: {q: herons}}]
        - text: "Found: {{ tool_result.text }}"
  - name: named
    when: {last_user: "*of the second*"}
    then: {tool_calls: [{name: search, namespace: second, arguments: {q: herons}}]}
  - name: known result
    when: {mcp: second, tool: search}
    then: {text: two herons}
  - name: stated
    when: {last_user: "*stated*"}
    then:
      items: [{type: mcp_call, server_label: files, name: read_file, arguments: {path: a.txt}}]
      text: Done.
"""
TOOL: dict[str, Any] = {
    "type": "mcp",
    "server_label": "files",
    "server_url": "https://files.test/mcp",
    "require_approval": "never",
}
OWN = {"type": "function", "name": "own", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file, unmatched="generate", lint="off") as running:
        yield running


@pytest.fixture
def server(started: MockServer) -> MockServer:
    started.reset()
    return started


@pytest.fixture
def openai(server: MockServer) -> OpenAI:
    return server.client()


@pytest.fixture
def anthropic(server: MockServer) -> Anthropic:
    return Anthropic(base_url=f"{server.url}/anthropic", api_key="x", max_retries=0)


def ask(client: Any, text: Any, *tools: Any, **more: Any) -> Any:
    return client.responses.create(model="gpt-5", input=text, tools=[*tools] or [TOOL], **more)


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


def test_a_rule_calls_a_tool_and_answers_with_its_result(openai: OpenAI, server: MockServer) -> None:
    response = ask(openai, "script")
    listed, call, message = response.output
    assert [tool.name for tool in listed.tools] == ["read_file", "delete_file"]
    assert listed.tools[0].input_schema["required"] == ["path"]
    assert (call.type, call.server_label, call.name, call.status) == ("mcp_call", "files", "read_file", "completed")
    assert (json.loads(call.arguments), call.output, call.error) == ({"path": "note.txt"}, "contents of note.txt", None)
    assert response.output_text == "It says: contents of note.txt"
    assert message.type == "message"
    server.mcp("files").assert_called_once(tool="read_file", arguments={"path": "note.txt"})
    assert [call.operation for call in server.calls] == ["responses", "mcp_call"]


def test_the_model_without_weights_calls_what_the_user_asks_for(openai: OpenAI) -> None:
    response = ask(openai, "Please delete the file old.txt")
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    call = response.output[1]
    assert (call.name, json.loads(call.arguments), call.status) == ("delete_file", {"path": "old.txt"}, "failed")
    assert call.error.type == "mcp_tool_execution_error"
    assert call.error.content == [{"type": "text", "text": "not allowed"}]
    assert "not allowed" in response.output_text


def test_equal_requests_get_equal_bytes_and_streams_the_same_items(openai: OpenAI) -> None:
    one, two = ask(openai, "script"), ask(openai, "script")
    assert one.to_json() == two.to_json()
    with openai.responses.stream(model="gpt-5", input="script", tools=[TOOL]) as stream:  # type: ignore[list-item]
        events = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds(final) == kinds(one)
    assert final.output_text == one.output_text
    assert [event for event in dict.fromkeys(events) if ".mcp_" in event] == [
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
    ]


def test_rules_of_the_server_count_as_they_do_for_clients(openai: OpenAI) -> None:
    texts = [ask(openai, "Read the file twice.txt").output[1].output for _ in range(2)]
    assert texts == ["first", "contents of twice.txt"]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("down.txt", {"type": "http_error", "code": 503}),
        ("refused.txt", {"type": "mcp_protocol_error", "code": -32000, "message": "no"}),
    ],
)
def test_errors_of_the_server_are_errors_of_the_call(path: str, error: dict[str, Any], openai: OpenAI) -> None:
    call = ask(openai, f"Read the file {path}").output[1]
    assert call.status == "failed"
    assert call.output is None
    assert error.items() <= call.error.to_dict().items()


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"allowed_tools": ["delete_file"]}, ["delete_file"]),
        ({"allowed_tools": {"tool_names": ["read_file"]}}, ["read_file"]),
        ({"allowed_tools": {"read_only": True}}, ["read_file"]),
        ({"server_label": "mine", "server_url": "{url}/mcp/files"}, ["read_file", "delete_file"]),
    ],
)
def test_which_tools_are_listed(more: dict[str, Any], names: list[str], openai: OpenAI, server: MockServer) -> None:
    tool = {**TOOL, **more}
    response = ask(openai, "hello", {**tool, "server_url": tool["server_url"].format(url=server.url)})
    assert [tool.name for tool in response.output[0].tools] == names
    assert response.output[0].server_label == tool["server_label"]


def test_unknown_servers_stay_as_they_were(openai: OpenAI, server: MockServer) -> None:
    other = {**TOOL, "server_label": "other", "allowed_tools": ["search"]}
    assert kinds(ask(openai, "Search for herons", other, tool_choice="required")) == ["mcp_call", "message"]
    assert [call.operation for call in server.calls] == ["responses"]


OTHER: dict[str, Any] = {**TOOL, "server_label": "other", "server_url": "https://other.test/mcp"}


def test_a_rule_calls_a_tool_of_a_server_that_no_rule_defines(server: MockServer) -> None:
    response = ask(server.client(), "elsewhere", OTHER)
    listed, call, message = response.output
    assert (listed.type, [tool.name for tool in listed.tools]) == ("mcp_list_tools", ["search"])
    assert (call.type, call.server_label, call.name, call.status) == ("mcp_call", "other", "search", "completed")
    assert (json.loads(call.arguments), call.error) == ({"q": "herons"}, None)
    assert call.output
    assert response.output_text == f"Found: {call.output}"
    assert message.type == "message"
    assert [each.source.partition(" ")[0] for each in server.calls] == ["rule", "generated"]


def test_whose_tool_a_call_means(openai: OpenAI) -> None:
    second = {**OTHER, "server_label": "second"}

    def labels(*tools: Any, text: str = "elsewhere") -> list[Any]:
        output = ask(openai, text, *tools).output
        return [getattr(item, "server_label", item.type) for item in output if "call" in item.type]

    assert labels(TOOL, OTHER, second) == ["other"]
    assert labels(OTHER, {**second, "allowed_tools": ["search"]}) == ["second"], "it names the tool"
    assert labels({**OTHER, "allowed_tools": ["find"]}) == ["function_call"], "it has no such tool"
    assert labels(OTHER, {**OWN, "name": "search"}) == ["function_call"], "the client has it"
    assert labels(OTHER, second, text="of the second") == ["second"]


def test_only_what_a_server_cannot_have_is_remarked_on() -> None:
    with MockServer(lint="warn") as server:
        server.on("elsewhere").steps({"tool_calls": [{"name": "search", "arguments": {}}]}, "Done.")
        client = server.client()
        assert kinds(ask(client, "elsewhere", OTHER))[-1] == "message"
        assert kinds(ask(client, "elsewhere", {**OTHER, "allowed_tools": ["find"]})) == ["function_call"]
        remarks = [call.remarks for call in server.calls if call.operation == "responses"]
        server.reset()
    assert remarks[0] == ()
    assert remarks[1][0].endswith('calls "search", a tool that the request does not offer')


def test_a_rule_states_the_result_of_a_server_that_no_rule_defines(openai: OpenAI, server: MockServer) -> None:
    second = {**OTHER, "server_label": "second"}
    assert ask(openai, "elsewhere", second).output_text == "Found: two herons"
    assert [call.source.partition(" ")[0] for call in server.calls] == ["rule", "rule"]


def test_a_call_of_a_server_that_no_rule_defines_waits_for_approval(openai: OpenAI) -> None:
    tool = {**OTHER, "require_approval": "always"}
    asked = ask(openai, "elsewhere", tool)
    assert kinds(asked) == ["mcp_list_tools", "mcp_approval_request"]
    said = {"type": "mcp_approval_response", "approval_request_id": asked.output[1].id, "approve": True}
    done = ask(openai, [said], tool, previous_response_id=asked.id)
    assert kinds(done) == ["mcp_call", "message"]
    assert (done.output[0].name, json.loads(done.output[0].arguments)) == ("search", {"q": "herons"})
    assert done.output_text == f"Found: {done.output[0].output}"


def test_anthropics_connector_to_a_server_that_no_rule_defines(anthropic: Anthropic) -> None:
    toolset = {"type": "mcp_toolset", "mcp_server_name": "other"}
    message = connect(anthropic, "elsewhere", tools=[toolset], server={"name": "other"})
    use, result, text = message.content
    assert (use.type, use.name, use.server_name, use.input) == ("mcp_tool_use", "search", "other", {"q": "herons"})
    assert (result.type, result.is_error) == ("mcp_tool_result", False)
    assert text.text == f"Found: {result.content[0].text}"


def test_a_choice_of_a_tool_is_obeyed_once(openai: OpenAI) -> None:
    choice = {"type": "mcp", "server_label": "files", "name": "delete_file"}
    response = ask(openai, "What about x.txt?", tool_choice=choice)
    assert [item.name for item in response.output if item.type == "mcp_call"] == ["delete_file"]
    assert response.output[-1].type == "message"


def test_calls_for_the_client_end_the_answer(openai: OpenAI) -> None:
    response = ask(openai, "both", TOOL, OWN)
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "function_call"]


def test_a_rule_that_always_asks_for_the_same_ends(openai: OpenAI, server: MockServer) -> None:
    response = ask(openai, "again and again")
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert len(server.mcp("files").calls) == 1


def test_a_stated_call_gets_its_result(openai: OpenAI) -> None:
    response = ask(openai, "stated")
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert response.output[1].output == "contents of a.txt"


def test_no_more_calls_than_the_request_allows(openai: OpenAI) -> None:
    response = ask(openai, "script", max_tool_calls=0)
    assert "mcp_call" not in kinds(response)


@pytest.mark.parametrize("kept", [True, False])
def test_calls_wait_for_approval(kept: bool, openai: OpenAI, server: MockServer) -> None:
    tool = {**TOOL, "require_approval": {"never": {"tool_names": ["read_file"]}}}
    asked = ask(openai, "Delete the file x.txt", tool)
    assert kinds(asked) == ["mcp_list_tools", "mcp_approval_request"]
    assert not server.mcp("files").calls
    request = asked.output[1]
    before: Any = {"previous_response_id": asked.id} if kept else {}
    history: Any = [] if kept else [{"role": "user", "content": "Delete the file x.txt"}, *map(vars_of, asked.output)]

    def answer(approve: bool) -> Any:
        said = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": approve}
        return ask(openai, [*history, said], tool, **before)

    refused = answer(False)
    assert "mcp_call" not in kinds(refused)
    assert not server.mcp("files").calls
    done = answer(True)
    assert kinds(done) == ["mcp_call", "message"]  # the tools are listed already
    assert done.output[0].approval_request_id == request.id
    server.mcp("files").assert_called_once(tool="delete_file", arguments={"path": "x.txt"})
    assert kinds(ask(openai, "Read the file y.txt", tool)) == ["mcp_list_tools", "mcp_call", "message"]


def vars_of(item: Any) -> Any:
    return item.to_dict()


def connect(client: Anthropic, text: str, **more: Any) -> Any:
    named: Any = {"type": "url", "name": "files", "url": "https://files.test/mcp", **more.pop("server", {})}
    return client.beta.messages.create(
        model="claude-opus-4-8",
        max_tokens=500,
        messages=[{"role": "user", "content": text}],
        mcp_servers=[named],
        betas=[more.pop("beta", "mcp-client-2025-11-20")],
        **more,
    )


TOOLSET: Any = {"type": "mcp_toolset", "mcp_server_name": "files"}


def test_anthropics_connector(anthropic: Anthropic, server: MockServer) -> None:
    message = connect(anthropic, "script", tools=[TOOLSET])
    use, result, text = message.content
    assert (use.type, use.name, use.server_name, use.input) == (
        "mcp_tool_use",
        "read_file",
        "files",
        {"path": "note.txt"},
    )
    assert (result.type, result.tool_use_id, result.is_error) == ("mcp_tool_result", use.id, False)
    assert result.content[0].text == "contents of note.txt"
    assert (text.text, message.stop_reason) == ("It says: contents of note.txt", "end_turn")
    server.mcp("files").assert_called_once(tool="read_file", arguments={"path": "note.txt"})


def test_anthropics_connector_as_a_stream(anthropic: Anthropic) -> None:
    plain = connect(anthropic, "script", tools=[TOOLSET])
    with anthropic.beta.messages.stream(
        model="claude-opus-4-8",
        max_tokens=500,
        messages=[{"role": "user", "content": "script"}],
        mcp_servers=[{"type": "url", "name": "files", "url": "https://files.test/mcp"}],
        tools=[TOOLSET],
        betas=["mcp-client-2025-11-20"],
    ) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == [block.type for block in plain.content]
    assert streamed.content[0].input == {"path": "note.txt"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "more",
    [
        {"beta": "mcp-client-2025-04-04"},
        {"beta": "mcp-client-2025-04-04", "server": {"tool_configuration": {"allowed_tools": ["delete_file"]}}},
        {"tools": [{**TOOLSET, "default_config": {"enabled": False}, "configs": {"delete_file": {"enabled": True}}}]},
        {"tools": [{**TOOLSET, "configs": {"read_file": {"enabled": False}}}]},
    ],
)
def test_tools_that_a_toolset_leaves(more: dict[str, Any], anthropic: Anthropic) -> None:
    message = connect(anthropic, "Delete the file x.txt", **more)
    use, result, _ = message.content
    assert (use.name, result.is_error, result.content[0].text) == ("delete_file", True, "not allowed")


def test_tools_that_are_off_are_not_called(anthropic: Anthropic) -> None:
    off: Any = {**TOOLSET, "configs": {"delete_file": {"enabled": False}}}
    message = connect(anthropic, "Delete the file x.txt", tools=[off])
    assert all(getattr(block, "name", "") != "delete_file" for block in message.content)


def test_the_token_of_a_request_reaches_the_server(openai: OpenAI, anthropic: Anthropic, server: MockServer) -> None:
    server.on(mcp="files", header={"authorization": "Bearer tok"}).reply("with a token")
    assert ask(openai, "script", {**TOOL, "authorization": "tok"}).output_text == "It says: with a token"
    message = connect(anthropic, "script", tools=[TOOLSET], server={"authorization_token": "tok"})
    assert message.content[-1].text == "It says: with a token"
