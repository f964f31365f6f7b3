"""Paths that no dialect knows: rules answer them, and without a rule the 404 says which would."""

import re
from pathlib import Path

import httpx
import pytest

from mockserver.config.errors import ConfigError, RuleError
from mockserver.dialects import discover, discover_all
from mockserver.reports.calls import find_error_message
from mockserver.rules.load import load
from mockserver.server.explain import make_usual_request
from mockserver.server.routes import drop_dialect_segment, list_endpoints
from mockserver.server.unreachable_rules import find_unreachable
from mockserver.testing import MockServer, MockServerWarning
from tests.kit.asgi import app
from tests.kit.local import Answered, local

ISSUES = """
rules:
  - name: issue
    when: {path: {regex: "^/repos/(?P<repo>[^/]+)/issues$"}, method: POST, param.title: "*bug*", key: sk-1}
    then: {json: {repo: "{{ match.repo }}", at: "{{ call.path }}", p: "{{ call.query.page }}", t: "{{ body.title }}"}}
"""


def stub(when: str, then: str, more: str = "") -> str:
    return f"rules: [{{name: stub, when: {when}, then: {then}{more}}}]"


def test_conditions_and_templates_work_at_any_path() -> None:
    server = app(ISSUES)
    headers = {"authorization": "Bearer sk-1"}
    got = server.ask("/repos/a/issues?page=2", {"title": "a bug"}, headers=headers)
    assert got.json == {"repo": "a", "at": "/repos/a/issues", "p": "2", "t": "a bug"}
    assert got.headers["content-type"] == "application/json"
    assert got.source.endswith("issue")
    for path, body, method in (
        ("/repos/a/b/issues", {"title": "a bug"}, "POST"),
        ("/repos/a/issues", {"title": "else"}, "POST"),
        ("/repos/a/issues", {"title": "a bug"}, "PUT"),
    ):
        assert server.ask(path, body, headers=headers, method=method).status == 404
    assert server.ask("/repos/a/issues", {"title": "a bug"}).status == 404  # without the key


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND"])
def test_every_method_and_body_can_be_stubbed(method: str) -> None:
    server = app(stub("{path: /any/*}", "{raw: {status: 202, body: done}}"))
    bodies = (None, b"a=1&a=2", b"\xff\x00", b"{broken", b"[" * 300, b"[1]", b'{"a": 1e999}', b"--x\r\n\r\nhi\r\n--x--")
    for body in bodies:
        for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json", ""):
            got = server.ask("/any/thing", body, method=method, headers={"content-type": kind})
            assert (got.status, got.body) == (202, b"done")


def test_bodies_are_matched() -> None:
    server = app(stub('{path: /a, body: "[0].b"}', "{raw: {body: list}}"))
    assert server.ask("/a", [{"b": 1}]).body == b"list"
    assert server.ask("/a", {"b": 1}).status == 404
    form = {"content-type": "application/x-www-form-urlencoded"}
    server = app(stub("{path: /a, param.name: Anna K, metadata.x: {exists: false}}", "{raw: {body: form}}"))
    assert server.ask("/a", b"name=Anna+K", headers=form).body == b"form"
    assert server.ask("/a", b"&".join([b"a=1"] * 2000), headers=form).status == 404
    server = app(stub("{path: /a, model: whisper*}", "{raw: {body: model}}"), models=["gpt-4o"])
    assert server.ask("/a", {"model": "whisper-1"}).body == b"model"


def test_attempts_ignore_the_boundaries_of_parts() -> None:
    server = app(stub("{path: /up, attempt: {gte: 2}}", "{raw: {body: again}}"))
    for boundary, status in (("one", 404), ("two", 200)):
        kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
        assert server.ask("/up", f"--{boundary}\r\n\r\nhi\r\n--{boundary}--".encode(), headers=kind).status == status


