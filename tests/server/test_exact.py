"""One split for everything: usage, chunks, limits, log probabilities and ids of one answer agree, whoever counts."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Answer, Reasoning, Text, ToolUse
from mockserver.core.seed import Seed, WallClock
from mockserver.core.tokens import encode_token
from mockserver.engine.answer import Author, answer
from mockserver.engine.planning import plan_call
from mockserver.server.routes import find_routes
from mockserver.tokenizers import find_tokenizer
from tests.kit.calls import call
from tests.kit.local import Local, local

NAMES = ("approx", "cl100k_base", "o200k_base")
FACE = "\U0001fae8"
ODD = f"naïve {FACE}{FACE} 海 <|endoftext|> e\u0301 don't  stop\n\n/x"
_texts = st.text(st.characters(codec="utf-8") | st.sampled_from(f"ab {FACE}é\n"), min_size=1)


# --- limits


@given(_texts, st.sampled_from(NAMES), st.integers(0, 12), st.sampled_from(("token", "char", 3)))
@settings(deadline=None)
def test_a_limit_leaves_exactly_so_many_tokens(text: str, name: str, most: int, chunks: Any) -> None:
    asked = call("hi", tokenizer=find_tokenizer(name), logprobs=0, max_tokens=most)
    made = answer(asked, Draft((DraftChoice((Text(text, chunks),)),)), Author(Seed(), WallClock()))
    (choice,), whole = made.choices, len(find_tokenizer(name).split(text))
    said = "".join(part.text for part in choice.parts if isinstance(part, Text))
    assert choice.logprobs is not None
    assert made.usage.completion == len(choice.logprobs) == min(most, whole)
    assert "".join(logprob.token for logprob in choice.logprobs) == said
    assert text.startswith((said, said.removesuffix("\ufffd")))
    assert (
        b"".join(encode_token(logprob.token) for logprob in choice.logprobs)
        == text.encode()[: _bytes(text, name, most)]
    )


def _bytes(text: str, name: str, most: int) -> int:
    return sum(len(encode_token(token)) for token in find_tokenizer(name).split(text)[:most])


# --- streams

_quoted = json.JSONEncoder(ensure_ascii=False).encode
RULES = f"""
version: 1
rules:
  - when: {{last_user: call}}
    then:
      reasoning: {_quoted(ODD)}
      tool_calls: [{{name: look, arguments: {_quoted({"at": ODD})}}}]
      chunks: char
  - when: {{last_user: words}}
    then: {{reasoning: hm, text: {_quoted(ODD)}, chunks: word}}
  - then: {{text: {_quoted(ODD)}}}
"""
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
BODIES: Mapping[str, Any] = {
    "/v1/chat/completions": lambda said: {"messages": [{"role": "user", "content": said}], **USAGE},
    "/v1/completions": lambda said: {"prompt": said, **USAGE},
    "/v1/responses": lambda said: {"input": said, "stream": True},
    "/tzafon/v1/chat/completions": lambda said: {"messages": [{"role": "user", "content": said}], "stream": True},
}


@pytest.fixture(scope="module", params=NAMES)
def server(request: pytest.FixtureRequest) -> Local:
    return local(RULES, tokenizer=request.param)


@pytest.mark.parametrize("most", [None, 1, 4, 5, 6, 7])
@pytest.mark.parametrize("said", ["text", "words", "call"])
@pytest.mark.parametrize("path", BODIES)
def test_a_stream_weighs_what_usage_says(server: Local, path: str, said: str, most: int | None) -> None:
    limit = {} if most is None else {"max_tokens": most}
    if path.endswith("responses") and most is not None:
        most += 15  # OpenAI takes no less than 16
        limit = {"max_output_tokens": most}
    frames, made = streamed(server, path, {"model": "m", **BODIES[path](said), **limit})
    written = [part for part in made.choices[0].parts if isinstance(part, Text | Reasoning | ToolUse)]
    if path != "/v1/completions" or not any(isinstance(part, ToolUse) for part in written):
        assert sum(frame.tokens for frame in frames) == made.usage.completion
    assert most is None or made.usage.completion <= most
    assert not any(frame.tokens and b'"content":""' in frame.data for frame in frames)


def streamed(server: Local, path: str, body: Any) -> tuple[list[Frame], Answer]:
    found = find_routes("openai").find(path)
    assert found is not None
    operation = found.endpoint.operations["POST"]
    http = HttpRequest("POST", path, body=json.dumps(body).encode())
    asked = operation.parse(http, False)
    made = asyncio.run(plan_call(server.live.engine, asked)).outcome
    assert isinstance(made, Answer)
    reply = operation.render(asked, made)
    return [frame for frame in reply.frames or () if isinstance(frame, Frame)], made
