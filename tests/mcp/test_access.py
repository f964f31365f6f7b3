"""Who may talk to an MCP server, and in which words: sessions, revisions, logins, arrays, and what is refused early."""

import json
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from mockserver.config.errors import RuleError
from mockserver.testing import MockServer

RULES = """
version: 1
mcp:
  held: {sessions: true, tools: [{name: a, then: {text: A}}]}
  old: {versions: ["2025-06-18"], tools: [{name: a, then: {text: A}}]}
  new: {versions: ["2026-07-28"], tools: [{name: a, then: {text: A}}]}
  guarded: {auth: {bearer: sesame}, tools: [{name: a, then: {text: A}}]}
  login: {auth: oauth, tools: [{name: a, then: {text: A}}]}
  open:
    tools: [{name: a, then: {text: A}}, {name: b, output: {n: integer}}]
    prompts: [{name: p, arguments: [style, "size?"], values: {style: [long, longer, short]}, then: {text: P}}]
rules:
  - when: {tool: b, arguments: {how: text}}
    then: {text: '{"n": 1}'}
  - when: {tool: b, arguments: {how: broken}}
    then: {json: {n: 1}, faults: [breaks_schema]}
  - when: {tool: b}
    then: {json: {n: 1}}
  - when: {mcp: open, tool: a, attempt: 2}
    then: {text: again}
"""
VERSION = "2026-07-28"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file) as running:
        yield running


def ask(server: MockServer, at: str, method: str = "tools/call", headers: Any = None, **params: Any) -> httpx.Response:
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {"name": "a"}}
    return httpx.post(f"{server.url}/mcp/{at}", json=sent, headers=headers)


