"""A request through the whole application over ASGI: from its bytes to the journal."""

import asyncio
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from mockserver.core.http import HttpRequest, tabulate
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.server.app import Site
from mockserver.server.directory import Directory
from mockserver.server.live import Live
from mockserver.server.masking import MAX_TRACEBACK, describe_crash, summarize_crash
from mockserver.server.nearest_path import find_nearest_path
from mockserver.server.routes import (
    find_endpoint,
    find_routes,
    list_endpoints,
    list_own_endpoints,
)
from mockserver.server.snapshot import ClientLeftError, read_body
from tests.kit.asgi import App
from tests.kit.local import Answered, local

CHAT = "/v1/chat/completions"
BODY = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}'
RULES = """
rules:
  - {name: hi, when: {last_user: hi, namespace: default}, then: {text: Hello}}
  - {name: "naïve ☃", when: {last_user: snow}, then: {text: Hello}}
"""
STREAM = BODY.replace(b'"model"', b'"stream": true, "model"')


@pytest.fixture
def live() -> Live:
    return local(RULES).live


def request(live: Live, path: str, body: bytes = BODY, **how: Any) -> Answered:
    return App(Site(live)).ask(path, body, **how)


def test_headers_say_where_an_answer_came_from(live: Live) -> None:
    found = [
        request(live, CHAT),
        request(live, "/v1/models", method="GET"),
        request(live, CHAT, BODY.replace(b'"hi"', b'"snow"')),
        request(live, f"/ns/mine{CHAT}"),
    ]
    assert [got.headers["x-mockserver-call"] for got in found] == ["1", "2", "3", "4"]
    first, *others = [got.headers["x-mockserver-source"] for got in found]
    assert first.endswith("rules.yaml:3 hi")
    assert others == ["generated", others[1], "generated"]
    assert others[1].endswith(r"na\xefve \u2603")
    assert [row.namespace for row in live.journal][-1] == "mine"
    got = request(local(RULES, source_headers=False).live, CHAT)
    assert not [name for name in got.headers if name.startswith("x-mockserver")]


def test_a_stream_without_timing_is_one_send(live: Live) -> None:
    got = request(live, CHAT, STREAM)
    (row,) = live.journal
    assert (len(row.sent), got.body.count(b"\n\n") > 3) == (1, True)
    assert got.body.endswith(b"data: [DONE]\n\n")


def test_the_journal(live: Live) -> None:
    for path, method in ((CHAT, "POST"), ("/azure/no", "POST"), ("/v1/models", "HEAD"), ("/v1/embeddings", "HEAD")):
        request(live, path, method=method)
    assert [(row.path, row.dialect, row.operation, row.status, row.ended) for row in live.journal] == [
        (CHAT, "openai", "chat", 200, "complete"),
        ("/azure/no", "azure", "", 404, "complete"),
        ("/v1/models", "openai", "models", 200, "complete"),
        ("/v1/embeddings", "openai", "", 405, "complete"),
    ]


def test_limits_count_remembered_answers_too() -> None:
    live = local(RULES, limits={"requests_per_minute": 2, "tokens_per_minute": 1000, "concurrent_requests": 1}).live
    found = [request(live, CHAT) for _ in range(3)]
    assert [got.status for got in found] == [200, 200, 429]
    assert [got.headers["x-ratelimit-remaining-requests"] for got in found] == ["1", "0", "0"]
    assert [row.source.split()[0] for row in live.journal] == ["rule", "rule", "limited"]


