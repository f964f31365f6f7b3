"""MCP messages as they go over the wire: both eras, every method, every mistake of a client."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from mockserver.config.errors import RuleError
from mockserver.testing import MockServer
from mockserver.testing.setup import load_rules

RULES = """
version: 1
mcp:
  files:
    title: Files
    instructions: Reads files.
    tools:
      - name: read_file
        description: Reads a file.
        input: {path: string, lines?: integer}
        output: {text: string, size: integer}
        annotations: {readOnlyHint: true}
      - {name: delete, input: {path: string}, then: {tool_error: "not allowed: {{ arguments.path }}"}}
      - {name: picture, then: {content: [{type: image, data: iVBORw0KGgo=, mimeType: image/png}]}}
      - {name: tags, input: {type: object, properties: {n: {type: integer}}}, then: {json: [a, b]}}
    resources:
      - {uri: "file:///readme.md", text: "# Hello", mime: text/markdown}
      - {uri: "file:///dot.png", blob: iVBORw0KGgo=, mime: image/png}
    prompts:
      - {name: review, arguments: [code, style?], then: {text: "Review: {{ arguments.code }}"}}
  paged:
    page: 2
    tools: [{name: a}, {name: b}, {name: c}]
  odd:
    tools:
      - name: count
        input:
          $schema: https://schemas.example/own
          type: object
          properties: {number: {$ref: "#/$defs/a number"}}
          $defs: {a number: {type: integer}}
        then: {text: counted}
rules:
  - when: {tool: read_file, arguments.path: /etc/passwd}
    then: {tool_error: {reason: denied}}
  - when: {tool: read_file, arguments: {path: broken}}
    then: {error: {code: -32000, message: Disk failure}}
  - when: {tool: read_file, arguments: {subset: {path: busy}}}
    then: {error: 429, retry_after: 2s}
  - when: {mcp: files, tool: read_file, arguments: {path: "*.txt"}}
    then: {json: {text: "contents of {{ arguments.path }}", size: 12}}
  - then: {text: From a rule for models}
