"""What later calls come back to: conversations that go on, and answers that are looked up."""

from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.action import Fault
from mockserver.core.call import Call, Message, Page, ToolCall
from mockserver.core.plan import (
    Answer,
    Choice,
    Failure,
    Item,
    Listing,
    Part,
    Plan,
    Reasoning,
    Refusal,
    Stored,
    Text,
    Timing,
    ToolUse,
    Usage,
)
from mockserver.engine.memory import Memory, continue_conversation, write_messages
from mockserver.state.in_memory import MemoryValueStore
from tests.kit.calls import Web, call

USER, SYSTEM = Message("user", "hello"), Message("system", "be brief")


def memory(polls: int = 1, count: int = 9) -> Memory:
    return Memory(MemoryValueStore(count=count, size=100_000), polls)


def answer(name: str, *parts: Part, model: str = "m") -> Answer:
    return Answer(name, 0, model, (Choice(parts or (Text("hi"),)),), Usage())


def response(*messages: Message, **fields: Any) -> Call:
    return call(*messages or (USER,), **{"operation": "responses", "meaning": {}, "store": True, **fields})


def look_up(operation: str, name: str = "resp_1", **fields: Any) -> Call:
    return call(operation=operation, id=name, **fields)


def phase(found: object) -> str:
    assert isinstance(found, Stored)
    return found.answer.phase


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((Text("a"), Text("b"), Refusal("c")), Message("assistant", "abc")),
        ((Text("a"), Text("b", apart=True)), Message("assistant", "a\nb")),
        ((Text("a"), Item("web_search_call", {"x": 1}), Text("b")), None),
        ((Reasoning("hm"), Text("a")), Message("assistant", "a")),
        (
            (Text("a"), ToolUse(ToolCall("call_1", "f", "{}"))),
            Message("assistant", "a", tool_calls=(ToolCall("call_1", "f", "{}"),)),
        ),
        (
            (Item("computer_call", {"call_id": "call_2", "action": {"type": "wait"}}),),
            Message(
                "assistant",
                tool_calls=(ToolCall("call_2", "computer_use_preview", '{"type":"wait"}', "computer_call"),),
            ),
        ),
    ],
)
def test_an_answer_is_a_message_of_the_conversation(parts: tuple[Part, ...], message: Message | None) -> None:
    expected = message or Message("assistant", "a\nb", parts=({"type": "web_search_call", "x": 1},))
    assert write_messages(answer("resp_1", *parts)) == (expected,)


def test_an_answer_that_says_nothing_is_none() -> None:
    assert write_messages(answer("resp_1", Reasoning("hm"))) == write_messages(answer("resp_1", Text(""))) == ()
    assert write_messages(replace(answer("resp_1"), phase="cancelled")) == ()


async def test_a_call_goes_on_from_an_answer() -> None:
    kept = memory()
    first = response(SYSTEM, USER, has_instructions=True)
    await kept.keep(first, answer("resp_1"))
    next_ = response(
        Message("system", "be long"), Message("user", "more"), has_instructions=True, previous_response_id="resp_1"
    )
    resumed = await kept.resume(next_)
    assert resumed is not None
    assert [message.text for message in resumed.messages] == ["be long", "hello", "hi", "more"]
    assert (resumed.turn, resumed.last_user) == (1, "more")
    await kept.keep(resumed, answer("resp_2", Text("bye")))
    last = await kept.resume(response(Message("user", "last"), previous_response_id="resp_2"))
    assert last is not None
    assert [message.text for message in last.messages] == ["hello", "hi", "more", "bye", "last"]


async def test_nobody_goes_on_from_what_is_unknown_deleted_or_elsewhere() -> None:
    kept = memory()
    await kept.keep(response(), answer("resp_1"))
    await kept.keep(response(), answer("resp_2"))
    await kept.look_up(look_up("delete_response", "resp_2"))
    elsewhere = response(previous_response_id="resp_1", web=Web(namespace="mine"))
    foreign = response(previous_response_id="resp_1", dialect="tzafon")
    for lost in (response(previous_response_id="resp_0"), elsewhere, foreign):
        assert await kept.resume(lost) is None
    assert await kept.resume(response(previous_response_id="resp_2")) == Failure("previous_not_found")
    assert isinstance(await kept.resume(response(previous_response_id="resp_1")), Call)


