"""What an MCP server sends besides results: progress, logs, questions and news, frame by frame in both eras."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

import httpx
import pytest

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer

RULES = """
version: 1
mcp:
  files:
    tools:
      - {name: copy, input: {path: string}}
      - {name: fail}
      - {name: book}
      - {name: summarise, then: {ask: {model: Sum it up., max_tokens: 50}, text: "{{ client_answer.content.text }}"}}
      - {name: open, then: {ask: {user: Please log in., url: "https://example.com/login"}, text: Opened.}}
      - name: several
        then: {ask: [{roots: true}, {user: Sure?, name: sure}], text: "{{ client_answer.roots[0].uri }}"}
  changing:
    tools: [{name: a, then: {text: A}}, {name: b, then: {text: B}}]
    resources: [{uri: "file:///a", text: old}]
    changes:
      - {after: 2, tools: {remove: [b], add: [{name: c, then: {text: C}}]}}
      - after: 3
        tools: {add: [{name: a, description: New., then: {text: new A}}]}
        resources: {add: [{uri: "file:///a", text: new}]}
  plain: {sse: false, tools: [{name: copy}]}
  eager: {sse: true, tools: [{name: a, then: {text: A}}]}
  held: {sessions: true, tools: [{name: copy}, {name: book}]}
rules:
  - when: {tool: copy}
    then:
      text: copied
      progress: [{of: 2, message: "half of {{ arguments.path }}"}, {done: 1.5, of: 2}]
      log: [{level: debug, data: fine}, {level: warning, logger: disk, data: {left: "{{ 1 + 2 }}"}}]
  - when: {tool: fail}
    then: {error: {code: -32000, message: Full, data: {left: 0}}, progress: {of: 2}, log: Failing.}
  - {when: {tool: book, client_action: decline}, then: {text: As you like.}}
  - {when: {tool: book, client_answer: {city: Atlantis}}, then: {tool_error: There is no such city.}}
  - when: {tool: book}
    then: {ask: {user: Which city?, schema: {city: string}}, text: "Booked {{ client_answer.city }}"}
"""
VERSION = "2026-07-28"
ABLE: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file) as server:
        yield server


@pytest.fixture
def server(running: MockServer) -> MockServer:
    running.reset()
    return running


def call(method: str, number: Any = 1, *, modern: bool = False, meta: Mapping[str, Any] = {}, **params: Any) -> Any:
    """A message, and the headers that go with it."""
    prefix = "io.modelcontextprotocol/"
    stated = {f"{prefix}protocolVersion": VERSION, f"{prefix}clientCapabilities": ABLE} if modern else {}
    told = {**params, **({"_meta": {**stated, **meta}} if stated or meta else {})}
    headers = {"mcp-protocol-version": VERSION, "mcp-method": method} if modern else {}
    headers |= {"mcp-name": params["name"]} if modern and "name" in params else {}
    return {"json": {"jsonrpc": "2.0", "id": number, "method": method, "params": told}, "headers": headers}


def post(server: MockServer, sent: Any, name: str = "files", **headers: str) -> httpx.Response:
    return httpx.post(f"{server.url}/mcp/{name}", **{**sent, "headers": {**sent["headers"], **headers}}, timeout=30)


def read_events(text: str) -> list[Any]:
    """The messages of a stream; each is an event of its own."""
    events = text.split("\n\n")
    assert events.pop() == ""
    assert all(event.startswith("event: message\ndata: ") for event in events)
    return [json.loads(event.removeprefix("event: message\ndata: ")) for event in events]


PROGRESS = """\
event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":\
{"progressToken":"t","progress":1,"total":2,"message":"half of a"}}

event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.5,"total":2}}

"""
DEBUG = """\
event: message
data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"fine"}}

"""
WARNING = """\
event: message
data: {"jsonrpc":"2.0","method":"notifications/message","params":\
{"level":"warning","logger":"disk","data":{"left":"3"}}}

"""
RESULT = """\
event: message
data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"copied"}],"isError":false}}

