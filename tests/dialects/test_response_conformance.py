"""Every dialect x every feature of a response, plain and as events, held against the laws and the clients' types."""

from functools import cache
from typing import Any

import pytest

from mockserver.dialects import discover
from tests.dialects import laws, response_laws
from tests.dialects.features import FAILURES, rules, spoken
from tests.dialects.response_features import BROKEN_OFF, RESPONSE_FEATURES, RESPONSE_URLS, response_request
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.strict_responses import accumulated, check_event, check_response, check_tzafon

Json = Any
URLS = {dialect: url for dialect, url in RESPONSE_URLS.items() if dialect in discover()}
# Actions that only Tzafon's computer knows; no client has a type for them.
BEYOND_THE_TYPES = {"action-point_and_type", "action-mouse_down"}
PAIRS = [pytest.param(dialect, name, id=f"{dialect}-{name}") for dialect, name in spoken(URLS, RESPONSE_FEATURES)]


@cache
def server() -> App:
    return app(rules({**RESPONSE_FEATURES, "broken-off": BROKEN_OFF}))


def ask(dialect: str, name: str, *, stream: bool = False) -> Answered:
    return server().ask(URLS[dialect], response_request(name, stream=stream))


def streamed(dialect: str, name: str) -> response_laws.Events:
    answered = ask(dialect, name, stream=True)
    assert answered.status == 200, answered.body
    assert answered.headers["content-type"] == "text/event-stream; charset=utf-8"
    return response_laws.Events(answered.body)


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_plain(dialect: str, name: str) -> None:
    answered = ask(dialect, name)
    assert answered.status == 200, answered.body
    for law in response_laws.RESPONSE_PLAIN_LAWS:
        law(answered)
    if name not in BEYOND_THE_TYPES:
        (check_tzafon if dialect == "tzafon" else check_response)(answered.body)
    assert ask(dialect, name).body == answered.body


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_stream(dialect: str, name: str) -> None:
    events = streamed(dialect, name)
    for law in response_laws.RESPONSE_STREAM_LAWS:
        law(events)
    assert events.final == ask(dialect, name).json, "the last event carries what a plain answer is"


@pytest.mark.parametrize(
    ("dialect", "name"),
    [pair for pair in PAIRS if pair.values[0] != "tzafon" and pair.values[1] not in BEYOND_THE_TYPES],
)
def test_the_client_puts_the_stream_together(dialect: str, name: str) -> None:
    frames = streamed(dialect, name).body.removesuffix(b"\n\n").split(b"\n\n")
    final = accumulated([check_event(frame.partition(b"\ndata: ")[2]) for frame in frames])
    if final is not None:
        assert final.id == ask(dialect, name).json["id"]


# The first item where a tool must be used and no rule says how, and what it says of what the request says.
USED: dict[str, dict[str, Json]] = {
    "generated-web_search": {"type": "web_search_call"},
    "generated-file_search": {"type": "file_search_call", "results": []},
    "generated-code_interpreter": {"type": "code_interpreter_call", "outputs": []},
    "generated-image_generation": {"type": "image_generation_call", "size": "1024x1024"},
    "generated-mcp": {"type": "mcp_approval_request", "server_label": "wiki", "name": "ask"},
    "generated-local_shell": {"type": "local_shell_call"},
    "generated-shell": {"type": "shell_call"},
    "generated-apply_patch": {"type": "apply_patch_call"},
    "generated-computer": {"type": "computer_call", "action": {"type": "screenshot"}},
    "generated-call": {"type": "function_call"},
    "generated-custom-call": {"type": "custom_tool_call"},
    "generated-calls": {"type": "function_call", "arguments": '{"city":"Oslo"}'},
    "generated-call-cut": {"type": "function_call", "status": "incomplete"},
    "generated-thinking-cut": {"type": "reasoning"},
    "generated-of-results": {"type": "message"},
}


@pytest.mark.parametrize(("dialect", "name"), [pair for pair in PAIRS if pair.values[1] in USED])
def test_what_is_used_without_a_rule(dialect: str, name: str) -> None:
    first = ask(dialect, name).json["output"][0]
    assert {key: first.get(key) for key in USED[name]} == USED[name]


@pytest.mark.parametrize("dialect", [dialect for dialect in URLS if "failed" in discover()[dialect].features])
def test_a_bare_error_ends_a_stream(dialect: str) -> None:
    events = streamed(dialect, "broken-off")
    for law in response_laws.RESPONSE_STREAM_LAWS:
        law(events)
    assert events.told[-1]["type"] == "error"
    assert events.told[-1]["message"] == "Oh."


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("name", FAILURES)
def test_failures(dialect: str, name: str) -> None:
    plain, stream = ask(dialect, name), ask(dialect, name, stream=True)
    assert plain.status >= 400
    laws.a_body_is_one_line(plain)
    assert (stream.status, stream.body) == (plain.status, plain.body)
    if dialect != "tzafon":
        laws.has_shape(plain.json, dialect, "error")