def test_a_conversation_means_what_was_said_not_how_it_was_called() -> None:
    def meant(name: str, text: str) -> str:
        asked = Message("assistant", tool_calls=(ToolCall(name, "f", "{}"),), parts=({"type": "x", "id": name},))
        return continue_conversation(response(), (asked, Message("tool", text, tool_call_id=name))).fingerprint

    assert meant("call_1", "a") == meant("call_2", "a") != meant("call_1", "b")


def test_results_mean_which_call_they_are_of() -> None:
    asked = Message("assistant", tool_calls=(ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")))

    def meant(*names: str) -> str:
        results = (Message("tool", str(at), tool_call_id=name) for at, name in enumerate(names))
        return continue_conversation(response(*results), (asked,)).fingerprint

    assert len({meant("a", "b"), meant("b", "a"), meant("b", "c")}) == 3


async def test_a_look_up_finds_the_call_and_its_answer() -> None:
    kept = memory()
    asked = response(raw={"input": "hello"})
    await kept.keep(asked, replace(answer("resp_1"), headers=(("x-once", "1"),)))
    for operation in ("response", "input_items"):
        found = await kept.look_up(look_up(operation))
        assert isinstance(found, Stored)
        assert (found.call.raw, found.answer) == (asked.raw, answer("resp_1"))
    assert await kept.look_up(look_up("response", "resp_2")) is None
    assert await kept.look_up(look_up("stored_chat", "resp_1")) is None


async def test_what_is_deleted_is_gone() -> None:
    kept = memory()
    await kept.keep(response(), answer("resp_1"))
    gone = await kept.look_up(look_up("delete_response"))
    assert isinstance(gone, Stored)
    assert gone.gone
    for operation in ("response", "delete_response", "cancel_response", "input_items"):
        assert await kept.look_up(look_up(operation)) == Failure("not_found")
    await kept.keep(response(), answer("resp_1"))
    assert isinstance(await kept.look_up(look_up("response")), Stored)


@pytest.mark.parametrize(("polls", "phases"), [(0, ["", ""]), (1, ["in_progress", ""]), (2, ["in_progress"] * 2)])
async def test_look_ups_bring_an_answer_of_the_background_to_its_end(polls: int, phases: list[str]) -> None:
    kept = memory(polls)
    await kept.keep(response(background=True), answer("resp_1"))
    assert [phase(await kept.look_up(look_up("response"))) for _ in range(2)] == phases


async def test_other_look_ups_do_not() -> None:
    kept = memory()
    await kept.keep(response(background=True), answer("resp_1"))
    assert [phase(await kept.look_up(look_up("input_items"))) for _ in range(3)] == ["in_progress"] * 3


async def test_a_stream_tells_an_answer_of_the_background_to_its_end() -> None:
    kept = memory(polls=5)
    await kept.keep(response(background=True), answer("resp_1"))
    assert phase(await kept.look_up(look_up("response", stream=True))) == ""
    assert phase(await kept.look_up(look_up("response"))) == ""


async def test_an_answer_that_was_streamed_from_the_background_is_there() -> None:
    kept = memory(polls=5)
    await kept.keep(response(background=True, stream=True), answer("resp_1"))
    assert phase(await kept.look_up(look_up("response"))) == ""


async def test_an_unfinished_answer_is_cancelled_for_good() -> None:
    kept = memory()
    await kept.keep(response(background=True), answer("resp_1"))
    cancel, look = look_up("cancel_response"), look_up("response")
    assert [phase(await kept.look_up(call)) for call in (cancel, look, look, cancel)] == ["cancelled"] * 4


async def test_a_finished_one_stays_as_it_is_and_one_of_the_foreground_is_refused() -> None:
    kept = memory(polls=0)
    await kept.keep(response(background=True), answer("resp_1"))
    await kept.keep(response(), answer("resp_2"))
    assert phase(await kept.look_up(look_up("cancel_response"))) == ""
    assert await kept.look_up(look_up("cancel_response", "resp_2")) == Failure("not_cancellable")


async def listed(kept: Memory, model: str = "", metadata: Any = None, page: Page | None = None) -> tuple[str, bool]:
    raw = {"metadata": metadata or {}}
    found = await kept.look_up(call(operation="stored_chats", model=model, raw=raw, page=page or Page()))
    assert isinstance(found, Listing)
    return " ".join(entry.answer.id for entry in found.entries), found.more


async def test_chats_are_listed_as_they_came() -> None:
    kept = memory()
    for name, model, topic in (("a", "m", "x"), ("b", "n", "x"), ("c", "m", "y")):
        await kept.keep(
            call("hi", store=True, raw={"metadata": {"topic": topic, "more": "z"}}), answer(name, model=model)
        )
    await kept.keep(response(), answer("resp_1"))
    await kept.keep(call("hi", store=True, dialect="azure"), answer("d"))
    assert await listed(kept) == ("a b c", False)
    assert await listed(kept, page=Page(limit=2)) == ("a b", True)
    assert await listed(kept, page=Page("b")) == ("c", False)
    assert await listed(kept, "m") == ("a c", False)
    assert await listed(kept, metadata={"topic": "x"}) == ("a b", False)
    assert await listed(kept, "m", {"topic": "x"}) == ("a", False)


async def test_a_chat_that_is_updated_keeps_its_place() -> None:
    kept = memory()
    for name in "ab":
        await kept.keep(call("hi", store=True, raw={"metadata": None, "model": "m"}), answer(name))
    found = await kept.look_up(look_up("update_chat", "a", raw={"metadata": {"topic": "new"}}))
    assert isinstance(found, Stored)
    assert found.call.raw == {"metadata": {"topic": "new"}, "model": "m"}
    assert await listed(kept) == ("a b", False)
    assert await listed(kept, metadata={"topic": "new"}) == ("a", False)
    await kept.look_up(look_up("delete_chat", "a"))
    assert await listed(kept) == ("b", False)


async def test_what_nobody_made_exists_as_often_as_it_is_asked_for() -> None:
    kept = memory()
    for operation in ("response", "input_items", "delete_response"):
        assert isinstance(await kept.suppose(look_up(operation), answer("resp_1")), Stored)
    assert phase(await kept.suppose(look_up("cancel_response"), answer("resp_1"))) == "cancelled"
    await kept.suppose(look_up("update_chat", "resp_1", raw={"metadata": {"topic": "x"}}), answer("a"))
    assert await kept.look_up(look_up("response")) is None
    assert await listed(kept) == ("", False)
    assert await kept.suppose(look_up("stored_chats", ""), answer("b")) == Listing(
        (Stored(look_up("chat", "", store=True), answer("b"), size=3500),)
    )


async def test_the_oldest_are_forgotten_and_weigh_what_they_hold() -> None:
    kept = memory(count=2)
    for name in ("resp_1", "resp_2", "resp_3"):
        await kept.keep(response(), answer(name))
    assert await kept.look_up(look_up("response", "resp_1")) is None
    large = (Text("x" * 50), Item("web_search_call", {"a": 1}), ToolUse(ToolCall("", "f", "{}")))
    assert (await kept.keep(response(), answer("resp_4", *large))).size == 3500 + 50 + len("{'a': 1}") + 2
    await kept.keep(response(), answer("resp_5", Text("x" * 100_000)))
    assert await kept.look_up(look_up("response", "resp_5")) is None


SETTLED = Plan(answer("resp_1"), "generated")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [(response(), True), (response(store=False), False), (response(operation="input_tokens", store=False), False)],
)
async def test_what_a_plan_leaves_behind(asked: Call, kept: bool) -> None:
    answers = memory()
    await answers.leave(asked, SETTLED)
    assert (await answers.look_up(look_up("response")) is not None) == kept
    await answers.leave(response(), replace(SETTLED, outcome=Failure("server_error")))


async def test_what_is_told_of_a_plan() -> None:
    answers = memory()
    plan = replace(SETTLED, timing=Timing(per_token=1), faults=(Fault("cut"),))
    left = await answers.leave(response(background=True), plan)
    assert isinstance(left.outcome, Answer)
    assert (left.outcome.phase, left.timing, left.faults) == ("queued", Timing(), plan.faults)
    for operation in ("input_tokens", "response"):
        assert isinstance((await answers.leave(look_up(operation), SETTLED)).outcome, Stored)
    assert phase(await answers.look_up(look_up("response"))) == "in_progress"