def test_times_states_namespaces_and_branches_count() -> None:
    rules = """
rules:
  - {when: {path: /jobs/1, method: GET}, state: {is: start, becomes: done}, then: {json: {status: running}}}
  - {when: {path: /jobs/1, method: GET}, state: {is: done}, times: 1, then: {json: {status: done}}}
  - {when: {path: /jobs/1, method: GET, namespace: default}, then: {error: {status: 410, message: gone}}}
  - {when: {path: /one}, then: {one_of: [{then: {json: 1}}, {then: {json: 2}}]}}
"""
    server = app(rules)
    seen = [server.ask("/jobs/1", method="GET") for _ in range(3)]
    assert [got.json.get("status", got.json.get("error", {})) for got in seen[:2]] == ["running", "done"]
    assert (seen[2].status, seen[2].json["error"]["message"]) == (410, "gone")
    own = [server.ask("/ns/mine/jobs/1", method="GET") for _ in range(3)]
    assert [got.status for got in own] == [200, 200, 404]
    assert {server.ask("/one", {"n": n}).body for n in range(20)} == {b"1", b"2"}


def test_faults_and_raw_json() -> None:
    rules = """
rules:
  - {when: {path: "/v1/*"}, then: {faults: [wrong_content_type]}}
  - {when: {path: /v1/vaults}, then: {raw: {status: 201, json: {id: "b-{{ body.n }}"}, headers: {x-one: a}}}}
"""
    got = app(rules).ask("/v1/vaults", {"n": 7})
    assert (got.status, got.json, got.headers["x-one"]) == (201, {"id": "b-7"}, "a")
    assert not got.headers["content-type"].startswith("application/json")


def test_paths_that_a_dialect_knows_stay_as_they_are() -> None:
    server = app(stub("{path: /v1/*}", "{json: {a: 1}}"))
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    assert server.ask("/v1/chat/completions", body).json["choices"][0]["message"]["content"] == '{"a":1}'
    assert server.ask("/v1/chat/completions", {}).status == 400
    assert server.ask("/v1/chat/completions", method="PUT").status == 405
    assert server.ask("/v1/anything", body).json == {"a": 1}
    assert app(stub("{path: '*'}", "{text: hi}")).ask("/v1/anything", body).status == 404


def test_keys_of_the_settings_are_required() -> None:
    server = app(stub("{path: /a}", "{json: {}}"), keys=["sk-1"])
    assert server.ask("/a", {}).status == 401
    assert server.ask("/a", {}, headers={"authorization": "Bearer sk-1"}).status == 200
    assert [server.ask(path, method="GET").status for path in ("/a/b", "/")] == [404, 200]


def test_no_stub_takes_a_control_path() -> None:
    server = app(stub("{path: '*'}", "{json: {}}"))
    for path in ("/__mockserver__", "/ns/a/__mockserver__/api/calls", "//__mockserver__"):
        assert "stub" not in server.ask(path, method="GET", headers={"host": "localhost"}).source
    for when in (
        "{path: /__mockserver__/api/calls}",
        "{path: /__mockserver__*}",
        "{any: [{path: {regex: ^/__mockserver__}}]}",
        "{path: {in: [/a, //__mockserver__/x]}}",
    ):
        with pytest.raises(RuleError) as caught:
            local(f"rules:\n  - when: {when}\n    then: {{json: 1}}\n")
        (mistake,) = caught.value.mistakes
        assert re.search(r"rules\.yaml:2:\d+: rules cannot answer paths below /__mockserver__", mistake.render())


def test_an_unanswered_path_names_the_nearest_rules() -> None:
    got = app(ISSUES).ask("/repos/a/issues", {"title": "x"}, headers={"authorization": "Bearer sk-1"})
    assert (got.status, got.source) == (404, "unmatched")
    told = got.json["error"]["message"].splitlines()
    assert told[0] == "Invalid URL (POST /repos/a/issues)"
    assert told[1] == "no rule answers this request; the nearest:"
    assert '    MISS  param.title glob "*bug*": got "x"' in told


MISSING = [
    (dialect.name, front + path.replace("*", "any"))
    for dialect in discover().values()
    for path in dialect.missing
    for front in (dialect.mounts[0], drop_dialect_segment(dialect.mounts[0]))
    if front == dialect.mounts[0] or dialect.name == "openai"
]