"""
VERSION = "2026-07-28"
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": VERSION}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file, unmatched="generate") as running:
        yield running


def post(server: MockServer, body: Any, name: str = "files", **headers: str) -> httpx.Response:
    sent = {"content": body} if isinstance(body, str | bytes) else {"json": body}
    return httpx.post(f"{server.url}/mcp/{name}", headers={"content-type": "application/json", **headers}, **sent)


def ask(server: MockServer, method: str, params: Mapping[str, Any] = {}, name: str = "files") -> Any:
    """The answer to a request with a handshake."""
    answered = post(server, {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, name)
    assert answered.status_code == 200
    assert (answered.json()["jsonrpc"], answered.json()["id"]) == ("2.0", 7)
    return answered.json()


def ask_modern(server: MockServer, method: str, params: Mapping[str, Any] = {}, **headers: str) -> httpx.Response:
    """The answer to the same request without a handshake."""
    target = params.get("uri", params.get("name"))
    named = {} if target is None else {"mcp-name": target}
    stated = {"mcp-protocol-version": VERSION, "mcp-method": method, **named, **headers}
    return post(server, {"jsonrpc": "2.0", "id": "m", "method": method, "params": {**params, **META}}, **stated)


READ = {"path": "note.txt"}
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
}
NOTE = {"text": "contents of note.txt", "size": 12}
NOTE_TEXT = '{"text":"contents of note.txt","size":12}'
RESULTS: dict[str, tuple[str, Mapping[str, Any], Any]] = {
    "a rule": (
        "tools/call",
        {"name": "read_file", "arguments": READ},
        {"content": [{"type": "text", "text": NOTE_TEXT}], "structuredContent": NOTE, "isError": False},
    ),
    "a failure": (
        "tools/call",
        {"name": "read_file", "arguments": {"path": "/etc/passwd"}},
        {
            "content": [{"type": "text", "text": '{"reason":"denied"}'}],
            "structuredContent": {"reason": "denied"},
            "isError": True,
        },
    ),
    "the answer beside a tool": (
        "tools/call",
        {"name": "delete", "arguments": {"path": "a"}},
        {"content": [{"type": "text", "text": "not allowed: a"}], "isError": True},
    ),
    "a picture": (
        "tools/call",
        {"name": "picture"},
        {"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}], "isError": False},
    ),
    "a wrong type": (
        "tools/call",
        {"name": "read_file", "arguments": {"path": 3}},
        {
            "content": [
                {
                    "type": "text",
                    "text": 'Invalid arguments for tool read_file: 3 is not of type "string" at /path',
                }
            ],
            "isError": True,
        },
    ),
    "an optional argument that is null": (
        "tools/call",
        {"name": "read_file", "arguments": {**READ, "lines": None}},
        {"content": [{"type": "text", "text": NOTE_TEXT}], "structuredContent": NOTE, "isError": False},
    ),
    "a missing argument": (
        "tools/call",
        {"name": "read_file"},
        {
            "content": [
                {"type": "text", "text": 'Invalid arguments for tool read_file: "path" is a required property'}
            ],
            "isError": True,
        },
    ),
    "a prompt": (
        "prompts/get",
        {"name": "review", "arguments": {"code": "x"}},
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Review: x"}}]},
    ),
    "prompts": (
        "prompts/list",
        {},
        {
            "prompts": [
                {
                    "name": "review",
                    "description": "",
                    "arguments": [{"name": "code", "required": True}, {"name": "style", "required": False}],
                }
            ]
        },
    ),
    "a text": (
        "resources/read",
        {"uri": "file:///readme.md"},
        {"contents": [{"uri": "file:///readme.md", "mimeType": "text/markdown", "text": "# Hello"}]},
    ),
    "bytes": (
        "resources/read",
        {"uri": "file:///dot.png"},
        {"contents": [{"uri": "file:///dot.png", "mimeType": "image/png", "blob": "iVBORw0KGgo="}]},
    ),
    "resources": (
        "resources/list",
        {},
        {
            "resources": [
                {"uri": "file:///readme.md", "name": "readme.md", "description": "", "mimeType": "text/markdown"},
                {"uri": "file:///dot.png", "name": "dot.png", "description": "", "mimeType": "image/png"},
            ]
        },
    ),
    "templates": ("resources/templates/list", {}, {"resourceTemplates": []}),
}
UNCACHED = ("prompts", "a text", "bytes", "resources", "templates")


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_the_same_in_both_eras(name: str, server: MockServer) -> None:
    method, params, result = RESULTS[name]
    assert ask(server, method, params)["result"] == result
    modern = ask_modern(server, method, params)
    uncached = {"ttlMs": 0, "cacheScope": "private"} if name in UNCACHED else {}
    assert modern.json() == {
        "jsonrpc": "2.0",
        "id": "m",
        "result": {**result, **uncached, "resultType": "complete"},
    }


def test_a_list_is_structured_in_the_later_era_only(server: MockServer) -> None:
    assert "structuredContent" not in ask(server, "tools/call", {"name": "tags"})["result"]
    assert ask_modern(server, "tools/call", {"name": "tags"}).json()["result"]["structuredContent"] == ["a", "b"]


def test_the_tools(server: MockServer) -> None:
    read, delete, picture, tags = ask(server, "tools/list")["result"]["tools"]
    assert read == {
        "name": "read_file",
        "description": "Reads a file.",
        "inputSchema": SCHEMA,
        "outputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["text", "size"],
        },
        "annotations": {"readOnlyHint": True},
    }
    assert delete["name"] == "delete"
    assert picture["inputSchema"] == {"type": "object", "properties": {}}
    assert tags["inputSchema"] == {"type": "object", "properties": {"n": {"type": "integer"}}}


def test_arguments_are_checked_with_any_schema_that_a_rules_file_may_have(server: MockServer) -> None:
    texts = [
        ask(server, "tools/call", {"name": "count", "arguments": {"number": number}}, "odd")["result"]["content"][0]
        for number in (3, "3")
    ]
    refused = 'Invalid arguments for tool count: "3" is not of type "integer" at /number'
    assert [each["text"] for each in texts] == ["counted", refused]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2025-11-25", "2025-11-25"), ("2024-11-05", "2024-11-05"), ("2031-01-01", "2025-11-25")],
)
def test_a_handshake(asked: str, answered: str, server: MockServer) -> None:
    about = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert ask(server, "initialize", about)["result"] == {
        "protocolVersion": answered,
        "capabilities": {"logging": {}, "tools": {}, "resources": {}, "prompts": {}},
        "instructions": "Reads files.",
        "serverInfo": {"name": "files", "title": "Files", "version": "1.0.0"},
    }


def test_what_takes_the_place_of_a_handshake(server: MockServer) -> None:
    assert ask_modern(server, "server/discover").json()["result"] == {
        "supportedVersions": [VERSION],
        "capabilities": {"logging": {}, "tools": {}, "resources": {}, "prompts": {}},
        "instructions": "Reads files.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "files", "title": "Files", "version": "1.0.0"}},
        "resultType": "complete",
    }


@pytest.mark.parametrize("message", ["notifications/initialized", "notifications/cancelled", "notifications/unknown"])
def test_notifications_and_answers_of_the_client_are_taken(message: str, server: MockServer) -> None:
    for body in ({"jsonrpc": "2.0", "method": message}, {"jsonrpc": "2.0", "id": 1, "result": {}}):
        answered = post(server, body)
        assert (answered.status_code, answered.content) == (202, b"")


def test_a_list_in_pages(server: MockServer) -> None:
    first = ask(server, "tools/list", name="paged")["result"]
    assert [tool["name"] for tool in first["tools"]] == ["a", "b"]
    second = ask(server, "tools/list", {"cursor": first["nextCursor"]}, name="paged")["result"]
    assert ([tool["name"] for tool in second["tools"]], "nextCursor" in second) == (["c"], False)
    for cursor in ("nonsense", "page-99", 3):
        assert ask(server, "tools/list", {"cursor": cursor}, name="paged")["error"]["code"] == -32602


READ_BROKEN = {"name": "read_file", "arguments": {"path": "broken"}}
READ_BUSY = {"name": "read_file", "arguments": {"path": "busy"}}
PARSE_ERROR = "Parse error: We could not parse the JSON body of your request: "
ERRORS: dict[str, tuple[Any, int, int, str]] = {
    "no JSON": (
        "{",
        400,
        -32700,
        f"{PARSE_ERROR}EOF while parsing an object at line 1 column 1.",
    ),
    "a list": ([], 400, -32600, "Invalid Request: a JSON-RPC 2.0 object is expected."),
    "no version": ({"id": 1, "method": "ping"}, 400, -32600, "Invalid Request: a JSON-RPC 2.0 object is expected."),
    "no method": ({"jsonrpc": "2.0", "id": 1}, 400, -32600, 'Invalid Request: "method" or "id" is not valid.'),
    "a bad id": (
        {"jsonrpc": "2.0", "id": [], "method": "ping"},
        400,
        -32600,
        'Invalid Request: "method" or "id" is not valid.',
    ),
    "an id that is null": (
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        400,
        -32600,
        'Invalid Request: "method" or "id" is not valid.',
    ),
    "half of a pair of surrogates": (
        r'{"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}',
        400,
        -32700,
        f"{PARSE_ERROR}lone leading surrogate in hex escape at line 1 column 33.",
    ),
    "bad params": (
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]},
        200,
        -32602,
        "Invalid params: an object is expected.",
    ),
    "an unknown method": ({"jsonrpc": "2.0", "id": 1, "method": "tasks/x"}, 200, -32601, "Method not found: tasks/x"),
    "an unknown tool": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fly"}},
        200,
        -32602,
        "Unknown tool: fly",
    ),
    "no tool": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        200,
        -32602,
        'Invalid params: "name" is missing.',
    ),
    "an unknown resource": (
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///x"}},
        200,
        -32002,
        "Resource not found: file:///x",
    ),
    "a missing argument of a prompt": (
        {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "review"}},
        200,
        -32602,
        "Missing required arguments: code",
    ),
    "arguments that are no object": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_file", "arguments": "x"}},
        200,
        -32602,
        'Invalid params: "arguments" must be an object.',
    ),
    "an argument of a prompt that is no text": (
        {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "review", "arguments": {"code": 3}}},
        200,
        -32602,
        "Invalid params: the arguments of a prompt must be texts.",
    ),
    "a name that is no text": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 3}},
        200,
        -32602,
        'Invalid params: "name" must be a text.',
    ),
    "a handshake without a client": (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "x", "capabilities": {}}},
        200,
        -32602,
        'Invalid params: "clientInfo" is missing.',
    ),
    "a completion of nothing": (
        {"jsonrpc": "2.0", "id": 1, "method": "completion/complete", "params": {"ref": 3}},
        200,
        -32602,
        'Invalid params: "ref" must be an object.',
    ),
    "a rule's error": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": READ_BROKEN},
        200,
        -32000,
        "Disk failure",
    ),
    "a rule's status": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": READ_BUSY},
        429,
        -32000,
        "Too many requests.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, server: MockServer) -> None:
    body, status, code, message = ERRORS[name]
    answered = post(server, body)
    assert answered.status_code == status
    assert answered.json()["error"] == {"code": code, "message": message}
    stated = body.get("id") if isinstance(body, dict) else None
    assert answered.json()["id"] == (stated if isinstance(stated, int) else None)
    assert answered.headers.get("retry-after") == ("2" if name == "a rule's status" else None)


def test_errors_that_only_the_later_era_has(server: MockServer) -> None:
    for method, headers, status, code in (
        ("tasks/x", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("tools/list", {"mcp-method": "tools/call"}, 400, -32020),
        ("tools/list", {"mcp-protocol-version": "2025-06-18"}, 400, -32020),
    ):
        answered = ask_modern(server, method, **headers)
        assert (answered.status_code, answered.json()["error"]["code"]) == (status, code)
    call = {"name": "delete", "arguments": {"path": "a"}}
    assert ask_modern(server, "tools/call", call, **{"mcp-name": "read_file"}).json()["error"]["code"] == -32020
    assert ask_modern(server, "tools/call", call, **{"mcp-name": "=?base64?ZGVsZXRl?="}).status_code == 200
    later = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    answered = post(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": later})
    assert answered.status_code == 400
    assert answered.json()["error"]["code"] == -32022
    assert answered.json()["error"]["data"]["requested"] == "2031-01-01"


def test_an_unknown_revision_in_the_header(server: MockServer) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert post(server, body, **{"mcp-protocol-version": "2025-06-18"}).json()["result"] == {}
    assert post(server, body, **{"mcp-protocol-version": "1999-01-01"}).status_code == 400


def test_a_revision_that_only_the_header_names(server: MockServer) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answered = post(server, body, **{"mcp-protocol-version": VERSION})
    assert (answered.status_code, answered.json()["error"]["code"]) == (400, -32020)


def test_what_a_client_accepts(server: MockServer) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for accept in ("*/*", "application/json", "application/json, text/event-stream"):
        assert post(server, body, accept=accept).json()["result"] == {}
    streamed = post(server, body, accept="text/event-stream")
    assert streamed.text == 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
    refused = post(server, body, accept="text/html")
    assert (refused.status_code, refused.json()["error"]["code"]) == (406, -32600)


def test_what_is_not_called_json_is_refused(server: MockServer) -> None:
    sent = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    refused = post(server, sent, **{"content-type": "text/plain"})
    assert (refused.status_code, refused.json()["id"]) == (415, 1)
    assert refused.json()["error"]["message"].startswith("Invalid Content-Type header (text/plain), expected")


def test_an_unknown_server_names_those_that_there_are(server: MockServer) -> None:
    answered = post(server, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, "mail")
    assert answered.status_code == 404
    told = 'There is no MCP server "mail"; there are: files, odd, paged. Define it under mcp: in a rules file, declare '
    assert answered.json()["error"]["message"].startswith(told)


def test_there_are_no_streams_and_no_sessions_to_end(server: MockServer) -> None:
    for method in ("GET", "DELETE"):
        answered = httpx.request(method, f"{server.url}/mcp/files", headers={"accept": "text/event-stream"})
        assert (answered.status_code, answered.headers["allow"]) == (405, "POST")


def test_a_page_of_another_origin_is_refused(server: MockServer) -> None:
    answered = post(server, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, origin="https://evil.example")
    assert answered.status_code == 403


def test_a_namespace_has_the_servers_of_the_files(server: MockServer) -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answered = httpx.post(f"{server.url}/ns/mine/mcp/paged", json=sent)
    assert len(answered.json()["result"]["tools"]) == 2


def test_a_result_without_a_rule_or_schema_says_what_was_called(server: MockServer) -> None:
    called = ask(server, "tools/call", {"name": "a", "arguments": {"path": "é", "deep": [1]}}, "paged")
    assert called["result"]["content"] == [{"type": "text", "text": 'made-up result of a(path="é", deep=[1])'}]


def test_results_without_a_rule_fit_the_output_schema_and_repeat(server: MockServer) -> None:
    call = {"name": "read_file", "arguments": {"path": "other"}}
    first, again = ask(server, "tools/call", call)["result"], ask_modern(server, "tools/call", call).json()["result"]
    assert first["structuredContent"] == again["structuredContent"]
    assert {name: type(value) for name, value in first["structuredContent"].items()} == {"text": str, "size": int}


MISTAKES = {
    "mcp: {files: {tools: [{description: x}]}}": 'an item of "tools" needs "name"',
    "mcp: {files: {tool: []}}": 'unknown key "tool"',
    "mcp: {files: {tools: [{name: a}, {name: a}]}}": 'there are two tools "a"; rename one of them',
    "mcp: {files: {tools: [{name: a, input: {path: text}}]}}": '"path" expects a type: string, integer',
    "mcp: {files: {tools: [{name: a, input: {type: object, properties: 3}}]}}": "invalid JSON Schema",
    "mcp: {files: {tools: [{name: a, then: {txt: b}}]}}": 'unknown key "txt"',
    "mcp: {files: {tools: [{name: a, then: {text: '{{ argument.x }}'}}]}}": "argument",
    "mcp: {files: {resources: [{name: a}]}}": '"uri"',
    "rules: [{when: {tool: a}, then: {tool_calls: [{name: b}]}}]": "tool_calls",
    "rules: [{when: {tool: a}, then: {steps: [{text: b}]}}]": "steps",
    "rules: [{when: {resource: a}, then: {tool_error: b}}]": "tool_error",
    "mcp: {files: {tools: [{name: a, input: {$ref: 'http://127.0.0.1:1/b'}}]}}": "nothing is fetched",
    "rules: [{then: {tool_error: a, text: b}}]": 'use "text" or "tool_error", not both',
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_rules_files(text: str, tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"version: 1\n{text}\n")
    with pytest.raises(RuleError) as raised, MockServer(file):
        pass
    assert "rules.yaml:2" in str(raised.value)
    assert MISTAKES[text] in str(raised.value)


def test_all_mistakes_of_a_server_are_told_at_once(tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    tools = "{name: a, input: {path: text}}, {name: b, input: 3}, {name: a, foo: 1}, {name: ''}, {name: ''}"
    file.write_text(f"version: 1\nmcp: {{files: {{tools: [{tools}], resources: [{{uri: 3}}], pages: 3}}}}\n")
    with pytest.raises(RuleError) as raised, MockServer(file):
        pass
    words = [mistake.message for mistake in raised.value.mistakes]
    assert [word.partition(";")[0][:28] for word in words] == [
        '"path" expects a type: strin',
        '"input" expects a table, not',
        'there are two tools "a"',
        'unknown key "foo"',
        '"name" expects a string that',
        '"name" expects a string that',
        '"uri" expects a string, not ',
        'unknown key "pages"',
    ]


def test_rules_for_models_do_not_answer_tools(server: MockServer) -> None:
    assert ask(server, "tools/call", {"name": "read_file", "arguments": {"path": "x"}})["result"]["content"] != [
        {"type": "text", "text": "From a rule for models"}
    ]


def test_keys_that_name_models_do_not_keep_calls_of_tools_out(tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nmcp: {files: {tools: [{name: a, then: {text: b}}]}}\n")
    with MockServer(file, keys={"sk-test": {"models": ["gpt-5"]}}) as server:
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
        assert post(server, sent).status_code == 401
        assert post(server, sent, authorization="Bearer sk-test").json()["result"]["content"][0]["text"] == "b"


def test_a_cassette_is_not_asked_for_calls_of_tools(tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nmcp: {files: {tools: [{name: a, then: {text: b}}, {name: c}]}}\n")
    (tmp_path / "chat.yaml").write_text("version: 1\n")
    with MockServer(file, cassettes=tmp_path, cassette="chat", unmatched="generate") as server:
        for name in ("a", "c"):
            sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
            assert "result" in post(server, sent).json()


def test_load_rules_takes_servers_too(tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    assert len(load_rules(file, None)) == 10
