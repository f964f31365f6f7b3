"""Runs of assistants: an Answer as steps and a message, and the events of a stream
(https://platform.openai.com/docs/api-reference/assistants-streaming).
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, ToolUse
from mockserver.wire.parts import list_pieces, list_spoken_pieces

Body = Mapping[str, Json]


class RunAnswer(Struct, frozen=True):
    """What an answer makes of a run: its last state, its new message and steps, and what came before.

    `thread` is the one that the request made, `answered` the step whose calls it brings the results of. `message_step`
    and `call_step` are None if the answer has no text, or no calls.
    """

    run: Body
    message: Body | None = None
    message_step: Body | None = None
    call_step: Body | None = None
    thread: Body | None = None
    answered: Body | None = None


def list_calls(answer: Answer) -> list[ToolUse]:
    """Return the calls of functions in an answer."""
    return [part for part in answer.choices[0].parts if isinstance(part, ToolUse)]


def write_call(used: ToolUse) -> dict[str, Json]:
    """Return a call as the run says it, which needs its result."""
    function = {"name": used.call.name, "arguments": used.call.arguments}
    return {"id": used.call.id, "type": "function", "function": function}


def stream_run(answer: Answer, made: RunAnswer) -> Iterator[Frame]:
    """Yield the events of a run, or of its rest after the results of tools."""
    begun = begin_run(made.run)
    if made.thread is not None:
        yield _make_event("thread.created", made.thread, part="open")
    if made.answered is None:
        yield _make_event("thread.run.created", {**begun, "status": "queued"}, part="open")
    else:
        yield _make_event("thread.run.step.completed", made.answered, part="open")
    yield _make_event("thread.run.queued", {**begun, "status": "queued"}, part="open")
    yield _make_event("thread.run.in_progress", begun, part="open")
    if made.message is not None and made.message_step is not None:
        yield from _stream_message(answer, made.message, made.message_step)
    if made.call_step is not None:
        yield from _stream_calls(answer, made.call_step)
    yield _make_event(f"thread.run.{made.run['status']}", made.run, part="finish")
    yield Frame(b"[DONE]", event="done", part="end")


def begin_run(run: Body) -> dict[str, Json]:
    """Return a run as it is while the model works on it."""
    ends = dict.fromkeys(("completed_at", "failed_at", "cancelled_at", "required_action", "last_error", "usage"))
    return {**run, **ends, "status": "in_progress", "incomplete_details": None}


def _stream_message(answer: Answer, message: Body, step: Body) -> Iterator[Frame]:
    yield from _begin_step(step)
    empty: dict[str, Json] = {
        **message,
        **dict.fromkeys(("completed_at", "incomplete_at", "incomplete_details")),
        "status": "in_progress",
        "content": [],
    }
    yield _make_event("thread.message.created", empty, part="open")
    yield _make_event("thread.message.in_progress", empty, part="open")
    first: Sequence[Json] | None = []  # only the first piece says that nothing is cited yet
    for piece, weight in list_spoken_pieces(answer.choices[0], answer.tokenizer):
        text = {"value": piece} if first is None else {"value": piece, "annotations": first}
        first = None
        content = [{"index": 0, "type": "text", "text": text}]
        delta = {"id": message["id"], "object": "thread.message.delta", "delta": {"content": content}}
        yield _make_event("thread.message.delta", delta, tokens=weight, part="text")
    yield _make_event(f"thread.message.{message['status']}", message, part="finish")
    yield _make_event("thread.run.step.completed", step, part="finish")


def _stream_calls(answer: Answer, step: Body) -> Iterator[Frame]:
    yield from _begin_step({**step, "step_details": {"type": "tool_calls", "tool_calls": []}})
    for index, used in enumerate(list_calls(answer)):
        function: dict[str, Json] = {"name": used.call.name, "arguments": "", "output": None}
        yield _make_call_delta(step, {"index": index, "id": used.call.id, "type": "function", "function": function})
        for piece, weight in list_pieces(used, answer.tokenizer):
            said = {"index": index, "type": "function", "function": {"arguments": piece}}
            yield _make_call_delta(step, said, tokens=weight)


def _begin_step(step: Body) -> Iterator[Frame]:
    begun = {**step, "status": "in_progress", "completed_at": None, "usage": None}
    yield _make_event("thread.run.step.created", begun, part="open")
    yield _make_event("thread.run.step.in_progress", begun, part="open")


def _make_call_delta(step: Body, call: Body, *, tokens: int = 0) -> Frame:
    details = {"type": "tool_calls", "tool_calls": [call]}
    delta = {"id": step["id"], "object": "thread.run.step.delta", "delta": {"step_details": details}}
    return _make_event("thread.run.step.delta", delta, tokens=tokens, part="arguments")


def _make_event(kind: str, body: Body, *, part: str, tokens: int = 0) -> Frame:
    return Frame(to_json(body), event=kind, tokens=tokens, part=part)