@pytest.mark.parametrize("dialect", sorted({dialect for dialect, _ in MISSING}))
def test_an_endpoint_that_is_missing_is_answered_by_the_rule_of_its_404(dialect: str) -> None:
    server, paths = app(), [path for name, path in MISSING if name == dialect]
    told = {path: find_suggested_rule(server.ask(path, {"model": "m"})) for path in paths}
    again = app("".join(["rules:\n", *(f"  - {rule}\n" for rule in dict.fromkeys(told.values()))]))
    for path in paths:
        got = again.ask(path, {"model": "m"})
        assert got.status == 200, path
        assert got.source.startswith("rule "), path


def find_suggested_rule(got: Answered) -> str:
    assert got.status == 404
    is_text = got.headers["content-type"] == "text/plain"  # as Ollama's router answers
    message: str = got.body.decode() if is_text else got.json.get("detail") or find_error_message(got.body)
    _, told, rule = message.partition(" mockserver does not have this endpoint; a rule can answer it: - ")
    assert told, message
    return rule


def test_no_rule_is_suggested_for_a_path_with_a_star() -> None:
    assert "a rule can answer it" not in app().ask("/v1/vaults/%2A", method="GET").json["error"]["message"]


def test_no_missing_endpoint_is_there() -> None:
    known = [place.path for place in list_endpoints(discover(), "openai")]
    for name, path in MISSING:
        assert not [each for each in known if each == path or each.startswith(f"{path}/")], name


NEVER = [
    (
        "{path: /v1/chat/completions, method: PUT}",
        "{json: 1}",
        "/v1/chat/completions accepts GET, POST, not",
    ),
    ("{path: /v1/models, method: [PUT, PATCH]}", "{error: 500}", "/v1/models accepts GET, not PATCH, PUT"),
    ("{path: /v1/filse}", "{text: hi}", 'no dialect knows the path "/v1/filse"; there, rules answer with raw, json'),
    ("{path: /tools/*}", "{text: hi}", 'no dialect knows the path "/tools/*"'),
    ("{path: [/a, /b]}", "{echo: true}", 'no dialect knows the path "/a"'),
    ("{path: a/b}", "{json: 1}", 'a path begins with a slash: write "/a/b"'),
    ("{path: /a//b/}", "{json: 1}", 'rules see a path without doubled and trailing slashes: write "/a/b"'),
    ("{path: /ns/me/a}", "{json: 1}", "rules see a path without its namespace"),
    ("{method: PUT}", "{json: 1}", "no chat, completions, realtime, responses accepts PUT; add a path"),
    (
        "{path: /v1/responses, method: GET}",
        "{error: 503}",
        "/v1/responses accepts POST, not GET; a WebSocket there is the operation websocket",
    ),
    ("{operation: websocket, method: POST}", "{error: 503}", "a WebSocket is opened by GET"),
    ("{operation: websocket, dialect: anthropic}", "{error: 503}", "anthropic has no WebSockets"),
]


@pytest.mark.parametrize(("when", "then", "why"), NEVER)
def test_check_says_which_rules_are_never_reached(when: str, then: str, why: str) -> None:
    (remark,) = find_unreachable(local(stub(when, then)).live.engine.rules, "openai")
    assert remark.text.startswith(f"never answers: {why}")


@pytest.mark.parametrize(
    ("when", "then"),
    [
        ("{path: /v1/chat/completions}", "{text: hi}"),
        ("{operation: websocket, path: /v1/responses, method: GET}", "{error: 503}"),
        ("{path: /v1/chat/completions, method: POST}", "{text: hi}"),
        ("{path: /v1/models/gpt-4o, method: HEAD}", "{error: 500}"),
        ("{path: '/v1/*'}", "{text: hi}"),
        ("{path: '*/chat/completions'}", "{text: hi}"),
        ("{path: '/v1/models/*'}", "{text: hi}"),
        ("{path: [/a, /v1/responses]}", "{text: hi}"),
        ("{path: /a, method: GET}", "{json: 1}"),
        ("{path: {regex: a}}", "{text: hi}"),
        ("{method: POST}", "{text: hi}"),
        ("{method: DELETE, operation: delete_response}", "{error: 500}"),
        ("{}", "{text: hi}"),
    ],
)
def test_check_is_silent_on_rules_that_are_reached(when: str, then: str) -> None:
    assert not list(find_unreachable(local(stub(when, then)).live.engine.rules, "openai"))