"""
COPY: dict[str, Any] = {"name": "copy", "arguments": {"path": "a"}}


def test_frames_with_a_handshake(server: MockServer) -> None:
    answered = post(server, call("tools/call", **COPY, meta={"progressToken": "t"}))
    assert answered.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answered.text == PROGRESS + DEBUG + WARNING + RESULT
    assert post(server, call("tools/call", **COPY)).text == DEBUG + WARNING + RESULT


def test_frames_without_a_handshake(server: MockServer) -> None:
    meta = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "warning"}
    answered = post(server, call("tools/call", **COPY, modern=True, meta=meta))
    assert answered.text == PROGRESS + WARNING + RESULT.replace("false}", 'false,"resultType":"complete"}')
    bare = post(server, call("tools/call", **COPY, modern=True))
    assert bare.headers["content-type"] == "application/json"  # as nothing is to be notified


def test_log_lines_below_the_level_are_left_out(server: MockServer) -> None:
    assert post(server, call("logging/setLevel", level="error")).json()["result"] == {}
    assert "notifications" not in post(server, call("tools/call", **COPY)).text
    refused = post(server, call("logging/setLevel", level="loud")).json()["error"]
    assert refused["code"] == -32602
    assert refused["message"].startswith("Invalid params: level must be one of debug, info")
    server.reset()
    assert "notifications" in post(server, call("tools/call", **COPY)).text


def test_an_error_may_follow_progress(server: MockServer) -> None:
    *notices, error = read_events(post(server, call("tools/call", name="fail", meta={"progressToken": 7})).text)
    assert [each["method"] for each in notices] == ["notifications/progress", "notifications/message"]
    assert error == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "Full", "data": {"left": 0}}}


def test_answers_are_streams_always_or_never_if_the_server_is_so(server: MockServer) -> None:
    assert post(server, call("tools/call", **COPY), "plain").json()["result"]["content"][0]["text"] == "copied"
    assert read_events(post(server, call("tools/list"), "eager").text)[0]["result"]["tools"][0]["name"] == "a"
    assert read_events(post(server, call("tools/call", name="a"), "eager").text)[0]["result"]["isError"] is False
    assert post(server, call("tools/list"), "eager", accept="application/json").json()["id"] == 1


def test_progress_comes_when_it_is_due(tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nmcp: {files: {tools: [{name: a, then: {text: A, timing: {total: 400ms},"
        " progress: [{at: 200ms}, {at: 100ms}]}}]}}\n"
    )
    with MockServer(file, timing=True) as server:
        sent = call("tools/call", name="a", meta={"progressToken": 1})
        began, arrived = monotonic(), list[tuple[float, Any]]()
        with httpx.stream("POST", f"{server.url}/mcp/files", **sent) as answered:
            for line in answered.iter_lines():
                if line.startswith("data: "):
                    arrived.append((monotonic() - began, json.loads(line.removeprefix("data: "))))
    assert [each.get("params", {}).get("progress") for _, each in arrived] == [2, 1, None]
    for (moment, _), due in zip(arrived, (0.1, 0.2, 0.4), strict=True):
        assert due <= moment < due + 2


ASKED = """\
event: message
data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Which city?",\
"requestedSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}

