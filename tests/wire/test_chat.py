"""ChatCompletion in several layouts, its filter results and annotations."""

from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Options, ToolCall
from mockserver.core.plan import Answer, Choice, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage, Verdict
from mockserver.wire.chat import ChatLayout, ChatRenderer

PLAIN = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    choice=("index", "message", "finish_reason"),
    message=("role", "content", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices"),
    chunk_choice=("index", "delta", "finish_reason"),
)


def said(*parts: Part, layout: ChatLayout = PLAIN) -> dict[str, object]:
    message: dict[str, object] = body(Choice(parts), layout)["choices"][0]["message"]
    return message


def body(choice: Choice, layout: ChatLayout) -> dict[str, Any]:
    return ChatRenderer(layout).render_body(answer(choice), Options())


def answer(*choices: Choice) -> Answer:
    return Answer("0123456789" * 7, 7, "m", choices, Usage(3, 2, 1, 1), "abc", (Verdict("hate", "low"),))


def test_texts_are_joined() -> None:
    assert said(Text("a"), Text("b")) == {"role": "assistant", "content": "ab"}
    assert said(Text(""))["content"] == ""
    assert said()["content"] is None


def test_calls_come_after_the_content() -> None:
    calls = ToolUse(ToolCall("call_1", "f", "{}")), ToolUse(ToolCall("call_2", "sql", "SELECT", kind="custom"))
    assert said(calls[0], Text("a"), calls[1]) == {
        "role": "assistant",
        "content": "a",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}},
        ],
    }
    assert "tool_calls" not in said(Text("a"))


def test_a_refusal_without_a_place_of_its_own_is_content() -> None:
    assert said(Refusal("No")) == {"role": "assistant", "content": "No"}
    layout = replace(PLAIN, message=("role", "content", "refusal"))
    assert said(Refusal("No"), layout=layout) == {"role": "assistant", "content": None, "refusal": "No"}


def test_reasoning_only_where_it_is_shown() -> None:
    assert said(Reasoning("Hm"), Text("a")) == {"role": "assistant", "content": "a"}
    layout = replace(PLAIN, message=("role", "reasoning_content", "content"))
    assert said(Reasoning("Hm"), Text("a"), layout=layout)["reasoning_content"] == "Hm"
    assert "reasoning_content" not in said(Text("a"), layout=layout)


def test_annotations_of_all_texts_nest_a_citation_under_its_type() -> None:
    layout = replace(PLAIN, message=("annotations",))
    cited = {"url": "u", "title": "t", "start_index": 0, "end_index": 1}
    nested = {"type": "url_citation", "url_citation": cited}
    others: list[dict[str, object]] = [{"type": "file_citation", "file_id": "f"}, {"type": 5}, {"n": 1}]
    texts = Text("a", annotations=({"type": "url_citation", **cited}, nested)), Text("b", annotations=tuple(others))
    assert said(*texts, layout=layout) == {"annotations": [nested, nested, *others]}


def test_optional_keys_only_when_they_say_something() -> None:
    layout = replace(PLAIN, choice=("index", "logprobs"), optional=frozenset({"logprobs", "annotations"}))
    assert body(Choice((Text("a"),)), layout)["choices"] == [{"index": 0}]
    weighed = Choice((Text("a"),), logprobs=(Logprob("a", -1.0),))
    assert body(weighed, layout)["choices"][0]["logprobs"]["refusal"] is None
    assert body(Choice(()), replace(layout, optional=frozenset()))["choices"][0]["logprobs"] is None