def ask_modern(server: MockServer, name: str, method: str = "tools/call", version: str = VERSION) -> httpx.Response:
    params = {"name": "a", "_meta": {"io.modelcontextprotocol/protocolVersion": version}}
    return ask(server, name, method, {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": "a"}, **params)


def error(answered: httpx.Response) -> tuple[int, int, str]:
    told = answered.json()["error"]
    return answered.status_code, told["code"], told["message"]


def initialize(server: MockServer, name: str, version: str = "2025-11-25") -> httpx.Response:
    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return ask(server, name, "initialize", **about)


def test_a_session_begins_is_needed_and_ends(server: MockServer) -> None:
    server.reset()
    ids = [initialize(server, "held").headers["mcp-session-id"] for _ in range(2)]
    assert [each.partition("-")[0] for each in ids] == ["1", "2"]
    server.reset()
    assert initialize(server, "held").headers["mcp-session-id"] == ids[0]  # from the seed
    held = {"mcp-session-id": ids[0]}
    assert ask(server, "held", headers=held).json()["result"]["content"][0]["text"] == "A"
    missing = (400, -32600, "Bad Request: Missing session ID")
    assert error(ask(server, "held")) == missing
    assert error(httpx.get(f"{server.url}/mcp/held")) == missing
    for unknown in (ids[1], "1-abc", "x", "", "99999999999999999999-a"):
        refused = ask(server, "held", headers={"mcp-session-id": unknown})
        assert error(refused) == (404, -32600, "Session not found")
    assert httpx.delete(f"{server.url}/mcp/held", headers=held).status_code == 200
    assert error(ask(server, "held", headers=held)) == (404, -32600, "Session not found")
    assert ask_modern(server, "held").status_code == 200  # which needs none


def test_a_session_that_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nmcp: {held: {sessions: true, tools: [{name: a, then: {text: A}}]}}\n"
        "rules: [{when: {tool: a}, then: {faults: [{session_lost: {times: 1}}]}}]\n"
    )
    with MockServer(file) as server:
        held = {"mcp-session-id": initialize(server, "held").headers["mcp-session-id"]}
        for _ in range(2):
            assert error(ask(server, "held", headers=held)) == (404, -32600, "Session not found")
        held = {"mcp-session-id": initialize(server, "held").headers["mcp-session-id"]}
        assert ask(server, "held", headers=held).json()["result"]["content"][0]["text"] == "A"


def test_an_old_server_knows_no_later_revision(server: MockServer) -> None:
    assert initialize(server, "old", "2025-11-25").json()["result"]["protocolVersion"] == "2025-06-18"
    why = "Bad Request: Unsupported protocol version: {}. Supported versions: 2025-06-18"
    for method in ("tools/call", "server/discover"):
        assert error(ask_modern(server, "old", method)) == (400, -32600, why.format(VERSION))
    stated = ask(server, "old", headers={"mcp-protocol-version": "2025-11-25"})
    assert error(stated) == (400, -32600, why.format("2025-11-25"))
    assert ask(server, "old", headers={"mcp-protocol-version": "2025-06-18"}).status_code == 200


def test_a_new_server_knows_no_handshake(server: MockServer) -> None:
    answered = initialize(server, "new")
    assert error(answered) == (400, -32022, "Unsupported protocol version")
    assert answered.json()["error"]["data"] == {"supported": [VERSION], "requested": "2025-11-25"}
    assert ask_modern(server, "new", "server/discover").json()["result"]["supportedVersions"] == [VERSION]


def test_probes_and_logins_are_no_calls_of_the_test(server: MockServer) -> None:
    server.reset()
    ask_modern(server, "old", "server/discover")
    initialize(server, "guarded")
    httpx.get(f"{server.url}/.well-known/oauth-protected-resource/mcp/open")
    httpx.get(f"{server.url}/mcp/open")
    assert list(server.calls) == []
    ask(server, "open", name="unknown")
    assert len(server.calls) == 1


def test_a_bearer_token(server: MockServer) -> None:
    answered = ask(server, "guarded")
    assert error(answered) == (401, -32000, "Unauthorized: send a bearer token.")
    assert answered.headers["www-authenticate"] == 'Bearer realm="guarded"'
    wrong = ask(server, "guarded", headers={"authorization": "Bearer open"})
    assert error(wrong) == (401, -32000, "Unauthorized: this token is not accepted.")
    assert wrong.headers["www-authenticate"] == 'Bearer realm="guarded", error="invalid_token"'
    right = ask(server, "guarded", headers={"authorization": "Bearer sesame"})
    assert right.json()["result"]["content"][0]["text"] == "A"


def test_keys_of_the_server_are_none_of_a_server_with_a_login(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file, keys={"sk-test": None}) as server:
        assert ask(server, "open").status_code == 401
        assert ask(server, "guarded", headers={"authorization": "Bearer sk-test"}).status_code == 401
        assert ask(server, "guarded", headers={"authorization": "Bearer sesame"}).status_code == 200
        assert server.mcp("open").stdio["env"]["MOCKSERVER_MCP_KEY"] == "sk-test"


@pytest.mark.parametrize("prefix", ["", "/ns/mine"])
def test_a_login_by_oauth(prefix: str, server: MockServer) -> None:
    base = f"{server.url}{prefix}/mcp/login"
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
    challenge = httpx.post(base, json=sent)
    place = f"{server.url}/.well-known/oauth-protected-resource{prefix}/mcp/login"
    assert challenge.headers["www-authenticate"] == f'Bearer realm="login", resource_metadata="{place}"'
    resource = httpx.get(place).json()
    assert (resource["resource"], resource["authorization_servers"]) == (base, [base])
    about = httpx.get(f"{server.url}/.well-known/oauth-authorization-server{prefix}/mcp/login").json()
    assert about["issuer"] == base
    uri = "http://127.0.0.1:9/callback?x=1"
    client = httpx.post(about["registration_endpoint"], json={"redirect_uris": [uri]})
    assert (client.status_code, client.json()["redirect_uris"]) == (201, [uri])
    own = {"client_id": client.json()["client_id"], "redirect_uri": uri}
    digest = urlsafe_b64encode(sha256(b"verifier").digest()).decode().rstrip("=")
    wanted = {**own, "response_type": "code", "state": "s", "code_challenge": digest, "code_challenge_method": "S256"}
    sent_back = httpx.get(about["authorization_endpoint"], params=wanted)
    assert sent_back.status_code == 302
    told = parse_qs(urlsplit(sent_back.headers["location"]).query)
    assert (told["state"], told["x"]) == (["s"], ["1"])
    form = {**own, "grant_type": "authorization_code", "code": told["code"][0]}
    wrong = httpx.post(about["token_endpoint"], data={**form, "code_verifier": "other"})
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_grant")
    tokens = httpx.post(about["token_endpoint"], data={**form, "code_verifier": "verifier"}).json()
    assert tokens["token_type"] == "Bearer"
    refreshed = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert httpx.post(about["token_endpoint"], data=refreshed).json()["access_token"] == tokens["access_token"]
    answered = httpx.post(base, json=sent, headers={"authorization": f"Bearer {tokens['access_token']}"})
    assert answered.json()["result"]["content"][0]["text"] == "A"


def test_mistakes_in_a_login(server: MockServer) -> None:
    base = f"{server.url}/mcp/login"
    assert httpx.post(f"{base}/register", json={"redirect_uris": 1}).json()["error"] == "invalid_redirect_uri"
    assert httpx.post(f"{base}/register", content=b"{").status_code == 400
    assert httpx.post(f"{base}/token", data={"grant_type": "password"}).json()["error"] == "unsupported_grant_type"
    for uri in (
        "",
        "javascript:alert(1)",
        "http://a/\nb",
        "http://€.com/x",
        "http://é.com/",
        "http://[",
        "http://a/#b",
    ):
        refused = httpx.get(f"{base}/authorize", params={"redirect_uri": uri, "response_type": "code"})
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    no_challenge = httpx.get(f"{base}/authorize", params={"redirect_uri": "http://a/", "response_type": "code"})
    assert "error=invalid_request" in no_challenge.headers["location"]


@pytest.mark.parametrize(
    "path",
    [
        *(f"/.well-known/{name}{place}" for name in (
            "oauth-protected-resource", "oauth-authorization-server", "openid-configuration"
        ) for place in ("/mcp/open", "/mcp/guarded", "/mcp/nothing")),
        "/ns/mine/.well-known/oauth-protected-resource/mcp/open",
        "/mcp/open/.well-known/openid-configuration",
        "/mcp/open/authorize",
    ],
)  # fmt: skip
def test_a_server_without_a_login_has_none_of_its_paths(path: str, server: MockServer) -> None:
    answered = httpx.get(f"{server.url}{path}", headers={"accept": "text/html"})
    assert (answered.status_code, answered.headers["content-type"]) == (404, "application/json")
    assert "error" in answered.json()


def test_only_the_login_of_an_only_server_is_found_without_a_name(server: MockServer, tmp_path: Path) -> None:
    place = "/.well-known/oauth-protected-resource"
    assert httpx.get(f"{server.url}{place}").status_code == 404, "who looks for a login of another must not find it"
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nmcp: {login: {auth: oauth, tools: [{name: a}]}}\n")
    with MockServer(file) as alone:
        assert httpx.get(f"{alone.url}{place}").json()["resource"] == f"{alone.url}/mcp/login"


def test_the_only_server_needs_no_name(server: MockServer, tmp_path: Path) -> None:
    refused = httpx.post(f"{server.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    why = "This address names no MCP server; there are: guarded, held, login, new, old, open. Its address is /mcp/NAME."
    assert error(refused) == (404, -32000, why)
    with MockServer() as alone:
        alone.mcp("files").tool("a").reply("A")
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
        assert httpx.post(f"{alone.url}/mcp", json=call).json()["result"]["content"][0]["text"] == "A"
        alone.mcp("files").assert_called_once(tool="a")


ARRAY = [
    {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "a"}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    3,
    {"jsonrpc": "2.0", "id": 5, "method": "nope"},
]


def test_an_array_of_messages(server: MockServer) -> None:
    server.reset()
    answered = httpx.post(f"{server.url}/mcp/open", json=ARRAY)
    invalid = "Invalid Request: a JSON-RPC 2.0 object is expected."
    assert answered.json() == [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "result": {"content": [{"type": "text", "text": "A"}], "isError": False}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": invalid}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": -32601, "message": "Method not found: nope"}},
    ]
    server.mcp("open").assert_called_once(tool="a")
    assert httpx.post(f"{server.url}/mcp/open", json=ARRAY[2:3]).status_code == 202
    later = httpx.post(f"{server.url}/mcp/open", json=ARRAY, headers={"mcp-protocol-version": "2025-06-18"})
    assert error(later) == (400, -32600, invalid)
    assert httpx.post(f"{server.url}/mcp/old", json=ARRAY).status_code == 400
    assert httpx.post(f"{server.url}/mcp/open", json=[3]).status_code == 400


