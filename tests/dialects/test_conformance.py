"""Every dialect x every feature of each operation, plain and streamed: held against invariants, types and schemas."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from mockserver.dialects import discover
from tests.dialects import invariants
from tests.dialects.features import (
    BROKEN_OFF,
    FAILURES,
    FEATURES,
    HEADERS,
    RESPONSE_FEATURES,
    RESPONSE_URLS,
    TEXT_FEATURES,
    TEXT_URLS,
    URLS,
    Feature,
    request,
    response_request,
    rules,
    spoken,
    text_request,
)
from tests.dialects.invariants import Events, Stream, has_shape
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.strict import WITH_PREAMBLE, check_chunk, check_completion, check_text, check_text_chunk, frames
from tests.kit.strict_responses import accumulate_response, check_event, check_response, check_tzafon

Json = Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Api:
    """An operation: where it is, what it can do, and what holds of its answers."""

    name: str
    urls: Mapping[str, str]
    features: Mapping[str, Feature]
    request: Callable[..., Json]
    plain: Sequence[Callable[[Answered], None]]
    stream: Sequence[Callable[[Any], None]]
    read: Callable[[bytes], Any] = Stream
    usage: Mapping[str, tuple[Json, Json]] = field(default_factory=dict)
    """What unasked chunks show as usage: all but the last, and the last."""

    @cached_property
    def server(self) -> App:
        return app(rules({**self.features, "broken-off": BROKEN_OFF}))

    def ask(self, dialect: str, name: str, **more: bool) -> Answered:
        return self.server.ask(self.urls[dialect], self.request(name, **more), headers=HEADERS.get(dialect))

    def streamed(self, dialect: str, name: str, **more: bool) -> Any:
        answered = self.ask(dialect, name, stream=True, **more)
        assert answered.status == 200, answered.body
        assert answered.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "content-length" not in answered.headers
        return self.read(answered.body)

    def check_stream(self, stream: Any) -> None:
        for holds in self.stream:
            holds(stream)

    def pairs(self) -> list[Any]:
        return [
            pytest.param(self, *pair, id=f"{self.name}-{'-'.join(pair)}") for pair in spoken(self.urls, self.features)
        ]


CHAT = Api(
    name="chat",
    urls=URLS,
    features=FEATURES,
    request=request,
    plain=invariants.CHAT_PLAIN,
    stream=invariants.CHAT_STREAM,
    usage={"skytells": (None, None), "azure": ("absent", "usage"), "fireworks": ("absent", "usage")},
)
TEXT = Api(
    name="text",
    urls=TEXT_URLS,
    features=TEXT_FEATURES,
    request=text_request,
    plain=invariants.TEXT_PLAIN,
    stream=invariants.TEXT_STREAM,
    usage={"fireworks": (None, "usage")},
)
RESPONSE = Api(
    name="response",
    urls=RESPONSE_URLS,
    features=RESPONSE_FEATURES,
    request=response_request,
    plain=invariants.RESPONSE_PLAIN,
    stream=invariants.RESPONSE_STREAM,
    read=Events,
)
CHATS, TEXTS, RESPONSES = CHAT.pairs(), TEXT.pairs(), RESPONSE.pairs()
# What the types of the clients do not know: custom tools in chunks, actions of Tzafon's computer.
BEYOND_THE_TYPES = {"custom-tool-call", "custom-tool-call-auto", "generated-custom-call"}
BEYOND_THE_RESPONSES = {"action-point_and_type", "action-mouse_down"}


@pytest.mark.parametrize(("api", "dialect", "name"), [*CHATS, *TEXTS])
def test_an_answer_plain_and_streamed(api: Api, dialect: str, name: str) -> None:
    answered, stream = answered_plainly(api, dialect, name), api.streamed(dialect, name)
    api.check_stream(stream)
    chunks_have_their_types(api, dialect, name, stream)
    usage_is_shown_where_nobody_asked(api, dialect, answered, stream)
    plain_and_streamed_say_the_same(api, answered, stream)
    if api is CHAT or dialect != "fireworks":
        usage_is_shown_where_it_was_asked_for(api, dialect, answered, stream, api.streamed(dialect, name, usage=True))


@pytest.mark.parametrize(("api", "dialect", "name"), RESPONSES)
def test_a_response_plain_and_streamed(api: Api, dialect: str, name: str) -> None:
    answered, events = answered_plainly(api, dialect, name), api.streamed(dialect, name)
    if name not in BEYOND_THE_RESPONSES:
        (check_tzafon if dialect == "tzafon" else check_response)(answered.body)
    api.check_stream(events)
    assert events.final == answered.json, "the last event carries what a plain answer is"
    if dialect != "tzafon" and name not in BEYOND_THE_RESPONSES:
        frames = events.body.removesuffix(b"\n\n").split(b"\n\n")
        final = accumulate_response([check_event(frame.partition(b"\ndata: ")[2]) for frame in frames])
        assert final is None or final.id == answered.json["id"]


def answered_plainly(api: Api, dialect: str, name: str) -> Answered:
    answered = api.ask(dialect, name)
    assert answered.status == 200, answered.body
    for holds in api.plain:
        holds(answered)
    if api is not RESPONSE:
        (check_completion if api is CHAT else check_text)(answered.body, dialect)
        has_as_many_choices_as_asked(api, name, answered.json)
    return answered


def has_as_many_choices_as_asked(api: Api, name: str, answer: Json) -> None:
    asked = api.features[name].body
    prompts, n = asked.get("prompt"), asked.get("n", 1)
    several = len(prompts) if isinstance(prompts, list) and not isinstance(prompts[0], int) else 1
    assert len(answer["choices"]) == several * n
    if api is CHAT and "max_tokens" in asked:
        assert answer["usage"]["completion_tokens"] <= asked["max_tokens"] * n
        assert {choice["finish_reason"] for choice in answer["choices"]} == {"length"}


def chunks_have_their_types(api: Api, dialect: str, name: str, stream: Any) -> None:
    assert (stream.preamble is not None) == (dialect in WITH_PREAMBLE)
    for frame, chunk in zip(frames(stream.body), stream.sent, strict=False):
        if name in BEYOND_THE_TYPES and chunk is not stream.preamble:
            has_shape(chunk, dialect, "chunk")
        else:
            (check_chunk if api is CHAT else check_text_chunk)(frame, dialect)


def usage_is_shown_where_nobody_asked(api: Api, dialect: str, answered: Answered, stream: Any) -> None:
    before, last = api.usage.get(dialect, ("absent", "absent"))
    shown = [chunk.get("usage", "absent") for chunk in stream.chunks]
    assert shown[:-1] == [before] * (len(shown) - 1)
    assert shown[-1] == (answered.json["usage"] if last == "usage" else last)


def usage_is_shown_where_it_was_asked_for(api: Api, dialect: str, answered: Answered, unasked: Any, asked: Any) -> None:
    api.check_stream(asked)
    last = asked.chunks[-1]
    if api is CHAT:
        check_chunk(json.dumps(last).encode(), dialect)
    assert last["choices"] == []
    assert last["usage"] == answered.json["usage"]
    assert {json.dumps(chunk.get("usage")) for chunk in asked.chunks[:-1]} == {"null"}
    assert [chunk["choices"] for chunk in asked.chunks[:-1]] == [chunk["choices"] for chunk in unasked.chunks]


def plain_and_streamed_say_the_same(api: Api, answered: Answered, stream: Any) -> None:
    if api is CHAT:
        blocks_add_up(answered.json, stream)
        assert invariants.joined_messages(stream) == invariants.plain_messages(answered)
    else:
        assert invariants.joined_texts(stream) == invariants.plain_texts(answered)
        assert stream.chunks[0]["object"] == answered.json["object"]
    for key in ("id", "created", "model", "system_fingerprint", "service_tier"):
        assert key not in stream.chunks[0] or stream.chunks[0][key] == answered.json[key]
    assert stream.chunks[-1].get("perf_metrics") == answered.json.get("perf_metrics")
    if "prompt_filter_results" in answered.json:
        shown = [chunk.get("prompt_filter_results") for chunk in stream.sent]
        assert shown == [answered.json["prompt_filter_results"]] + [None] * (len(shown) - 1)


def blocks_add_up(answered: Json, stream: Any) -> None:
    """Log probabilities, annotations and filter results, where the dialect streams them."""
    for choice, steps in zip(answered["choices"], stream.of_each_choice().values(), strict=True):
        if any(step.get("logprobs") for step in steps):
            parts = [part for step in steps if step.get("logprobs") for part in step["logprobs"]["content"]]
            assert parts == choice["logprobs"]["content"]
            assert "".join(part["token"] for part in parts) == choice["message"]["content"]
        if notes := [note for step in steps for note in step["delta"].get("annotations", ())]:
            assert notes == choice["message"]["annotations"]
        assert steps[-1].get("content_filter_results") == choice.get("content_filter_results")


@pytest.mark.parametrize("dialect", [dialect for dialect in RESPONSE_URLS if "failed" in discover()[dialect].features])
def test_a_bare_error_ends_a_stream(dialect: str) -> None:
    events = RESPONSE.streamed(dialect, "broken-off")
    RESPONSE.check_stream(events)
    assert (events.parsed[-1]["type"], events.parsed[-1]["error"]["message"]) == ("error", "Oh.")


@pytest.mark.parametrize(
    ("api", "dialect"),
    [pytest.param(api, dialect, id=f"{api.name}-{dialect}") for api in (CHAT, TEXT, RESPONSE) for dialect in api.urls],
)
@pytest.mark.parametrize("name", FAILURES)
def test_failures(api: Api, dialect: str, name: str) -> None:
    plain, stream = api.ask(dialect, name), api.ask(dialect, name, stream=True)
    assert plain.status >= 400
    invariants.a_body_is_one_line(plain)
    if api is not RESPONSE or dialect != "tzafon":
        has_shape(plain.json, dialect, "error")
    assert (stream.status, stream.body) == (plain.status, plain.body)
    assert stream.headers["content-type"] == "application/json"
    if dialect in ("azure", "skytells"):  # these say the status in the body too
        assert (plain.json if dialect == "azure" else plain.json["error"])["status"] == plain.status
    if dialect == "azure":
        assert plain.headers["x-ms-error-code"]
    elif dialect == "azure_openai":
        assert plain.headers["x-request-id"] == plain.headers["apim-request-id"]
    else:
        assert plain.headers["x-request-id"].startswith("req_")
    assert ("retry-after" in plain.headers) == ("retry_after" in FAILURES[name])
