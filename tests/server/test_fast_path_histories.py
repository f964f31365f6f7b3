"""What was learned of many requests answers none whose history is changed or refused: a fresh server says the same."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mockserver.server.fast_path import FastPath
from mockserver.server.live import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.kit.raw import Raw
from tests.server.fast_path_cases import RULES, post

Json = Any
TAUGHT = 300  # requests
FUNCTION = {"name": "f", "arguments": "{}"}


def chat(number: int, *, name: str = "call_{}", messages: Callable[[list[Json]], Json] = lambda all: all) -> Json:
    used = name.format(number)
    said = [
        {"role": "user", "content": f"hello {number}"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": used, "type": "function", "function": FUNCTION}]},
        {"role": "tool", "tool_call_id": used, "content": f"result {number}"},
        {"role": "user", "content": f"hello again, {number}"},
    ]
    return {"model": "gpt-4o", "messages": messages(said)}


def changed(at: int, **changes: Json) -> Callable[[list[Json]], Json]:
    return lambda all: [{**each, **changes} if index == at else each for index, each in enumerate(all)]


def dropped(at: int) -> Callable[[list[Json]], Json]:
    return lambda all: [each for index, each in enumerate(all) if index != at]


def call_of(**changes: Json) -> Callable[[list[Json]], Json]:
    return changed(1, tool_calls=[{"id": "call_x", "type": "function", "function": FUNCTION, **changes}])


def responses(number: int, *more: Json, **changes: Json) -> Json:
    said = [{"role": "assistant", "content": f"hello {number}"}, {"role": "user", "content": f"hello again, {number}"}]
    return {"model": "gpt-5", "store": False, "input": [*more, *said], **changes}


def messages(number: int, *blocks: Json, model: str = "claude-fable-5-1", **changes: Json) -> Json:
    text = f"hello {number}"
    answer = [*blocks, {"type": "text", "text": text}] if blocks else text
    turns = ({"role": "user", "content": text}, {"role": "assistant", "content": answer})
    return {"model": model, "max_tokens": 99, "messages": [*turns, {"role": "user", "content": text}], **changes}


def contents(number: int, *parts: Json) -> Json:
    text = {"text": f"hello {number}"}
    turns = ({"role": "user", "parts": [text]}, {"role": "model", "parts": [*parts, text]})
    return {"contents": [*turns, {"role": "user", "parts": [text]}]}


def unsigned_call(number: int) -> Json:
    call, result = {"name": "f", "args": {}}, {"name": "f", "response": {"result": f"hello {number}"}}
    turns = contents(number)["contents"][:1]
    turns += [
        {"role": "model", "parts": [{"functionCall": call}]},
        {"role": "user", "parts": [{"functionResponse": result}]},
    ]
    return {"contents": turns}


CALLED = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
THOUGHT = {"type": "thinking", "thinking": "Hm."}
SHAPES: dict[str, tuple[str, Callable[..., Json], Sequence[Callable[[int], Json]]]] = {
    "chat": (
        "/v1/chat/completions",
        chat,
        (
            lambda at: chat(at, name=""),
            lambda at: chat(at, name="c" * 41 + "{}"),
            lambda at: chat(at, name="c" * 36 + "{:04}"),
            lambda at: chat(at, messages=dropped(2)),
            lambda at: chat(at, messages=dropped(1)),
            lambda at: chat(at, messages=changed(2, tool_call_id="")),
            lambda at: chat(at, messages=changed(2, tool_call_id="d" * 41)),
            lambda at: chat(at, messages=changed(2, tool_call_id=f"other_{at}")),
            lambda at: chat(at, messages=changed(2, tool_call_id=None)),
            lambda at: chat(at, messages=changed(1, tool_calls=[])),
            lambda at: chat(at, messages=call_of()),
            lambda at: chat(at, messages=call_of(id="")),
            lambda at: chat(at, messages=call_of(id=f"call_{at}", function={"name": "", "arguments": "{}"})),
            lambda at: chat(at, messages=call_of(id=f"call_{at}", function={"name": "f g", "arguments": "{}"})),
            lambda at: chat(at, messages=lambda all: [*all[:2], all[3], all[2]]),
            lambda at: chat(at, messages=lambda all: [*all[:3], all[2], all[3]]),
            lambda at: chat(at, messages=changed(0, role="uzer")),
        ),
    ),
    "responses": (
        "/v1/responses",
        responses,
        (
            lambda at: responses(at, CALLED),
            lambda at: responses(at, {**CALLED, "id": f"item_{at}"}),
            lambda at: responses(at, {**CALLED, "call_id": "c" * 65}),
            lambda at: responses(at, {"type": "function_call_output", "call_id": f"call_{at}", "output": "a"}),
            lambda at: responses(at, {"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": "no"}),
            lambda at: responses(
                at, {"type": "item_reference", "id": "rs_1"}, {"type": "item_reference", "id": "rs_1"}
            ),
            lambda at: responses(at, {"role": "assistant", "content": [{"type": "input_text", "text": f"hello {at}"}]}),
            lambda at: responses(at, {"role": "uzer", "content": f"hello {at}"}),
            lambda at: responses(at, temperature="hot"),
        ),
    ),
    "anthropic": (
        "/anthropic/v1/messages",
        messages,
        (
            lambda at: messages(at, THOUGHT),
            lambda at: messages(at, {**THOUGHT, "signature": "no"}),
            lambda at: messages(at, {"type": "tool_use", "id": f"toolu_{at}", "name": "f", "input": {}}),
            lambda at: messages(at, model="claude-opus-4-5", top_k="many"),
        ),
    ),
    "gemini": (
        "/gemini/v1beta/models/gemini-3-pro-preview:generateContent",
        contents,
        (
            lambda at: contents(at, {"functionCall": {"name": "f", "args": {}}}),
            unsigned_call,
            lambda at: contents(at, {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "no!"}),
            lambda at: contents(at, {"text": f"hello {at}", "thoughtSignature": "bm8"}),
        ),
    ),
}


@contextmanager
def serving(tmp: Path, **settings: Any) -> Iterator[Running]:
    rules = tmp / "rules.yaml"
    rules.write_text(RULES)
    with Running(start(Sources((rules,), flags={"port": 0, **settings}))) as running:
        yield running


def versioned(request: bytes) -> bytes:
    return request.replace(b"\r\n\r\n", b"\r\nanthropic-version: 2023-06-01\r\n\r\n", 1)


def asked(running: Running, path: str, bodies: Sequence[Json]) -> list[tuple[int, bytes, tuple[str, ...]]]:
    """The answer to each, and the remarks on it."""
    with Raw(int(running.address.rpartition(":")[2])) as raw:
        answers = [raw.send(versioned(post(path, json.dumps(body).encode()))).receive() for body in bodies]
    running.settle()
    rows = list(running.live.journal)[-len(bodies) :]
    return [(answer.status, answer.body, row.remarks) for answer, row in zip(answers, rows, strict=True)]


@pytest.mark.parametrize("replay", ["warn", "error", "off"])
@pytest.mark.parametrize("validation", ["live", "published", "off"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_taught_does_not_answer_changed_histories(
    shape: str, validation: str, replay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, usual, changes = SHAPES[shape]
    noted, answer = list[bool](), FastPath.answer

    def noting(self: FastPath, data: bytes, write: Any) -> bool:
        noted.append(answer(self, data, write))
        return noted[-1]

    monkeypatch.setattr(FastPath, "answer", noting)
    bodies = [make(1000 + at * 10 + time) for at, make in enumerate(changes) for time in range(4)]
    settings = {"validation": validation, "replay": replay}
    with serving(tmp_path, **settings) as running:
        taught = asked(running, path, [usual(number) for number in range(TAUGHT)])
        assert {(status, remarks) for status, _, remarks in taught} == {(200, ())}
        assert noted.count(True) > TAUGHT // 2
        told = asked(running, path, bodies)
    monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
    with serving(tmp_path, **settings) as running:
        fresh = asked(running, path, bodies)
    for body, one, other in zip(bodies, told, fresh, strict=True):
        assert one == other, body
    assert {status for status, *_ in fresh} != {200} or any(remarks for *_, remarks in fresh) or replay == "off"
