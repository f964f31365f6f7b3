"""Runs of assistants on threads, and their steps (https://platform.openai.com/docs/api-reference/runs).

A run is a chat whose messages, tools and instructions are kept: rules answer it like any other. It is queued first,
then in progress, and has ended or wants the results of tools at the next look-up.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Answer, Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, list_of, optional, shape, text_or
from mockserver.dialects._openai_api.chat import make_chat_call
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.objects.assistants import (
    MESSAGE,
    STANDING,
    THREAD,
    USUAL_MODEL,
    WAITS,
    Assistants,
    ThreadMessages,
    Threads,
    draw_unused,
    find_active_run,
    read_content,
    write_content,
)
from mockserver.dialects._openai_api.objects.resource import New, ObjectsApi, Resource, serve
from mockserver.dialects._parse import Body, Complaint, read_request
from mockserver.dialects._reply import STREAM_LINES, make_json_reply, merge_headers
from mockserver.kinds.kept import RUN_STEPS, RUNS
from mockserver.kinds.objects import Beginning, Objects
from mockserver.wire.parts import join_spoken
from mockserver.wire.runs import RunAnswer, begin_run, list_calls, stream_run, write_call

_ASKED: Mapping[str, Any] = {
    **STANDING,
    "model": optional(str),
    "stream": optional(Any),
    "tool_choice": optional(text_or("<an object>", Object)),
    "parallel_tool_calls": optional(bool),
    "max_prompt_tokens": optional(int),
    "max_completion_tokens": optional(int),
    "truncation_strategy": optional(Object),
}
RUN = BodyModel(
    shape(
        assistant_id=str,
        additional_instructions=optional(str),
        additional_messages=optional(list_of(MESSAGE)),
        include=optional(list_of(str)),
        **_ASKED,
    )
)
THREAD_AND_RUN = BodyModel(shape(assistant_id=str, thread=optional(THREAD), **_ASKED))
TOOL_OUTPUTS = BodyModel(
    shape(tool_outputs=list_of(shape(tool_call_id=optional(str), output=optional(str))), stream=optional(Any))
)
_EXPIRES_AFTER = 600  # seconds
_FINAL = ("completed", "incomplete", "failed", "cancelled", "expired")


class Runs(Resource):
    kind = RUNS
    path = "/threads/{owner}/runs"
    type = "thread.run"
    deleted = "thread.run"
    ids = IdShape("run_", 24)
    unknown = "No run found with id '{id}'."
    updates = BodyModel(shape(metadata=optional(Metadata)))
    parent = Threads
    statuses: ClassVar[Sequence[str]] = ("queued", "in_progress")

    def make_operations(self) -> tuple[Operation, ...]:
        usual = [each for each in super().make_operations() if each.name != self.kind.made_by]
        chat = partial(Operation, "chat", "POST", render=self._render_run)
        return (
            chat("/threads/runs", parse=self._parse_thread_and_run, body=_ask_on_new_thread),
            chat(self.path, parse=self._parse_run, body=_ask, params={"owner": "thread_1"}),
            chat(
                f"{self.path}/{{id}}/submit_tool_outputs",
                parse=self._parse_outputs,
                body=lambda text: {"tool_outputs": [{"tool_call_id": "call_1", "output": text}]},
                params={"owner": "thread_1", "id": "run_1"},
            ),
            *usual,
        )

    async def make(self, new: New, objects: Objects) -> Body:
        return make_run({"model": USUAL_MODEL, **new.fields}, thread=new.owner, now=new.created, status="completed")

    def show(self, kept: KeptObject) -> Body:
        """Return a run in its present status: what is not known yet is empty."""
        if not kept.ahead:
            return kept.body
        return {**begin_run(kept.body), "status": kept.status}

    @serve("POST", "cancel")
    async def cancel_run(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        if kept.status in _FINAL and not objects.invents:
            raise Failure("bad_parameter", message=f"Cannot cancel run with status '{kept.status}'.")

        def cancel(found: KeptObject) -> KeptObject:
            if found.status in _FINAL:
                return found
            return found.end("cancelled").change(cancelled_at=objects.now, completed_at=None, required_action=None)

        change = await objects.change(kept, cancel)
        if change.after is not change.before:
            for message in await ThreadMessages(self.api).list_all(kept.owner, objects):
                if message.body["run_id"] == kept.id:  # what the run would have said
                    await objects.change(message, KeptObject.forget)
        return ObjectView(self.show(replace(change.after, ahead=("cancelling",))))

    # Requests

    def _parse_run(self, http: HttpRequest, validation: Validation) -> Call:
        body, asked = read_request(RUN, http, refuse=self.api.refuse, validation=validation)
        said = asked.get("additional_messages") or ()
        turn = RunTurn(self.api, http.path_params["owner"], asked=asked, said=said)
        return self._make_chat(http, body, asked=asked, turn=turn)

    def _parse_thread_and_run(self, http: HttpRequest, validation: Validation) -> Call:
        body, asked = read_request(THREAD_AND_RUN, http, refuse=self.api.refuse, validation=validation)
        thread = asked.get("thread") or {}
        turn = RunTurn(self.api, "", asked=asked, said=thread.get("messages") or (), thread=thread)
        return self._make_chat(http, body, asked=asked, turn=turn)

    def _parse_outputs(self, http: HttpRequest, validation: Validation) -> Call:
        body, asked = read_request(TOOL_OUTPUTS, http, refuse=self.api.refuse, validation=validation)
        outputs = {str(each.get("tool_call_id") or ""): each.get("output") or "" for each in asked["tool_outputs"]}
        if not outputs and validation is not Validation.OFF:
            raise self.api.refuse(Complaint("short", ("tool_outputs",), got=[], bound=1))
        turn = RunTurn(self.api, http.path_params["owner"], asked=asked, run=http.path_params["id"], outputs=outputs)
        return self._make_chat(http, body, asked=asked, turn=turn)

    def _make_chat(self, http: HttpRequest, body: Body, *, asked: Body, turn: "RunTurn") -> Call:
        results = [{"role": "tool", "tool_call_id": name, "content": said} for name, said in turn.outputs.items()]
        said = [_write_chat_message({**each, "content": write_content(each["content"])}) for each in turn.said]
        chat = {"model": asked.get("model"), "messages": [*said, *results], "stream": asked.get("stream") is True}
        call = make_chat_call(http, chat, chat, dialect=self.api.dialect)
        meaning = {**call.meaning, "assistant_id": asked.get("assistant_id")}
        return replace(call, raw=body, meaning=meaning, references=turn)

    def _render_run(self, call: Call, answer: Answer) -> Reply:
        turn: RunTurn = call.references
        made = turn.made
        assert made is not None  # an answer was written
        lines = self.api.lines(call.http, call)
        if call.stream:
            headers = merge_headers(HeaderLines(STREAM_LINES + lines), answer.headers)
            return Reply(200, headers, frames=stream_run(answer, made))
        body = {**begin_run(made.run), "status": "queued"}
        return make_json_reply(200, body, lines=lines, headers=answer.headers, tokens=answer.weight)


class RunSteps(Resource):
    kind = RUN_STEPS
    path = "/threads/{thread}/runs/{owner}/steps"
    type = "thread.run.step"
    deleted = "thread.run.step"
    ids = IdShape("step_", 24)
    unknown = "No run step found with id '{id}'."
    parent = Runs

    def make_operations(self) -> tuple[Operation, ...]:
        return tuple([each for each in super().make_operations() if each.name != self.kind.made_by])

    async def make(self, new: New, objects: Objects) -> Body:
        thread, _, run = new.owner.partition("/")
        fields = new.fields
        details = fields.get("step_details") or {"type": "message_creation", "message_creation": {"message_id": "msg_"}}
        status = fields.get("status") or "completed"
        return {
            "run_id": run,
            "assistant_id": fields.get("assistant_id") or "",
            "thread_id": thread,
            "type": details["type"],
            "status": status,
            "cancelled_at": None,
            "completed_at": new.created if status == "completed" else None,
            "expires_at": new.created + _EXPIRES_AFTER,
            "expired_at": None,
            "failed_at": None,
            "last_error": None,
            "step_details": details,
            "usage": fields.get("usage"),
            "metadata": {},
        }


def _ask(text: str) -> dict[str, Json]:
    return {"assistant_id": "asst_1", "additional_messages": [{"role": "user", "content": text}]}


def _ask_on_new_thread(text: str) -> dict[str, Json]:
    return {"assistant_id": "asst_1", "thread": {"messages": [{"role": "user", "content": text}]}}


def _write_chat_message(message: Body) -> dict[str, Json]:
    """Return a kept message as one of a chat: one text stands for itself, as most messages are."""
    parts = read_content(message["content"])
    is_text = len(parts) == 1 and parts[0].get("type") == "text"
    return {"role": message["role"], "content": parts[0]["text"] if is_text else parts}


def make_run(stated: Body, *, thread: str, now: int, status: str) -> dict[str, Json]:
    """Return the body of a run with what its assistant and its request state, without id, type and time."""
    return {
        "assistant_id": stated.get("assistant_id") or "asst_unknown",
        "thread_id": thread,
        "status": status,
        "started_at": now,
        "expires_at": None if status in _FINAL else now + _EXPIRES_AFTER,
        "cancelled_at": None,
        "failed_at": now if status == "failed" else None,
        "completed_at": now if status == "completed" else None,
        "required_action": None,
        "last_error": None,
        "model": stated.get("model") or USUAL_MODEL,
        "instructions": stated.get("instructions") or "",
        "tools": stated.get("tools") or [],
        "tool_resources": stated.get("tool_resources") or {},
        "metadata": stated.get("metadata") or {},
        "temperature": 1.0 if stated.get("temperature") is None else stated["temperature"],
        "top_p": 1.0 if stated.get("top_p") is None else stated["top_p"],
        "max_completion_tokens": stated.get("max_completion_tokens"),
        "max_prompt_tokens": stated.get("max_prompt_tokens"),
        "truncation_strategy": stated.get("truncation_strategy") or {"type": "auto", "last_messages": None},
        "incomplete_details": None,
        "usage": None,
        "response_format": stated.get("response_format") or "auto",
        "tool_choice": stated.get("tool_choice") or "auto",
        "parallel_tool_calls": stated.get("parallel_tool_calls") is not False,
        "reasoning_effort": stated.get("reasoning_effort"),
    }


class RunTurn(Struct, eq=False):
    """A request for a run, or for the rest of one: the `References` of its call.

    `said` are the messages that it adds to the thread, or to a new one, if it makes one of what `thread` states.
    `outputs` are the results of tools by the ids of their calls. The rest is set as it is answered: what the run
    `stated`, and what the answer has `made` of it.
    """

    api: ObjectsApi
    owner: str
    asked: Body
    said: Sequence[Body] = ()
    thread: Body | None = None
    run: str = ""
    outputs: Mapping[str, str] = {}
    stated: Body = {}
    made: RunAnswer | None = None

    async def read(self, call: Call, objects: Objects) -> Beginning:
        """Return the conversation before it, and what its assistant states. Raises Failure."""
        if self.run:
            return await self._resume(objects)
        assistant = await Assistants(self.api).find(objects, str(self.asked.get("assistant_id")))
        earlier = [] if self.thread is not None else await self._list_earlier(objects)
        asked = {name: value for name, value in self.asked.items() if value is not None}
        stated = {**assistant.body, **asked}
        instructions = [stated.get("instructions"), asked.get("additional_instructions")]
        stated["instructions"] = "\n".join([str(each) for each in instructions if each])
        self.stated = stated
        system = [{"role": "system", "content": stated["instructions"]}] if stated["instructions"] else []
        chat = _write_chat(stated, [*system, *earlier])
        whole = make_chat_call(call.http, chat, chat, dialect=self.api.dialect)
        return Beginning(
            whole.messages, whole.model, tools=whole.tools, tool_choice=whole.tool_choice, options=whole.options
        )

    async def _list_earlier(self, objects: Objects) -> list[dict[str, Json]]:
        """Return the messages of the thread as those of a chat. Raises Failure if another run waits for results."""
        await Threads(self.api).find(objects, self.owner)
        active = await find_active_run(self.owner, objects)
        if active is not None:
            message = f"Thread {self.owner} already has an active run {active.id}."
            raise Failure("bad_parameter", message=message)
        kept = await ThreadMessages(self.api).list_all(self.owner, objects)
        strategy: Body = self.asked.get("truncation_strategy") or {}
        last = strategy.get("last_messages")
        kept = kept[-last:] if isinstance(last, int) and last > 0 else kept
        return [_write_chat_message(each.body) for each in kept]

    async def _resume(self, objects: Objects) -> Beginning:
        """Return the conversation of a run that waits for results. Raises Failure if it waits for others, or none."""
        run = await Runs(self.api).find(objects, self.run, self.owner)
        self.stated = run.body
        if run.invented:
            return Beginning(model=USUAL_MODEL)
        if run.body["status"] != WAITS:
            message = f'Runs in status "{run.status}" do not accept tool outputs.'
            raise Failure("bad_parameter", message=message)
        wanted = [each["id"] for each in run.body["required_action"]["submit_tool_outputs"]["tool_calls"]]
        if set(wanted) != set(self.outputs):
            message = f"Expected tool outputs for call_ids {wanted}, got {[*self.outputs]}"
            raise Failure("bad_parameter", message=message)
        before: Call = run.call
        return Beginning(
            before.messages, before.model, tools=before.tools, tool_choice=before.tool_choice, options=before.options
        )

    async def write(self, call: Call, answer: Answer, objects: Objects, *, is_generated: bool) -> Answer:
        """Keep what the answer makes of the run."""
        thread = await self._make_thread(objects)
        messages = ThreadMessages(self.api)
        if self.thread is None and self.said:
            await messages.append(self.said, self.owner, objects)
        runs = Runs(self.api)
        name = self.run or await draw_unused(runs, self.owner, objects)
        ended = _describe_end(answer)
        body: Body = {
            "id": name,
            "object": Runs.type,
            "created_at": self.stated["created_at"] if self.run else objects.now,
            **make_run(
                {**self.stated, "model": answer.model}, thread=self.owner, now=objects.now, status=ended["status"]
            ),
            **ended,
        }
        answered = await self._complete_calls(name, objects)
        made = RunAnswer(body, thread=thread, answered=answered)
        if join_spoken(answer.choices[0]) or not list_calls(answer):
            made = await self._keep_message(made, answer, objects)
        if list_calls(answer):
            made = await self._keep_calls(made, answer, objects)
        whole = (*call.messages, _make_message(answer))
        beginning = replace(call, http=HttpRequest("POST", ""), raw={}, meaning={}, messages=whole, references=None)
        kept = KeptObject(self.api.dialect, RUNS.made_by, id=name, body=body, owner=self.owner, call=beginning)
        await objects.keep(kept if call.stream else replace(kept, ahead=tuple(Runs.statuses)))
        self.made = made
        return replace(answer, id=name)

    async def _make_thread(self, objects: Objects) -> Body | None:
        """Make the thread, if the request wants a new one."""
        if self.thread is None:
            return None
        threads = Threads(self.api)
        name = await draw_unused(threads, "", objects)
        kept = await threads.create(New(id=name, fields=self.thread), objects)
        self.owner = kept.id
        return threads.show(kept)

    async def _complete_calls(self, run: str, objects: Objects) -> Body | None:
        """Complete the step with the calls whose results the request brings."""
        if not self.run:
            return None
        steps = await RunSteps(self.api).list_all(f"{self.owner}/{run}", objects)
        step = next((each for each in reversed(steps) if each.body["type"] == "tool_calls"), None)
        if step is None:
            return None
        calls: Any = step.body["step_details"]["tool_calls"]
        told = [{**each, "function": {**each["function"], "output": self.outputs.get(each["id"])}} for each in calls]
        details = {"type": "tool_calls", "tool_calls": told}
        changed = await objects.change(
            step,
            lambda found: found.change(status="completed", completed_at=objects.now, step_details=details),
        )
        return changed.after.body

    async def _keep_message(self, made: RunAnswer, answer: Answer, objects: Objects) -> RunAnswer:
        run = made.run
        why = _INCOMPLETE.get(answer.choices[0].finish)
        fields = {
            "role": "assistant",
            "content": join_spoken(answer.choices[0]),
            "assistant_id": run["assistant_id"],
            "run_id": run["id"],
        }
        (kept,) = await ThreadMessages(self.api).append([fields], self.owner, objects)
        if why is not None:
            ends: Body = {"status": "incomplete", "completed_at": None, "incomplete_at": objects.now}
            change = await objects.change(kept, lambda found: found.change(**ends, incomplete_details={"reason": why}))
            kept = change.after
        details = {"type": "message_creation", "message_creation": {"message_id": kept.id}}
        step = await self._keep_step(run, details, answer, objects=objects, status="completed")
        return replace(made, message=kept.body, message_step=step)

    async def _keep_calls(self, made: RunAnswer, answer: Answer, objects: Objects) -> RunAnswer:
        calls = [write_call(used) for used in list_calls(answer)]
        told = [{**each, "function": {**each["function"], "output": None}} for each in calls]
        details = {"type": "tool_calls", "tool_calls": told}
        step = await self._keep_step(made.run, details, answer, objects=objects, status="in_progress")
        return replace(made, call_step=step)

    async def _keep_step(self, run: Body, details: Body, answer: Answer, *, objects: Objects, status: str) -> Body:
        steps = RunSteps(self.api)
        owner = f"{self.owner}/{run['id']}"
        fields = {
            "assistant_id": run["assistant_id"],
            "step_details": details,
            "status": status,
            "usage": _count_usage(answer) if status == "completed" else None,
        }
        name = await draw_unused(steps, owner, objects)
        return (await steps.create(New(id=name, fields=fields, owner=owner), objects)).body


def _write_chat(stated: Body, messages: Sequence[Body]) -> dict[str, Json]:
    """Return what an assistant and a request state as the body of a chat."""
    tools = [tool for tool in stated.get("tools") or () if tool.get("type") == "function" and tool.get("function")]
    same = ("model", "temperature", "top_p", "parallel_tool_calls", "reasoning_effort", "max_completion_tokens")
    chat = {name: stated[name] for name in same if stated.get(name) is not None}
    form = stated.get("response_format")
    if isinstance(form, Mapping):
        chat["response_format"] = form
    choice = stated.get("tool_choice")
    is_known = choice in ("none", "auto", "required") or (
        isinstance(choice, Mapping) and choice.get("type") == "function"
    )
    if tools:
        chat["tools"] = tools
        if is_known:
            chat["tool_choice"] = choice
    return {**chat, "messages": list(messages)}


_INCOMPLETE = {"length": "max_tokens", "content_filter": "content_filter"}


def _describe_end(answer: Answer) -> dict[str, Json]:
    """Return the last status of a run with this answer, and what belongs to it."""
    usage = _count_usage(answer)
    if answer.broken is not None:
        error = {"code": "server_error", "message": answer.broken.message}
        return {"status": "failed", "last_error": error, "usage": usage}
    if calls := list_calls(answer):
        needed = {"tool_calls": [write_call(used) for used in calls]}
        return {"status": WAITS, "required_action": {"type": "submit_tool_outputs", "submit_tool_outputs": needed}}
    if (finish := answer.choices[0].finish) in _INCOMPLETE:
        why = "max_completion_tokens" if finish == "length" else finish
        return {"status": "incomplete", "incomplete_details": {"reason": why}, "usage": usage}
    return {"status": "completed", "usage": usage}


def _count_usage(answer: Answer) -> dict[str, Json]:
    usage = answer.usage
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_token_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _make_message(answer: Answer) -> Message:
    """Return an answer as the message that the rest of its run goes on from."""
    calls = tuple([used.call for used in list_calls(answer)])
    return Message("assistant", join_spoken(answer.choices[0]), tool_calls=calls)