def test_what_is_refused_before_it_is_read_is_refused_in_the_words_of_json_rpc(server: MockServer) -> None:
    url = f"{server.url}/mcp/open"
    refused = [
        (httpx.put(url), 405),
        (httpx.get(url), 405),
        (httpx.head(url), 405),
        (httpx.get(f"{url}/other"), 404),
        (httpx.post(url, content=b"0" * 20_000_000), 413),
        (httpx.post(url, json={}, headers={"origin": "https://evil.example"}), 403),
        (httpx.get(url, headers={"user-agent": "Mozilla/5.0", "host": "evil.example"}), 403),
        (httpx.post(url, content=b"x", headers={"content-encoding": "gzip"}), 400),
    ]
    for answered, status in refused:
        assert answered.status_code == status
        if answered.request.method != "HEAD":
            assert answered.json().keys() == {"jsonrpc", "id", "error"}


def test_a_text_is_a_value_only_if_the_output_schema_says_so(server: MockServer) -> None:
    server.mcp("open").on(tool="a", arguments={"how": "json"}).reply('{"n": 1}')
    plain = ask(server, "open", name="a", arguments={"how": "json"}).json()["result"]
    assert plain == {"content": [{"type": "text", "text": '{"n": 1}'}], "isError": False}
    typed = ask(server, "open", name="b", arguments={"how": "text"}).json()["result"]
    assert typed["structuredContent"] == {"n": 1}
    broken = ask(server, "open", name="b", arguments={"how": "broken"}).json()["result"]
    assert broken["structuredContent"] == {"n": "about 1"}
    server.reset()


