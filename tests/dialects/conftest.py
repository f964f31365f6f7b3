"""Requests and replies of the dialects, without a server."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Answer, Choice, Failure, Models, Text, Usage
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation, discover
from mockserver.dialects.compatible import find_host

NEEDED = {"anthropic": {"max_tokens": 100}}  # what a chat has besides
USER = {"role": "user", "content": "hi"}
HEADERS = {"authorization": "Bearer sk-test-0123456789abcdef", "content-type": "application/json"}


class Speaker:
    """One dialect, or a compatible host, and the few steps that its tests take."""

    def __init__(self, name: str) -> None:
        self.dialect: Dialect = discover().get(name) or find_host(name, {})

    def request(self, body: Any = None, *, headers: Mapping[str, str] = HEADERS, query: Any = None) -> HttpRequest:
        """A chat request: bytes as they are, other bodies as JSON."""
        return HttpRequest(
            "POST",
            "/chat/completions",
            query={"api-version": "2024-05-01-preview"} if query is None else query,
            headers=tuple((name.encode(), value.encode()) for name, value in headers.items()),
            body=body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode(),
        )

    def operation(self, name: str) -> Operation:
        """The first operation of that name."""
        return next(operation for operation in self.dialect.operations if operation.name == name)

    def parse(
        self,
        body: Any = None,
        *,
        validation: Validation = Validation.PUBLISHED,
        headers: Any = HEADERS,
        query: Any = None,
    ) -> Call:
        """A parsed chat; a mapping without messages gets some."""
        if self.dialect.name == "gemini":
            return self._parse_gemini(body, validation=validation, headers=headers, query=query)
        if self.dialect.name == "bedrock":
            return self._parse_bedrock(body, validation=validation, headers=headers)
        if isinstance(body, dict):
            body = {"model": "gpt-x", "messages": [USER], **NEEDED.get(self.dialect.name, {}), **body}
        return self.operation("chat").parse(self.request(body, headers=headers, query=query), validation)

    def _parse_gemini(self, body: Any, *, validation: Validation, headers: Any, query: Any) -> Call:
        """The same where the path names the model, and says whether to stream."""
        asked = dict(body) if isinstance(body, dict) else {}
        model, stream = asked.pop("model", "gpt-x"), asked.pop("stream", False)
        if isinstance(body, dict):
            body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], **asked}
        path = f"/gemini/v1beta/models/{model}:{'streamGenerateContent' if stream else 'generateContent'}"
        http = self.request(body, headers=headers, query={"alt": "sse"} if query is None else query)
        params = {"version": "v1beta", "parent": "models", "model": model}
        return self.operation("chat").parse(replace(http, path=path, path_params=params), validation)

    def _parse_bedrock(self, body: Any, *, validation: Validation, headers: Any) -> Call:
        """The same for Converse, whose texts are blocks."""
        asked = dict(body) if isinstance(body, dict) else {}
        model, stream = asked.pop("model", "gpt-x"), asked.pop("stream", False)
        if isinstance(body, dict):
            body = {"messages": [{"role": "user", "content": [{"text": "hi"}]}], **asked}
        path = f"/bedrock/model/{model}/converse{'-stream' if stream else ''}"
        http = self.request(body, headers=headers)
        return self.operation("chat").parse(replace(http, path=path, path_params={"model": model}), validation)

    def responses(self, body: Any = None, *, validation: Validation = Validation.PUBLISHED) -> Call:
        """A parsed Responses request."""
        return self.operation("responses").parse(self.request(body or {}), validation)

    def refuses(self, body: Any, **how: Any) -> Reply:
        """The reply to a chat that must not parse."""
        with pytest.raises(Failure) as caught:
            self.parse(body, **how)
        return self.fail(caught.value)

    def fail(self, failure: Failure, call: Call | None = None, *, headers: Mapping[str, str] = HEADERS) -> Reply:
        """A failure on the wire."""
        return self.dialect.fail(self.request(headers=headers), failure, call)

    def render(self, outcome: Answer | Models, body: Any = None, **how: Any) -> Reply:
        """An answer to a chat on the wire."""
        return self.operation("chat").render(self.parse(body or {}, **how), outcome)

    def chunks(self, answer: Answer, body: Any = None, **how: Any) -> list[Any]:
        """The JSON of all frames but the last, which must be the terminator."""
        *frames, last = self.frames(answer, body, **how)
        assert last == Frame(b"[DONE]", part="end")
        return [json.loads(frame.data) for frame in frames]

    def frames(self, answer: Answer, body: Any = None, **how: Any) -> list[Frame]:
        """The frames of a streamed answer."""
        reply = self.render(answer, {"stream": True, **(body or {})}, **how)
        assert reply.frames is not None
        return [frame for frame in reply.frames if isinstance(frame, Frame)]


@pytest.fixture(scope="session")
def speak() -> Callable[[str], Speaker]:
    return Speaker


# Those with a chat; others only embed and rank.
CHATTING = [name for name in sorted(discover()) if any(each.name == "chat" for each in discover()[name].operations)]


@pytest.fixture(params=CHATTING, scope="session")
def anyone(request: pytest.FixtureRequest) -> Speaker:
    """Each dialect that chats in turn."""
    return Speaker(request.param)


@pytest.fixture
def answer() -> Callable[..., Answer]:
    """An answer of one choice for each tuple of parts (a text stands for itself)."""

    def make(*choices: Any, finish: str = "stop", **more: Any) -> Answer:
        built = tuple(
            choice
            if isinstance(choice, Choice)
            else Choice((Text(choice),) if isinstance(choice, str) else choice, finish=finish)
            for choice in choices
        )
        fields = {"usage": Usage(9, 2), "system_fingerprint": "0123456789", **more}
        return Answer("chatcmpl-" + ("Aa1" * 22)[:29], 1_700_000_000, "gpt-x", built, **fields)

    return make
