"""Templates give the bytes that their renderers give: for answers of every kind, whole and streamed."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mockserver.core.call import ToolCall
from mockserver.core.frames import Frames, write_event
from mockserver.core.http import Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Reasoning, Refusal, Text, ToolUse, Usage, Verdict, find_words
from mockserver.core.seed import Seed
from mockserver.core.tokens import split
from mockserver.core.validation import Validation
from mockserver.delivery.script import join_frames
from mockserver.dialects import discover
from mockserver.dialects.compatible.hosts import HOSTS
from mockserver.model.logprobs import make_logprobs
from mockserver.wire.chat import ChatRenderer
from mockserver.wire.renderer import Outline, Renderer
from tests.dialects.conftest import Speaker
from tests.fuzz.amount import thrown

PROMPTS: Mapping[str, Mapping[str, Any]] = {"completions": {"prompt": "hi"}, "responses": {"input": "hi"}}
OPERATIONS = [
    (name, operation)
    for name in sorted(discover())
    for operation in ("chat", *PROMPTS)
    if any(each.name == operation for each in discover()[name].operations)
    and (name, operation) not in (("anthropic", "completions"), ("cohere", "completions"))  # old APIs without templates
] + [(host, "chat") for host in HOSTS]
WANTED = st.fixed_dictionaries(
    {},
    optional={
        "service_tier": st.sampled_from(("auto", "flex")),
        "stream_options": st.sampled_from(({"include_usage": True}, {"continuous_usage_stats": True})),
        "instructions": st.just('Be "brief"'),
        "tools": st.just([{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}]),
        "temperature": st.just(1),
        "background": st.just(True),
        "store": st.just(False),
    },
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(('"\\/\b\f\n\r\t\x00\x1f\x7f', "\u2028\u2029\u00e9\u4f60\U0001f600", "%b %d %% ~3.1~ ~7.1~", "{}")),
)
CHUNKS = st.sampled_from(("token", "word", "char", 7))
CALLS = st.builds(
    ToolCall,
    st.text(max_size=9),
    st.text(max_size=9),
    st.one_of(TEXTS, st.sampled_from(("{}", ' {"a": [1, {"b": "\\n"}]}', '{"a": 1.5e300, "b": {}}', '{"cut": "of'))),
    st.sampled_from(("function", "custom", "bare")),
)


def cut(text: str) -> Text:
    return Text(text, chunks=(text[:2], "", text[2:]))


PARTS = st.one_of(
    st.builds(Text, TEXTS, CHUNKS, apart=st.booleans()),
    st.builds(cut, TEXTS),
    st.builds(Refusal, TEXTS, CHUNKS),
    st.builds(Reasoning, TEXTS, CHUNKS, st.one_of(st.none(), TEXTS)),
    st.builds(ToolUse, CALLS, CHUNKS),
)
SAFETY = st.sampled_from(((), (Verdict("hate", "high", filtered=True),)))


def weigh(choice: Choice, top: int, least: float | None) -> Choice:
    """Return a choice with log probabilities, of which the first is `least`, if stated."""
    texts = (choice.echo, *[part.text for part in choice.parts if isinstance(part, Text)])
    tokens = tuple([token for text in texts for token in split(text)])
    found = make_logprobs(tokens, Seed().stream("logprobs"), top)
    if least is not None:
        found = (*[replace(each, logprob=least, top=()) for each in found[:1]], *found[1:])
    return replace(choice, logprobs=found)


PLAIN_CHOICES = st.builds(
    Choice,
    st.lists(PARTS, max_size=3).map(tuple),
    st.sampled_from(("stop", "length", "tool_calls", "content_filter", "error")),
    SAFETY,
    echo=st.sampled_from(("", "hi")),
    stop=st.sampled_from(("", "END")),
)
LEAST = st.sampled_from((None, 0.0, -1e-7, -0.25, -9999.0, -1e15, -1e16, -1e300))
CHOICES = st.one_of(PLAIN_CHOICES, st.builds(weigh, PLAIN_CHOICES, st.integers(0, 5), LEAST))
COUNTS = st.one_of(st.just(0), st.integers(0, 300))
ANSWERS = st.builds(
    Answer,
    st.text(max_size=9),
    st.integers(0, 2_000_000_000),
    st.sampled_from(("gpt-x", "claude \u00e9", "")),
    st.one_of(st.lists(CHOICES, min_size=1, max_size=1), st.lists(CHOICES, min_size=1, max_size=3)).map(tuple),
    st.builds(Usage, *[COUNTS] * 9),
    st.sampled_from(("", "0123456789")),
    st.sampled_from(("", None, "fp_stated")),
    SAFETY,
)


def reply_of(name: str, operation: str, answer: Answer, body: Mapping[str, Any]) -> Reply:
    speaker = Speaker(name)
    if operation == "chat":
        call = speaker.parse(body, validation=Validation.OFF)
    else:
        asked = speaker.request({"model": "gpt-x", **PROMPTS[operation], **body})
        call = speaker.operation(operation).parse(asked, Validation.OFF)
    reply: Reply = speaker.operation(operation).render(call, answer)
    return reply


def wire(name: str, operation: str, answer: Answer, body: Mapping[str, Any]) -> Any:
    """What goes out: the headers, the body or the frames, and these together."""
    reply = reply_of(name, operation, answer, body)
    frames = None if reply.frames is None else [*reply.frames]
    sent = replace(reply, frames=frames) if isinstance(reply.frames, Iterator) else reply
    return reply.headers, reply.body, frames, join_frames(sent).body


@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
@given(answer=ANSWERS, other=ANSWERS, wanted=WANTED, stream=st.booleans())
@thrown(30)
def test_bytes_are_those_of_the_renderer(
    name: str, operation: str, answer: Answer, other: Answer, wanted: Mapping[str, Any], stream: bool
) -> None:
    body = {**wanted, "stream": stream}
    with_its_choices = (answer, answer, replace(other, choices=answer.choices), replace(answer, usage=other.usage))
    found = [wire(name, operation, each, body) for each in (*with_its_choices, *with_its_choices)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Renderer, "fill_body", lambda *_: None)
        patch.setattr(Renderer, "fill_frames", lambda *_: None)
        assert found == [wire(name, operation, each, body) for each in (*with_its_choices, *with_its_choices)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
def test_a_text_has_a_template(name: str, operation: str, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the renderer answered")

    answer = Answer("id", 1_700_000_000, "gpt-x", (Choice((Text("Hello there, world"),)),), Usage(9, 4))
    wire(name, operation, answer, {"stream": stream})  # makes the template
    for renderer in (Renderer, *Renderer.__subclasses__()):
        monkeypatch.setattr(renderer, "render_body", refuse)
        monkeypatch.setattr(renderer, "render_frames", refuse)
    assert b"Hello" in wire(name, operation, answer, {"stream": stream})[3]


@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
def test_a_long_stream_is_the_same_in_frames_in_runs_and_joined(name: str, operation: str) -> None:
    answer = Answer("id", 0, "gpt-x", (Choice((Text("100% of %d or %b words, one by one " * 100),)),), Usage(9, 4))
    frames = reply_of(name, operation, answer, {"stream": True}).frames
    assert isinstance(frames, Frames)
    whole = b"".join([write_event(frame) for frame in frames])
    assert whole == b"".join(map(write_event, frames.runs)) == frames.join(write_event)


@pytest.mark.parametrize("top", [0, 3])
def test_log_probabilities_have_a_template(top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the renderer answered")

    choices = [weigh(Choice((Text(text),)), top, None) for text in ("Hello there, world", "Another text")]
    first, second = [Answer("id", 1_700_000_000, "gpt-x", (choice,), Usage(9, 4)) for choice in choices]
    wire("openai", "chat", first, {})  # makes the template
    monkeypatch.setattr(ChatRenderer, "render_body", refuse)
    assert b'"token":" text"' in wire("openai", "chat", second, {})[1]


class Measuring(Renderer[str]):
    """Tells of a text how long it is, or only the text."""

    def render_body(self, answer: Answer, options: str) -> dict[str, Json]:
        (part,) = answer.choices[0].parts
        return {"text": find_words(part), **({options: len(find_words(part))} if options else {})}

    def outline(self, answer: Answer, options: str) -> Outline:
        return Outline((options,), ())


def test_what_is_made_of_a_value_in_an_unknown_way_has_no_template() -> None:
    def filled(text: str, options: str) -> bytes | None:
        return renderer.fill_body(Answer("id", 0, "m", (Choice((Text(text),)),), Usage()), options)

    renderer = Measuring()
    assert filled("four", "") == b'{"text":"four"}'
    assert filled("four", "length") is None
    assert filled("\ud800", "") is None, "the renderer itself refuses it"