HTML = {"accept": "text/html,*/*;q=0.8", "host": "127.0.0.1:8000"}


@pytest.mark.parametrize("rules", ["", ISSUES])
def test_the_root_says_where_to_point_a_client(rules: str) -> None:
    server = app(rules)
    page = server.ask("/", method="GET", headers=HTML)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = page.body.decode()
    for base in ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/azure-openai"):
        assert f"<code>{base}</code>" in text
    assert "<code>http://127.0.0.1:8000/tzafon</code>  (OpenAI's client: append /v1)" in text
    assert "<script" not in text
    assert "repos" not in text
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["content-security-policy"] == "sandbox"
    told = server.ask("/", method="GET", headers={"host": "127.0.0.1:8000"}).json
    assert told["base_url"] == "http://127.0.0.1:8000/v1"
    assert told["base_urls"]["fireworks"] == "http://127.0.0.1:8000/fireworks/inference/v1"
    told = server.ask("/ns/a", method="GET", headers={"host": "127.0.0.1:8000"}).json
    assert told["base_url"] == "http://127.0.0.1:8000/ns/a/v1"
    assert told["calls"] == "http://127.0.0.1:8000/__mockserver__/api/calls?namespace=a"
    assert told["inspector"] == "http://127.0.0.1:8000/__mockserver__/"
    assert '<a href="/__mockserver__/">/__mockserver__/</a> (inspector)' in text
    assert "inspector" not in app(rules, inspector=False).ask("/", method="GET", headers=HTML).body.decode()
    assert server.ask("/", method="HEAD", headers=HTML).status == 200
    assert server.ask("/", {}).status == 404
    ruled = app(stub("{path: /}", "{raw: {body: mine}}")).ask("/", method="GET", headers=HTML)
    assert ruled.body == b"mine"


VERSION = "api-version=2024-05-01-preview"


def test_an_unmatched_request_can_get_another_error() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    got = app("rules: []", unmatched={"status": 501}).ask("/v1/chat/completions", body)
    assert (got.status, got.source, got.headers["x-should-retry"]) == (501, "unmatched", "false")
    assert got.json["error"]["message"].startswith("no rule answers this request")
    got = app("rules: []", unmatched={"status": 501}, dialect="azure").ask(f"/chat/completions?{VERSION}", body)
    assert (got.json["code"], got.json["error"], got.json["status"]) == ("NotImplemented", "Not Implemented", 501)
    with pytest.raises(
        ConfigError, match=re.escape('must be generate or error, or a table such as {status: 501}, not "501"')
    ):
        app("settings: {unmatched: '501'}")
    for dialect, spoken in discover().items():
        operations = {operation.name for operation in spoken.operations}
        asked = make_usual_request(dialect, "chat" if "chat" in operations else "embeddings", "m", "x")
        server = app("rules: []", unmatched={"status": 501, "code": "no_rule", "message": "none"})
        got = server.ask(asked.path, asked.body)
        assert (got.status, "none" in got.body.decode()) == (501, True), dialect


def test_the_rules_of_a_file_say_whether_they_may_stub(tmp_path: Path) -> None:
    rules = local(
        """
rules:
  - {when: {path: /a}, then: {json: 1}}
  - {when: {path: /a}, then: {steps: [{json: 1}, {text: a}]}}
  - {when: {path: /a}, then: {raw: {body: a}, faults: [reset]}}
  - {when: {path: /a}, then: {error: 500, retry_after: 2s}}
  - {when: {path: /a}, then: {json: 1, tool_calls: [{name: a}]}}
  - {when: {model: a}, then: {json: 1}}
"""
    ).live.engine.rules
    assert [rule.stubs for rule in rules] == [True, False, True, True, False, False]
    assert load([], {}) == ()


def test_mounts_begin_with_the_name_of_their_dialect_or_of_another_provider() -> None:
    for name, dialect in discover().items():
        first, *others = [mount.split("/")[1].replace("-", "_") for mount in dialect.mounts]
        assert f"{name}_".startswith(f"{first}_")
        assert set(others) <= {first, *(each.removesuffix("_openai") for each in discover_all())}