class Wire:
    """An ASGI connection whose client sends one body, and which takes one head only."""

    def __init__(self, body: bytes = BODY) -> None:
        self.heads = list[int]()
        self.sent = asyncio.Event()
        self._body: bytes | None = body

    async def receive(self) -> Any:
        if self._body is None:
            await asyncio.Future()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body} if body else {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            if self.heads:
                raise RuntimeError("there was a head already")
            self.heads.append(message["status"])
        self.sent.set()

    async def ask(self, live: Live) -> None:
        scope = {"type": "http", "method": "POST", "path": CHAT, "root_path": "", "query_string": b"", "headers": ()}
        await Site(live)(scope, self.receive, self.send)


async def test_a_client_that_leaves_early_is_noted(live: Live) -> None:
    wire = Wire(b"")
    await wire.ask(live)
    assert (wire.heads, [row.ended for row in live.journal]) == ([], ["client left"])


async def test_an_answer_that_has_begun_when_the_server_stops() -> None:
    live, wire = local("rules: [{then: {text: a b, timing: {first_token: 0s, per_token: 1h}}}]").live, Wire(STREAM)
    task = asyncio.create_task(wire.ask(live))
    await wire.sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (row,) = live.journal
    assert (wire.heads, row.status, row.source.split()[0], row.ended) == ([200], 200, "rule", "server stopped")


async def test_an_answer_that_has_not_begun_when_the_server_stops() -> None:
    live, wire = local("rules: [{then: {text: a b, timing: {total: 1h}}}]").live, Wire()
    task = asyncio.create_task(wire.ask(live))
    while not any(row.status for row in live.journal):
        await asyncio.sleep(0)
    task.cancel()
    await task
    (row,) = live.journal
    assert (wire.heads, row.status, row.source, row.ended) == ([503], 503, "invalid", "server stopped")


async def test_a_bug_amid_an_answer_is_not_a_client_that_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Iterator[object]:
        raise ZeroDivisionError
        yield

    monkeypatch.setattr("mockserver.server.deliver.list_actions", broken)
    live = local("rules: [{then: {text: a b, timing: {total: 1ms}}}]").live
    with pytest.raises(ZeroDivisionError):
        await Wire().ask(live)
    assert [row.ended for row in live.journal] == ["disconnected"]


def logged(message: str, path: str = "/v1/x", key: str = "sk-proj-0a1b2c3d4e") -> str:
    http = HttpRequest("POST", path, headers=((b"authorization", f"Bearer {key}".encode()),))
    try:
        raise ValueError(message)
    except ValueError as error:
        return describe_crash(error, http)


def test_the_log_of_a_bug() -> None:
    first, *trace = logged("no such thing").splitlines()
    assert first == "internal error of mockserver on POST /v1/x"
    assert (trace[0], trace[-1]) == ("| Traceback (most recent call last):", "| ValueError: no such thing")
    assert "test_requests.py" in trace[1]
    assert len(logged("x\n" * 100_000)) < 3 * MAX_TRACEBACK
    text = logged("sk-proj-0a1b2c3d4e\n7 GET / -> 200\r\x1b[2Kb", "/a/sk-proj-0a1b2c3d4e\n8 GET / -> 200")
    assert r"/a/sk-p...(masked)\x0a8 GET / -> 200" in text
    assert text.splitlines()[-2:] == ["| ValueError: sk-p...(masked)", r"| 7 GET / -> 200\x0d\x1b[2Kb"]


# --- from ASGI to a value


def receiver(messages: Iterable[dict[str, Any]]) -> Any:
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    return receive


def piece(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("messages", "body"),
    [
        ([piece(b"ab", more=True), piece(b"c")], b"abc"),
        ([{"type": "http.request"}], b""),
        ([piece(b"12345678")], b"12345678"),
        ([piece(b"123456789")], None),
        ([piece(b"12345", more=True), piece(b"6789", more=True)], None),  # not read to its end, which never comes
    ],
)
async def test_bodies_are_read_up_to_the_limit(messages: list[dict[str, Any]], body: bytes | None) -> None:
    if body is not None:
        assert await read_body(receiver(messages), 8) == body
        return
    with pytest.raises(Failure, match="The request body is larger than 8 bytes") as refused:
        await read_body(receiver(messages), 8)
    assert refused.value.reason == "too_large"


async def test_announced_bodies_and_clients_that_leave() -> None:
    with pytest.raises(Failure, match="larger than 8 bytes"):
        await read_body(receiver([]), 8, [(b"content-length", b"9")])
    with pytest.raises(ClientLeftError):
        await read_body(receiver([piece(b"1", more=True), {"type": "http.disconnect"}]), 8)


def test_a_request_has_what_the_wire_said(live: Live) -> None:
    found = Directory(live).find("/ns/mine/v1/chat/completions")
    assert found is not None
    query, headers = b"a=1&b=%20x&empty=&a=2&c[]=1&c%5B%5D=2", ((b"x-one", b"1"), (b"x-one", b"2"))
    http = found.make_request("POST", query, tabulate(headers), b"{}")
    assert (http.method, http.path, http.namespace) == ("POST", "/v1/chat/completions", "mine")
    assert http.query == {"a": "2", "b": " x", "empty": "", "c[]": "1,2"}
    assert (http.find_header("X-One"), http.find_header("x-two")) == ("1", None)


def test_a_dialect_says_which_parameters_are_repeated_without_brackets(live: Live) -> None:
    query = b"source=upload&source=mistral&page=1&page=2"
    read = {}
    for path in ("/v1/files", "/mistral/v1/files"):
        found = Directory(live).find(path)
        assert found is not None
        read[path] = found.make_request("GET", query, tabulate(())).query
    assert read["/mistral/v1/files"] == {"source": "upload,mistral", "page": "2"}
    assert read["/v1/files"] == {"source": "mistral", "page": "2"}


# --- paths

ROUTES = find_routes("openai")


def test_operations_are_found_at_their_paths() -> None:
    found = ROUTES.find("/v1/models/accounts/fireworks/models/x")
    assert found is not None
    assert found.params == {"model": "accounts/fireworks/models/x"}
    found = find_routes("skytells").find(CHAT)
    assert found is not None
    assert found.endpoint.dialect.name == "skytells"
    assert ROUTES.find_operation_name("POST", "/azure/chat/completions") == "chat"
    assert ROUTES.find_operation_name("HEAD", "/v1/models") == "models"
    assert ROUTES.find_operation_name("DELETE", "/v1/models") is ROUTES.find_operation_name("GET", "/nowhere") is None


@pytest.mark.parametrize(("path", "model"), [("/v1/models/a/", "a"), ("/v1/models/a\nb", "a\nb"), ("/v1/models//", "")])
def test_a_parameter_of_several_segments_ends_in_no_slash(path: str, model: str) -> None:
    found = App(Site(local(models=[model or "x"]).live)).ask(path, method="GET")
    assert found.status == 200
    assert found.body.startswith(b'{"id":' if model else b'{"object":"list"')


@pytest.mark.parametrize("dialect", discover())
def test_every_bare_path_of_the_default_dialect_is_found(dialect: str) -> None:
    """Also those whose first segment is a parameter, as the version of gemini's."""
    routes = find_routes(dialect)
    for endpoint in list_own_endpoints(routes.default):
        path = re.sub(
            r"{\w+(?::(\w+))?}", lambda kind: {"version": "v1", "models": "models"}.get(kind[1], "x"), endpoint.path
        )
        found = routes.find(path)
        assert found is not None, path
        assert found.endpoint.dialect is routes.default


@pytest.mark.parametrize(
    ("method", "path", "near", "dialect"),
    [
        ("POST", "/chat/completions", "POST /v1/chat/completions", "openai"),
        ("GET", "/v1/modles", "GET /v1/models", "openai"),
        ("POST", "/azure/chat/complete", "POST /azure/chat/completions", "azure"),
        ("POST", "/v1/models", "GET /v1/models", "openai"),  # a path of another method
        ("POST", "/v1/fine_tuning", "POST /v1/fine_tuning/jobs", "openai"),
        ("POST", "/v1/chat", "POST /cohere/v1/chat", "openai"),
        ("POST", "/openai/v1/chat", "POST /openai/v1/chat/completions", "openai"),  # a mount tells whose path was meant
        ("POST", "/bedrock/model", "POST /bedrock/model/{model}/invoke", "bedrock"),
        ("POST", "/v2/rerank", "POST /cohere/v2/rerank", "openai"),
        ("POST", "/v1/chat/complete", "POST /v1/chat/completions", "openai"),
        ("POST", "/skytells", None, "skytells"),
        ("POST", "/azure", None, "azure"),
        ("POST", "/azure-openai/chat/completions", "POST /azure-openai/openai/v1/chat/completions", "azure_openai"),
        (
            "POST",
            "/azure-openai/chat/completions?api-version=2024-10-21",
            "POST /azure-openai/openai/deployments/{deployment}/chat/completions",
            "azure_openai",
        ),
        ("POST", "/azure/v1/images/generations", "POST /azure/openai/v1/images/generations", "azure"),
        ("GET", "/azure/openai/v1/modls", "GET /azure/openai/v1/models", "azure_openai"),
        ("POST", "/v1/v1/chat/completions", "POST /v1/chat/completions", "openai"),
        ("POST", "/v1/chat/completions/chat/completions", "POST /v1/chat/completions", "openai"),
        ("POST", "/v1/messages/v1/messages", "POST /v1/messages", "openai"),
        ("GET", "/v1/v1/models", "GET /v1/models", "openai"),
        ("POST", "/inference/v1/chat/completions", "POST /fireworks/inference/v1/chat/completions", "openai"),
        ("POST", "/anthropic/chat/completions", "POST /anthropic/v1/chat/completions", "anthropic"),
        ("POST", "/voyage/v1/chat/completions", "POST /v1/chat/completions", "voyage"),
        ("POST", "/voyage/chat/completions?api-version=1", "POST /azure/chat/completions", "voyage"),
        ("GET", "/anthropic/v1/chat/completions", "POST /anthropic/v1/chat/completions", "anthropic"),
        ("POST", "/deepseek/v1/messages", "POST /deepseek/anthropic/v1/messages", "compatible"),
        ("POST", "/vllm/v1/messages", "POST /anthropic/v1/messages", "compatible"),
        ("POST", "/gemini/v1/openai/chat/completions", "POST /v1/chat/completions", "gemini"),
        ("POST", "/claude/v1/messages", "POST /anthropic/v1/messages", "openai"),
        ("POST", "/openai/v1/messages", "POST /anthropic/v1/messages", "openai"),
        ("POST", "/v1/v1beta/models/m:generateContent", "POST /gemini/v1beta/models/{model}:generateContent", "openai"),
        ("POST", "/gemini/v7/models/m:generateContent", "POST /gemini/v1beta/models/{model}:generateContent", "gemini"),
        ("POST", "/skytells/v1/files", "GET /skytells/v1/models", "skytells"),
        ("POST", "/v1/modles", "GET /v1/models", "openai"),
        ("POST", "/v1/chat/", "POST /v1/chat/completions", "openai"),
        ("POST", "/llm/api/v1/messages", "POST /v1/messages", "openai"),  # the path of a gateway stands before it
        ("POST", "/bedrok/model/a.claude-v1:0/converse", "POST /bedrock/model/{model}/converse", "openai"),
        ("POST", "/gemni/v1beta/models/m:countTokens", "POST /gemini/v1beta/models/{model}:countTokens", "openai"),
        ("POST", "/llm/v1/chat/completions", "POST /v1/chat/completions", "openai"),  # nobody means vLLM
        ("POST", "/team/openai/v1/responses", "POST /openai/v1/responses", "openai"),
    ],
)
def test_an_unknown_path_has_a_nearest_one_and_a_dialect(
    method: str, path: str, near: str | None, dialect: str
) -> None:
    path, _, query = path.partition("?")
    found = find_nearest_path(method, path, endpoints=ROUTES.endpoints, query=query)
    assert (None if found is None else found.shown) == near
    assert ROUTES.find_owner(path).name == dialect


def test_a_query_that_is_no_text_does_not_matter_at_an_unknown_path() -> None:
    found = Site(local().live).directory.find_unknown("GET", "/nowhere", b"a=\xff")
    assert found.path == "/nowhere"


MESSAGES = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
COUNT = {"model": "claude-opus-5-5", "messages": MESSAGES["messages"]}


@pytest.mark.parametrize(
    ("method", "path", "whole", "operation", "dialect"),
    [
        ("POST", "/anthropic/messages", "/anthropic/v1/messages", "chat", "openai"),
        ("POST", "/ns/mine/anthropic/messages", "/anthropic/v1/messages", "chat", "openai"),
        ("POST", "/anthropic//messages/", "/anthropic/v1/messages", "chat", "openai"),
        ("POST", "/anthropic/messages/count_tokens", "/anthropic/v1/messages/count_tokens", "input_tokens", "openai"),
        ("GET", "/anthropic/models", "/anthropic/v1/models", "models", "openai"),
        ("GET", "/anthropic/models/claude-opus-5-5", "/anthropic/v1/models/claude-opus-5-5", "model", "openai"),
        ("GET", "/anthropic/messages/batches", "/anthropic/v1/messages/batches", "batches", "openai"),
        ("POST", "/messages", "/v1/messages", "chat", "anthropic"),
        ("GET", "/anthropic/nothing", "/anthropic/nothing", "other", "openai"),
        ("POST", "/messages", "/messages", "other", "openai"),
    ],
)
def test_a_base_url_may_lack_the_version(method: str, path: str, whole: str, operation: str, dialect: str) -> None:
    """As the AI SDK's, which expects the version in the base URL that other clients of Anthropic read without it."""
    live = local("rules: [{when: {path: /v1/messages}, then: {text: by path}}]", dialect=dialect).live
    body = COUNT if operation == "input_tokens" else MESSAGES
    got = App(Site(live)).ask(path, None if method == "GET" else body, method=method)
    assert [(row.path, row.operation) for row in live.journal] == [(whole, operation)]
    assert got.status == (404 if operation == "other" else 200)
    assert ("by path" in got.body.decode()) == (operation == "chat")


@pytest.mark.parametrize("default", discover())
def test_the_default_dialects_paths_are_no_others(default: str) -> None:
    own, every = list_own_endpoints(discover()[default]), list_endpoints(discover(), default)
    assert own
    for place in own:
        for operation in place.operations.values():
            path = operation.fill_path(place.path, model="gpt-4o")
            assert find_endpoint(path, own) == find_endpoint(path, every)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ('"ann"', "rules.yaml:3"),
        (r'"\u0061nn"', "rules.yaml:3"),  # the same name, which is not in the bytes as it reads
        ('"bob"', "generated"),
        (r'"\u00e4nn"', "generated"),
    ],
)
def test_an_expression_holds_for_the_body_however_it_is_written(name: str, source: str) -> None:
    rules = """
rules:
  - when: {body: "messages[?name == 'ann']"}
    then: {text: Hello Ann}
"""
    body = BODY.replace(b'"role"', b'"name": %b, "role"' % name.encode())
    got = request(local(rules).live, CHAT, body)
    assert got.headers["x-mockserver-source"].endswith(source)


def test_an_expression_holds_for_what_the_path_says() -> None:
    rules = """
rules:
  - when: {body: "model == 'gpt-9'"}
    then: {text: Hello nine}
"""
    got = request(
        local(rules).live,
        "/azure-openai/openai/deployments/gpt-9/chat/completions?api-version=2024-10-21",
        BODY.replace(b'"model": "gpt-4o", ', b""),
        headers={"content-type": "application/json", "api-key": "x"},
    )
    assert got.headers["x-mockserver-source"].endswith("rules.yaml:3")


def test_a_crash_outside_of_the_package_has_no_place() -> None:
    assert summarize_crash(ValueError("no\nfile")).endswith("please report it: ValueError: no\\x0afile")