def test_completions(server: MockServer) -> None:
    def complete(name: str, value: str, prompt: str = "p") -> Any:
        ref, argument = {"type": "ref/prompt", "name": prompt}, {"name": name, "value": value}
        return ask(server, "open", "completion/complete", ref=ref, argument=argument).json()["result"]["completion"]

    assert complete("style", "lo") == {"values": ["long", "longer"], "total": 2, "hasMore": False}
    assert complete("size", "") == complete("style", "x") == complete("style", "", "q")
    assert complete("size", "") == {"values": [], "total": 0, "hasMore": False}


def test_the_dialect_of_a_rule_may_be_mcp(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nmcp: {files: {tools: [{name: a}]}}\nrules: [{when: {dialect: mcp}, then: {text: of MCP}}]\n"
    )
    with MockServer(file) as server:
        assert ask(server, "files").json()["result"]["content"][0]["text"] == "of MCP"
        chat = httpx.post(f"{server.url}/v1/chat/completions", json={"model": "m", "messages": []})
        assert "of MCP" not in chat.text


@pytest.mark.parametrize(
    ("fault", "ids"), [("wrong_id", [2]), ("twice", [1, 1]), ("{duplicate: {at_start: true}}", [1, 1])]
)
def test_answers_to_the_wrong_message_and_twice(fault: str, ids: list[int], tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nmcp: {files: {sse: SSE, tools: [{name: a, then: {text: A, faults: [FAULT]}}]}}\n"
        .replace("FAULT", fault).replace("SSE", str(fault not in ("wrong_id", "twice")).lower())
    )  # fmt: skip
    with MockServer(file) as server:
        text = ask(server, "files").text
        events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        assert [json.loads(event)["id"] for event in events or [text]] == ids