@pytest.mark.parametrize("front", ["", "/openai"])
def test_a_path_fits_with_and_without_the_mount(front: str) -> None:
    server = app(stub("{path: /v1/vaults, method: POST}", "{json: {a: 1}}"))
    assert server.ask(f"{front}/v1/vaults", {}).json == {"a": 1}
    assert server.ask(f"/ns/mine{front}/v1/vaults", {}).json == {"a": 1}
    assert server.ask(f"/elsewhere{front}/v1/vaults", {}).status == 404
    assert server.ask(f"{front}/v1/vaults/edits", {}).status == 404
    pasted = app().ask(f"{front}/v1/vaults/edits", {}).json["error"]["message"]
    spoken = "dialect: openai, " if front else ""
    assert f"{{{spoken}path: /v1/vaults/edits, method: POST}}" in pasted
    chat = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    server = app(stub("{not: {path: /v1/chat/completions}}", "{text: not here}"), unmatched="error")
    assert server.ask(f"{front}/v1/chat/completions", chat).status == 404
    server = app(stub('{path: {regex: "^/v1/(?P<rest>.*)$"}}', '{text: "{{ match.rest }}"}'))
    got = server.ask(f"{front}/v1/chat/completions", chat)
    assert got.json["choices"][0]["message"]["content"] == "chat/completions"


def test_the_404_names_a_rule_whose_answer_needs_a_dialect() -> None:
    server = app(stub("{path: /search}", "{text: hello}"))
    got = server.ask("/search", method="GET")
    assert (got.status, got.source) == (404, "unmatched")
    assert (
        '"stub" matches, but no dialect serves this path, so the rule must answer with raw, json or'
        in got.json["error"]["message"]
    )
    assert server.ask("/searches", method="GET").source == "invalid"


def test_a_test_is_warned_of_a_rule_that_no_request_can_reach() -> None:
    with pytest.warns(MockServerWarning, match="there, rules answer with raw, json or error"), MockServer() as server:
        server.on(path="/find").reply("hello")
    with pytest.warns(MockServerWarning, match='begins with a slash: write "/find"'), MockServer() as server:
        server.on(path="https://api.github.com/find").reply(json={})


def test_a_rule_whose_path_fits_is_nearer_than_one_whose_method_does() -> None:
    others = "".join(f"  - {{when: {{path: /no/{at}, method: GET}}, then: {{json: 1}}}}\n" for at in range(5))
    rules = f"rules:\n{others}  - {{when: {{path: /here, method: POST, param.a: 1}}, then: {{json: 1}}}}"
    told = app(rules).ask("/here", method="GET").json["error"]["message"].splitlines()
    assert 'ok    path equals "/here"' in told[3]


@pytest.mark.parametrize("dialect", discover())
def test_a_404_without_a_model_names_none(dialect: str) -> None:
    got = app(stub("{path: /find}", "{error: 404}"), dialect=dialect).ask("/find", method="GET")
    assert (got.status, "odel" in got.body.decode()) == (404, False)
    named = app(stub("{path: /find}", "{error: 404}"), dialect=dialect).ask("/find", {"model": "m"})
    says_the_same = dialect == "bedrock"  # whose 404 is about no model: an unknown one is a 400
    assert (named.status, named.body == got.body) == (404, says_the_same)


def test_a_look_at_the_root_is_no_call() -> None:
    with MockServer() as server:
        got = httpx.get(server.url, headers=HTML | {"host": httpx.URL(server.url).netloc.decode()})
        assert [value for name, value in got.headers.multi_items() if name == "content-security-policy"] == ["sandbox"]
        assert got.status_code == 200
        assert len(server.calls) == 0
        server.on(path="/").reply(json={})
        assert httpx.get(server.url).json() == {}
        assert len(server.calls) == 1


def test_the_rule_that_a_failed_test_suggests_has_the_bare_path() -> None:
    with MockServer() as server:
        server.on(path="/v1/vaults", method="POST").reply(json={})
        httpx.get(f"{server.url}/openai/v1/vaults")
        (problem,) = server.problems()
        assert 'on(method="GET", path="/v1/vaults")' in problem.text
        server.reset()