"""
BOOKED = """\
event: message
data: {"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"Booked Paris"}],"isError":false}}

"""


def converse(server: MockServer, tool: str, *replies: Mapping[str, Any]) -> str:
    """The whole stream of a call, whose questions get these replies by posts of their own."""
    left, text = iter(replies), ""
    sent = call("tools/call", 9, name=tool)
    with httpx.stream("POST", f"{server.url}/mcp/files", **sent, timeout=30) as answered:
        for line in answered.iter_lines():
            text += f"{line}\n"
            asked = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
            if "method" in asked and "id" in asked:
                reply = {"jsonrpc": "2.0", "id": asked["id"], **next(left)}
                assert post(server, {"json": reply, "headers": {}}).status_code == 202
    return text


def accept(**content: Any) -> dict[str, Any]:
    return {"result": {"action": "accept", "content": content}}


def test_a_question_with_a_handshake_is_a_request_of_the_server(server: MockServer) -> None:
    assert converse(server, "book", accept(city="Paris")) == ASKED + BOOKED


@pytest.mark.parametrize(
    ("reply", "text", "is_error"),
    [
        (accept(city="Atlantis"), "There is no such city.", True),
        ({"result": {"action": "decline"}}, "As you like.", False),
        ({"result": {"action": "cancel"}}, "The user chose to cancel.", True),
        ({"error": {"code": -32600, "message": "not supported"}}, "The client cannot answer: not supported", True),
    ],
)
def test_rules_see_what_the_client_answers(server: MockServer, reply: Any, text: str, is_error: bool) -> None:
    result = read_events(converse(server, "book", reply))[-1]["result"]
    assert (result["content"][0]["text"], result["isError"]) == (text, is_error)
    sent = {"question": reply.get("result", {"error": reply.get("error")})}
    answered = post(server, call("tools/call", name="book", modern=True, inputResponses=sent)).json()["result"]
    assert (answered["content"], answered["isError"]) == (result["content"], is_error)


def test_a_question_without_a_handshake_is_a_result(server: MockServer) -> None:
    asked = post(server, call("tools/call", name="book", modern=True)).json()["result"]
    assert asked == {
        "resultType": "input_required",
        "inputRequests": {
            "question": {
                "method": "elicitation/create",
                "params": {
                    "message": "Which city?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                    },
                },
            }
        },
        "requestState": asked["requestState"],
    }
    again = {"inputResponses": {"question": accept(city="Paris")["result"]}, "requestState": asked["requestState"]}
    answered = post(server, call("tools/call", name="book", modern=True, **again)).json()["result"]
    assert answered["content"] == [{"type": "text", "text": "Booked Paris"}]
    assert post(server, call("tools/call", name="book", modern=True)).json()["result"] == asked  # equal bytes again


def test_questions_of_each_kind(server: MockServer) -> None:
    reply = {"result": {"role": "assistant", "content": {"type": "text", "text": "Short."}, "model": "m"}}
    asked, answered = read_events(converse(server, "summarise", reply))
    assert (asked["method"], asked["params"]) == (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Sum it up."}}], "maxTokens": 50},
    )
    assert answered["result"]["content"][0]["text"] == "Short."
    asked, answered = read_events(converse(server, "open", {"result": {"action": "accept"}}))
    assert asked["params"] == {
        "message": "Please log in.",
        "mode": "url",
        "url": "https://example.com/login",
        "elicitationId": "question",
    }
    assert answered["result"]["content"][0]["text"] == "Opened."
    roots = {"result": {"roots": [{"uri": "file:///r"}]}}
    first, second, answered = read_events(converse(server, "several", roots, accept()))
    assert (first["method"], second["id"] - first["id"]) == ("roots/list", 1)
    assert answered["result"]["content"][0]["text"] == "file:///r"


def test_a_client_that_cannot_be_asked(server: MockServer) -> None:
    sent = call("tools/call", name="book", modern=True)
    sent["json"]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {}
    answered = post(server, sent)
    assert (answered.status_code, answered.json()["error"]) == (
        400,
        {
            "code": -32021,
            "message": "Missing required client capability: elicitation",
            "data": {"requiredCapabilities": {"elicitation": {}}},
        },
    )
    answered = post(server, call("tools/call", name="book"), accept="application/json")
    assert (answered.status_code, answered.json()["error"]["code"]) == (406, -32600)


def test_a_reply_that_nobody_waits_for_is_taken(server: MockServer) -> None:
    assert post(server, {"json": {"jsonrpc": "2.0", "id": 99, "result": {}}, "headers": {}}).status_code == 202


def test_a_session_does_not_answer_what_another_is_asked(server: MockServer) -> None:
    asked, other = begin(server, "held"), begin(server, "held")
    sent = call("tools/call", name="book")
    with httpx.stream("POST", f"{server.url}/mcp/held", json=sent["json"], headers=asked, timeout=30) as answered:
        lines = answered.iter_lines()
        question = next(json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {"))
        for session, city in ((other, "Oslo"), (asked, "Paris")):
            post(
                server,
                {"json": {"jsonrpc": "2.0", "id": question["id"], **accept(city=city)}, "headers": session},
                "held",
            )
        result = next(json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {"))
    assert result["result"]["content"][0]["text"] == "Booked Paris"


def test_a_client_that_leaves_before_it_replies_keeps_nothing_waiting(server: MockServer) -> None:
    with httpx.stream("POST", f"{server.url}/mcp/files", **call("tools/call", name="book"), timeout=30) as answered:
        assert next(answered.iter_lines()) == "event: message"
    server.local.wait_until_idle(30)
    assert server.mcp("files").calls[0].ended == "client left after 1 frame"


class Listener:
    """Reads a stream in a thread, as it comes."""

    def __init__(self, method: str, url: str, **sent: Any) -> None:
        self.events: list[Any] = []
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(method, url), kwargs=sent, daemon=True)
        self.begun = threading.Event()
        self._thread.start()
        assert self.begun.wait(5)

    def _read(self, method: str, url: str, **sent: Any) -> None:
        with suppress(httpx.RemoteProtocolError), httpx.stream(method, url, timeout=10, **sent) as answered:
            self.begun.set()
            for line in answered.iter_lines():
                if line.startswith("data: "):
                    with self._came:
                        self.events.append(json.loads(line.removeprefix("data: ")))
                        self._came.notify()

    def wait(self, count: int) -> list[Any]:
        with self._came:
            assert self._came.wait_for(lambda: len(self.events) >= count, 5), self.events
        return self.events

    def wait_for_end(self) -> None:
        self._thread.join(5)
        assert not self._thread.is_alive()


def begin(server: MockServer, name: str) -> dict[str, str]:
    """The header of a new session."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answered = post(server, call("initialize", **about), name)
    assert answered.json()["result"]["capabilities"]["tools"] == {"listChanged": True}
    return {"mcp-session-id": answered.headers["mcp-session-id"]}


def test_news_with_a_handshake_comes_on_the_open_stream(server: MockServer) -> None:
    session, other = begin(server, "changing"), begin(server, "changing")
    url = f"{server.url}/mcp/changing"
    assert session["mcp-session-id"].startswith("1-")
    assert post(server, call("resources/subscribe", uri="file:///a"), "changing", **session).json()["result"] == {}
    listener, second = Listener("GET", url, headers=session), Listener("GET", url, headers=other)

    def ask(tool: str) -> str:
        answered = post(server, call("tools/call", name=tool), "changing", **session).json()
        told: str = answered["result"]["content"][0]["text"] if "result" in answered else answered["error"]["message"]
        return told

    assert [ask("a"), ask("b")] == ["A", "B"]
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert listener.wait(1) == [changed]
    assert second.wait(1) == [changed]
    assert [ask("c"), ask("b"), ask("a")] == ["C", "Unknown tool: b", "new A"]
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "file:///a"}}
    assert listener.wait(3) == [changed, changed, updated]
    assert second.wait(2) == [changed, changed]  # it has not subscribed
    tools = post(server, call("tools/list"), "changing", **session).json()["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["a", "c"]
    assert httpx.delete(url, headers=session).status_code == 200
    listener.wait_for_end()
    assert ask("a") == "Session not found"


def test_news_since_the_handshake_waits_for_the_stream(server: MockServer) -> None:
    session, other = begin(server, "changing"), begin(server, "changing")
    url, changed = f"{server.url}/mcp/changing", "notifications/tools/list_changed"
    for _ in range(2):
        assert post(server, call("tools/call", name="a"), "changing", **session).status_code == 200
    first = Listener("GET", url, headers=session)
    assert [event["method"] for event in first.wait(1)] == [changed]
    assert post(server, call("tools/call", name="a"), "changing", **session).status_code == 200
    assert [event["method"] for event in first.wait(2)] == [changed, changed]
    second = Listener("GET", url, headers=other)
    assert [event["method"] for event in second.wait(2)] == [changed, changed]
    again = Listener("GET", url, headers=session)
    assert httpx.delete(url, headers=session).status_code == 200
    again.wait_for_end()
    assert again.events == [], "nothing is told twice"


def test_only_one_stream_of_a_session_tells_of_a_change(server: MockServer) -> None:
    session = begin(server, "changing")
    url = f"{server.url}/mcp/changing"
    first, last = Listener("GET", url, headers=session), Listener("GET", url, headers=session)
    for _ in range(2):
        assert post(server, call("tools/call", name="a"), "changing", **session).status_code == 200
    assert [event["method"] for event in last.wait(1)] == ["notifications/tools/list_changed"]
    assert httpx.delete(url, headers=session).status_code == 200
    first.wait_for_end()
    assert first.events == []


def test_news_without_a_handshake_comes_to_those_who_listen(server: MockServer) -> None:
    wanted = {"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["file:///a"]}
    sent = call("subscriptions/listen", "l", modern=True, notifications=wanted)
    listener = Listener("POST", f"{server.url}/mcp/changing", **sent)
    tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": "l"}}
    honoured = {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    acknowledged = {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": honoured, **tag},
    }
    assert listener.wait(1) == [acknowledged]
    for _ in range(3):
        assert post(server, call("tools/call", name="a", modern=True), "changing").status_code == 200
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": tag}
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "file:///a", **tag}}
    assert listener.wait(4)[1:] == [changed, changed, updated]
    refused = post(server, call("subscriptions/listen", modern=True), "changing").json()["error"]
    assert (refused["code"], refused["message"]) == (-32602, 'Invalid params: "notifications" is missing.')


def test_a_test_tells_of_changes(server: MockServer) -> None:
    files = server.mcp("live", sessions=True)
    files.tool("a").reply("A")
    listener = Listener("GET", files.url, headers=begin(server, "live"))
    files.tool("b").reply("B")
    files.changed()
    files.changed("prompts")
    methods = [event["method"] for event in listener.wait(2)]
    assert methods == ["notifications/tools/list_changed", "notifications/prompts/list_changed"]
    deaf = server.mcp("deaf")
    deaf.tool("a")
    with pytest.raises(ConfigError, match=r'write mockserver.mcp\("deaf", sessions=True\)'):
        deaf.changed()


def test_a_stream_of_news_ends_with_the_test_and_with_the_server() -> None:
    with MockServer() as server:
        server.mcp("live", sessions=True).tool("a").reply("A")
        listener = Listener("GET", server.mcp("live").url, headers=begin(server, "live"))
        server.reset()
        listener.wait_for_end()
        server.mcp("live", sessions=True).tool("a").reply("A")
        listener = Listener("GET", server.mcp("live").url, headers=begin(server, "live"))
    listener.wait_for_end()


def resume(server: MockServer, session: Mapping[str, str], event: str) -> httpx.Response:
    return httpx.get(f"{server.url}/mcp/held", headers={**session, "last-event-id": event}, timeout=5)


BEGINNING = "id: 1-0\ndata: \nretry: 100\n\n"


@pytest.mark.parametrize(("version", "beginning"), [("2025-11-25", BEGINNING), ("2025-06-18", "")])
def test_the_rest_of_a_stream_after_an_event(version: str, beginning: str, server: MockServer) -> None:
    session = {**begin(server, "held"), "mcp-protocol-version": version}
    events = [f"id: 1-{number}\n{event}" for number, event in enumerate((DEBUG, WARNING, RESULT), 1)]
    assert post(server, call("tools/call", **COPY), "held", **session).text == "".join((beginning, *events))
    for number in range(4):
        assert resume(server, session, f"1-{number}").text == "".join(events[number:])
    other = {**begin(server, "held"), "mcp-protocol-version": version}
    for event, its in (("1-4", session), ("2-1", session), ("1-x", session), ("x", session), ("1-1", other)):
        refused = resume(server, its, event)
        why = f"Bad Request: no stream can be resumed after event {event!r}"
        assert (refused.status_code, refused.json()["error"]) == (400, {"code": -32600, "message": why})
    assert [each.operation for each in server.calls] == ["mcp_call"], "what is sent again is no call"


def test_news_that_a_client_has_missed(server: MockServer) -> None:
    session = begin(server, "changing")
    url = f"{server.url}/mcp/changing"
    for _ in range(3):
        assert post(server, call("tools/call", name="a"), "changing", **session).status_code == 200
    with httpx.stream("GET", url, headers=session, timeout=5) as answered:
        assert next(answered.iter_lines()) == "id: news-1"
    missed = Listener("GET", url, headers={**session, "last-event-id": "news-1"})
    assert [event["method"] for event in missed.wait(1)] == ["notifications/tools/list_changed"]
    server.reset()
    missed.wait_for_end()


@pytest.mark.parametrize("fault", ["cut", {"wrong_content_length": {"by": 5}}, "join_frames"])
def test_a_question_is_sent_whatever_fault_comes_after_it(fault: Any, server: MockServer) -> None:
    server.on(tool="book").then({"faults": [fault]})
    events = read_events(converse(server, "book", accept(city="Paris")))
    assert [each.get("method", "answered") for each in events] == [
        "elicitation/create",
        *(["answered"] if fault != "cut" else []),
    ]