MISTAKES = {
    "mcp: {a/b: {}}": '"a/b" cannot be the name of an MCP server, as it is part of a URL',
    "mcp: {..: {}}": "cannot be the name of an MCP server",
    "mcp: {a: {versions: ['2020-01-01']}}": "2026-07-28",
    "mcp: {a: {auth: basic}}": '"auth" expects oauth, or a table such as {bearer: secret-token}, not "basic"',
    "mcp: {a: {changes: [{after: 1}]}}": "a change needs something to add or remove",
    "mcp: {a: {tools: [{name: read}], changes: [{after: 1, tools: {remove: [reed]}}]}}": 'did you mean "read"?',
    "mcp: {a: {prompts: [{name: p, arguments: [style], values: {stile: []}}]}}": 'did you mean "style"?',
    "rules: [{when: {tool: a}, then: {ask: {user: x, roots: true}, text: b}}]": "needs one of user, model and roots",
    "rules: [{when: {tool: a}, then: {ask: [{roots: true}, {roots: true, name: question}], text: b}}]": "two",
    "rules: [{when: {tool: a}, then: {ask: {user: x, schema: {a: text}}, text: b}}]": "expects a type",
    "rules: [{when: {operation: chat}, then: {text: a, progress: {of: 2}}}]": '"progress"',
    "rules: [{when: {tool: a}, then: {progress: {of: 2}}}]": "an answer is missing here",
    "rules: [{when: {tool: a}, then: {text: b, log: {level: loud, data: x}}}]": "loud",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_rules_files(text: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"version: 1\n{text}\n")
    with pytest.raises(RuleError) as raised, MockServer(file):
        pass
    assert "rules.yaml:2" in str(raised.value)
    assert MISTAKES[text] in str(raised.value)


def test_an_output_schema_of_another_type_is_a_schema(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    outputs = {
        "array": {"type": "array"},
        "text": {"type": "string", "minLength": 2},
        "named": {"type": "string", "size": "integer"},
    }
    tools = [{"name": name, "output": output} for name, output in outputs.items()]
    file.write_text(json.dumps({"mcp": {"files": {"tools": tools}}}))
    with MockServer(file) as server:
        listed = ask(server, "files", "tools/list").json()["result"]["tools"]
    schemas = {tool["name"]: tool["outputSchema"] for tool in listed}
    assert (schemas["array"], schemas["text"]) == (outputs["array"], outputs["text"])
    assert schemas["named"]["properties"] == {"type": {"type": "string"}, "size": {"type": "integer"}}


def check(file: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "mockserver", "check", file.name],
        cwd=file.parent, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_check_remarks_on_rules_that_no_server_can_use(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\n"
        "mcp: {files: {tools: [{name: read}], changes: [{after: 1, tools: {add: [{name: later}]}}]}}\n"
        "rules:\n"
        "  - {when: {mcp: file}, then: {text: a}}\n"
        "  - {when: {tool: reed}, then: {text: a}}\n"
        "  - {when: {prompt_name: p}, then: {text: a}}\n"
        "  - {when: {tool: 're*'}, then: {text: a}}\n"
        "  - {when: {tool: [later, other]}, then: {text: a}}\n"
    )
    assert check(file) == [
        'rules.yaml:4: rule never answers: there is no MCP server "file"; did you mean "files"?',
        'rules.yaml:5: rule never answers: there is no tool "reed"; did you mean "read"?',
        'rules.yaml:6: rule never answers: there is no prompt "p"',
        "rules.yaml: 5 rules, no mistakes, 3 remarks",
    ]
    with file.open("a") as more:
        more.write(
            "  - {when: {mcp: real, tool: any}, then: {text: a}}\n  - {when: {mcp: real}, then: {forward: true}}\n"
        )
    assert check(file) == [
        'rules.yaml:4: rule never answers: there is no MCP server "file"; did you mean "files"?',
        "rules.yaml:10: rule forwards, but no upstream is set; set --upstream mcp/real=URL",
        "rules.yaml: 7 rules, no mistakes, 2 remarks",
    ], "a real server may have what others do not"


def test_the_page_of_the_server_lists_addresses(server: MockServer) -> None:
    listed = httpx.get(server.url).json()["mcp_servers"]
    assert listed["open"] == f"{server.url}/mcp/open"
    assert f"{server.url}/mcp/open" in httpx.get(server.url, headers={"accept": "text/html"}).text


def test_an_answer_that_breaks_the_output_schema_gets_a_remark(server: MockServer) -> None:
    server.reset()
    server.mcp("open").on(tool="b", arguments={"how": "wrong"}).reply(json={"n": "x"})
    server.mcp("open").on(tool="b", arguments={"how": "bare"}).reply("one")
    for how in ("wrong", "bare", "broken", "text"):
        ask(server, "open", name="b", arguments={"how": how})
    remarks = [remark.partition(": ")[2] for call in server.calls for remark in call.remarks]
    assert remarks == [
        'the answer breaks the output schema of b: "x" is not of type "integer" at /n',
        "the answer breaks the output schema of b: it is only a text",
    ]
    server.reset()
